//! What a comparison of runs says: the settings that differ first, then a ratio for each cell.
//!
//! `tokometer-analysis` makes a [`Comparison`] from two to six run records; the terminal, the page and other
//! programs (`tokometer compare --json`) read it. It holds everything that is shown, so that no reader of it
//! computes a number of its own.

mod cells;
mod settings;
mod users;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::Accelerator;

pub use cells::{
    CellPair, GeometricMean, Measured, Metric, MetricRatio, PairedBy, RunRatios, Unpaired, Verdict,
};
pub use settings::{EffectiveSetting, Origin, SettingDifference, SettingGroup, SettingValue, Severity};
pub use users::{ServiceLevel, SloAnswer, SloBasis, SloContext, SloMiss, SloUsers};

/// A comparison of one base run with one to five others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// `tokometer.comparison/1`.
    pub schema: String,
    /// The runs; the first is the base that the others are divided by.
    pub runs: Vec<ComparedRun>,
    /// What has to be read before the ratios, most important first: what this is no comparison of, and why.
    pub notices: Vec<Notice>,
    /// Settings that differ between any two of the runs, most severe first.
    pub differences: Vec<SettingDifference>,
    /// One for each run behind the base: its cells against the base's.
    pub against: Vec<RunRatios>,
    /// Users that each run serves within limits, by context.
    pub users: Option<SloUsers>,
    /// What became of the gates that were asked for (`--fail-if`); empty without any.
    pub gates: Vec<GateOutcome>,
    /// How intervals, tests and verdicts of this comparison were made.
    pub rules: Rules,
}

impl Comparison {
    /// The name of this document's schema and version.
    pub const SCHEMA: &'static str = "tokometer.comparison/1";
    /// Most runs that one comparison holds, the base included.
    pub const MOST_RUNS: usize = 6;

    /// True if any gate failed.
    pub fn gate_failed(&self) -> bool {
        self.gates.iter().any(|gate| gate.failed)
    }

    /// True if any of the runs was made against a simulated engine.
    pub fn simulated(&self) -> bool {
        self.runs.iter().any(|run| run.simulated)
    }
}

/// A run, as far as a comparison shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRun {
    /// The run's id.
    pub id: String,
    /// The user's title, else the model; `SIMULATED` where it is.
    pub title: String,
    /// What tells it from the others in one short line: accelerators, engine and version, precision.
    pub label: String,
    /// True if the target is a simulated engine.
    pub simulated: bool,
    /// The format that it was imported from; null for a run that tokometer measured.
    pub imported: Option<String>,
    /// Wall-clock start, RFC 3339, UTC.
    pub created_at: Option<String>,
    /// Full name of the model.
    pub model: Option<String>,
    /// Engine and version: `vllm 0.33.0`.
    pub engine: Option<String>,
    /// Accelerators that the server uses, alike ones folded.
    pub accelerators: Vec<Accelerator>,
    /// How many accelerators in all, for figures per accelerator; null where not known.
    pub accelerator_count: Option<u32>,
    /// How the server was started, secrets removed.
    pub launch_command: Option<String>,
    /// The engine's settings as they took effect: what the launch command says, else the engine's default.
    /// Empty where neither the command nor the engine is known.
    pub effective: Vec<EffectiveSetting>,
    /// Cells of the run that have a result to compare (status `valid`).
    pub valid_cells: u32,
}

/// What kind of thing a [`Notice`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeCode {
    /// Different models, or a different precision of one: ratios say nothing about hardware or engine.
    NotTheSameModel,
    /// The load differs (method, endpoint, output length, sampling, prompts).
    NotTheSameMeasurement,
    /// The hardware differs, and so do settings that change speed: ratios do not show the hardware alone.
    NotAHardwareComparison,
    /// The hardware differs, and nothing else that is known to change speed.
    HardwareComparison,
    /// The hardware is the same; the named settings differ.
    SettingsComparison,
    /// Nothing that is known differs: the ratios show what repeats of one run differ by.
    SameSetup,
    /// Not known for some run, so that a difference could not be seen.
    NotKnown,
    /// A simulated engine is among the runs.
    Simulated,
    /// Records without a trace have no intervals: their ratios are not tested.
    NoIntervals,
    /// Cells of some run are paired by label since actual token counts are not known.
    PairedByLabel,
    /// Cells with windows of different length are compared by decoding rate.
    ByDecodingRate,
}

/// One sentence that has to be read before the ratios.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// Which.
    pub code: NoticeCode,
    /// The sentence.
    pub text: String,
    /// Paths of the differences that it rests on, as in [`SettingDifference::path`].
    pub paths: Vec<String>,
}

/// What a gate compares with its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateKind {
    /// The change against the base as a share: −0.03 is −3 %.
    RelativeChange,
    /// The change against the base in the unit of the metric.
    Change,
    /// The run's own figure in the unit of the metric.
    Value,
}

/// What became of one gate on one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateOutcome {
    /// The gate as written: `total_rate<-3%`.
    pub gate: String,
    /// Which run, as an index into [`Comparison::runs`].
    pub run: u32,
    /// The quantity.
    pub metric: Metric,
    /// What is compared with the limit.
    pub kind: GateKind,
    /// The limit, in the unit of `kind`.
    pub limit: f64,
    /// True if any cell failed it, or if there was no cell to judge it on.
    pub failed: bool,
    /// Cells that it was judged on.
    pub cells: u32,
    /// The cells that failed it.
    pub failures: Vec<GateFailure>,
    /// What the reader should know: no cell to judge, cells judged without intervals, cells without a partner.
    pub notes: Vec<String>,
}

/// A cell that failed a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateFailure {
    /// The cell's name: `decode-8192-32`.
    pub cell: String,
    /// The quantity that was looked at: that of the gate, or the decoding rate in place of the total rate where
    /// the windows differ in length.
    pub metric: Metric,
    /// What was found, in the unit of the gate's kind.
    pub found: f64,
    /// False where there are no intervals: the gate was judged by the estimate alone.
    pub tested: bool,
}

/// How intervals, tests and verdicts of a comparison were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rules {
    /// Confidence level of intervals, 0.95.
    pub level: f64,
    /// False discovery rate over the cells of one run and metric (Benjamini–Hochberg), 0.05.
    pub false_discovery_rate: f64,
    /// Smallest change that counts as one, as a share: 0.01.
    pub noise_floor: f64,
    /// How far actual token counts of paired cells may differ, as a share: 0.01.
    pub token_tolerance: f64,
}
