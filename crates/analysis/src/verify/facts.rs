//! What the record says about itself, and what nobody can check.

use serde_json::Value;
use tokometer_record::Run;
use tokometer_record::verification::{Check, NotChecked};

use super::numbers::{differences, same};
use super::{Findings, rows};

/// Fields of requests that hold the output asked, by any engine's name for it.
const OUTPUT_FIELDS: [&str; 5] =
    ["max_tokens", "max_completion_tokens", "min_tokens", "n_predict", "max_new_tokens"];

/// Settings that no trace shows.
const UNSEEN_SETTINGS: [(&str, &str); 4] = [
    ("seed", "the text of prompts is not in a trace"),
    ("timeout_seconds", "a trace shows no limit that was not reached"),
    ("load_threads", "a trace does not say which thread read"),
    ("allow_busy", "a trace does not show what was asked before the run"),
];

/// Fields of a document that the record's types do not know: they were lost in reading it.
pub(super) fn unknown_fields(findings: &mut Findings, run: &Run, document: &Value) {
    let read = serde_json::to_value(run).unwrap_or_default();
    let (lost, _) = differences(document, &read);
    for difference in lost.into_iter().filter(|difference| difference.found.is_null()) {
        let text = "no field of a run record: it is not read".to_owned();
        let finding = findings.failure(Check::Document, None, text);
        finding.path = Some(difference.path);
        finding.recorded = Some(difference.recorded);
    }
}

/// Settings against the fields that were sent.
pub(super) fn settings(findings: &mut Findings, run: &Run) {
    let settings = &run.settings;
    let Some(Value::Object(fields)) = &settings.request_fields else { return };
    let mut expected: Vec<(&str, &str, Value)> = Vec::new();
    for name in OUTPUT_FIELDS {
        expected.push((name, "max_output_tokens", settings.max_output_tokens.into()));
    }
    expected.push(("temperature", "temperature", settings.temperature.into()));
    expected.push(("top_p", "top_p", settings.top_p.into()));
    for (field, setting, value) in expected {
        // A minimum of 1 or 0 is a default of its own.
        let Some(sent) = fields.get(field).filter(|sent| sent.as_u64().is_none_or(|sent| sent > 1)) else {
            continue;
        };
        if !same(sent, &value) {
            let path = format!("settings.request_fields.{field}");
            let text = format!("settings.{setting} is {}, and this was sent", rows::shown(&value));
            findings.field(Check::Facts, &path, sent.clone(), value, text);
        }
    }
}

/// Facts against the sources that the record names for them.
pub(super) fn evidence(findings: &mut Findings, run: &Run) {
    let document = serde_json::to_value(run).unwrap_or_default();
    let mut fields: Vec<&str> = run.evidence.iter().map(|evidence| evidence.field.as_str()).collect();
    fields.sort_unstable();
    fields.dedup();
    for path in fields {
        let value = path.split('.').try_fold(&document, |value, name| value.get(name));
        let text = match value {
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
            Some(Value::Array(list)) if !list.is_empty() && list.iter().all(Value::is_number) => {
                list.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
            }
            _ => continue,
        };
        let stated = path == "capacity.kv_tokens"
            && run.capacity.kv_source.as_ref().is_some_and(|source| source.starts_with("stated by the user"));
        let found = || run.evidence.iter().filter(|evidence| evidence.field == path);
        if stated || found().any(|evidence| evidence.value == text) {
            continue;
        }
        if let Some(evidence) = found().next() {
            let words = format!("{} told {:?}", evidence.source, evidence.value);
            findings.field(
                Check::Facts,
                path,
                value.cloned().unwrap_or_default(),
                evidence.value.clone().into(),
                words,
            );
        }
    }
}

/// A run can't be over before its last request.
pub(super) fn elapsed(findings: &mut Findings, run: &Run, last_ns: u64) {
    let last = last_ns as f64 / 1e9;
    if let Some(elapsed) = run.elapsed_seconds.filter(|elapsed| *elapsed < last) {
        let text = format!("the last request of the traces ended at {last} s");
        findings.field(Check::Facts, "elapsed_seconds", elapsed.into(), last.into(), text);
    }
}

/// Stated facts and texts.
pub(super) fn not_checked(run: &Run) -> Vec<NotChecked> {
    let mut list = Vec::new();
    let stated = "stated, and no trace shows it";
    for (path, is_there) in [
        ("title", run.title.is_some()),
        ("note", run.note.is_some()),
        ("launch_command", run.launch_command.is_some()),
        ("created_at", run.created_at.is_some()),
        ("elapsed_seconds", run.elapsed_seconds.is_some()),
        ("tool", true),
        ("target", run.target.url.is_some()),
        ("remarks", !run.remarks.is_empty()),
        ("unknown", !run.unknown.is_empty()),
        ("evidence", !run.evidence.is_empty()),
    ] {
        let why = match path {
            "elapsed_seconds" => "only that it is not below the end of the last request",
            "evidence" => "only that facts agree with it",
            _ => stated,
        };
        if is_there {
            list.push(not(path, why));
        }
    }
    let settings = serde_json::to_value(&run.settings).unwrap_or_default();
    for (name, why) in UNSEEN_SETTINGS {
        if !settings[name].is_null() {
            list.push(not(&format!("settings.{name}"), why));
        }
    }
    list
}

pub(super) fn not(what: &str, why: &str) -> NotChecked {
    NotChecked { what: what.to_owned(), why: why.to_owned() }
}
