//! What would leave this machine if a run were published: its document, looked through once more, and its files.
//!
//! Records are free of secrets when they are written. This is the last look: it removes what a newer rule finds, and
//! whoever publishes a run sends this document and no other.

use serde_json::Value;
use tokometer_record::{RecordError, Run, RunFolder};
use tokometer_wire::redact;

/// What would be published of a run.
pub(crate) struct Publication {
    /// The document, exactly as it would be sent.
    pub(crate) document: Value,
    /// Where the last look removed something that the record still had, by path.
    pub(crate) removed: Vec<String>,
    /// Files beside it, with their sizes in bytes.
    pub(crate) files: Vec<(String, u64)>,
}

impl Publication {
    /// Of the run in a folder.
    pub(crate) fn of(folder: &RunFolder) -> Result<Publication, RecordError> {
        let run = folder.load_run()?;
        let mut publication =
            Publication { document: folder.load_document()?, removed: Vec::new(), files: files(&run) };
        publication.look_once_more();
        Ok(publication)
    }

    fn look_once_more(&mut self) {
        look(&mut self.document, "", &mut self.removed);
        // Fields that a user chose the names of: a name tells a secret that its value does not look like.
        for name in ["request_json", "request_fields"] {
            let Some(value) = self.document.pointer_mut(&format!("/settings/{name}")) else { continue };
            let clean = redact::json(value.clone());
            if clean != *value {
                *value = clean;
                self.removed.push(format!("settings.{name}"));
            }
        }
    }

    /// Every text in it that is not one of its own words, and the files, to be read before they go.
    pub(crate) fn text(&self) -> String {
        let mut lines = Vec::new();
        let Value::Object(document) = &self.document else { return String::new() };
        for (name, value) in document.iter().filter(|(name, _)| *name != "cells") {
            texts(name, value, &mut lines);
        }
        let cells = document.get("cells").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        lines.push(format!("cells: {} rows of figures", cells.len()));
        for cell in cells {
            // Texts of servers: what failed, and what repeated itself.
            let name = |key: &str| cell.get(key).map(Value::to_string).unwrap_or_default();
            let place = format!("cells[{} × {}]", name("context_nominal"), name("concurrency"));
            for key in ["reason", "flags", "failures", "loops"] {
                texts(&format!("{place}.{key}"), cell.get(key).unwrap_or(&Value::Null), &mut lines);
            }
        }
        for (file, bytes) in &self.files {
            lines.push(format!("file: {file} ({bytes} bytes)"));
        }
        for path in &self.removed {
            lines.push(format!("removed: a secret in {path}"));
        }
        lines.join("\n") + "\n"
    }
}

fn files(run: &Run) -> Vec<(String, u64)> {
    run.files().into_iter().map(|file| (file.file.clone(), file.bytes)).collect()
}

/// Removes what looks like a secret from every text.
fn look(value: &mut Value, path: &str, removed: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let command = path == "launch_command" || path.ends_with(".launch_command");
            let clean = if command { redact::line(text) } else { redact::text(text) };
            if clean != *text {
                *text = clean;
                removed.push(path.to_owned());
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter_mut().enumerate() {
                look(inner, &format!("{path}[{index}]"), removed);
            }
        }
        Value::Object(map) => {
            for (name, inner) in map {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                look(inner, &path, removed);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn texts(path: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::String(text) => lines.push(format!("{path}: {}", text.replace('\n', " "))),
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                texts(&format!("{path}[{index}]"), inner, lines);
            }
        }
        Value::Object(map) => {
            for (name, inner) in map {
                texts(&format!("{path}.{name}"), inner, lines);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_that_only_its_name_tells_is_not_published() {
        let document = json!({"settings": {
            "request_json": {"api_key": "hunter2", "top_k": 20},
            "request_fields": {"metadata": {"password": "swordfish"}},
        }});
        let mut publication = Publication { document, removed: Vec::new(), files: Vec::new() };
        publication.look_once_more();
        let text = publication.document.to_string();
        assert!(!text.contains("hunter2") && !text.contains("swordfish"), "{text}");
        assert_eq!(publication.document["settings"]["request_json"]["top_k"], 20);
        assert_eq!(publication.removed, ["settings.request_json", "settings.request_fields"]);
    }
}
