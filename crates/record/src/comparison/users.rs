//! Users that a server serves within limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits that a served user's request keeps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceLevel {
    /// Longest time to the first token, ms; null: no limit.
    pub most_ttft_ms: Option<f64>,
    /// Lowest per-request rate, tok/s; null: no limit.
    pub least_rate: Option<f64>,
    /// Share of requests that must keep them, where requests are counted.
    pub share: f64,
}

/// What it was judged by whether a cell keeps the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SloBasis {
    /// The cell's medians keep both limits.
    Medians,
    /// The lower 95 % bound (Clopper–Pearson) of the share of requests that keep both limits.
    Requests,
}

/// Users within limits, by context and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloUsers {
    /// The limits.
    pub level: ServiceLevel,
    /// What a cell was judged by.
    pub basis: SloBasis,
    /// Contexts in rising order.
    pub contexts: Vec<SloContext>,
}

/// One context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloContext {
    /// Context by label, tokens.
    pub context_nominal: u64,
    /// One answer for each run, in the order of the runs.
    pub runs: Vec<SloAnswer>,
}

/// How many users one run serves at one context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloAnswer {
    /// The highest measured concurrency that keeps the limits; 0 if none does and the smallest measured one tells so;
    /// null if that is not known (the smallest has no result).
    pub users: Option<u32>,
    /// The next measured concurrency; null if there is none.
    pub next: Option<SloMiss>,
    /// Smaller measured concurrencies that do not keep the limits, rising: such as one whose few requests met a server
    /// that was not warm.
    pub below: Vec<SloMiss>,
}

/// A concurrency that does not keep the limits, or has no result that could tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloMiss {
    /// Requests at once.
    pub concurrency: u32,
    /// What stops it there: `TTFT 1.23 s`, `over capacity`.
    pub why: String,
}
