//! JSON Schemas of the documents, generated from their types.

use schemars::JsonSchema;
use serde_json::Value;

use crate::reanalysis::Reanalysis;
use crate::{Comparison, Run, SweepSummary, Verification};

/// A document that has a schema: its name, and the schema of its JSON (draft 2020-12).
type Named = (&'static str, fn() -> Value);

/// Every document with a schema, by the name that `tokometer schema NAME` takes.
pub const ALL: [Named; 5] = [
    ("run", run),
    ("comparison", comparison),
    ("verification", verification),
    ("reanalysis", reanalysis),
    ("sweep", sweep),
];

/// `run.json`.
pub fn run() -> Value {
    titled::<Run>("Run record", Run::SCHEMA)
}

/// What `tokometer compare --json` prints.
pub fn comparison() -> Value {
    titled::<Comparison>("Comparison", Comparison::SCHEMA)
}

/// What `tokometer verify --json` prints.
pub fn verification() -> Value {
    titled::<Verification>("Verification", Verification::SCHEMA)
}

/// What `tokometer analyse --json` prints.
pub fn reanalysis() -> Value {
    titled::<Reanalysis>("Analysis", Reanalysis::SCHEMA)
}

/// `sweep.json`, and what `tokometer sweep --json` prints.
pub fn sweep() -> Value {
    titled::<SweepSummary>("Sweep", SweepSummary::SCHEMA)
}

fn titled<T: JsonSchema>(title: &str, name: &str) -> Value {
    let mut schema = schemars::schema_for!(T);
    schema.insert("title".to_owned(), Value::from(format!("{title}, {name}")));
    schema.to_value()
}
