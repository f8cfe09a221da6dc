//! The JSON Schema of the run document, generated from its types.

use serde_json::Value;

use crate::Run;

/// The JSON Schema (draft 2020-12) of `run.json`.
pub fn run() -> Value {
    let mut schema = schemars::schema_for!(Run);
    schema.insert("title".to_owned(), Value::from(format!("Run record, {}", Run::SCHEMA)));
    schema.to_value()
}
