//! What a page shows of a cell beside its row: the rate over time, distributions, single requests.
//!
//! Made from a [`CellTrace`](crate::CellTrace) by `tokometer-analysis` and bounded in size, so that a page holds
//! the details of a whole matrix. The trace stays the fact; this is a view of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::trace::{FailureKind, Outcome};

/// The details of one row. Times are in seconds from the cell's first send.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellDetail {
    /// Name of the row: `decode-8192-32`.
    pub cell: String,
    /// Tokens per second over all streams; null where no token came.
    pub rate: Option<RateSeries>,
    /// TTFT of every request of the cell, ms; null where no payload came.
    pub ttft_ms: Option<Curve>,
    /// Gaps between payload events that end in the window, ms; null where none has stamps of its own.
    pub gap_ms: Option<Curve>,
    /// Single requests.
    pub requests: RequestColumns,
}

/// A rate in equal bins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateSeries {
    /// Start of the first bin, s; below 0 where bins that count from the window's start begin before the first send.
    pub start_seconds: f64,
    /// Length of a bin, s.
    pub bin_seconds: f64,
    /// Tokens that arrived in each bin ÷ its length, tok/s.
    pub rates: Vec<f64>,
    /// Start and end of the window, s; null where it was not reached.
    pub window_seconds: Option<[f64; 2]>,
}

/// A distribution as points of its cumulative curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// Number of samples.
    pub n: u64,
    /// Share of the samples (0 to 1) that are at or below a value, and the value; rising.
    pub points: Vec<[f64; 2]>,
}

/// Requests of the cell, a column for each fact. All columns have the same length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestColumns {
    /// Requests that the trace has of the row's kind; more than the columns hold where they were capped.
    pub total: u64,
    /// Number in the trace.
    pub request: Vec<u32>,
    /// Stream that sent it.
    pub stream: Vec<u32>,
    /// When it was sent, s.
    pub sent_seconds: Vec<f64>,
    /// When it ended, was cut, or failed, s.
    pub end_seconds: Vec<f64>,
    /// Send → first payload event, ms.
    pub ttft_ms: Vec<Option<f64>>,
    /// Mean time between its tokens, ms.
    pub time_between_tokens_ms: Vec<Option<f64>>,
    /// Output tokens.
    pub output_tokens: Vec<u64>,
    /// How it ended.
    pub outcome: Vec<Outcome>,
    /// What went wrong.
    pub failure: Vec<Option<FailureKind>>,
}

impl RequestColumns {
    /// Number of requests in the columns.
    pub fn len(&self) -> usize {
        self.request.len()
    }

    /// True where no request is in the columns.
    pub fn is_empty(&self) -> bool {
        self.request.is_empty()
    }

    /// True if every column has the same length, as a document from elsewhere may not.
    pub fn is_even(&self) -> bool {
        let lengths = [
            self.stream.len(),
            self.sent_seconds.len(),
            self.end_seconds.len(),
            self.ttft_ms.len(),
            self.time_between_tokens_ms.len(),
            self.output_tokens.len(),
            self.outcome.len(),
            self.failure.len(),
        ];
        lengths.into_iter().all(|length| length == self.len())
    }
}
