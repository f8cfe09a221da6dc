//! Sweeps: which place a run has in one, and what a sweep came to.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cell::Interval;
use crate::comparison::{GeometricMean, Metric};
use crate::run::RunState;

/// The place of a run in a sweep. What is still to be measured follows from these alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SweepPart {
    /// Title of the sweep.
    pub sweep: String,
    /// Name of the entry that was measured.
    pub entry: String,
    /// Which repeat of it, from 1 on.
    pub repeat: u32,
    /// The values of the sweep's grid that it stands for, secrets removed.
    pub variables: BTreeMap<String, String>,
    /// SHA-256 of what the entry says (command, address, profile, options; secrets removed before): a run of the same
    /// definition is not made again.
    pub definition: String,
}

/// What a sweep came to (`sweep.json`): every entry with its runs, and where they are compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepSummary {
    /// `tokometer.sweep/1`.
    pub schema: String,
    /// The sweep's title.
    pub title: String,
    /// True if any run is of a simulated engine.
    pub simulated: bool,
    /// Name of the entry that the others are compared with; null where none of them has a finished run.
    pub base: Option<String>,
    /// All entries, in the order of the file.
    pub entries: Vec<SweepEntry>,
    /// Pages that lay entries side by side.
    pub pages: Vec<SweepPage>,
}

impl SweepSummary {
    /// The name of this document's schema and version.
    pub const SCHEMA: &'static str = "tokometer.sweep/1";
}

/// One entry. Its figures are those of its finished runs together: with several, means over them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepEntry {
    /// Its name.
    pub name: String,
    /// The values of the sweep's grid that it stands for, secrets removed.
    pub variables: BTreeMap<String, String>,
    /// Runs that it was to have.
    pub planned: u32,
    /// Its finished runs, by repeat.
    pub runs: Vec<SweepRun>,
    /// Why runs are missing, one sentence each; empty where none is.
    pub missing: Vec<String>,
    /// How the server was started, secrets removed.
    pub launch_command: Option<String>,
    /// Rows that were to be measured: all but those that do not fit the server.
    pub rows: u32,
    /// Those of them that are valid.
    pub valid_rows: u32,
    /// Its fastest valid decode cell.
    pub fastest: Option<SweepRate>,
    /// Its valid decode cell of one request at the shortest context.
    pub single: Option<SweepRate>,
    /// Its decode cells against the base's; null for the base, and where no cell could be paired.
    pub ratio: Option<GeometricMean>,
    /// The quantity that `ratio` is of: the total rate, or the decoding rate where windows differ in length.
    pub ratio_metric: Option<Metric>,
}

/// A finished run of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SweepRun {
    /// Which repeat, from 1 on.
    pub repeat: u32,
    /// Its folder, below the sweep's.
    pub folder: String,
    /// The run's id.
    pub id: String,
    /// How far it got.
    pub state: RunState,
}

/// The total rate of a decode cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepRate {
    /// Context by label.
    pub context_nominal: u64,
    /// Requests at once.
    pub concurrency: u32,
    /// Tokens per second over all requests.
    pub total: f64,
    /// Its interval: over repeats where there are several, else within the run.
    pub interval: Option<Interval>,
}

/// A page that compares some of the entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SweepPage {
    /// Its file, below the sweep's folder.
    pub file: String,
    /// Names of the entries on it, the base first.
    pub entries: Vec<String>,
}
