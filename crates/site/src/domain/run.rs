//! A run as the store keeps it: a row for lists, its cells, its revisions.

use std::collections::BTreeMap;
use std::str::FromStr;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use tokometer_record::{Run, Verification};

use super::evidence::{Evidence, EvidenceLevel};
use super::{Goal, Millis};

/// Where a run is listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shelf {
    /// Measured, and computed again here: in rankings.
    #[default]
    Ranked,
    /// As it was given (T0): listed apart, labelled, in no ranking.
    Reported,
    /// Of a simulated engine: listed apart, in no ranking.
    Simulated,
    /// Taken down: in no list.
    Withdrawn,
}

impl Shelf {
    const ALL: [Shelf; 4] = [Shelf::Ranked, Shelf::Reported, Shelf::Simulated, Shelf::Withdrawn];

    /// Where a run belongs that nobody took down.
    pub fn of(simulated: bool, level: EvidenceLevel) -> Shelf {
        match (simulated, level) {
            (true, _) => Shelf::Simulated,
            (false, EvidenceLevel::Reported) => Shelf::Reported,
            (false, _) => Shelf::Ranked,
        }
    }

    /// The word in files, addresses and answers.
    pub fn code(self) -> &'static str {
        match self {
            Shelf::Ranked => "ranked",
            Shelf::Reported => "reported",
            Shelf::Simulated => "simulated",
            Shelf::Withdrawn => "withdrawn",
        }
    }
}

impl FromStr for Shelf {
    type Err = String;

    fn from_str(text: &str) -> Result<Shelf, String> {
        Shelf::ALL
            .into_iter()
            .find(|shelf| shelf.code() == text)
            .ok_or_else(|| format!("{text:?} is no shelf; use ranked, reported or simulated"))
    }
}

/// A figure of a run that rankings go by, with its 95 % interval where there is one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// What the runs of a group say together about one figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Runs that have the figure.
    pub n: u32,
    /// Lowest.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// Highest.
    pub high: f64,
}

/// A run in a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(transform = in_part)]
pub struct RunRow {
    /// UUID.
    pub id: String,
    /// Handle of the submitter.
    pub submitter: String,
    /// Newest revision, from 1 on.
    pub revision: u32,
    /// Where it is listed.
    pub shelf: Shelf,
    /// When it was measured; null where an import does not tell.
    #[serde(serialize_with = "crate::clock::as_text_or_null")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub measured_at: Option<Millis>,
    /// When it was published.
    #[serde(serialize_with = "crate::clock::as_text")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub published_at: Millis,
    /// When its newest revision came.
    #[serde(serialize_with = "crate::clock::as_text")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub revised_at: Millis,
    /// Why it was taken down.
    pub withdrawn_reason: Option<String>,
    /// The title of its page, `SIMULATED` in front where it is.
    pub title: String,
    /// Full name of the model; `unknown` where not known, as in the next fields.
    pub model: String,
    /// Accelerators without their number: `H200 SXM`.
    pub hardware: String,
    /// How many accelerators.
    pub accelerators: Option<u32>,
    /// Name of the engine.
    pub engine: String,
    /// Its version.
    pub engine_version: String,
    /// Precision of the weights.
    pub quantization: String,
    /// Speculative decoding: `off`, or what it is.
    pub speculative: String,
    /// Contexts of its valid decode cells, tokens by label.
    pub contexts: Vec<u64>,
    /// Name and version of the method: `tokometer 1.0`.
    pub method: String,
    /// What stands behind its numbers.
    pub evidence: Evidence,
    /// Runs with the same hash have the same set-up and plan: they are replicates.
    pub group_hash: String,
    /// Runs with the same hash differ in the engine's version alone.
    pub series_hash: String,
    /// SHA-256 of the document of its newest revision (RFC 8785).
    pub content_sha256: String,
    /// Rate of one user at the shortest context, tok/s.
    pub one_user: Option<Headline>,
    /// Highest total rate of any cell, tok/s.
    pub peak: Option<Headline>,
    /// That by accelerator, tok/s.
    pub peak_per_accelerator: Option<f64>,
    /// Highest prefill rate, tok/s.
    pub prefill: Option<f64>,
    /// Users at the default limits (50 tok/s, 1 s) at the shortest context; null where no cell can tell.
    pub users_at_limits: Option<u32>,
    /// Energy per token of the cell with the highest total rate, J/tok.
    pub joules_per_token: Option<f64>,
    /// Valid cells.
    pub valid_cells: u32,
    /// All cells of the plan.
    pub all_cells: u32,
    /// True if it stands for its group where replicates are folded.
    pub is_lead: bool,
    /// Runs of the group on the same shelf, itself included.
    pub replicates: u32,
    /// Different submitters of these.
    pub submitters: u32,
    /// What the group says, by goal; empty with one run.
    pub spread: BTreeMap<Goal, Spread>,
}

/// Who asks for some fields of a list gets these alone, so none of them has to be there.
fn in_part(schema: &mut Schema) {
    schema.remove("required");
}

impl RunRow {
    /// The figure that a goal goes by.
    pub fn figure(&self, goal: Goal) -> Option<f64> {
        match goal {
            Goal::Users => self.users_at_limits.map(f64::from),
            Goal::OneUser => self.one_user.map(|figure| figure.value),
            Goal::Peak => self.peak.map(|figure| figure.value),
            Goal::PeakPerAccelerator => self.peak_per_accelerator,
            Goal::Prefill => self.prefill,
            Goal::Energy => self.joules_per_token,
            Goal::Newest => Some(self.published_at as f64),
        }
    }
}

/// A cell in a list.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CellRow {
    /// `decode-8192-32`.
    pub name: String,
    /// `prefill` or `decode`.
    #[schemars(with = "tokometer_record::Phase")]
    pub phase: &'static str,
    /// Context by label, tokens.
    pub context: u64,
    /// Requests at once.
    pub concurrency: u32,
    /// The verdict's word.
    #[schemars(with = "tokometer_record::Status")]
    pub status: &'static str,
    /// Total rate, tok/s.
    pub total: Option<Headline>,
    /// Prefill rate, tok/s.
    pub prefill_rate: Option<f64>,
    /// Median TTFT, ms.
    pub ttft_p50: Option<f64>,
    /// Median per-request rate, tok/s.
    pub per_request_p50: Option<f64>,
    /// Energy per token, J/tok.
    pub joules_per_token: Option<f64>,
    /// Acceptance length, tok/step.
    pub acceptance_length: Option<f64>,
}

/// What a run of a group brings to the judgement whether it was replicated.
#[derive(Debug, Clone)]
pub struct GroupFacts {
    /// The run's id.
    pub id: String,
    /// Who published it.
    pub user_id: String,
    /// The level that it has by itself, at most T2.
    pub own: EvidenceLevel,
    /// Its valid decode cells: name and total rate.
    pub rates: Vec<(String, Headline)>,
}

/// One revision's document.
#[derive(Debug, Clone)]
pub struct Revision {
    /// From 1 on.
    pub revision: u32,
    /// When it came.
    pub created_at: Millis,
    /// Handle of who made it.
    pub author: String,
    /// What was changed, in the author's words.
    pub note: Option<String>,
    /// SHA-256 of the document (RFC 8785).
    pub content_sha256: String,
}

/// A run with one of its documents.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// The row for lists.
    pub row: RunRow,
    /// The revision that `run` is of.
    pub revision: Revision,
    /// The document.
    pub run: Run,
    /// What the check at upload found.
    pub verification: Verification,
}

/// All that a publication adds at once.
#[derive(Debug)]
pub struct NewRun {
    /// Who publishes.
    pub user_id: String,
    /// The row; `is_lead`, `replicates` and `spread` are found by the store.
    pub row: RunRow,
    /// Its cells.
    pub cells: Vec<CellRow>,
    /// The document, JSON.
    pub document: Vec<u8>,
    /// The check, JSON.
    pub verification: Vec<u8>,
    /// Name and SHA-256 of each file that the document names.
    pub artefacts: Vec<(String, String)>,
    /// Prints of its traces.
    pub prints: Vec<String>,
    /// The key that a retry brings again, and the SHA-256 of what came with it.
    pub idempotency: Option<(String, String)>,
    /// Lines for the moderation log that the site itself adds.
    pub log: Vec<(super::Action, String)>,
}

/// What became of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Publication {
    /// It is stored.
    Created,
    /// It was there already: the same run of the same user with the same content, or the same key.
    Replayed {
        /// The run that is there.
        run_id: String,
    },
    /// The key was used for something else.
    KeyReused,
    /// The id is another user's, or the same user published something else under it.
    Taken,
    /// A trace with the same events is in another run.
    SameEvents {
        /// That run.
        run_id: String,
    },
    /// Files that the document names are no longer there.
    Missing {
        /// Their hashes.
        sha256: Vec<String>,
    },
}
