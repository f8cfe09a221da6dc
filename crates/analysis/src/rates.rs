//! Rates of a window: total rate, decoding rate, restart share, and whether they are steady.

use tokometer_record::{Interval, Throughput, TraceMeta};
use tokometer_stats::{Slope, batch_means, change_points, lag1, mean, mser5, slope};

use crate::ledger::Ledger;
use crate::samples::LEVEL;

/// Equal batches of the window that make the interval (method section 6).
pub(crate) const BATCHES: u64 = 6;
/// Bins of the steady-state test.
const BIN_NS: u64 = 250_000_000;
/// The shortest window that the steady-state test judges.
pub(crate) const STEADY_FROM_SECONDS: f64 = 10.0;
/// A drift or a start-up below this share of the mean is none.
pub(crate) const DRIFT_LIMIT: f64 = 0.01;
/// How many of its standard errors a slope must exceed.
pub(crate) const SLOPE_ERRORS: f64 = 2.0;

/// The measured span, in ns from the run's start; the end is not part of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Span {
    /// The window of a trace, if it was reached.
    pub(crate) fn of(meta: &TraceMeta) -> Option<Span> {
        let span = Span { start: meta.window_start_ns?, end: meta.window_end_ns? };
        (span.end > span.start).then_some(span)
    }

    pub(crate) fn seconds(self) -> f64 {
        seconds(self.end - self.start)
    }

    pub(crate) fn holds(self, time: u64) -> bool {
        (self.start..self.end).contains(&time)
    }

    /// Nanoseconds of `from..to` that lie inside.
    pub(crate) fn overlap(self, from: u64, to: u64) -> u64 {
        to.min(self.end).saturating_sub(from.max(self.start))
    }

    /// `count` equal parts.
    fn parts(self, count: u64) -> Vec<Span> {
        let edge = |index: u64| {
            let length = u128::from(self.end - self.start);
            self.start + (length * u128::from(index) / u128::from(count)) as u64
        };
        (0..count).map(|index| Span { start: edge(index), end: edge(index + 1) }).collect()
    }

    /// Whole bins of the steady-state test from the start on.
    fn bins(self) -> Vec<Span> {
        let count = (self.end - self.start) / BIN_NS;
        let start = |index: u64| self.start + index * BIN_NS;
        (0..count).map(|index| Span { start: start(index), end: start(index + 1) }).collect()
    }
}

/// Seconds of a number of nanoseconds.
pub(crate) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// What the streams did in a span.
#[derive(Debug, Clone, Copy, Default)]
struct Work {
    /// Tokens that arrived.
    tokens: f64,
    /// Seconds that streams spent between the first and last payload event of a request.
    stream_seconds: f64,
}

impl Work {
    /// Tokens ÷ decoding stream-seconds × C.
    fn decoding_rate(self, concurrency: u32) -> Option<f64> {
        let rate = self.tokens / self.stream_seconds * f64::from(concurrency);
        (self.stream_seconds > 0.0 && rate.is_finite()).then_some(rate)
    }
}

/// When a token counts.
#[derive(Clone, Copy, PartialEq)]
enum Counting {
    /// With the event that brought it.
    AtArrival,
    /// Evenly over the gap that ends with that event, which is when it was made: a span that is shorter than a few
    /// gaps then does not depend on whether one event more or less falls into it.
    OverItsGap,
}

/// What the streams did in each of several spans that follow each other.
fn work(ledger: &Ledger<'_>, spans: &[Span], counting: Counting) -> Vec<Work> {
    let mut all = vec![Work::default(); spans.len()];
    for request in ledger.streams() {
        let mut before: Option<u64> = None;
        for (event, added) in request.events.iter().zip(&request.added) {
            let to = event.arrival_ns;
            let from = before.filter(|_| counting == Counting::OverItsGap).unwrap_or(to);
            if *added > 0.0 {
                add_tokens(&mut all, spans, from.min(to), to, *added);
            }
            if event.payload {
                before = Some(to);
            }
        }
        if let (Some(first), Some(last)) = (request.first_payload(), request.last_payload()) {
            let (from, to) = (first.arrival_ns, last.arrival_ns);
            let begin = spans.partition_point(|span| span.end <= from);
            for (span, work) in
                spans[begin..].iter().zip(&mut all[begin..]).take_while(|(span, _)| span.start < to)
            {
                work.stream_seconds += seconds(span.overlap(from, to));
            }
        }
    }
    all
}

/// Adds tokens that came evenly over `from..to`, or all at once where both are the same.
fn add_tokens(all: &mut [Work], spans: &[Span], from: u64, to: u64, tokens: f64) {
    let begin = spans.partition_point(|span| span.end <= from);
    for (span, work) in spans[begin..].iter().zip(&mut all[begin..]).take_while(|(span, _)| span.start <= to)
    {
        if from == to {
            work.tokens += if span.holds(to) { tokens } else { 0.0 };
        } else {
            work.tokens += tokens * span.overlap(from, to) as f64 / (to - from) as f64;
        }
    }
}

/// The rates of a cell, and the tokens that arrived in its window.
pub(crate) fn throughput(ledger: &Ledger<'_>, window: Span, concurrency: u32) -> (Throughput, f64) {
    let whole = work(ledger, &[window], Counting::AtArrival)[0];
    let total = whole.tokens / window.seconds();
    let batches: Vec<f64> = work(ledger, &window.parts(BATCHES), Counting::OverItsGap)
        .into_iter()
        .filter_map(|work| work.decoding_rate(concurrency))
        .collect();
    let complete = batches.len() as u64 == BATCHES;
    let capacity = f64::from(concurrency) * window.seconds();
    let restart_share = 1.0 - whole.stream_seconds / capacity;
    let throughput = Throughput {
        total,
        interval: if complete { interval(total, &batches) } else { None },
        decoding: whole.decoding_rate(concurrency),
        // Rounding may leave a little less than nothing.
        restart_share: restart_share.is_finite().then(|| restart_share.max(0.0)),
        lag1: if complete { lag1(&batches) } else { None },
        batches,
    };
    (throughput, whole.tokens)
}

/// The relative interval of the decoding rate, applied to the total rate.
fn interval(total: f64, batches: &[f64]) -> Option<Interval> {
    let estimate = batch_means(batches, LEVEL)?;
    let relative = estimate.half_width / estimate.mean;
    relative.is_finite().then(|| Interval {
        low: total * (1.0 - relative),
        high: total * (1.0 + relative),
        half_width_relative: relative,
        level: LEVEL,
        method: "batch_means_t".to_owned(),
        scope: "within_run".to_owned(),
    })
}

/// Whether the decoding rate of a window is steady.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steady {
    /// Bins that were looked at.
    pub(crate) bins: usize,
    /// Seconds that the start-up cut takes away.
    pub(crate) cut_seconds: f64,
    /// True if that cut is as late as it may be.
    pub(crate) cut_at_limit: bool,
    /// How far the mean before the cut is off the mean behind it, relative.
    pub(crate) cut_difference: f64,
    /// The fitted line.
    pub(crate) slope: Slope,
    /// Rise of that line over the window ÷ mean.
    pub(crate) drift: f64,
    /// When the level of the rate last changed, if it did. It says when, and decides nothing.
    pub(crate) last_change: Option<Change>,
}

/// A change of the level of a rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    /// Seconds into the window.
    pub(crate) seconds: f64,
    /// How far the mean behind it is off the mean before it, relative.
    pub(crate) relative: f64,
}

/// The steady-state test. `None` where too few bins were decoded to judge.
pub(crate) fn steady(ledger: &Ledger<'_>, window: Span, concurrency: u32) -> Option<Steady> {
    let bins = window.bins();
    // A bin with less than half of its stream time decoding says little about the rate.
    let least = 0.5 * f64::from(concurrency) * seconds(BIN_NS);
    let points: Vec<(f64, f64)> = work(ledger, &bins, Counting::OverItsGap)
        .iter()
        .enumerate()
        .filter(|(_, work)| work.stream_seconds >= least)
        .filter_map(|(index, work)| Some((index as f64, work.decoding_rate(concurrency)?)))
        .collect();
    let rates: Vec<f64> = points.iter().map(|point| point.1).collect();
    let cut = mser5(&rates)?;
    let slope = slope(&points)?;
    let drift = slope.slope * bins.len() as f64 / slope.mean;
    let cut_difference = match (mean(&rates[..cut.cut_values()]), mean(&rates[cut.cut_values()..])) {
        (Some(before), Some(behind)) if behind > 0.0 => before / behind - 1.0,
        _ => 0.0,
    };
    drift.is_finite().then_some(Steady {
        bins: rates.len(),
        cut_seconds: seconds(cut.cut_values() as u64 * BIN_NS),
        cut_at_limit: cut.at_limit(),
        cut_difference,
        slope,
        drift,
        last_change: last_change(&points, &rates),
    })
}

/// The last change of level of `rates`, which are those of `points`.
fn last_change(points: &[(f64, f64)], rates: &[f64]) -> Option<Change> {
    let changes = change_points(rates);
    let (last, before) = (*changes.last()?, changes.len().checked_sub(2).map_or(0, |index| changes[index]));
    let relative = mean(&rates[last..])? / mean(&rates[before..last])? - 1.0;
    let seconds = points.get(last)?.0 * seconds(BIN_NS);
    relative.is_finite().then_some(Change { seconds, relative })
}
