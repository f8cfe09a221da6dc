//! Reads a machine on a thread of its own: everything twice a second, power and energy ten times a second where
//! that is cheap.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokometer_record::{DeviceMeta, DeviceSample, Hardware, HostSample, Sampling, Telemetry, TelemetryMeta};
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
    asked: mpsc::Sender<Asked>,
    thread: Option<JoinHandle<()>>,
    series: Arc<Mutex<Telemetry>>,
}

/// What the thread can be asked for.
enum Asked {
    /// A reading at once; it answers when the reading is in the series.
    Reading(mpsc::Sender<()>),
    Stop,
}

/// How much of a series somebody has: readings of accelerators and of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Readings of accelerators.
    pub devices: usize,
    /// Readings of the host.
    pub host: usize,
}

impl Cursor {
    /// All that is in a series.
    pub fn end_of(series: &Telemetry) -> Cursor {
        Cursor { devices: series.devices.len(), host: series.host.len() }
    }

    /// The rows of a series behind this one.
    pub fn rest_of(self, series: &Telemetry) -> Telemetry {
        Telemetry {
            meta: series.meta.clone(),
            devices: series.devices.get(self.devices..).unwrap_or_default().to_vec(),
            host: series.host.get(self.host..).unwrap_or_default().to_vec(),
            server: Vec::new(),
        }
    }
}

impl Watch {
    pub(crate) fn start(
        root: Root,
        sources: Vec<Box<dyn Source>>,
        hardware: &Hardware,
        run: &str,
        clock: Clock,
    ) -> io::Result<Watch> {
        let reader = Reader::new(root, sources, clock, hardware, run);
        let series = Arc::clone(&reader.series);
        let (asked, questions) = mpsc::channel();
        let thread =
            std::thread::Builder::new().name("telemetry".to_owned()).spawn(move || reader.run(&questions))?;
        Ok(Watch { asked, thread: Some(thread), series })
    }

    /// Reads the accelerators once more, now: what ended before this lies between two readings. False if the thread has
    /// ended.
    pub fn read_now(&self) -> bool {
        let (answer, done) = mpsc::channel();
        self.asked.send(Asked::Reading(answer)).is_ok() && done.recv().is_ok()
    }

    /// Looks at the series so far. Reading waits meanwhile.
    pub fn with<T>(&self, look: impl FnOnce(&Telemetry) -> T) -> T {
        look(&lock(&self.series))
    }

    /// Forgets the first rows of the series.
    pub(crate) fn forget(&self, rows: Cursor) {
        let mut series = lock(&self.series);
        let (devices, host) = (rows.devices.min(series.devices.len()), rows.host.min(series.host.len()));
        series.devices.drain(..devices);
        series.host.drain(..host);
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
        let _ = self.asked.send(Asked::Stop);
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
pub struct Latest(pub(crate) Arc<Mutex<Telemetry>>);

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
    fn new(
        root: Root,
        sources: Vec<Box<dyn Source>>,
        clock: Clock,
        hardware: &Hardware,
        run: &str,
    ) -> Reader {
        let mut places = Vec::new();
        for (source, of) in sources.iter().enumerate() {
            for device in of.devices() {
                let index = u32::try_from(places.len()).unwrap_or(u32::MAX);
                places.push(Place { index, source, device: device.index });
            }
        }
        let reasons = |index: u32| {
            let place = places.iter().find(|place| place.index == index);
            place.map(|place| sources[place.source].reasons()).unwrap_or_default()
        };
        let meta = TelemetryMeta {
            schema: TelemetryMeta::SCHEMA.to_owned(),
            run: run.to_owned(),
            devices: hardware
                .devices
                .iter()
                .map(|device| DeviceMeta {
                    index: device.index,
                    name: device.name.clone(),
                    used_by_server: device.used_by_server,
                    core_clock_max_mhz: device.core_clock_max_mhz,
                    reasons: reasons(device.index),
                })
                .collect(),
            hardware: Some(hardware.clone()),
            sampling: Sampling {
                source: "local".to_owned(),
                interval_seconds: FULL.as_secs_f64(),
                power_interval_seconds: POWER.as_secs_f64(),
                ..Sampling::default()
            },
        };
        let series = Arc::new(Mutex::new(Telemetry { meta, ..Telemetry::default() }));
        Reader { root, sources, places, clock, series }
    }

    fn run(&self, asked: &mpsc::Receiver<Asked>) {
        let start_ns = self.clock.now_ns();
        let cpu_start = thread_cpu_seconds();
        let mut cpu = CpuTime::read(&self.root);
        let mut power_every = POWER;
        let mut next_full_ns = start_ns;
        let mut round = 0_usize;
        loop {
            let now_ns = self.clock.now_ns();
            let full = now_ns >= next_full_ns;
            let mut samples = self.read_all(full);
            let host = full.then(|| host::sample(&self.root, now_ns, &mut cpu));
            if full {
                next_full_ns = now_ns + FULL.as_nanos() as u64;
                self.slow(round, &mut samples);
                round += 1;
            }
            let cost = self.cost(start_ns, cpu_start);
            {
                let mut series = lock(&self.series);
                series.devices.extend(samples);
                series.host.extend(host);
                let sampling = &mut series.meta.sampling;
                sampling.cpu_share = cost;
                if power_every < FULL
                    && now_ns - start_ns > COST_FROM_NS
                    && cost.is_some_and(|cost| cost > COST_LIMIT)
                {
                    power_every = FULL;
                    sampling.power_interval_seconds = FULL.as_secs_f64();
                }
            }
            let pause = if self.places.is_empty() { FULL } else { power_every };
            if self.wait(now_ns + pause.as_nanos() as u64, asked) {
                break;
            }
        }
        // The end of the last cell lies before this.
        let samples = self.read_all(true);
        lock(&self.series).devices.extend(samples);
    }

    /// Waits for the next reading, and answers what is asked meanwhile; true if that is the end.
    fn wait(&self, until_ns: u64, asked: &mpsc::Receiver<Asked>) -> bool {
        loop {
            let left = Duration::from_nanos(until_ns.saturating_sub(self.clock.now_ns()));
            match asked.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) => return false,
                Ok(Asked::Reading(answer)) => {
                    let samples = self.read_all(true);
                    lock(&self.series).devices.extend(samples);
                    // Who asked may be gone.
                    let _ = answer.send(());
                }
                Ok(Asked::Stop) | Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
    }

    fn read_all(&self, full: bool) -> Vec<DeviceSample> {
        self.places.iter().map(|place| self.read(place, full)).collect()
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

    /// Reads what takes long into the sample of one device, another one each round.
    fn slow(&self, round: usize, samples: &mut [DeviceSample]) {
        let Some(place) = self.places.get(round % self.places.len().max(1)) else { return };
        let sample = samples.iter_mut().find(|sample| sample.device == place.index);
        if let Some(sample) = sample {
            self.sources[place.source].slow(place.device, sample);
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
