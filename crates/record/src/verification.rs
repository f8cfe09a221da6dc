//! What a verification of a run found.
//!
//! `tokometer-analysis` makes a [`Verification`] from a run record and its traces; `tokometer verify` prints it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The record contradicts its traces or itself: it was changed, or is damaged.
    Failure,
    /// Nothing contradicts, but somebody should look: implausible, or not explained by the record.
    Warning,
}

/// What was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The document is a run record: schema, types, no field that is not known.
    Document,
    /// The rows are those of the settings, and unmeasured ones follow from the limits.
    Plan,
    /// Settings and facts agree with what the traces and the record's own evidence say.
    Facts,
    /// The trace is there, has the recorded hash and size, and can be read.
    Trace,
    /// The trace is that of this run and cell.
    TraceIdentity,
    /// A number equals the one computed from the trace.
    Number,
    /// A verdict, reason or other text equals the one that follows from the trace.
    Verdict,
    /// Requests by outcome add up; tokens agree with rates, and with the server's counters.
    Tokens,
    /// Active requests, rate of a request and total rate agree (Little's law).
    LittlesLaw,
    /// What ran at once fits the KV cache and the model.
    Capacity,
    /// Rates fall with context, and rise with concurrency until they level off.
    Monotony,
    /// No rate is above what the hardware can do.
    Bound,
    /// Odd, as reviewers of published pages found it: no request came to its end, a TTFT out of its row.
    Lint,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How much it weighs.
    pub level: Level,
    /// What was looked at.
    pub check: Check,
    /// The cell's name (`decode-8192-32`); null where it is about the run.
    pub cell: Option<String>,
    /// Dotted path of the field, within the cell where there is one: `throughput.total`, `flags[0].value`.
    pub path: Option<String>,
    /// One sentence with the figures.
    pub text: String,
    /// What the record says; null where the finding is not about one value.
    pub recorded: Option<Value>,
    /// What was found instead.
    pub found: Option<Value>,
}

/// How far one row could be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Computed again from its trace, every number compared.
    Recomputed,
    /// Not measured: compared with what an unmeasured row must be.
    NotMeasured,
    /// Its trace is not at hand: only what the record itself says could be checked.
    NoTrace,
    /// Its trace is missing, changed or unreadable.
    BadTrace,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellVerification {
    /// The cell's name.
    pub cell: String,
    /// How far it could be checked.
    pub reach: Reach,
    /// Values that were compared with computed ones.
    pub compared: u64,
    /// Failures among them, and of its trace.
    pub failures: u64,
}

/// Something that could not be checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotChecked {
    /// Dotted path, or the name of the check.
    pub what: String,
    /// Why.
    pub why: String,
}

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// `tokometer.verification/1`.
    pub schema: String,
    /// The run's id.
    pub run: String,
    /// The line that titles the run.
    pub title: String,
    /// True without any failure. Warnings do not count.
    pub passed: bool,
    /// Everything found, failures first.
    pub findings: Vec<Finding>,
    /// The rows, in the order of the record.
    pub cells: Vec<CellVerification>,
    /// What nobody can check from the record, and why: stated facts and texts.
    pub not_checked: Vec<NotChecked>,
}

impl Verification {
    /// The name of this document's schema and version.
    pub const SCHEMA: &'static str = "tokometer.verification/1";

    /// Findings of one level.
    pub fn of_level(&self, level: Level) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.level == level)
    }

    /// Rows that were computed again.
    pub fn recomputed(&self) -> usize {
        self.cells.iter().filter(|cell| cell.reach == Reach::Recomputed).count()
    }
}
