//! The list of models, and the choice of one.

use serde_json::Value;
use tokometer_wire::{Answer, Control, FailureKind};

use crate::error::TargetError;

/// Longest excerpt of an answer in a message.
const EXCERPT: usize = 200;

/// One entry of `/v1/models`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ModelEntry {
    pub(crate) id: String,
    pub(crate) owned_by: Option<String>,
    /// Full name or path, where the engine tells it apart from the served name.
    pub(crate) root: Option<String>,
    pub(crate) max_model_len: Option<u64>,
    /// The whole entry, for what single engines add to it.
    pub(crate) raw: Value,
}

/// Reads the answer to `/v1/models`, or says what is wrong with it.
pub(crate) fn read(control: &Control, answer: &Answer) -> Result<Vec<ModelEntry>, TargetError> {
    let url = control.connector().target().display();
    let key_sent =
        control.connector().headers().names().any(|name| name.eq_ignore_ascii_case("authorization"));
    match answer.status {
        status @ (401 | 403) if key_sent => return Err(TargetError::KeyRefused { url, status }),
        status @ (401 | 403) => return Err(TargetError::KeyMissing { url, status }),
        404 | 405 => return Err(TargetError::NoApi { url }),
        300..=399 => {
            let location = answer.header("location").unwrap_or("an unnamed address").to_owned();
            return Err(TargetError::Redirect { url, location });
        }
        200..=299 => {}
        status => return Err(TargetError::Status { url, status, body: excerpt(&answer.text()) }),
    }
    let what = match answer.json() {
        Ok(json) => match entries(&json) {
            Some(models) => return Ok(models),
            None => "other JSON".to_owned(),
        },
        Err(_) if answer.text().trim_start().starts_with('<') => "a web page".to_owned(),
        Err(_) => "text that is no JSON".to_owned(),
    };
    Err(TargetError::NotAnApi { url, what })
}

/// A failure to get the list at all.
pub(crate) fn unreachable(control: &Control, failure: tokometer_wire::Failure) -> TargetError {
    let url = control.connector().target().display();
    if failure.kind == FailureKind::Malformed {
        return TargetError::NotAnApi { url, what: format!("something that is no HTTP ({failure})") };
    }
    TargetError::Unreachable { url, failure: Box::new(failure) }
}

fn entries(json: &Value) -> Option<Vec<ModelEntry>> {
    let data = json.get("data")?.as_array()?;
    let text = |entry: &Value, name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
    let models = data.iter().filter_map(|entry| {
        Some(ModelEntry {
            id: text(entry, "id")?,
            owned_by: text(entry, "owned_by"),
            root: text(entry, "root"),
            max_model_len: entry.get("max_model_len").and_then(Value::as_u64),
            raw: entry.clone(),
        })
    });
    Some(models.collect())
}

/// The model to measure: the one that was asked for, by served or full name, else the only one.
///
/// A server that lists none may still load what it is asked for.
pub(crate) fn choose(
    url: &str,
    models: &[ModelEntry],
    asked: Option<&str>,
) -> Result<ModelEntry, TargetError> {
    let ids = || models.iter().map(|model| model.id.clone());
    let Some(asked) = asked else {
        return match models {
            [only] => Ok(only.clone()),
            [] => Err(TargetError::NoModel { url: url.to_owned() }),
            _ => Err(TargetError::SeveralModels { served: ids().collect() }),
        };
    };
    if models.is_empty() {
        return Ok(ModelEntry { id: asked.to_owned(), ..ModelEntry::default() });
    }
    models
        .iter()
        .find(|model| model.id == asked)
        .or_else(|| models.iter().find(|model| model.root.as_deref() == Some(asked)))
        .cloned()
        .ok_or_else(|| {
            let mut served: Vec<_> = ids().collect();
            served.sort_by_key(|id| edits(&asked.to_lowercase(), &id.to_lowercase()));
            TargetError::UnknownModel { asked: asked.to_owned(), served }
        })
}

/// Levenshtein distance in characters.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, letter) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, other) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[right.len()]
}

/// The first characters of `text` on one line.
fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
