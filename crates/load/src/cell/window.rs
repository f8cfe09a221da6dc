//! Window: the streams run, and only time passes.

use std::pin::pin;
use std::time::Duration;

use super::adaptive::Checks;
use super::gathering::Gathering;
use super::{CellSpec, Conductor, LivePhase};
use crate::flight::Flight;
use crate::gauges;

/// How often a display, the wall clock and the streams are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Longest wait for the server's counters at the window's end, while the streams run on.
const EDGE_LIMIT: Duration = Duration::from_millis(500);

impl Conductor {
    /// Lets the window pass. It ends early when the user wants to end, or no stream is left; an adaptive one at
    /// the check that says so, and what arrives until the streams are cut is not part of it.
    pub(super) async fn window(&self, spec: &CellSpec, flight: &Flight, cell: &mut Gathering) {
        let offset_ns = self.clock.realtime_offset_ns();
        let start = self.clock.now_ns();
        let mut checks = spec.adaptive.as_ref().map(|adaptive| Checks::begin(adaptive, spec.duration, start));
        // Of an adaptive window it is not known yet.
        let mut end = match checks {
            Some(_) => u64::MAX,
            None => start.saturating_add(nanoseconds(spec.duration)),
        };
        cell.meta.window_start_ns = Some(start);
        let mut at_start = pin!(self.counters());
        let mut started = self.gauges.is_none();
        let mut now = start;
        while !flight.state.all(|stream| &stream.stopped) {
            if let Some(checks) = checks.as_mut().filter(|checks| checks.due_ns() <= now)
                && let Some(decided) = checks.make(flight).await
            {
                end = decided;
            }
            if now >= end {
                break;
            }
            self.show_streams(LivePhase::Window, start, spec.duration.as_secs_f64(), flight, Vec::new());
            let next = checks.as_ref().map_or(end, Checks::due_ns);
            let wait = LOOK_EVERY.min(Duration::from_nanos(next.saturating_sub(now)));
            let uninterrupted = tokio::select! {
                counters = &mut at_start, if !started => {
                    started = true;
                    cell.meta.counters_window_start = counters;
                    true
                }
                uninterrupted = self.pause(wait) => uninterrupted,
            };
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
        cell.meta.adaptive = checks.map(Checks::found);
        self.close_counters(cell).await;
    }

    /// Reads the counters at the window's end, where those at its start tell of speculative decoding. Others are
    /// read drain to drain.
    async fn close_counters(&self, cell: &mut Gathering) {
        let speculates = |start: &tokometer_record::CounterSnapshot| start.drafts.is_some();
        if !cell.meta.counters_window_start.as_ref().is_some_and(speculates) {
            cell.meta.counters_window_start = None;
            return;
        }
        cell.meta.counters_window_end =
            tokio::time::timeout(EDGE_LIMIT, self.counters()).await.unwrap_or_default();
    }

    /// The server's counters now, where it tells them.
    async fn counters(&self) -> Option<tokometer_record::CounterSnapshot> {
        Some(gauges::snapshot(&self.gauges.as_ref()?.read().await?))
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
