//! Reads an event of any shape, as a JSON tree.

use serde_json::Value;

use super::{Counted, Delta, Rare, Unreadable};
use crate::dialect::{Count, Rules};
use crate::exchange::Channel;
use crate::repetition::Texts;

pub(super) fn read(value: &Value, rules: &Rules, texts: &mut Texts) -> Result<Delta, Unreadable> {
    if !value.is_object() {
        return Err(Unreadable("it is no JSON object".to_owned()));
    }
    let mut delta = Delta { counted: counted(value), ..Delta::default() };
    read_counts(value, rules, &mut delta);
    let mut rare = Rare {
        fingerprint: text(&value["system_fingerprint"]).map(str::to_owned),
        error: error(value),
        finish_reason: None,
        done: rules.done.is_some_and(|path| flag(value, path)),
    };
    visit(value, rules.finish, &mut |reason| {
        rare.finish_reason = text(reason).or(text(&reason["type"])).map(str::to_owned);
    });
    if rare.done && rare.finish_reason.is_none() {
        // Old versions say no more than that.
        rare.finish_reason = Some("done".to_owned());
    }
    delta.payload = payload(value, rules, texts);
    if let Some(path) = rules.token_ids {
        visit(value, path, &mut |ids| delta.token_ids = ids.as_array().map_or(0, |ids| ids.len() as u32));
    }
    if delta.payload.is_none() && delta.token_ids > 0 {
        delta.payload = Some(Channel::TokenIds);
    }
    if rare != Rare::default() {
        delta.rare = Some(Box::new(rare));
    }
    Ok(delta)
}

/// Hands everything at `path` to `found`.
fn visit<'v>(value: &'v Value, path: &[&str], found: &mut impl FnMut(&'v Value)) {
    match path {
        [] => found(value),
        ["choices", "", rest @ ..] => {
            if let Some(choice) = first_choice(value) {
                visit(choice, rest, found);
            }
        }
        ["", rest @ ..] => {
            value.as_array().into_iter().flatten().for_each(|item| visit(item, rest, found));
        }
        [key, rest @ ..] => {
            if let Some(inner) = value.get(*key) {
                visit(inner, rest, found);
            }
        }
    }
}

fn flag(value: &Value, path: &[&str]) -> bool {
    let mut set = false;
    visit(value, path, &mut |value| set |= *value == Value::Bool(true));
    set
}

/// The choice with index 0; the first where none has an index.
fn first_choice(value: &Value) -> Option<&Value> {
    let choices = value["choices"].as_array()?;
    choices.iter().find(|choice| index(choice) == 0)
}

fn counted(value: &Value) -> Counted {
    match value["choices"].as_array().map(Vec::as_slice) {
        Some([]) => Counted::All,
        None if value["usage"].is_object() => Counted::All,
        Some([choice, ..]) if first_choice(value).is_none() => {
            Counted::Other(u32::try_from(index(choice)).unwrap_or(u32::MAX))
        }
        _ => Counted::First,
    }
}

fn index(choice: &Value) -> u64 {
    choice["index"].as_u64().unwrap_or(0)
}

/// Hands out all text; returns the channel that counts.
fn payload(value: &Value, rules: &Rules, texts: &mut Texts) -> Option<Channel> {
    let mut payload = None;
    let mut reasoned = false;
    for &(path, channel) in rules.texts {
        // Under a second name it is the same text once more.
        if channel == Channel::Reasoning && reasoned {
            continue;
        }
        visit(value, path, &mut |value| {
            if let Some(text) = text(value) {
                texts.push(channel, text.as_bytes(), false);
                payload = payload.or(Some(channel));
                reasoned |= channel == Channel::Reasoning;
            }
        });
    }
    payload
}

fn read_counts(value: &Value, rules: &Rules, delta: &mut Delta) {
    for &(path, count) in rules.counts.iter().copied().flatten() {
        let count = match count {
            Count::FlatReasoning if delta.counts.is_told(Count::Reasoning) => continue,
            Count::FlatReasoning => Count::Reasoning,
            other => other,
        };
        visit(value, path, &mut |value| {
            if let Some(number) = value.as_u64() {
                delta.counts.put(count, number);
            }
        });
    }
}

/// The message of an error, if the event or body is one.
fn error(value: &Value) -> Option<String> {
    let has_choices = value["choices"].as_array().is_some();
    let stated = match &value["error"] {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    };
    let coded =
        value["message"].is_string() && (value["code"] != Value::Null || value["type"] != Value::Null);
    let flat = value["object"] == "error" || (!has_choices && (value["detail"] != Value::Null || coded));
    (stated || flat).then(|| {
        error_message(value).unwrap_or_else(|| "the server sent an error without a message".to_owned())
    })
}

/// The message in an error body, whatever its shape: an `error` object or string, a flat object, or FastAPI's
/// `detail`.
pub(crate) fn error_message(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let messages: Vec<String> = items.iter().filter_map(error_message).collect();
            (!messages.is_empty()).then(|| messages.join("; "))
        }
        Value::Object(_) => ["error", "message", "msg", "detail"]
            .iter()
            .filter_map(|key| value.get(key))
            .find_map(error_message)
            .filter(|message| !message.is_empty()),
        _ => None,
    }
}

/// A string that is not empty.
fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}
