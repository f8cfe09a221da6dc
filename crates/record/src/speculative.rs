//! What speculative decoding did in a window: the text moves it, not the hardware, so it stands beside the rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where figures of speculative decoding come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpeculativeSource {
    /// Counters of drafts and accepted tokens, read at the window's start and at its end.
    Counters,
    /// The same counters from the samples that lie nearest to the window's edges, inside it.
    SampledCounters,
    /// The engine's own gauge of the acceptance length: the mean over the window's samples.
    Gauge,
}

/// Speculative decoding over a window, by the server's own figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Speculative {
    /// Tokens that a verification step gives a request: 1 + accepted ÷ drafts.
    pub acceptance_length: f64,
    /// Accepted ÷ drafted tokens; null where only a gauge is told.
    pub acceptance_rate: Option<f64>,
    /// Share of the drafts whose token at this position was accepted, first position first; empty where the server
    /// does not tell it.
    pub accepted_per_position: Vec<f64>,
    /// Total rate ÷ acceptance length: verification steps of all streams, step/s; null where the cell has no rate.
    pub verify_steps_rate: Option<f64>,
    /// Drafts that were verified; null where only a gauge is told.
    pub drafts: Option<u64>,
    /// Tokens that were drafted; null where not told.
    pub draft_tokens: Option<u64>,
    /// Drafted tokens that were accepted; null where only a gauge is told.
    pub accepted_tokens: Option<u64>,
    /// Where the figures come from.
    pub source: SpeculativeSource,
    /// Readings that the figures are made of.
    pub readings: u64,
    /// Time of the first reading, ns from the run's start.
    pub start_ns: u64,
    /// Time of the last reading, ns from the run's start.
    pub end_ns: u64,
}
