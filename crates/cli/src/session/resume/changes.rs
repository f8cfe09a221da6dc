//! What is not as it was when a run was left.

use serde_json::Value;
use tokometer_record::{Difference, Run};

/// Facts that decide what is measured: with another value it would be another run.
const DECIDING: [&str; 22] = [
    "simulated",
    "method.name",
    "method.version",
    "model.id",
    "model.served_name",
    "model.revision",
    "model.quantization",
    "model.max_length",
    "engine.name",
    "engine.version",
    "engine.commit",
    "engine.build",
    "engine.backend",
    "engine.parallelism",
    "engine.speculative",
    "engine.prefix_caching",
    "target.proxy",
    "launch_command",
    "hardware.class",
    "hardware.accelerators",
    "settings.corpus",
    "settings.allow_busy",
];
/// Facts that are only noted: they may move from start to start, or do not touch the server.
const NOTED: [&str; 7] = [
    "tool.version",
    "tool.commit",
    "target.url",
    "target.headers",
    "capacity.kv_tokens",
    "capacity.concurrent_requests",
    "settings.load_threads",
];

/// How far the size of the KV cache may be off, as a share.
const SIZE_LIMIT: f64 = 0.05;

/// What differs.
pub(super) struct Changes {
    deciding: Vec<Difference>,
    noted: Vec<Difference>,
}

impl Changes {
    /// What makes it another run.
    pub(super) fn deciding(&self) -> &[Difference] {
        &self.deciding
    }

    /// Everything.
    pub(super) fn all(self) -> Vec<Difference> {
        self.deciding.into_iter().chain(self.noted).collect()
    }
}

/// Compares the record as it was left with one that was made now. A fact that only one of both knows decides nothing.
pub(super) fn between(before: &Run, after: &Run, address_changes: bool) -> Changes {
    let document = |run: &Run| serde_json::to_value(run).unwrap_or_default();
    let (old, new) = (document(before), document(after));
    let mut changes = Changes { deciding: Vec::new(), noted: Vec::new() };
    let compared = |path: &&str| {
        // What the user stated then and does not state now is as it was.
        (is_stated(after, path) || !is_stated(before, path)) && !(address_changes && *path == "target.url")
    };
    for path in DECIDING.iter().chain(&NOTED).copied().filter(compared) {
        let (before, after) = (at(&old, path), at(&new, path));
        if before == after {
            continue;
        }
        let known = !is_nothing(&before) && !is_nothing(&after);
        let decides =
            DECIDING.contains(&path) || (path == "capacity.kv_tokens" && is_another_size(&before, &after));
        let list = if known && decides { &mut changes.deciding } else { &mut changes.noted };
        list.push(Difference { field: path.to_owned(), before, after });
    }
    changes
}

/// A cache differs a little from start to start; by more, it is another server.
fn is_another_size(before: &Value, after: &Value) -> bool {
    match (before.as_f64(), after.as_f64()) {
        (Some(before), Some(after)) => (after / before - 1.0).abs() > SIZE_LIMIT,
        _ => false,
    }
}

/// `engine.version was "1.0", is "1.1"`.
pub(super) fn words(difference: &Difference) -> String {
    let word = |value: &Value| if is_nothing(value) { "unknown".to_owned() } else { value.to_string() };
    format!("{} was {}, is {}", difference.field, word(&difference.before), word(&difference.after))
}

fn at(document: &Value, path: &str) -> Value {
    path.split('.').try_fold(document, |value, name| value.get(name)).cloned().unwrap_or_default()
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

fn is_stated(run: &Run, path: &str) -> bool {
    let stated = |source: &str| source.starts_with("stated by the user");
    let capacity = path == "capacity.kv_tokens" && run.capacity.kv_source.as_deref().is_some_and(stated);
    // A file of hardware states all of it.
    let whole =
        |field: &str| field == path || (field.starts_with("hardware.") && path.starts_with("hardware."));
    capacity || run.evidence.iter().any(|evidence| whole(&evidence.field) && stated(&evidence.source))
}

#[cfg(test)]
mod tests {
    use tokometer_record::{Evidence, published};

    use super::*;

    fn run() -> Run {
        tokometer_record::import::published(published::H200_X4, "h200-x4.json").unwrap()
    }

    #[test]
    fn facts_that_decide_are_told_from_those_that_do_not() {
        let (before, mut after) = (run(), run());
        assert!(between(&before, &after, false).all().is_empty());
        after.model.served_name = Some("another".to_owned());
        after.engine.version = None;
        after.target.url = Some("http://elsewhere:8000".to_owned());
        let changes = between(&before, &after, false);
        let fields = |list: &[Difference]| list.iter().map(|one| one.field.clone()).collect::<Vec<_>>();
        let known = before.model.served_name.is_some();
        assert_eq!(fields(changes.deciding()).is_empty(), !known);
        assert!(changes.noted.iter().any(|one| one.field == "target.url"));
        assert!(!between(&before, &after, true).noted.iter().any(|one| one.field == "target.url"));
    }

    #[test]
    fn what_was_stated_need_not_be_stated_again() {
        let (mut before, after) = (run(), run());
        before.engine.version = Some("9.9".to_owned());
        assert!(between(&before, &after, false).all().iter().any(|one| one.field == "engine.version"));
        before.evidence.push(Evidence {
            field: "engine.version".to_owned(),
            value: "9.9".to_owned(),
            source: "stated by the user (--engine-version)".to_owned(),
        });
        assert!(between(&before, &after, false).all().is_empty());
    }
}
