//! What is counted, as Prometheus reads it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper ends of the time classes, seconds.
const CLASSES: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

/// Counters of this process.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    answers: Mutex<BTreeMap<(String, String, u16), Times>>,
    uploads: Mutex<BTreeMap<&'static str, u64>>,
    connections: AtomicU64,
}

#[derive(Debug, Clone, Default)]
struct Times {
    count: u64,
    seconds: f64,
    classes: [u64; CLASSES.len()],
}

impl Metrics {
    /// Counts an answer. `route` is the pattern, never the address: what strangers send must not grow the list.
    pub(crate) fn answered(&self, method: &str, route: &str, status: u16, time: Duration) {
        let mut answers = self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let times = answers.entry((method.to_owned(), route.to_owned(), status)).or_default();
        let seconds = time.as_secs_f64();
        times.count += 1;
        times.seconds += seconds;
        for (class, end) in times.classes.iter_mut().zip(CLASSES) {
            *class += u64::from(seconds <= end);
        }
    }

    /// Counts what became of an upload: `created`, `replayed`, or a problem's code.
    pub(crate) fn uploaded(&self, outcome: &'static str) {
        let mut uploads = self.uploads.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *uploads.entry(outcome).or_default() += 1;
    }

    /// One connection more.
    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// One connection less.
    pub(crate) fn disconnected(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// All of it as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string can't fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let answers = self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let name = "tokometer_site_http_request_duration_seconds";
        writeln!(out, "# HELP {name} Time from the head of a request to the head of its answer.")?;
        writeln!(out, "# TYPE {name} histogram")?;
        for ((method, route, status), times) in &answers {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            for (count, end) in times.classes.iter().zip(CLASSES) {
                writeln!(out, "{name}_bucket{{{labels},le=\"{end}\"}} {count}")?;
            }
            writeln!(out, "{name}_bucket{{{labels},le=\"+Inf\"}} {}", times.count)?;
            writeln!(out, "{name}_sum{{{labels}}} {}", times.seconds)?;
            writeln!(out, "{name}_count{{{labels}}} {}", times.count)?;
        }
        let name = "tokometer_site_uploads_total";
        writeln!(out, "# HELP {name} Uploaded runs by what became of them.\n# TYPE {name} counter")?;
        for (outcome, count) in self.uploads.lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter()
        {
            writeln!(out, "{name}{{outcome=\"{outcome}\"}} {count}")?;
        }
        let name = "tokometer_site_connections";
        writeln!(out, "# HELP {name} Open connections.\n# TYPE {name} gauge")?;
        writeln!(out, "{name} {}", self.connections.load(Ordering::Relaxed))
    }
}
