//! Dumps of the public tables.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Millis;

/// A dump of the public tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Dump {
    /// The day that it is of: `2026-12-01`, UTC.
    #[schemars(extend("format" = "date"))]
    pub day: String,
    /// When it was made.
    #[serde(serialize_with = "crate::clock::as_text")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub made_at: Millis,
    /// Its files.
    pub files: Vec<DumpFile>,
}

/// A file of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DumpFile {
    /// Which table: `runs` or `cells`.
    pub table: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
    /// Its rows.
    pub rows: u64,
}
