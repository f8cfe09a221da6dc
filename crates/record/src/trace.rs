//! The facts of one cell, as observed: requests, events, samples of the server's gauges.
//!
//! [`CellTrace`] is the form in memory; [`parquet`] is the form in a file. All times are in nanoseconds of
//! a monotonic clock from the run's start.

pub mod parquet;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::adaptive::AdaptiveWindow;
use crate::cell::{Phase, Ready};

/// Where arrival stamps come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StampSource {
    /// The kernel's receive timestamp.
    Kernel,
    /// A clock read right after the read returned.
    Read,
}

/// Where token counts come from, best first (method section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    /// Cumulative `usage.completion_tokens` on each event.
    Usage,
    /// Token ids on each event.
    TokenIds,
    /// Engine counters on each event.
    EngineEvents,
    /// One count at the end, spread over the payload events.
    UsageFinal,
    /// One token per payload event: an estimate.
    Events,
}

/// How a request came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// By itself, whole.
    Ended,
    /// Cut by us at the window's end; never a failure.
    Cut,
    /// With an error.
    Failed,
}

/// What a request was sent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestKind {
    /// By a stream of the cell.
    Stream,
    /// Before the streams, to warm the prefix.
    Scout,
    /// A cold prefill sample.
    Prefill,
    /// After the window, to learn the tokens per event of a cell whose requests were all cut.
    Calibration,
}

/// Kinds of failure of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No connection: refused, unreachable, name not found.
    Connect,
    /// TLS set-up failed.
    Tls,
    /// The server answered with a status other than 2xx.
    HttpStatus,
    /// Overload answers: 429, 503, 529.
    Rejected,
    /// An error event inside a 200.
    ErrorEvent,
    /// The stream ended without a finish reason.
    Truncated,
    /// A 200 that carried no token.
    NoToken,
    /// The connection was reset.
    Reset,
    /// Nothing came for the time limit.
    Timeout,
    /// An event that could not be read, or one over 16 MB.
    Malformed,
    /// A 2xx that is no event stream.
    NotAStream,
}

/// A failed request, kept whole up to 4 KB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// Kind.
    pub kind: FailureKind,
    /// One sentence.
    pub message: String,
    /// HTTP status, where there was one.
    pub http_status: Option<u16>,
    /// Response headers, secrets removed.
    pub headers: BTreeMap<String, String>,
    /// First 4 KB of the body or of the event.
    pub body: Option<String>,
}

/// Text that repeated itself (method section 7, `looped`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopEvidence {
    /// Request of the trace.
    pub request: u32,
    /// Stream of the cell.
    pub stream: u32,
    /// `content`, `reasoning`, …
    pub channel: String,
    /// Length of one cycle, characters.
    pub period: u64,
    /// Whole cycles seen.
    pub cycles: u64,
    /// Characters that repeat.
    pub repeated_characters: u64,
    /// Start of the first cycle, up to 512 characters.
    pub excerpt: String,
}

/// One payload event, or one event that changed the token count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRow {
    /// Request of the trace.
    pub request: u32,
    /// When its last byte reached this host.
    pub arrival_ns: u64,
    /// When the client handled it − arrival; for an event that is not the last of its read, the longest that it may
    /// have waited.
    pub lag_ns: u64,
    /// Cumulative output tokens of the request after this event, where the server tells per event.
    pub tokens: Option<u32>,
    /// Size of the event in bytes.
    pub bytes: u32,
    /// True if it carried output.
    pub payload: bool,
    /// True if it carried answer text (`content` or `text`), not reasoning or a tool call.
    pub answer: bool,
    /// True if it was the last event of its read: only then its stamp is its own.
    pub last_of_read: bool,
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRow {
    /// Number in the trace.
    pub request: u32,
    /// Stream that sent it.
    pub stream: u32,
    /// What for.
    pub kind: RequestKind,
    /// Clock read before its first byte was written.
    pub send_ns: u64,
    /// TCP (and TLS) set-up of its connection; null if the connection was already used.
    pub connect_ns: Option<u64>,
    /// Arrival of the response head.
    pub first_byte_ns: Option<u64>,
    /// End of the response, of the cut, or of the failure.
    pub end_ns: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// As the server said it.
    pub finish_reason: Option<String>,
    /// What went wrong.
    pub failure: Option<Failure>,
    /// Prompt tokens by the server's usage.
    pub prompt_tokens: Option<u64>,
    /// Prompt tokens that it said it had cached.
    pub cached_tokens: Option<u64>,
    /// Output tokens by the last usage.
    pub completion_tokens: Option<u64>,
    /// Of these, reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Best source of counts that this response offered.
    pub token_source: TokenSource,
    /// Reads that carried at least one event.
    pub reads: u32,
    /// All events, also those without payload.
    pub events: u32,
    /// Of these, those that could not be told: of a type that nobody knows, or a line that is no event. Null in
    /// traces from before it was kept.
    pub unknown_events: Option<u32>,
}

/// One reading of the server's gauges and counters.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SampleRow {
    /// When the answer arrived.
    pub time_ns: u64,
    /// Requests running.
    pub running: Option<f64>,
    /// Requests waiting.
    pub waiting: Option<f64>,
    /// Output tokens, counter.
    pub generated_tokens: Option<f64>,
    /// Share of the KV cache in use, 0 to 1.
    pub kv_used: Option<f64>,
    /// Drafts of speculative decoding that were verified, counter.
    pub drafts: Option<f64>,
    /// Tokens that were drafted, counter.
    pub draft_tokens: Option<f64>,
    /// Drafted tokens that were accepted, counter.
    pub accepted_tokens: Option<f64>,
    /// Acceptance length by the engine's own gauge, tokens per step.
    pub acceptance_length: Option<f64>,
    /// Prompt tokens, counter.
    pub prefill_tokens: Option<f64>,
    /// Prompt tokens that were found in the prefix cache, counter.
    pub cached_prefill_tokens: Option<f64>,
    /// Preemptions, counter.
    pub preemptions: Option<f64>,
}

/// Counters of the server at one moment, as it tells them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterSnapshot {
    /// When the answer arrived.
    pub time_ns: u64,
    /// Output tokens since the server's start.
    pub generated_tokens: Option<f64>,
    /// Prompt tokens since the server's start.
    pub prompt_tokens: Option<f64>,
    /// Prompt tokens found in the prefix cache since the server's start.
    pub cached_tokens: Option<f64>,
    /// Preemptions since the server's start.
    pub preemptions: Option<f64>,
    /// Drafts of speculative decoding that were verified, since the server's start.
    #[serde(default)]
    pub drafts: Option<f64>,
    /// Tokens that were drafted, since the server's start.
    #[serde(default)]
    pub draft_tokens: Option<f64>,
    /// Drafted tokens that were accepted, since the server's start.
    #[serde(default)]
    pub accepted_tokens: Option<f64>,
    /// The same by position in the draft, first position first; empty where the server does not tell it.
    #[serde(default)]
    pub accepted_per_position: Vec<f64>,
}

/// What belongs to the cell as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceMeta {
    /// `tokometer.trace/1`.
    pub schema: String,
    /// The run.
    pub run: String,
    /// Phase.
    pub phase: Phase,
    /// Context by label, tokens.
    pub context_nominal: u64,
    /// Requests at once.
    pub concurrency: u32,
    /// Output tokens asked per request.
    pub max_output_tokens: u64,
    /// Which repeat of the cell it is, from 1 on; null where the cell is measured once.
    #[serde(default)]
    pub repeat: Option<u32>,
    /// Window length asked, seconds (0 for prefill).
    pub duration_seconds: f64,
    /// Start of the window; null if it was not reached.
    pub window_start_ns: Option<u64>,
    /// End of the window; null if it was not reached.
    pub window_end_ns: Option<u64>,
    /// How the window came to its end, where that hung on what was found; null for a fixed length.
    #[serde(default)]
    pub adaptive: Option<AdaptiveWindow>,
    /// How the ready phase ended.
    pub ready: Option<Ready>,
    /// Counters after the drain before the cell.
    pub counters_before: Option<CounterSnapshot>,
    /// Counters after the drain behind the cell.
    pub counters_after: Option<CounterSnapshot>,
    /// Counters at the window's start, where the server speculates.
    #[serde(default)]
    pub counters_window_start: Option<CounterSnapshot>,
    /// Counters at the window's end, where the server speculates.
    #[serde(default)]
    pub counters_window_end: Option<CounterSnapshot>,
    /// Prefill: counters after the drain before each request, in order; what lies between one and the next, or
    /// `counters_after`, is that request's.
    #[serde(default)]
    pub counters_by_request: Vec<Option<CounterSnapshot>>,
    /// True if both drains were seen to end (running = waiting = 0) by the server's gauges.
    pub drained: bool,
    /// Where arrival stamps come from.
    pub stamp_source: StampSource,
    /// Largest movement of wall clock against monotonic clock in the window, ns.
    pub clock_step_ns: u64,
    /// Requests that were sent again on a new connection, since the server closed the kept one before it answered.
    #[serde(default)]
    pub resent: u32,
    /// True if the user ended the cell.
    pub interrupted: bool,
    /// Set when the cell could not be measured for a reason outside of its requests.
    pub failure: Option<Failure>,
    /// What repeated itself.
    pub loops: Vec<LoopEvidence>,
}

impl TraceMeta {
    /// The name of the trace's schema and version.
    pub const SCHEMA: &'static str = "tokometer.trace/1";

    /// The cell's name in file names and anchors: `decode-8192-32`, `prefill-8192`.
    pub fn cell_name(&self) -> String {
        self.phase.cell_name(self.context_nominal, self.concurrency)
    }

    /// The name of the trace's file, without its folder: `decode-8192-32.parquet`, of a repeat
    /// `decode-8192-32.2.parquet`.
    pub fn file_name(&self) -> String {
        match self.repeat {
            Some(repeat) => format!("{}.{repeat}.parquet", self.cell_name()),
            None => format!("{}.parquet", self.cell_name()),
        }
    }
}

/// The facts of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellTrace {
    /// What belongs to the cell as a whole.
    pub meta: TraceMeta,
    /// Requests by number.
    pub requests: Vec<RequestRow>,
    /// Events, by request and in order of arrival within one.
    pub events: Vec<EventRow>,
    /// Samples of the server's gauges in order of time.
    pub samples: Vec<SampleRow>,
}
