//! Reads a machine on a thread of its own: everything twice a second, power and energy ten times a second where
//! that is cheap.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokometer_record::{DeviceMeta, DeviceSample, Hardware, HostSample, Telemetry, TelemetryMeta};
use tokometer_wire::clock::Clock;

use crate::host::{self, CpuTime};
use crate::root::Root;
use crate::source::Source;

/// Between two full readings.
const FULL: Duration = Duration::from_millis(500);
/// Between two readings of power.
const POWER: Duration = Duration::from_millis(100);
/// Share of one CPU that reading may take; above it power is read with the rest only.
const COST_LIMIT: f64 = 0.005;
/// Time from which the cost is judged.
const COST_FROM_NS: u64 = 5_000_000_000;

/// A machine that is being read.
pub struct Watch {
    stop: mpsc::Sender<()>,
    thread: Option<JoinHandle<()>>,
    series: Arc<Mutex<Telemetry>>,
}

impl Watch {
    pub(crate) fn start(
        root: Root,
        sources: Vec<Box<dyn Source>>,
        hardware: &Hardware,
        run: &str,
        clock: Clock,
    ) -> io::Result<Watch> {
        let meta = TelemetryMeta {
            schema: TelemetryMeta::SCHEMA.to_owned(),
            run: run.to_owned(),
            interval_seconds: FULL.as_secs_f64(),
            power_interval_seconds: POWER.as_secs_f64(),
            cost_cpu_share: None,
            devices: hardware
                .devices
                .iter()
                .map(|device| DeviceMeta {
                    index: device.index,
                    name: device.name.clone(),
                    used_by_server: device.used_by_server,
                    core_clock_max_mhz: device.core_clock_max_mhz,
                })
                .collect(),
        };
        let series = Arc::new(Mutex::new(Telemetry { meta, ..Telemetry::default() }));
        let (stop, stopped) = mpsc::channel();
        let reader = Reader::new(root, sources, clock, Arc::clone(&series));
        let thread =
            std::thread::Builder::new().name("telemetry".to_owned()).spawn(move || reader.run(&stopped))?;
        Ok(Watch { stop, thread: Some(thread), series })
    }

    /// The series so far.
    pub fn series(&self) -> Telemetry {
        lock(&self.series).clone()
    }

    /// The last readings, for a display; it may be asked from any thread as long as it lives.
    pub fn latest(&self) -> Latest {
        Latest(Arc::clone(&self.series))
    }

    /// Stops reading; the whole series, with a last reading at its end.
    pub fn stop(mut self) -> Telemetry {
        self.end();
        std::mem::take(&mut *lock(&self.series))
    }

    fn end(&mut self) {
        // A thread that is gone already hears nothing, and needs not.
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            // Its panic would have been shown where it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end();
    }
}

/// The last readings of a machine that is being read.
#[derive(Debug, Clone)]
pub struct Latest(Arc<Mutex<Telemetry>>);

impl Latest {
    /// The last full reading of each device, in the order of their numbers, and the last of the host.
    pub fn get(&self) -> (Vec<DeviceSample>, Option<HostSample>) {
        let series = lock(&self.0);
        let count = series.meta.devices.len();
        let mut last: Vec<DeviceSample> = Vec::new();
        // Full readings come twice a second; what is older than some hundred rows says nothing of now.
        for row in series.devices.iter().rev().filter(|row| row.full).take(4 * count) {
            if !last.iter().any(|known| known.device == row.device) {
                last.push(*row);
            }
        }
        last.sort_by_key(|row| row.device);
        (last, series.host.last().copied())
    }
}

fn lock(series: &Mutex<Telemetry>) -> MutexGuard<'_, Telemetry> {
    series.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One device: its number in the record, its driver, its number there.
struct Place {
    index: u32,
    source: usize,
    device: u32,
}

struct Reader {
    root: Root,
    sources: Vec<Box<dyn Source>>,
    places: Vec<Place>,
    clock: Clock,
    series: Arc<Mutex<Telemetry>>,
}

impl Reader {
    fn new(root: Root, sources: Vec<Box<dyn Source>>, clock: Clock, series: Arc<Mutex<Telemetry>>) -> Reader {
        let mut places = Vec::new();
        for (source, of) in sources.iter().enumerate() {
            for device in of.devices() {
                let index = u32::try_from(places.len()).unwrap_or(u32::MAX);
                places.push(Place { index, source, device: device.index });
            }
        }
        Reader { root, sources, places, clock, series }
    }

    fn run(&self, stopped: &mpsc::Receiver<()>) {
        let start_ns = self.clock.now_ns();
        let cpu_start = thread_cpu_seconds();
        let mut cpu = CpuTime::read(&self.root);
        let mut power_every = POWER;
        let mut next_full_ns = start_ns;
        let mut round = 0_usize;
        loop {
            let now_ns = self.clock.now_ns();
            let full = now_ns >= next_full_ns;
            let samples: Vec<DeviceSample> = self.places.iter().map(|place| self.read(place, full)).collect();
            let host = full.then(|| host::sample(&self.root, now_ns, &mut cpu));
            let cost = self.cost(start_ns, cpu_start);
            {
                let mut series = lock(&self.series);
                series.devices.extend(samples);
                series.host.extend(host);
                series.meta.cost_cpu_share = cost;
                if power_every < FULL
                    && now_ns - start_ns > COST_FROM_NS
                    && cost.is_some_and(|cost| cost > COST_LIMIT)
                {
                    power_every = FULL;
                    series.meta.power_interval_seconds = FULL.as_secs_f64();
                }
            }
            if full {
                next_full_ns = now_ns + FULL.as_nanos() as u64;
                self.slow(round);
                round += 1;
            }
            let spent = Duration::from_nanos(self.clock.now_ns().saturating_sub(now_ns));
            let pause = if self.places.is_empty() { FULL } else { power_every };
            match stopped.recv_timeout(pause.saturating_sub(spent)) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        // The end of the last cell lies before this.
        let samples: Vec<DeviceSample> = self.places.iter().map(|place| self.read(place, true)).collect();
        lock(&self.series).devices.extend(samples);
    }

    fn read(&self, place: &Place, full: bool) -> DeviceSample {
        let source = &self.sources[place.source];
        let mut sample = DeviceSample { device: place.index, full, ..DeviceSample::default() };
        // The stamp belongs to power and energy: they are what is summed over time.
        sample.time_ns = self.clock.now_ns();
        source.power(place.device, &mut sample);
        if full {
            source.rest(place.device, &mut sample);
        }
        sample
    }

    /// Reads what takes long, for one device a round, and puts it into that device's last full row.
    fn slow(&self, round: usize) {
        let Some(place) = self.places.get(round % self.places.len().max(1)) else { return };
        let mut read = DeviceSample::default();
        self.sources[place.source].slow(place.device, &mut read);
        let mut series = lock(&self.series);
        let row = series.devices.iter_mut().rev().find(|row| row.full && row.device == place.index);
        if let Some(row) = row {
            (row.pcie_received, row.pcie_sent) = (read.pcie_received, read.pcie_sent);
        }
    }

    /// Share of one CPU that this thread has taken.
    fn cost(&self, start_ns: u64, cpu_start: Option<f64>) -> Option<f64> {
        let wall = self.clock.now_ns().saturating_sub(start_ns) as f64 / 1e9;
        let cpu = thread_cpu_seconds()? - cpu_start?;
        (wall > 1.0).then(|| cpu / wall)
    }
}

/// CPU time of this thread.
#[cfg(target_os = "linux")]
fn thread_cpu_seconds() -> Option<f64> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
    Some((usage.user_time() + usage.system_time()).num_microseconds() as f64 / 1e6)
}

/// Not told per thread here.
#[cfg(not(target_os = "linux"))]
fn thread_cpu_seconds() -> Option<f64> {
    None
}
