//! What stands behind the numbers of a run. It is computed, never claimed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rung of the ladder. Each needs all below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceLevel {
    /// T0: numbers as they were given; no trace, or figures that the hardware can hardly reach. Not ranked.
    Reported,
    /// T1: every measured row was computed again here from its trace, and its rates are within what the hardware can do.
    Recomputed,
    /// T2: the server's own token counters agree with the client's in every valid decode cell.
    CountersAgree,
    /// T3: somebody else published the same set-up, as well proved, and the rates agree.
    Replicated,
}

impl EvidenceLevel {
    /// All of them, lowest first.
    pub const ALL: [EvidenceLevel; 4] = [
        EvidenceLevel::Reported,
        EvidenceLevel::Recomputed,
        EvidenceLevel::CountersAgree,
        EvidenceLevel::Replicated,
    ];

    /// 0 to 3.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The level of a number.
    pub fn of_number(number: i64) -> Option<EvidenceLevel> {
        EvidenceLevel::ALL.into_iter().find(|level| i64::from(level.number()) == number)
    }

    /// The short name: `T1`.
    pub fn code(self) -> &'static str {
        ["T0", "T1", "T2", "T3"][usize::from(self.number())]
    }

    /// The words on a page.
    pub fn words(self) -> &'static str {
        match self {
            EvidenceLevel::Reported => "reported",
            EvidenceLevel::Recomputed => "recomputed",
            EvidenceLevel::CountersAgree => "recomputed, counters agree",
            EvidenceLevel::Replicated => "replicated",
        }
    }
}

/// A level with what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The level.
    pub level: EvidenceLevel,
    /// One sentence for each thing that was found, and for what the next level lacks.
    pub reasons: Vec<String>,
}
