//! Whether a document is fit to be published: who it says it is, when, and what it shows.

use std::path::{Component, Path};

use serde_json::Value;
use tokometer_record::{Cell, Run, RunState};
use tokometer_wire::redact;
use uuid::Uuid;

use super::files;
use crate::artefacts::Hash;
use crate::clock;
use crate::problem::Problem;

/// Longest title, characters.
pub(crate) const TITLE: usize = 200;
/// Longest note, characters.
pub(crate) const NOTE: usize = 4000;
/// Longest name of a model, an engine, a device.
const NAME: usize = 200;
/// Rows of a matrix.
const ROWS: usize = 2000;
/// Files of a run.
const FILES: usize = 4000;
/// How far a client's clock may be ahead.
const AHEAD_MS: i64 = 3_600_000;

/// Refuses what can't be published.
pub(super) fn check(run: &Run) -> Result<(), Problem> {
    id(run)?;
    time(run)?;
    state(run)?;
    names(run)?;
    paths(run)?;
    secrets(run)
}

fn id(run: &Run) -> Result<(), Problem> {
    let parsed = Uuid::parse_str(&run.id).ok().filter(|id| id.hyphenated().to_string() == run.id);
    // Of an import it is made from the file; of a run that was made from another one, too.
    let known = parsed.is_some_and(|id| matches!(id.get_version_num(), 7 | 8));
    if known {
        return Ok(());
    }
    Err(refused(
        "the run's id is no UUID of version 7 or 8 in its usual form",
        "publish the run.json that tokometer wrote",
    ))
}

fn time(run: &Run) -> Result<(), Problem> {
    let Some(text) = &run.created_at else {
        return if run.imported.is_some() {
            Ok(())
        } else {
            Err(refused("created_at is missing", "publish the run.json that tokometer wrote"))
        };
    };
    match clock::parse(text) {
        Some(at) if at > clock::now() + AHEAD_MS => Err(refused(
            "created_at is in the future",
            "set the clock of the host that measured, and measure again",
        )),
        Some(_) => Ok(()),
        None => Err(refused("created_at is no RFC 3339 time", "publish the run.json that tokometer wrote")),
    }
}

fn state(run: &Run) -> Result<(), Problem> {
    let why = match run.state {
        RunState::DryRun => "the run is a plan: nothing was measured",
        RunState::Running => "the run has not come to its end",
        RunState::Finished | RunState::Interrupted | RunState::Failed => {
            let measured = |cell: &&Cell| cell.throughput.is_some() || cell.prefill_rate.is_some();
            if run.cells.iter().any(|cell| measured(&cell)) {
                return Ok(());
            }
            "no cell of the run has a result"
        }
    };
    Err(refused(why, "publish a run that has results"))
}

fn names(run: &Run) -> Result<(), Problem> {
    let (model, engine) = (&run.model, &run.engine);
    let devices = run.hardware.accelerators.iter().map(|one| Some(&one.name));
    let short = [
        ("title", run.title.as_ref(), TITLE),
        ("note", run.note.as_ref(), NOTE),
        ("model.id", model.id.as_ref(), NAME),
        ("model.served_name", model.served_name.as_ref(), NAME),
        ("model.quantization", model.quantization.as_ref(), NAME),
        ("engine.name", engine.name.as_ref(), NAME),
        ("engine.version", engine.version.as_ref(), NAME),
        ("engine.speculative", engine.speculative.as_ref(), NAME),
        ("method.name", Some(&run.method.name), NAME),
        ("method.version", Some(&run.method.version), NAME),
        ("tool.version", Some(&run.tool.version), NAME),
    ];
    for (path, text, most) in
        short.into_iter().chain(devices.map(|name| ("hardware.accelerators", name, NAME)))
    {
        if let Some(text) = text {
            text_of(path, text, most)?;
        }
    }
    if run.cells.len() > ROWS {
        return Err(refused(&format!("the matrix has more than {ROWS} rows"), "publish it as several runs"));
    }
    Ok(())
}

/// Refuses words of a revision that could not be published.
pub(crate) fn words(run: &Run, why: Option<&str>) -> Result<(), Problem> {
    names(run)?;
    secrets(run)?;
    text_of("why", why.unwrap_or_default(), NOTE)
}

/// What [`text_of`] takes, as a pattern for the API's description.
pub(crate) const SAID: &str =
    r"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]*$";
/// The same with something to read in it.
pub(crate) const SAID_SOMETHING: &str = concat!(
    r"^[^\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]*",
    r"[^\s\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]",
    r"[^\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]*$"
);

/// Refuses a text that is too long, or holds what can change how the text around it is read.
pub(crate) fn text_of(path: &str, text: &str, most: usize) -> Result<(), Problem> {
    if text.chars().count() > most {
        return Err(refused(&format!("{path} is longer than {most} characters"), "shorten it"));
    }
    let hidden = |letter: char| {
        (letter.is_control() && !matches!(letter, '\n' | '\t'))
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    };
    if text.chars().any(hidden) {
        let what = format!("{path} holds control characters, or marks that turn the direction of text");
        return Err(refused(&what, "take them out"));
    }
    Ok(())
}

/// Files are found by hash; their names must still be plain, since they are names for downloads.
fn paths(run: &Run) -> Result<(), Problem> {
    let files = files(run);
    if files.len() > FILES {
        return Err(refused(&format!("the run names more than {FILES} files"), "publish it as several runs"));
    }
    let mut seen = std::collections::BTreeSet::new();
    for (name, sha256) in &files {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/');
        let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if name.is_empty() || name.len() > NAME || !name.chars().all(plain) || !inside || !seen.insert(name) {
            return Err(refused(
                "the name of a file is not plain, leads out of the run's folder, or is there twice",
                "publish the run.json that tokometer wrote",
            ));
        }
        if Hash::parse(sha256).is_none() {
            return Err(refused(
                "the hash of a file is no SHA-256 in hex",
                "publish the run.json that tokometer wrote",
            ));
        }
    }
    Ok(())
}

/// Refuses texts with what looks like a secret. Which one is said, never what it holds.
fn secrets(run: &Run) -> Result<(), Problem> {
    let document = serde_json::to_value(run).unwrap_or_default();
    for path in
        ["title", "note", "launch_command", "remarks", "evidence", "target", "state_reason", "unknown"]
    {
        if has_secret(&document[path]) {
            return Err(secret(path));
        }
    }
    let settings = &document["settings"];
    for path in ["request_json", "request_fields"] {
        if redact::json(settings[path].clone()) != settings[path] {
            return Err(secret(&format!("settings.{path}")));
        }
    }
    let empty = Vec::new();
    for (cell, row) in document["cells"].as_array().unwrap_or(&empty).iter().zip(&run.cells) {
        if has_secret(&cell["error"]) || has_secret(&cell["unknown"]) {
            return Err(secret(&format!("cells {}", row.name())));
        }
    }
    Ok(())
}

fn has_secret(value: &Value) -> bool {
    match value {
        Value::String(text) => redact::text(text) != *text,
        Value::Array(items) => items.iter().any(has_secret),
        Value::Object(map) => map.values().any(has_secret),
        _ => false,
    }
}

fn secret(path: &str) -> Problem {
    Problem::refused(
        "secret",
        format!("{path} holds what looks like a key, a password or a token"),
        "`tokometer publish` takes such things out before it sends; anything published must be taken as known",
    )
}

fn refused(what: &str, hint: &str) -> Problem {
    Problem::refused("bad_identity", what, hint)
}
