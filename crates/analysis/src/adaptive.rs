//! When an adaptive window may end (method section 6, `--adaptive`).
//!
//! The rule looks at the decoding rate so far: six equal batches of the window up to now, and the relative
//! half-width of their mean's interval. It is a pure function of what the streams have done; who runs the
//! window tells it by [`Progress`] and asks [`decide`] at each [`next_check`].

mod watch;

use tokometer_stats::batch_means;

use crate::rates::BATCHES;
use crate::samples::LEVEL;
pub use watch::{Watch, replay};

/// Checks come this far apart, the first after as much.
pub const CHECK_EVERY_SECONDS: f64 = 5.0;
/// No window ends before.
pub const LEAST_SECONDS: f64 = 10.0;
/// No window lasts longer, unless the user asked for more.
pub const MOST_SECONDS: f64 = 120.0;
/// Relative half-width at two successive checks that ends a window.
pub const PRECISE: f64 = 0.01;
/// Relative half-width that is enough once the asked duration is over.
pub const GOOD_ENOUGH: f64 = 0.02;

/// A check is taken as due from so shortly before: clocks are read, not obeyed.
const EARLY_SECONDS: f64 = 1e-3;

/// What the streams of a cell have done from the window's start up to one moment, all of them together.
///
/// Both sums are as of the last event of each stream, so that no part of a gap that is still open counts. To
/// take one every quarter of a second is enough: in between, both are taken to grow evenly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Seconds since the window's start.
    pub seconds: f64,
    /// Tokens that arrived behind the first payload event of their request. Where the server tells tokens only at
    /// the end of a request, payload events stand for them: the half-width is relative.
    pub tokens: f64,
    /// Seconds that streams spent between payload events of one request.
    pub stream_seconds: f64,
}

/// Whether a window may end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decision {
    /// It goes on.
    Continue,
    /// It ends now.
    Stop(Stop),
}

/// Why a window ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The half-width was at most [`PRECISE`] at this check and the one before.
    Precise,
    /// The asked duration is over, and the half-width is at most [`GOOD_ENOUGH`] (at two successive checks where
    /// the window was extended).
    GoodEnough,
    /// It has lasted as long as it may.
    Limit,
}

/// When to look next, in seconds since the window's start: at the next multiple of [`CHECK_EVERY_SECONDS`], or at
/// the asked duration where that comes first.
pub fn next_check(seconds: f64, duration_seconds: f64) -> f64 {
    let multiple = ((seconds + EARLY_SECONDS) / CHECK_EVERY_SECONDS).floor() * CHECK_EVERY_SECONDS;
    let next = multiple + CHECK_EVERY_SECONDS;
    if seconds + EARLY_SECONDS < duration_seconds { next.min(duration_seconds) } else { next }
}

/// Decides at a check. `history` holds what the streams have done since the window's start, in the order of time;
/// its last entry is now.
pub fn decide(history: &[Progress], duration_seconds: f64) -> Decision {
    let Some(now) = history.last().map(|progress| progress.seconds + EARLY_SECONDS) else {
        return Decision::Continue;
    };
    let within =
        |seconds: f64, limit: f64| half_width(history, seconds).is_some_and(|half_width| half_width <= limit);
    let twice = |limit: f64| within(now, limit) && within(now - CHECK_EVERY_SECONDS, limit);
    if now >= LEAST_SECONDS && twice(PRECISE) {
        return Decision::Stop(Stop::Precise);
    }
    if now >= MOST_SECONDS.max(duration_seconds) {
        return Decision::Stop(Stop::Limit);
    }
    let extended = now >= duration_seconds + CHECK_EVERY_SECONDS;
    let enough = if extended { twice(GOOD_ENOUGH) } else { within(now, GOOD_ENOUGH) };
    if now >= duration_seconds && enough {
        return Decision::Stop(Stop::GoodEnough);
    }
    Decision::Continue
}

/// Relative half-width of the 95 % interval of the decoding rate over the window up to `seconds`: six equal
/// batches, Student's t. `None` where a sixth of it had no decoding stream.
pub fn half_width(history: &[Progress], seconds: f64) -> Option<f64> {
    let seconds = history.last()?.seconds.min(seconds);
    let edges: Vec<(f64, f64)> =
        (0..=BATCHES).map(|edge| at(history, seconds * edge as f64 / BATCHES as f64)).collect();
    let rates: Vec<f64> = edges
        .windows(2)
        .map(|pair| (pair[1].0 - pair[0].0) / (pair[1].1 - pair[0].1))
        .filter(|rate| rate.is_finite())
        .collect();
    if rates.len() as u64 != BATCHES {
        return None;
    }
    let estimate = batch_means(&rates, LEVEL)?;
    let relative = estimate.half_width / estimate.mean;
    (relative.is_finite() && estimate.mean > 0.0).then_some(relative)
}

/// Tokens and stream-seconds up to a moment.
fn at(history: &[Progress], seconds: f64) -> (f64, f64) {
    let start = Progress { seconds: 0.0, tokens: 0.0, stream_seconds: 0.0 };
    let next = history.partition_point(|progress| progress.seconds < seconds);
    let before = next.checked_sub(1).map_or(start, |index| history[index]);
    let Some(after) = history.get(next) else { return (before.tokens, before.stream_seconds) };
    let length = after.seconds - before.seconds;
    let share = if length > 0.0 { (seconds - before.seconds) / length } else { 1.0 };
    let between = |from: f64, to: f64| from + share * (to - from);
    (between(before.tokens, after.tokens), between(before.stream_seconds, after.stream_seconds))
}
