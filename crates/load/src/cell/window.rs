//! Window: the streams run, and only time passes.

use std::time::Duration;

use super::gathering::Gathering;
use super::{CellSpec, Conductor, LivePhase};
use crate::flight::Flight;

/// How often a display, the wall clock and the streams are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The time over which the live rate is taken.
const RATE_OVER_NS: u64 = 500_000_000;

impl Conductor {
    /// Lets the window pass. It ends early when the user wants to end, or no stream is left.
    pub(super) async fn window(&self, spec: &CellSpec, flight: &Flight, cell: &mut Gathering) {
        let offset_ns = self.clock.realtime_offset_ns();
        let start = self.clock.now_ns();
        let end = start.saturating_add(u64::try_from(spec.duration.as_nanos()).unwrap_or(u64::MAX));
        cell.meta.window_start_ns = Some(start);
        let mut pace = Pace { since_ns: start, events: flight.state.events(), per_second: 0.0 };
        let mut now = start;
        while now < end && !flight.state.all(|stream| &stream.stopped) {
            pace.look(now, flight.state.events());
            self.show(LivePhase::Window, start, spec.duration.as_secs_f64(), pace.per_second);
            let uninterrupted = self.pause(LOOK_EVERY.min(Duration::from_nanos(end - now))).await;
            now = self.clock.now_ns();
            let step_ns = (self.clock.realtime_offset_ns() - offset_ns).unsigned_abs();
            let step_ns = u64::try_from(step_ns).unwrap_or(u64::MAX);
            cell.meta.clock_step_ns = cell.meta.clock_step_ns.max(step_ns);
            if !uninterrupted && now < end {
                cell.meta.interrupted = true;
                break;
            }
        }
        cell.meta.window_end_ns = Some(now.min(end));
    }
}

/// Events per second, for a display.
struct Pace {
    since_ns: u64,
    events: u64,
    per_second: f64,
}

impl Pace {
    fn look(&mut self, now_ns: u64, events: u64) {
        let passed_ns = now_ns.saturating_sub(self.since_ns);
        if passed_ns >= RATE_OVER_NS {
            let per_second = events.saturating_sub(self.events) as f64 / passed_ns as f64 * 1e9;
            *self = Pace { since_ns: now_ns, events, per_second };
        }
    }
}
