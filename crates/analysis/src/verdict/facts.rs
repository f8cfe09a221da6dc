//! What the rules look at beside the row itself.

use tokometer_record::TraceMeta;
use tokometer_stats::batch_means;

use crate::Context;
use crate::ledger::Request;
use crate::rates::Steady;

/// Two-sided level whose upper end is a one-sided bound with 95 % confidence.
const ONE_SIDED_LEVEL: f64 = 0.90;

/// Figures that the rules need and the row does not hold.
pub(crate) struct Facts<'a> {
    pub(crate) meta: &'a TraceMeta,
    pub(crate) context: &'a Context<'a>,
    /// How late the client was.
    pub(crate) lag: Option<Lag>,
    /// Upper bound of the mean of the running gauge in the window.
    pub(crate) running_at_most: Option<f64>,
    /// The steady-state test, where the window is long enough.
    pub(crate) steady: Option<Steady>,
    /// Median output tokens of the requests that ended by themselves.
    pub(crate) median_output: Option<f64>,
    /// Tokens by which the server may be ahead of us without anybody else: those that cut requests left.
    pub(crate) cut_allowance: f64,
    /// True if none of our counts is an estimate.
    pub(crate) counts_told: bool,
    /// Largest share of a cold prompt that was cached.
    pub(crate) cached_share: Option<f64>,
    /// Events that could not be told.
    pub(crate) unknown: Unknown,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(meta: &'a TraceMeta, context: &'a Context<'a>) -> Facts<'a> {
        Facts {
            meta,
            context,
            lag: None,
            running_at_most: None,
            steady: None,
            median_output: None,
            cut_allowance: 0.0,
            counts_told: false,
            cached_share: None,
            unknown: Unknown::default(),
        }
    }
}

/// How late the client was, and against what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lag {
    /// 99th percentile, of any number of events.
    pub(crate) p99_ms: f64,
    /// What it would blur: the median gap between reads of a decode cell, the median TTFT of a prefill row.
    pub(crate) of_ms: f64,
    /// What that is, in the words of the verdict.
    pub(crate) of: &'static str,
    /// The same as the name of a figure.
    pub(crate) of_name: &'static str,
}

/// Events that could not be told.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unknown {
    /// All of them.
    pub(crate) events: u64,
    /// The first request that had one, and its stream.
    pub(crate) first: Option<(u32, u32)>,
}

impl Unknown {
    pub(crate) fn of(requests: &[Request<'_>]) -> Unknown {
        let rows = || {
            requests
                .iter()
                .map(|request| request.row)
                .filter_map(|row| Some((row, row.unknown_events.filter(|events| *events > 0)?)))
        };
        Unknown {
            events: rows().map(|(_, events)| u64::from(events)).sum(),
            first: rows().map(|(row, _)| (row.request, row.stream)).min(),
        }
    }
}

/// What the mean of a gauge may be at most, with 95 % confidence: a handful of samples may have hit the moment in
/// which requests were sent anew. `None` below three samples.
pub(crate) fn mean_at_most(samples: &[f64]) -> Option<f64> {
    if samples.len() < 3 {
        return None;
    }
    let interval = batch_means(samples, ONE_SIDED_LEVEL)?;
    Some(interval.mean + interval.half_width)
}
