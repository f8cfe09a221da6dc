//! The words of a verdict (method section 7): one status, its reason, and flags. They change with the method.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The one verdict of a cell: the first of these that applies (method section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not reached: a dry run, or a run cut short.
    Planned,
    /// Not run: the context does not fit the model.
    OverLimit,
    /// Not run: the server cannot hold `concurrency` such requests at once.
    OverCapacity,
    /// Not run, by the user.
    Skipped,
    /// Cut short by the user.
    Interrupted,
    /// A request failed; the first failure is in `error`.
    Error,
    /// A stream repeated itself, so the rate says nothing about real text.
    Looped,
    /// The client, not the server, shaped the result.
    ClientLimited,
    /// The server also worked for somebody else.
    Contaminated,
    /// Requests waited on the server.
    Queued,
    /// Outputs were much shorter than asked.
    Short,
    /// The accelerators slowed themselves down.
    Throttled,
    /// No steady state in the window.
    Unstable,
    /// Measured, and nothing speaks against the result.
    Valid,
}

impl Status {
    /// True for rows that no request was sent for, by plan (`over_limit`, `over_capacity`).
    pub fn not_run_by_plan(self) -> bool {
        matches!(self, Status::OverLimit | Status::OverCapacity)
    }

    /// The word in files and on pages: `over_capacity`.
    pub fn code(self) -> &'static str {
        match self {
            Status::Planned => "planned",
            Status::OverLimit => "over_limit",
            Status::OverCapacity => "over_capacity",
            Status::Skipped => "skipped",
            Status::Interrupted => "interrupted",
            Status::Error => "error",
            Status::Looped => "looped",
            Status::ClientLimited => "client_limited",
            Status::Contaminated => "contaminated",
            Status::Queued => "queued",
            Status::Short => "short",
            Status::Throttled => "throttled",
            Status::Unstable => "unstable",
            Status::Valid => "valid",
        }
    }

    /// The words on a page: `Over capacity`.
    pub fn words(self) -> &'static str {
        match self {
            Status::Planned => "Not reached",
            Status::OverLimit => "Over limit",
            Status::OverCapacity => "Over capacity",
            Status::Skipped => "Skipped",
            Status::Interrupted => "Interrupted",
            Status::Error => "Error",
            Status::Looped => "Looped",
            Status::ClientLimited => "Client limited",
            Status::Contaminated => "Contaminated",
            Status::Queued => "Queued",
            Status::Short => "Short outputs",
            Status::Throttled => "Throttled",
            Status::Unstable => "Unstable",
            Status::Valid => "Valid",
        }
    }
}

/// A remark on a cell that does not decide its status (method section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlagCode {
    /// The target is a simulated engine.
    Simulated,
    /// The ready phase ran into its limit; measured anyway.
    NotReady,
    /// The server ran fewer requests than asked on average, with nothing waiting.
    Underfilled,
    /// The actual prompt length is off its label by more than max(16 tokens, 0.1 %).
    PromptLength,
    /// The server's token counters and ours differ by more than 2 %.
    TokenMismatch,
    /// Token counts are spread or estimated, not told per event.
    TokensEstimated,
    /// More than 1.5 events per read: gaps inside a read are unknown.
    Coalesced,
    /// A cold request found more than 1 % of its prompt in the prefix cache.
    PrefixHit,
    /// The power limit held the accelerators back in more than 20 % of busy samples.
    PowerCapped,
    /// Clocks above the rated maximum.
    OverRatedClock,
    /// Wall clock against monotonic clock moved by more than 50 ms in the window.
    ClockStep,
    /// The engine was told to force speculative acceptance.
    SyntheticAcceptance,
    /// The user changed defaults of the method.
    Retuned,
    /// A median over fewer than 6 requests, or a window under 10 s.
    FewSamples,
}

impl FlagCode {
    /// The word in files and on pages: `few_samples`.
    pub fn code(self) -> &'static str {
        match self {
            FlagCode::Simulated => "simulated",
            FlagCode::NotReady => "not_ready",
            FlagCode::Underfilled => "underfilled",
            FlagCode::PromptLength => "prompt_length",
            FlagCode::TokenMismatch => "token_mismatch",
            FlagCode::TokensEstimated => "tokens_estimated",
            FlagCode::Coalesced => "coalesced",
            FlagCode::PrefixHit => "prefix_hit",
            FlagCode::PowerCapped => "power_capped",
            FlagCode::OverRatedClock => "over_rated_clock",
            FlagCode::ClockStep => "clock_step",
            FlagCode::SyntheticAcceptance => "synthetic_acceptance",
            FlagCode::Retuned => "retuned",
            FlagCode::FewSamples => "few_samples",
        }
    }
}

/// A figure that led to a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// What it is: `lag_p99`, `server_tokens`.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Its unit: `ms`, `tok`, `requests`; `share` for parts of one.
    pub unit: String,
    /// What it was compared with, in the same unit; null for figures that stand beside the one that decided.
    pub limit: Option<f64>,
}

/// A flag with the figures that raised it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flag {
    /// Which flag.
    pub code: FlagCode,
    /// One sentence with the figures.
    pub detail: String,
    /// The figures, the one that decided first; empty for remarks that have none, and in older records.
    #[serde(default)]
    pub figures: Vec<Figure>,
}

/// Which rule kept a cell from having a number, or decided its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonRule {
    /// `context + max output > max model length` (decode) or `context > max model length − 64` (prefill).
    ModelLength,
    /// `concurrency × (context + max output) > KV tokens`.
    KvTokens,
    /// `concurrency > concurrent requests` that the server states.
    ConcurrentRequests,
    /// Stated by the program that a record was imported from.
    Stated,
    /// A rule of method section 7; `text` has its figures.
    Method,
}

/// Why a cell has the status that it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// The rule that applied.
    pub rule: ReasonRule,
    /// One sentence with the figures.
    pub text: String,
    /// The figures, the one that decided first; empty where the rule has none, and in older records.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// What the cell needs: tokens for `model_length` and `kv_tokens`, requests for `concurrent_requests`.
    pub needed: Option<u64>,
    /// What there is, in the unit of `needed`.
    pub available: Option<u64>,
}
