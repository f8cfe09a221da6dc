//! A machine elsewhere that is being read: the readings of its agent, on the run's time line.

use std::io;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokometer_record::{AgentLink, ClockOffset, Hardware, SamplingGap, Telemetry, TelemetryMeta};
use tokometer_wire::clock::Clock;

use super::client::{AgentError, Remote};
use super::{Piece, Report};
use crate::sampler::{Cursor, Latest};

/// Between two fetches.
const FETCH: Duration = Duration::from_secs(2);
/// Age from which an offset is measured again: clocks of two hosts drift.
const OFFSET_AGE_NS: u64 = 30_000_000_000;
/// Round trips of one measurement of the clock.
pub(super) const ROUND_TRIPS: u32 = 8;
/// Time that two offsets must be apart to tell a drift, ns.
const DRIFT_FROM_NS: u64 = 10_000_000_000;

/// A machine elsewhere that is being read.
pub struct RemoteWatch {
    /// None once it is to end.
    asked: Option<Sender<Question>>,
    thread: Option<JoinHandle<()>>,
    series: Arc<Mutex<Telemetry>>,
}

/// A fetch with a reading at once; whether that was made is answered.
type Question = mpsc::Sender<bool>;

/// What a remote reading is about.
#[derive(Debug, Clone)]
pub struct RemoteRun {
    /// Id of the run.
    pub run: String,
    /// Port of the server on its host.
    pub port: u16,
    /// The agent's address, for the record; secrets removed.
    pub url: String,
    /// The machine, as the record has it.
    pub hardware: Hardware,
}

impl RemoteWatch {
    /// Measures the agent's clock, and reads from then on in a thread of its own.
    pub async fn start(
        agent: &Remote,
        report: &Report,
        run: RemoteRun,
        clock: Clock,
    ) -> Result<RemoteWatch, AgentError> {
        let (offset, instance) = agent.clock(ROUND_TRIPS).await?;
        let link = AgentLink {
            url: run.url.clone(),
            version: Some(report.version.clone()),
            start: Some(offset),
            uncertainty_ns: Some(offset.uncertainty_ns),
            measured: 1,
            ..AgentLink::default()
        };
        let mut meta = TelemetryMeta {
            schema: TelemetryMeta::SCHEMA.to_owned(),
            run: run.run.clone(),
            hardware: Some(run.hardware.clone()),
            ..TelemetryMeta::default()
        };
        "agent".clone_into(&mut meta.sampling.source);
        meta.sampling.agent = Some(link);
        let series = Arc::new(Mutex::new(Telemetry { meta, ..Telemetry::default() }));
        // One at a time: who asks waits for the answer.
        let (asked, questions) = channel(1);
        let joined = Joined {
            series: Arc::clone(&series),
            connector: agent.connector(),
            run,
            clock,
            instance,
            offset,
            restarted: false,
            watch: None,
            had: Cursor::default(),
            silent_since: None,
        };
        let silent =
            |error: io::Error| AgentError::Silent(format!("its thread could not be started: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(silent)?;
        let thread = std::thread::Builder::new()
            .name("agent".to_owned())
            .spawn(move || runtime.block_on(joined.run(questions)))
            .map_err(silent)?;
        Ok(RemoteWatch { asked: Some(asked), thread: Some(thread), series })
    }

    /// Has the agent read once more, now, and fetches it: what ended before this lies between two readings. An agent
    /// that is gone is not waited for longer than its answers may take; then this is false.
    pub fn read_now(&self) -> bool {
        let (answer, done) = mpsc::channel();
        let asked = self.asked.as_ref().is_some_and(|asked| asked.try_send(answer).is_ok());
        asked && done.recv().is_ok_and(|made| made)
    }

    /// Looks at the series so far.
    pub fn with<T>(&self, look: impl FnOnce(&Telemetry) -> T) -> T {
        look(&lock(&self.series))
    }

    /// The last readings that were fetched, for a display: they may be two seconds old, and older where the agent is
    /// silent.
    pub fn latest(&self) -> Latest {
        Latest(Arc::clone(&self.series))
    }

    /// Fetches what there is and ends; the whole series.
    pub fn stop(mut self) -> Telemetry {
        self.end();
        std::mem::take(&mut *lock(&self.series))
    }

    fn end(&mut self) {
        // Without anybody who could ask, the thread fetches a last time and ends.
        drop(self.asked.take());
        if let Some(thread) = self.thread.take() {
            // Its panic would have been shown where it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for RemoteWatch {
    fn drop(&mut self) {
        self.end();
    }
}

fn lock(series: &Mutex<Telemetry>) -> MutexGuard<'_, Telemetry> {
    series.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread's own.
struct Joined {
    series: Arc<Mutex<Telemetry>>,
    connector: tokometer_wire::Connector,
    run: RemoteRun,
    clock: Clock,
    instance: String,
    offset: ClockOffset,
    /// True if the agent was started anew meanwhile: its clock is another one.
    restarted: bool,
    /// Which reading of the agent the rows come from.
    watch: Option<u64>,
    /// Its rows that are here.
    had: Cursor,
    /// Since when it does not answer, and why.
    silent_since: Option<(u64, String)>,
}

impl Joined {
    async fn run(mut self, mut asked: Receiver<Question>) {
        // Its connection belongs to this thread's event loop.
        let agent = Remote::new(self.connector.clone());
        loop {
            let question = tokio::time::timeout(FETCH, asked.recv()).await;
            match question {
                Err(_) => self.fetch(&agent, false).await,
                Ok(Some(answer)) => {
                    self.fetch(&agent, true).await;
                    // Who asked may be gone.
                    let _ = answer.send(self.silent_since.is_none());
                }
                Ok(None) => break,
            }
        }
        self.fetch(&agent, true).await;
        self.finish(&agent).await;
    }

    /// Fetches what is new. Failure is noted, and tried again the next time.
    async fn fetch(&mut self, agent: &Remote, now: bool) {
        match self.try_fetch(agent, now).await {
            Ok(()) => self.silent_since = None,
            Err(error) => {
                let now_ns = self.clock.now_ns();
                self.silent_since.get_or_insert_with(|| (now_ns, error.to_string()));
            }
        }
    }

    async fn try_fetch(&mut self, agent: &Remote, now: bool) -> Result<(), AgentError> {
        if self.clock.now_ns().saturating_sub(self.offset.at_ns) > OFFSET_AGE_NS {
            self.measure(agent).await?;
        }
        loop {
            let had = self.watch.map(|watch| (watch, self.had));
            let piece = agent.piece(&self.run.run, self.run.port, had, now).await?;
            let begun_anew = self.watch != Some(piece.watch) || piece.instance != self.instance;
            if piece.instance != self.instance {
                // Another start of the agent has another clock.
                self.measure(agent).await?;
            }
            if begun_anew {
                self.had = Cursor { devices: piece.devices_from, host: piece.host_from };
                self.watch = Some(piece.watch);
            }
            let more = piece.more;
            self.join(piece, begun_anew);
            if !more {
                return Ok(());
            }
        }
    }

    async fn measure(&mut self, agent: &Remote) -> Result<(), AgentError> {
        let (offset, instance) = agent.clock(ROUND_TRIPS).await?;
        self.restarted |= instance != self.instance;
        (self.offset, self.instance) = (offset, instance);
        let mut series = lock(&self.series);
        if let Some(link) = &mut series.meta.sampling.agent {
            link.measured += 1;
            link.uncertainty_ns = link.uncertainty_ns.max(Some(self.offset.uncertainty_ns));
        }
        Ok(())
    }

    /// Puts a piece into the series, on the run's time line.
    fn join(&mut self, piece: Piece, begun_anew: bool) {
        let mut series = lock(&self.series);
        let first = series.meta.sampling.interval_seconds == 0.0;
        if first {
            series.meta.devices.clone_from(&piece.meta.devices);
        }
        let sampling = &mut series.meta.sampling;
        let of_agent = &piece.meta.sampling;
        sampling.interval_seconds = of_agent.interval_seconds;
        sampling.power_interval_seconds = of_agent.power_interval_seconds;
        sampling.cpu_share = of_agent.cpu_share;
        // An offset that was measured anew may be a little smaller: time never runs backwards in a series.
        let mut least = (
            series.devices.last().map_or(0, |row| row.time_ns),
            series.host.last().map_or(0, |row| row.time_ns),
        );
        let offset_ns = i128::from(self.offset.offset_ns);
        let mapped = |time_ns: u64| u64::try_from(i128::from(time_ns) + offset_ns).ok();
        // Rows that came before are skipped, and so are those from before the run.
        let skip = Cursor {
            devices: self.had.devices.saturating_sub(piece.devices_from),
            host: self.had.host.saturating_sub(piece.host_from),
        };
        let had_any = !series.devices.is_empty() || !series.host.is_empty();
        let (count, host_count) = (piece.devices.len(), piece.host.len());
        let mut begin_ns = None;
        for mut row in piece.devices.into_iter().skip(skip.devices) {
            let Some(time_ns) = mapped(row.time_ns) else { continue };
            row.time_ns = time_ns.max(least.0);
            least.0 = row.time_ns;
            begin_ns.get_or_insert(row.time_ns);
            series.devices.push(row);
        }
        for mut row in piece.host.into_iter().skip(skip.host) {
            let Some(time_ns) = mapped(row.time_ns) else { continue };
            row.time_ns = time_ns.max(least.1);
            least.1 = row.time_ns;
            series.host.push(row);
        }
        self.had.devices = self.had.devices.max(piece.devices_from + count);
        self.had.host = self.had.host.max(piece.host_from + host_count);
        // Rows that waited while the agent could not be reached are no gap; those of a reading that was lost are.
        if begun_anew && had_any {
            let (from_ns, why) = self
                .silent_since
                .take()
                .unwrap_or_else(|| (self.clock.now_ns(), "the agent began to read anew".to_owned()));
            series.meta.sampling.gaps.push(SamplingGap { from_ns, to_ns: begin_ns, why });
        }
    }

    /// The clock at the end, and what is missing by then.
    async fn finish(&mut self, agent: &Remote) {
        let is_there = self.silent_since.is_none();
        let end = if is_there { agent.clock(ROUND_TRIPS).await.ok() } else { None };
        let mut series = lock(&self.series);
        let sampling = &mut series.meta.sampling;
        if let Some((from_ns, why)) = self.silent_since.take() {
            sampling.gaps.push(SamplingGap { from_ns, to_ns: None, why });
        }
        let (Some(link), Some((end, instance))) = (&mut sampling.agent, end) else { return };
        link.measured += 1;
        link.end = Some(end);
        if instance == self.instance && !self.restarted {
            link.drift_ppm = link.start.and_then(|start| drift(start, end));
        }
    }
}

/// How one clock ran against another between two offsets, parts per million.
fn drift(start: ClockOffset, end: ClockOffset) -> Option<f64> {
    let apart_ns = end.at_ns.saturating_sub(start.at_ns);
    let moved_ns = end.offset_ns.checked_sub(start.offset_ns)?;
    let told = moved_ns.unsigned_abs() > start.uncertainty_ns + end.uncertainty_ns;
    (apart_ns >= DRIFT_FROM_NS && told).then(|| moved_ns as f64 / apart_ns as f64 * 1e6)
}

#[cfg(test)]
mod tests {
    use tokometer_record::ClockOffset;

    use super::drift;

    #[test]
    fn a_drift_is_told_where_it_can_be() {
        let at = |seconds: u64, offset_ns: i64| ClockOffset {
            at_ns: seconds * 1_000_000_000,
            offset_ns,
            uncertainty_ns: 100_000,
            round_trips: 8,
        };
        assert_eq!(drift(at(0, 5), at(100, 2_000_005)), Some(20.0));
        assert_eq!(drift(at(0, 5), at(100, 5 - 2_000_000)), Some(-20.0));
        // Within their uncertainties, and too soon.
        assert_eq!(drift(at(0, 5), at(100, 200_000)), None);
        assert_eq!(drift(at(0, 5), at(9, 2_000_005)), None);
        assert_eq!(drift(at(0, i64::MAX), at(100, i64::MIN)), None);
    }
}
