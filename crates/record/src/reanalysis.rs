//! A run analysed again from its traces, with another window or with limits for its users.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::comparison::SloUsers;

/// The part of each recorded window that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowPart {
    /// Seconds from the start of the recorded window.
    pub from_seconds: f64,
    /// Seconds from the start of the recorded window; null: up to its end.
    pub to_seconds: Option<f64>,
}

/// How many requests of one cell kept the limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloCell {
    /// Context by label, tokens.
    pub context_nominal: u64,
    /// Requests at once.
    pub concurrency: u32,
    /// Requests that kept every limit.
    pub kept: u64,
    /// Requests that were judged: those of the streams that ran in the window and got as far as telling. A failed
    /// request keeps no limit.
    pub requests: u64,
    /// Requests that ended too early to be judged.
    pub left_out: u64,
    /// Lower 95 % bound (Clopper–Pearson, one-sided) of the share that keeps them; null without requests.
    pub lower_bound: Option<f64>,
    /// True if the bound reaches the share asked for.
    pub passes: bool,
}

/// The result of `tokometer analyse`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reanalysis {
    /// `tokometer.reanalysis/1`.
    pub schema: String,
    /// The run that was analysed.
    pub run: String,
    /// The line that titles the run.
    pub title: String,
    /// The part of each window; null: the whole.
    pub window: Option<WindowPart>,
    /// The rows, computed again; those without a trace as they are in the record.
    pub cells: Vec<Cell>,
    /// Names of rows that were not computed again, since they have no trace.
    pub as_recorded: Vec<String>,
    /// Users within limits, where limits were given.
    pub users: Option<SloUsers>,
    /// The counts behind `users`.
    pub slo_cells: Vec<SloCell>,
}

impl Reanalysis {
    /// The name of this document's schema and version.
    pub const SCHEMA: &'static str = "tokometer.reanalysis/1";
}
