//! The repeats of a cell: what each of them gave.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cell::{Cell, Interval, TraceFile, Window};
use crate::verdict::{Flag, Reason, Status};

/// One measurement of a cell that was measured several times in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RepeatSummary {
    /// Its number, from 1 on: the round of the run in which it was measured.
    pub repeat: u32,
    /// Its own verdict.
    pub status: Status,
    /// Why, for every status but `valid`.
    pub reason: Option<Reason>,
    /// Its own flags.
    pub flags: Vec<Flag>,
    /// Decode: tokens ÷ seconds of its window, tok/s.
    pub total: Option<f64>,
    /// Decode: the rate without restarts, tok/s.
    pub decoding: Option<f64>,
    /// Decode: the interval of `total` within this repeat.
    pub interval: Option<Interval>,
    /// Prefill: the median over its samples, tok/s.
    pub prefill_rate: Option<f64>,
    /// Median time to first token, ms.
    pub ttft_p50_ms: Option<f64>,
    /// Median of the request means of the time between tokens, ms.
    pub time_between_tokens_p50_ms: Option<f64>,
    /// Tokens per verification step, where the server speculates.
    pub acceptance_length: Option<f64>,
    /// Its window.
    pub window: Option<Window>,
    /// Its trace.
    pub trace: Option<TraceFile>,
    /// True for the one that the cell's other figures come from: latencies, counts, window, gauges.
    pub represents: bool,
}

impl RepeatSummary {
    /// The summary of a measured row.
    pub fn of(repeat: u32, cell: &Cell) -> RepeatSummary {
        let rates = cell.throughput.as_ref();
        RepeatSummary {
            repeat,
            status: cell.status,
            reason: cell.reason.clone(),
            flags: cell.flags.clone(),
            total: rates.map(|rates| rates.total),
            decoding: rates.and_then(|rates| rates.decoding),
            interval: rates.and_then(|rates| rates.interval.clone()),
            prefill_rate: cell.prefill_rate,
            ttft_p50_ms: cell.ttft_ms.as_ref().and_then(|latency| latency.p50),
            time_between_tokens_p50_ms: cell.time_between_tokens_ms.as_ref().and_then(|latency| latency.p50),
            acceptance_length: cell.speculative.as_ref().map(|figures| figures.acceptance_length),
            window: cell.window.clone(),
            trace: cell.trace.clone(),
            represents: false,
        }
    }
}
