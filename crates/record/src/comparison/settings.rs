//! Settings of runs, side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a setting belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingGroup {
    /// The model: name, revision, precision, length.
    Model,
    /// What it was asked: method, contexts, output length, sampling, prompts.
    Measurement,
    /// The engine: name, version, build.
    Engine,
    /// How the engine was started.
    Launch,
    /// What it runs on.
    Hardware,
}

/// How much a difference weighs. From `medium` on it decides what the ratios can be said to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Written differently, the same in effect.
    None,
    /// Hardly changes speed, or only what fits.
    Low,
    /// Can change speed; also what is not known to be harmless.
    Medium,
    /// Changes speed, often by more than hardware does.
    High,
}

impl Severity {
    /// The word in files and on pages.
    pub fn code(self) -> &'static str {
        match self {
            Severity::None => "none",
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
        }
    }

    /// True if such a difference decides what the ratios can be said to show.
    pub fn decides(self) -> bool {
        self >= Severity::Medium
    }
}

/// Where the value of a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Stated in the launch command.
    Stated,
    /// Not stated, so the engine's own default.
    Default,
    /// Told by the server or found by the probe: a field of the record.
    Record,
    /// Not known.
    Unknown,
}

/// A setting of one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingValue {
    /// The value in effect, as text; null where not known.
    pub effective: Option<String>,
    /// As it stands in the launch command: `--tensor-parallel-size 4`; null where it does not.
    pub literal: Option<String>,
    /// Where the effective value comes from.
    pub origin: Origin,
}

/// A setting of an engine as it took effect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectiveSetting {
    /// Short key that is the same for every engine: `tensor_parallel`.
    pub key: String,
    /// Its name in words: `tensor parallelism`.
    pub name: String,
    /// The value.
    pub value: SettingValue,
}

/// A setting that is not the same in all runs of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingDifference {
    /// Dotted path: of the run record (`engine.version`), or of the launch command (`launch.tensor_parallel`,
    /// `launch.--moe-backend` for flags that have no key).
    pub path: String,
    /// Its name in words: `speculative decoding`.
    pub name: String,
    /// What it belongs to.
    pub group: SettingGroup,
    /// How much it weighs.
    pub severity: Severity,
    /// True if the values in effect differ; false if the runs only say the same thing differently.
    pub effective: bool,
    /// One value for each run, in the order of the runs.
    pub values: Vec<SettingValue>,
    /// One sentence: what the setting changes, or why the difference is none.
    pub why: String,
}
