//! From events to the progress that the rule looks at: in the same way while a window runs and from its trace.

use std::collections::HashMap;

use tokometer_record::{AdaptiveCheck, AdaptiveEnd, AdaptiveWindow, CellTrace, EventRow, Phase, RequestKind};

use super::{Decision, Progress, Stop, decide, half_width, next_check};
use crate::rates::seconds;

/// Steps of the progress. Checks lie on them.
const STEP_NS: u64 = 10_000_000;
const STEPS_PER_SECOND: f64 = 100.0;

/// Follows one adaptive window: takes events in any order of requests, each request's own in order of arrival.
#[derive(Debug)]
pub struct Watch {
    start_ns: u64,
    duration_seconds: f64,
    requests: HashMap<u32, Seen>,
    steps: Vec<Step>,
}

/// What has been seen of a request.
#[derive(Debug, Default)]
struct Seen {
    /// True if the server told a count by the first payload event.
    told: bool,
    count: u32,
    last_payload_ns: Option<u64>,
}

/// What happened in one step of time.
#[derive(Debug, Clone, Copy, Default)]
struct Step {
    tokens: u64,
    stream_ns: u64,
}

impl Watch {
    /// Of a window that starts at `start_ns` and was asked to last `duration_seconds`.
    pub fn new(start_ns: u64, duration_seconds: f64) -> Watch {
        Watch { start_ns, duration_seconds, requests: HashMap::new(), steps: Vec::new() }
    }

    /// Takes an event of one of the cell's streams.
    pub fn take(&mut self, event: &EventRow) {
        let seen = self.requests.entry(event.request).or_default();
        let Some(last_ns) = seen.last_payload_ns else {
            // Up to the first payload event a request does not decode.
            seen.count = seen.count.max(event.tokens.unwrap_or(0));
            seen.told = seen.count > 0;
            seen.last_payload_ns = event.payload.then_some(event.arrival_ns);
            return;
        };
        let tokens = if seen.told {
            let count = seen.count.max(event.tokens.unwrap_or(0));
            count - std::mem::replace(&mut seen.count, count)
        } else {
            u32::from(event.payload)
        };
        if event.payload {
            seen.last_payload_ns = Some(event.arrival_ns);
        }
        // A gap that began before the window would bring its tokens and only a part of its time.
        if last_ns < self.start_ns {
            return;
        }
        let since_start = event.arrival_ns.saturating_sub(self.start_ns);
        let index = (since_start / STEP_NS) as usize;
        if self.steps.len() <= index {
            self.steps.resize(index + 1, Step::default());
        }
        let step = &mut self.steps[index];
        step.tokens += u64::from(tokens);
        if event.payload {
            step.stream_ns += event.arrival_ns.saturating_sub(last_ns);
        }
    }

    /// When to look next, in seconds since the window's start.
    pub fn next_check(&self, seconds: f64) -> f64 {
        // The asked duration may lie between two steps.
        (next_check(seconds, self.duration_seconds) * STEPS_PER_SECOND - 1e-6).ceil() / STEPS_PER_SECOND
    }

    /// Judges the window up to `seconds` from its start.
    pub fn check(&self, seconds: f64) -> (AdaptiveCheck, Option<AdaptiveEnd>) {
        let history = self.history(seconds);
        let half_width_relative = half_width(&history, seconds);
        let end = match decide(&history, self.duration_seconds) {
            Decision::Continue => None,
            Decision::Stop(Stop::Precise) => Some(AdaptiveEnd::Precise),
            Decision::Stop(Stop::GoodEnough) => Some(AdaptiveEnd::GoodEnough),
            Decision::Stop(Stop::Limit) => Some(AdaptiveEnd::Limit),
        };
        (AdaptiveCheck { seconds, half_width_relative }, end)
    }

    fn history(&self, until: f64) -> Vec<Progress> {
        let steps = (until * STEPS_PER_SECOND).round() as usize;
        let (mut tokens, mut stream_ns) = (0_u64, 0_u64);
        (0..steps)
            .map(|index| {
                let step = self.steps.get(index).copied().unwrap_or_default();
                tokens += step.tokens;
                stream_ns += step.stream_ns;
                Progress {
                    seconds: (index + 1) as f64 / STEPS_PER_SECOND,
                    tokens: tokens as f64,
                    stream_seconds: seconds(stream_ns),
                }
            })
            .collect()
    }
}

/// Makes the checks of a recorded adaptive window again, from its events; `None` where its length was fixed or it
/// was not reached. What differs from the checks in the trace arrived before a check and was handled behind it.
pub fn replay(trace: &CellTrace) -> Option<AdaptiveWindow> {
    let recorded = trace.meta.adaptive.as_ref().filter(|_| trace.meta.phase == Phase::Decode)?;
    let (start_ns, end_ns) = (trace.meta.window_start_ns?, trace.meta.window_end_ns?);
    let mut watch = Watch::new(start_ns, recorded.asked_seconds);
    let of_streams: HashMap<u32, bool> =
        trace.requests.iter().map(|row| (row.request, row.kind == RequestKind::Stream)).collect();
    for event in &trace.events {
        if of_streams.get(&event.request) == Some(&true) {
            watch.take(event);
        }
    }
    let mut found = AdaptiveWindow { checks: Vec::new(), end: AdaptiveEnd::Undecided, ..recorded.clone() };
    // A check at the very end belongs to the window; its time is rounded to nanoseconds.
    let length = seconds(end_ns.saturating_sub(start_ns)) + 1e-6;
    let mut next = watch.next_check(0.0);
    while next <= length {
        let (check, end) = watch.check(next);
        found.checks.push(check);
        if let Some(end) = end {
            found.end = end;
            break;
        }
        next = watch.next_check(next);
    }
    Some(found)
}
