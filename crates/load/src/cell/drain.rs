//! Drain: waiting until the server has no request.

use std::time::Duration;

use tokometer_record::{CounterSnapshot, FailureKind};
use tokometer_wire::metrics::Sample;

use super::gathering::Gathering;
use super::{Conductor, LivePhase};
use crate::gauges;

/// Which drain of a cell it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before requests are sent: without an empty server they are not.
    Before,
    /// Behind them: what is measured stays measured, whatever the server does now.
    After,
}

/// How a drain ended.
#[derive(Debug, Default)]
pub(super) struct Drained {
    /// The server's counters then, where it tells them.
    pub(super) counters: Option<CounterSnapshot>,
    /// True if the server was seen to have no request.
    pub(super) seen: bool,
}

impl Conductor {
    /// Waits until the server has no request, where it tells.
    pub(super) async fn drain(&self, when: When, cell: &mut Gathering) -> Drained {
        let stable = self.timing.drain_stable;
        let Some(gauges) = &self.gauges else {
            self.pause(stable).await;
            return Drained::default();
        };
        let start = self.clock.now_ns();
        let mut answered = start;
        let mut last = None;
        let mut stretch = Stretch::default();
        loop {
            let limit = self.drain_limit(when, cell);
            self.show(LivePhase::Drain, start, limit.as_secs_f64());
            if let Some(sample) = gauges.read().await {
                answered = self.clock.now_ns();
                cell.samples.push(gauges::sample_row(&sample));
                if stretch.take(&sample) >= stable {
                    let seen = gauges::is_idle(&sample) == Some(true);
                    return Drained { counters: Some(gauges::snapshot(&sample)), seen };
                }
                last = Some(sample);
            }
            let waited = self.since(start);
            let silent = self.since(answered) >= self.timing.silence_limit;
            if silent || waited >= limit {
                if when == When::Before && silent {
                    cell.fail(FailureKind::Timeout, gone(self.since(answered)));
                } else if when == When::Before && !self.allow_busy {
                    cell.fail(FailureKind::Timeout, busy(last.as_ref(), waited));
                }
                return Drained { counters: last.as_ref().map(gauges::snapshot), seen: false };
            }
            match when {
                // Nothing is lost by ending here.
                When::Before if !self.pause(self.timing.drain_every).await => return Drained::default(),
                When::Before => {}
                When::After => tokio::time::sleep(self.timing.drain_every).await,
            }
        }
    }

    fn drain_limit(&self, when: When, cell: &Gathering) -> Duration {
        let lost = when == When::After && (cell.has_failed() || self.wants_to_end());
        if self.allow_busy || lost { self.timing.short_drain() } else { self.timing.drain_limit }
    }
}

/// Readings on end in which nothing ran, or, on a server that does not tell what runs, none at all; and in which
/// no token was counted.
#[derive(Default)]
struct Stretch {
    since_ns: Option<u64>,
    generated_tokens: Option<f64>,
}

impl Stretch {
    /// Takes a reading; how long the stretch is by now.
    fn take(&mut self, sample: &Sample) -> Duration {
        let moved = sample.generated_tokens != self.generated_tokens;
        self.generated_tokens = sample.generated_tokens;
        if gauges::is_idle(sample) == Some(false) {
            self.since_ns = None;
            return Duration::ZERO;
        }
        if moved {
            self.since_ns = None;
        }
        let since_ns = *self.since_ns.get_or_insert(sample.time_ns);
        Duration::from_nanos(sample.time_ns.saturating_sub(since_ns))
    }
}

fn gone(silence: Duration) -> String {
    format!(
        "the server's metrics have not answered for {:.0} s: is it still there?",
        silence.as_secs_f64().ceil()
    )
}

fn busy(last: Option<&Sample>, waited: Duration) -> String {
    let told = last.and_then(|sample| Some((sample.running?, sample.waiting.unwrap_or(0.0))));
    let what = match told {
        Some((running, waiting)) if running + waiting > 0.0 => {
            format!("runs {running} requests and has {waiting} waiting")
        }
        _ => "counts new tokens".to_owned(),
    };
    format!(
        "the server still {what} after {:.0} s: something else uses it; wait until it is idle, or pass --allow-busy",
        waited.as_secs_f64().ceil()
    )
}
