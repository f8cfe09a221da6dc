//! A run's numbers by another tool's definitions. They are no part of a record: whoever wants them makes them from
//! the traces.

use serde::Serialize;

/// Whose definitions these are.
pub const COMPAT_NAME: &str = "llm-inference-bench 0.6.2";

/// The numbers of a run by the definitions of llm-inference-bench 0.6.2.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compat {
    /// [`COMPAT_NAME`].
    pub definitions: &'static str,
    /// The line that titles the run.
    pub title: String,
    /// One for each context that has one.
    pub prefill: Vec<CompatPrefill>,
    /// Decode cells, in the order of the record.
    pub cells: Vec<CompatCell>,
}

/// A context's prefill: one request, N = 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompatPrefill {
    /// Context by label, tokens.
    pub context: u64,
    /// The scout of the context's first cell (`integrated_scout`), or the first sample of a context without cells
    /// (`scout_only`).
    pub method: &'static str,
    /// Prompt tokens by the server's usage.
    pub prompt_tokens: u64,
    /// Connecting and sending → first output, s.
    pub ttft_seconds: f64,
    /// Prompt tokens ÷ TTFT, tok/s; cached tokens are not taken off.
    pub rate: f64,
}

/// A decode cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompatCell {
    /// Context by label, tokens.
    pub context: u64,
    /// Requests at once.
    pub concurrency: u32,
    /// Why it has no number: `over_capacity`, `looped`, `error`, `skipped`, `capacity_limited`, `not measured`.
    pub void: Option<&'static str>,
    /// Output tokens of the window ÷ time to the last of them, tok/s (`aggregate_tps`).
    pub total: Option<f64>,
    /// 1 ÷ time between tokens, median over requests, tok/s (`output_tps_per_user`).
    pub per_request: Option<f64>,
    /// Total ÷ concurrency, tok/s (`per_request_avg_tps`).
    pub total_by_concurrency: Option<f64>,
    /// Connecting and sending → first output, median over all requests of the cell, ms.
    pub ttft_ms: Option<f64>,
    /// First to last output ÷ (output tokens − 1), median over requests, ms.
    pub time_between_tokens_ms: Option<f64>,
    /// Mean of the server's running requests over the window, to 0.1.
    pub average_active: Option<f64>,
    /// Requests that ended by themselves with at least one token, the warm-up included.
    pub completed: u64,
    /// Output tokens of the window.
    pub output_tokens: u64,
    /// From the window's start to its last tokens, s.
    pub measured_seconds: Option<f64>,
}
