//! One row of the run document: a cell of the decode matrix, or a prefill measurement.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::adaptive::AdaptiveWindow;
use crate::repeats::RepeatSummary;
use crate::speculative::Speculative;
use crate::telemetry::CellTelemetry;
use crate::trace::{Failure, LoopEvidence, StampSource, TokenSource};
use crate::verdict::{Flag, FlagCode, Reason, Status};

/// What a row measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Cold requests alone on the server: prompt tokens per second until the first token.
    Prefill,
    /// Sustained decode of `concurrency` streams on one context length.
    Decode,
}

impl Phase {
    /// The name of a cell in file names and anchors: `decode-8192-32`, `prefill-8192`.
    pub fn cell_name(self, context_nominal: u64, concurrency: u32) -> String {
        match self {
            Phase::Prefill => format!("prefill-{context_nominal}"),
            Phase::Decode => format!("decode-{context_nominal}-{concurrency}"),
        }
    }
}

/// A summary of samples. Percentiles by linear interpolation at `(n − 1)·p`; those that need more samples
/// than there are (p90 from 64, p95 from 130, p99 from 662) are null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Distribution {
    /// Number of samples; null where an imported record does not tell.
    pub n: Option<u64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Smallest sample.
    pub min: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest sample.
    pub max: Option<f64>,
    /// 95 % order-statistic interval of the median (from 6 samples).
    pub p50_interval: Option<[f64; 2]>,
}

/// Median and range of a count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Number of samples.
    pub n: u64,
    /// Median.
    pub p50: f64,
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
}

/// A 95 % interval and how it was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end, in the unit of the estimate.
    pub low: f64,
    /// Upper end, in the unit of the estimate.
    pub high: f64,
    /// Half-width ÷ estimate.
    pub half_width_relative: f64,
    /// Confidence level, 0.95.
    pub level: f64,
    /// `batch_means_t`: 6 batches of the decoding rate, Student's t; `repeats_t`: the repeats of the cell, Student's t.
    pub method: String,
    /// What the interval covers: `within_run` (one measurement) or `repeats`.
    pub scope: String,
}

/// Rates of a decode cell, in tokens per second over all streams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throughput {
    /// Tokens that arrived in the window ÷ seconds of the window.
    pub total: f64,
    /// 95 % interval of `total`; null where it cannot be made.
    pub interval: Option<Interval>,
    /// Tokens ÷ decoding stream-seconds × C: the rate without restarts.
    pub decoding: Option<f64>,
    /// 1 − decoding stream-seconds ÷ (C × window).
    pub restart_share: Option<f64>,
    /// Decoding rate of the equal batches of the window that made the interval.
    pub batches: Vec<f64>,
    /// Lag-1 autocorrelation of the batches.
    pub lag1: Option<f64>,
}

/// The time span that a cell's rates are taken over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Start, in ns from the run's start; null for imports.
    pub start_ns: Option<u64>,
    /// End, in ns from the run's start; null for imports.
    pub end_ns: Option<u64>,
    /// Seconds measured (imports keep the other tool's own figure).
    pub seconds: f64,
}

/// How the ready phase ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ready {
    /// False when the limit ran out first.
    pub reached: bool,
    /// Seconds from the first send to the start of the window.
    pub seconds: f64,
    /// Limit in seconds.
    pub limit_seconds: f64,
    /// What was still missing when the limit ran out.
    pub missing: Vec<String>,
}

/// Requests of a cell by outcome; null where an imported record does not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// Sent by the cell's streams, ready phase included.
    pub started: Option<u64>,
    /// Came to their own end (the "completed requests" of published pages).
    pub ended: Option<u64>,
    /// Cut by us at the window's end.
    pub cut: Option<u64>,
    /// Failed.
    pub failed: Option<u64>,
    /// Ended inside the window.
    pub ended_in_window: Option<u64>,
    /// Sent again on a new connection, since the server closed the kept one before it answered; counted once above.
    pub resent: Option<u64>,
}

/// Token counts of a cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tokens {
    /// Output tokens that arrived in the window.
    pub out: Option<u64>,
    /// Output tokens that arrived in the whole cell.
    pub out_cell: Option<u64>,
    /// Prompt tokens of the cell's requests, as the server counted them.
    #[serde(rename = "in")]
    pub input: Option<u64>,
    /// Prompt tokens that the server said it had cached.
    pub cached: Option<u64>,
    /// Output tokens that the server called reasoning; part of `out`, never added.
    pub reasoning: Option<u64>,
    /// Where the counts come from.
    pub source: Option<TokenSource>,
    /// Tokens ÷ payload events.
    pub per_event: Option<f64>,
    /// Output tokens by the server's own counter, drain to drain; null where it has none.
    pub server: Option<u64>,
    /// Ours over the same span (all requests of the cell, scout included).
    pub client: Option<u64>,
}

/// Latencies of the window alone (the headline ones are of the whole cell).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowView {
    /// TTFT of requests whose first payload event arrived in the window, ms.
    pub ttft_ms: Option<Distribution>,
    /// Time between tokens from the payload events inside the window, ms.
    pub time_between_tokens_ms: Option<Distribution>,
    /// Gaps that end in the window, ms.
    pub gap_ms: Option<Distribution>,
    /// Gaps left out since an event shared its read with a later one.
    pub gaps_shared_read: u64,
}

/// What the server's own gauges said during the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerView {
    /// Samples in the window.
    pub samples: u64,
    /// Mean of the running gauge.
    pub running_mean: Option<f64>,
    /// Largest running gauge.
    pub running_max: Option<f64>,
    /// Largest waiting gauge.
    pub waiting_max: Option<f64>,
    /// Share of samples with a request waiting.
    pub waiting_share: Option<f64>,
    /// Share of samples with more than `concurrency` running.
    pub over_share: Option<f64>,
    /// Largest share of the KV cache in use, 0 to 1.
    pub kv_used_max: Option<f64>,
}

/// A trace file of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceFile {
    /// Path below the run's folder: `trace/decode-8192-32.parquet`.
    pub file: String,
    /// SHA-256 of the file, hex.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// One row: a cell of the decode matrix, or a prefill measurement of one context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// What is measured.
    pub phase: Phase,
    /// Context length by label, in tokens (`8K` = 8192).
    pub context_nominal: u64,
    /// Prompt tokens as the server counted them.
    pub context_actual: Option<Spread>,
    /// Requests at once.
    pub concurrency: u32,
    /// The verdict.
    pub status: Status,
    /// Why, for every status but `valid` and `planned`.
    pub reason: Option<Reason>,
    /// Remarks, with figures.
    pub flags: Vec<Flag>,

    /// Decode: rates over all streams.
    pub throughput: Option<Throughput>,
    /// Prefill: uncached prompt tokens ÷ TTFT, tok/s; the median over samples.
    pub prefill_rate: Option<f64>,
    /// Prefill: each sample's rate, tok/s; of all repeats.
    pub prefill_samples: Vec<f64>,
    /// Prefill: 95 % interval of `prefill_rate` over repeats; null with one.
    #[serde(default)]
    pub prefill_interval: Option<Interval>,

    /// Send → first payload event, ms; over every request of the cell.
    pub ttft_ms: Option<Distribution>,
    /// Request means of the time between tokens, ms; over every request of the cell.
    pub time_between_tokens_ms: Option<Distribution>,
    /// 1 ÷ time between tokens of each request, tok/s.
    pub per_request_rate: Option<Distribution>,
    /// Send → first answer (content) event, ms; differs from TTFT for reasoning models.
    pub time_to_answer_ms: Option<Distribution>,
    /// Send → response head, ms.
    pub first_byte_ms: Option<Distribution>,
    /// TCP (and TLS) set-up, ms; never part of TTFT.
    pub connect_ms: Option<Distribution>,
    /// Largest gap between payload events in the window, any stream, ms.
    pub longest_gap_ms: Option<f64>,
    /// The same latencies from the window alone.
    pub window_view: Option<WindowView>,

    /// Time-weighted mean of requests between send and end, over the window.
    pub average_active_requests: Option<f64>,
    /// Requests by outcome.
    pub requests: Requests,
    /// Token counts.
    pub tokens: Tokens,
    /// The measured span.
    pub window: Option<Window>,
    /// How an adaptive window came to its end; null where its length was fixed.
    #[serde(default)]
    pub adaptive: Option<AdaptiveWindow>,
    /// How the ready phase ended.
    pub ready: Option<Ready>,
    /// The server's own gauges.
    pub server: Option<ServerView>,
    /// What the machine did meanwhile; null where nothing was read.
    #[serde(default)]
    pub telemetry: Option<CellTelemetry>,
    /// Speculative decoding in the window; null where the server does not speculate or does not tell.
    #[serde(default)]
    pub speculative: Option<Speculative>,
    /// Each measurement of a cell that was measured several times, in order; empty with one. Then the rate is the
    /// mean of the repeats, the worst of their verdicts is the cell's, and all other figures are those of the
    /// repeat that says so.
    #[serde(default)]
    pub repeats: Vec<RepeatSummary>,

    /// Where arrival stamps come from.
    pub stamp_source: Option<StampSource>,
    /// When the client handled an event − its arrival, µs.
    pub client_lag_us: Option<Distribution>,
    /// Events ÷ reads that carried events.
    pub events_per_read: Option<f64>,

    /// The first failure, whole.
    pub error: Option<Failure>,
    /// What repeated itself.
    pub loops: Vec<LoopEvidence>,
    /// The cell's trace; null where nothing was measured, for imports, and where each repeat has its own.
    pub trace: Option<TraceFile>,
    /// Fields that are null though one would expect a value: name → reason.
    pub unknown: BTreeMap<String, String>,
}

impl Cell {
    /// A row that has no measurement yet.
    pub fn planned(phase: Phase, context_nominal: u64, concurrency: u32) -> Cell {
        Cell {
            phase,
            context_nominal,
            context_actual: None,
            concurrency,
            status: Status::Planned,
            reason: None,
            flags: Vec::new(),
            throughput: None,
            prefill_rate: None,
            prefill_samples: Vec::new(),
            prefill_interval: None,
            ttft_ms: None,
            time_between_tokens_ms: None,
            per_request_rate: None,
            time_to_answer_ms: None,
            first_byte_ms: None,
            connect_ms: None,
            longest_gap_ms: None,
            window_view: None,
            average_active_requests: None,
            requests: Requests::default(),
            tokens: Tokens::default(),
            window: None,
            adaptive: None,
            ready: None,
            server: None,
            telemetry: None,
            speculative: None,
            repeats: Vec::new(),
            stamp_source: None,
            client_lag_us: None,
            events_per_read: None,
            error: None,
            loops: Vec::new(),
            trace: None,
            unknown: BTreeMap::new(),
        }
    }

    /// The cell's name in file names and anchors: `decode-8192-32`, `prefill-8192`.
    pub fn name(&self) -> String {
        self.phase.cell_name(self.context_nominal, self.concurrency)
    }

    /// The traces that the row was made from, in order: its own, or those of its repeats.
    pub fn traces(&self) -> impl Iterator<Item = &TraceFile> {
        self.trace.iter().chain(self.repeats.iter().filter_map(|repeat| repeat.trace.as_ref()))
    }

    /// The flag with this code, if raised.
    pub fn flag(&self, code: FlagCode) -> Option<&Flag> {
        self.flags.iter().find(|flag| flag.code == code)
    }
}
