//! Ready: when may the window begin?

use std::time::Duration;

use tokometer_record::Ready;

use super::gathering::Gathering;
use super::sampler::{Reading, Sampler};
use super::{CellSpec, Conductor, LivePhase};
use crate::flight::{CellState, Flight};

/// How often the conditions are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Conductor {
    /// Waits for readiness, and leaves in `cell` how that went; false if the cell must end now, since a request
    /// failed or the user wants to end.
    pub(super) async fn wait_until_ready(
        &self,
        spec: &CellSpec,
        flight: &Flight,
        sampler: &Sampler,
        cell: &mut Gathering,
    ) -> bool {
        let start = self.clock.now_ns();
        let limit = self.timing.ready_limit_of(spec.context_nominal);
        let mut good_since: Option<Duration> = None;
        loop {
            if flight.state.any_failed() {
                return false;
            }
            if self.wants_to_end() {
                cell.meta.interrupted = true;
                return false;
            }
            let elapsed = self.since(start);
            let mut missing = missing(elapsed, self.timing.ready_minimum, &flight.state, sampler.latest());
            if missing.is_empty() {
                let since = *good_since.get_or_insert(elapsed);
                if elapsed.saturating_sub(since) >= self.timing.ready_stable {
                    cell.meta.ready = Some(ready(elapsed, limit, Vec::new()));
                    return true;
                }
            } else {
                good_since = None;
            }
            if elapsed >= limit {
                if missing.is_empty() {
                    missing.push("the conditions did not hold long enough".to_owned());
                }
                cell.meta.ready = Some(ready(elapsed, limit, missing));
                return true;
            }
            self.show_streams(LivePhase::Ready, start, limit.as_secs_f64(), flight, missing);
            // An interrupt is seen at the top.
            self.pause(LOOK_EVERY.min(limit.saturating_sub(elapsed))).await;
        }
    }
}

fn ready(elapsed: Duration, limit: Duration, missing: Vec<String>) -> Ready {
    Ready {
        reached: missing.is_empty(),
        seconds: elapsed.as_secs_f64(),
        limit_seconds: limit.as_secs_f64(),
        missing,
    }
}

/// What still keeps the window from starting; empty when nothing does.
fn missing(elapsed: Duration, minimum: Duration, state: &CellState, reading: Reading) -> Vec<String> {
    let mut missing = Vec::new();
    let streams = state.streams.len();
    if elapsed < minimum {
        missing.push(format!("{:.1} s of at least {} s", elapsed.as_secs_f64(), minimum.as_secs_f64()));
    }
    let with_token = state.with_token();
    if with_token < streams {
        missing.push(format!("{with_token} of {streams} streams have had a token"));
    }
    // Where requests come and go all the time, some are on their way in or out at every reading.
    if state.all_ended_one() {
        return missing;
    }
    match reading {
        Reading::NotYet => missing.push("the server's gauges have not been read yet".to_owned()),
        Reading::Silent => {}
        Reading::Sample(sample) => {
            if let Some(waiting) = sample.waiting.filter(|waiting| *waiting > 0.0) {
                missing.push(format!("{waiting} requests wait on the server"));
            }
            if let Some(running) = sample.running.filter(|running| *running < streams as f64) {
                missing.push(format!("the server runs {running} of {streams} requests"));
            }
        }
    }
    missing
}
