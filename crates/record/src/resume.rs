//! Runs that were broken off and taken up again: what lay between, and what was measured twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cell::Cell;
use crate::run::RunState;

/// A break of a run: where a segment ended before the plan did, and the next one took it up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Break {
    /// The segment that begins behind the break, from 2 on. Traces name the segment that they are from.
    pub segment: u32,
    /// How the segment before ended; `running` means that its process was killed.
    pub left_state: RunState,
    /// When the segment before was last heard of, seconds from the run's start; null where it measured nothing.
    pub left_seconds: Option<f64>,
    /// Wall-clock time at which the run went on, RFC 3339, UTC.
    pub resumed_at: Option<String>,
    /// The same in seconds from the run's start: times of the new segment's traces count on from here.
    pub resumed_seconds: f64,
    /// What the salts of the new segment's prompts are made from. No two segments share one, so that no prompt
    /// meets a prefix which an earlier segment left in the server's cache.
    pub salt: String,
    /// What was measured again although it had been measured, as the user named it; empty: nothing.
    pub redo: Vec<String>,
    /// What is not as it was before the break: of the server, of the client, of the settings.
    pub differences: Vec<Difference>,
}

/// A fact that a break changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Dotted path of the field in the record: `engine.version`.
    pub field: String,
    /// Its value in the record.
    pub before: Value,
    /// Its value behind the break.
    pub after: Value,
}

/// A measurement that another one took the place of: cut short, or measured again by the user's wish.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetAside {
    /// The segment whose measurement took its place.
    pub by_segment: u32,
    /// Which repeat of the cell it was, from 1 on; null where the cell is measured once.
    pub repeat: Option<u32>,
    /// The measurement as a row, with its trace.
    pub cell: Cell,
}

impl SetAside {
    /// The row's name, and which repeat of it: `decode-8192-32`, `decode-8192-32.2`.
    pub fn name(&self) -> String {
        let name = self.cell.name();
        self.repeat.map_or(name.clone(), |repeat| format!("{name}.{repeat}"))
    }
}
