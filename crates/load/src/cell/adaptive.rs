//! Windows whose length hangs on what is found while they run. The rule is the caller's: this crate computes no
//! statistics. It sees copies of the recorded events, never the streams themselves.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokometer_record::{AdaptiveCheck, AdaptiveEnd, AdaptiveWindow, EventRow};

use crate::flight::Flight;

/// Decides while a window runs when it ends.
pub trait WindowRule: Send {
    /// Seconds from the window's start to the check that follows one at `seconds` (0: the first).
    fn next_check(&self, seconds: f64) -> f64;

    /// Takes events that were recorded since the last call: the first time also those before the window, and
    /// always a few that arrived behind the check.
    fn take(&mut self, events: &[EventRow]);

    /// Judges the window up to `seconds` from its start.
    fn check(&mut self, seconds: f64) -> Checked;
}

/// What a check found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Checked {
    /// Half-width of the interval ÷ estimate, where it can be made.
    pub half_width_relative: Option<f64>,
    /// Why the window ends at this check; none: it goes on.
    pub end: Option<AdaptiveEnd>,
}

/// What decides the length of a cell's window.
#[derive(Clone)]
pub struct Adaptive {
    /// The longest that the window may be.
    pub longest: Duration,
    /// Makes the rule of a window that starts at this time, ns from the run's start.
    pub begin: Arc<dyn Fn(u64) -> Box<dyn WindowRule> + Send + Sync>,
}

impl fmt::Debug for Adaptive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adaptive").field("longest", &self.longest).finish_non_exhaustive()
    }
}

/// Behind the time of a check, so that what arrived before it has been handled.
const SETTLE_NS: u64 = 100_000_000;

/// The checks of one window.
pub(super) struct Checks {
    rule: Box<dyn WindowRule>,
    start_ns: u64,
    next_seconds: f64,
    found: AdaptiveWindow,
}

impl Checks {
    pub(super) fn begin(adaptive: &Adaptive, asked: Duration, start_ns: u64) -> Checks {
        let rule = (adaptive.begin)(start_ns);
        Checks {
            next_seconds: rule.next_check(0.0),
            rule,
            start_ns,
            found: AdaptiveWindow {
                asked_seconds: asked.as_secs_f64(),
                longest_seconds: adaptive.longest.as_secs_f64(),
                checks: Vec::new(),
                end: AdaptiveEnd::Undecided,
            },
        }
    }

    /// When the next check is made: a moment behind the time that it is about.
    pub(super) fn due_ns(&self) -> u64 {
        self.next_ns().saturating_add(SETTLE_NS)
    }

    /// Makes the check; the window's end, if it is decided now.
    pub(super) async fn make(&mut self, flight: &Flight) -> Option<u64> {
        self.rule.take(&flight.look().await);
        let seconds = self.next_seconds;
        let checked = self.rule.check(seconds);
        self.found.checks.push(AdaptiveCheck { seconds, half_width_relative: checked.half_width_relative });
        let end_ns = self.next_ns();
        self.next_seconds = self.rule.next_check(seconds);
        // Whatever the rule says, it is not asked for ever.
        let last = self.next_seconds > self.found.longest_seconds.max(self.found.asked_seconds);
        self.found.end = checked.end.or(last.then_some(AdaptiveEnd::Limit))?;
        Some(end_ns)
    }

    /// What was found, for the record.
    pub(super) fn found(self) -> AdaptiveWindow {
        self.found
    }

    /// The time that the next check is about.
    fn next_ns(&self) -> u64 {
        self.start_ns.saturating_add((self.next_seconds * 1e9).round() as u64)
    }
}
