//! What makes a run worth a moderator's look.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Millis;

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuspicionKind {
    /// Figures of another run, to the last digit, though the events are not the same.
    NearDuplicate,
    /// Figures far from those of other runs of the same set-up.
    Outlier,
    /// Figures that the hardware can hardly reach.
    Bound,
}

impl SuspicionKind {
    /// The word in files and answers.
    pub fn code(self) -> &'static str {
        match self {
            SuspicionKind::NearDuplicate => "near_duplicate",
            SuspicionKind::Outlier => "outlier",
            SuspicionKind::Bound => "bound",
        }
    }

    /// The words on a page.
    pub fn words(self) -> &'static str {
        match self {
            SuspicionKind::NearDuplicate => "Figures of another run",
            SuspicionKind::Outlier => "Far from runs of the same set-up",
            SuspicionKind::Bound => "More than the hardware can do",
        }
    }
}

impl FromStr for SuspicionKind {
    type Err = String;

    fn from_str(text: &str) -> Result<SuspicionKind, String> {
        [SuspicionKind::NearDuplicate, SuspicionKind::Outlier, SuspicionKind::Bound]
            .into_iter()
            .find(|kind| kind.code() == text)
            .ok_or_else(|| format!("no kind {text:?}"))
    }
}

/// A reason to look at a run, as it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSuspicion {
    /// What was seen.
    pub kind: SuspicionKind,
    /// A run to compare it with.
    pub other_id: Option<String>,
    /// The figures, in plain words.
    pub text: String,
}

/// A reason to look at a run. For moderators alone; it hides nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Suspicion {
    /// Its number.
    pub id: i64,
    /// The run.
    pub run_id: String,
    /// What was seen.
    pub kind: SuspicionKind,
    /// A run to compare it with.
    pub other_id: Option<String>,
    /// The figures, in plain words.
    pub text: String,
    /// When it was found.
    #[serde(serialize_with = "crate::clock::as_text")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub found_at: Millis,
}

/// Runs of like set-ups, that a new one is held against.
#[derive(Debug, Clone)]
pub struct Kin {
    /// The run.
    pub run_id: String,
    /// True if it is of the same set-up and plan; false if of the same model, precision and hardware alone.
    pub is_replicate: bool,
    /// Name of a valid cell.
    pub cell: String,
    /// Its total rate, or its prefill rate, tok/s.
    pub rate: f64,
}
