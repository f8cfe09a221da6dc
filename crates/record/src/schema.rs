//! JSON Schemas of the documents, generated from their types.

use serde_json::Value;

use crate::reanalysis::Reanalysis;
use crate::{Comparison, Run, Verification};

/// The JSON Schema (draft 2020-12) of `run.json`.
pub fn run() -> Value {
    let mut schema = schemars::schema_for!(Run);
    schema.insert("title".to_owned(), Value::from(format!("Run record, {}", Run::SCHEMA)));
    schema.to_value()
}

/// The JSON Schema (draft 2020-12) of what `tokometer compare --json` prints.
pub fn comparison() -> Value {
    let mut schema = schemars::schema_for!(Comparison);
    schema.insert("title".to_owned(), Value::from(format!("Comparison, {}", Comparison::SCHEMA)));
    schema.to_value()
}

/// The JSON Schema (draft 2020-12) of what `tokometer verify --json` prints.
pub fn verification() -> Value {
    let mut schema = schemars::schema_for!(Verification);
    schema.insert("title".to_owned(), Value::from(format!("Verification, {}", Verification::SCHEMA)));
    schema.to_value()
}

/// The JSON Schema (draft 2020-12) of what `tokometer analyse --json` prints.
pub fn reanalysis() -> Value {
    let mut schema = schemars::schema_for!(Reanalysis);
    schema.insert("title".to_owned(), Value::from(format!("Analysis, {}", Reanalysis::SCHEMA)));
    schema.to_value()
}
