//! Reads an event of any shape, as a JSON tree.

use serde_json::Value;

use super::{Delta, EngineCounters, Rare, Unreadable, Usage};
use crate::exchange::Channel;
use crate::repetition::Texts;

pub(super) fn read(value: &Value, texts: &mut Texts) -> Result<Delta, Unreadable> {
    if !value.is_object() {
        return Err(Unreadable("it is no JSON object".to_owned()));
    }
    let choice = first_choice(value);
    // Usage on an event of another choice counts that choice alone.
    let of_another =
        choice.is_none() && value["choices"].as_array().is_some_and(|choices| !choices.is_empty());
    let usage = if of_another { Usage::default() } else { usage(value) };
    let mut delta = Delta { usage, engine: engine_counters(value), ..Delta::default() };
    let mut rare = Rare {
        fingerprint: text(&value["system_fingerprint"]).map(str::to_owned),
        error: error(value),
        finish_reason: None,
    };
    if let Some(choice) = choice {
        rare.finish_reason = text(&choice["finish_reason"]).map(str::to_owned);
        delta.token_ids = choice["token_ids"].as_array().map_or(0, |ids| ids.len() as u32);
        delta.payload = payload(choice, texts);
        if delta.payload.is_none() && delta.token_ids > 0 {
            delta.payload = Some(Channel::TokenIds);
        }
    }
    if rare != Rare::default() {
        delta.rare = Some(Box::new(rare));
    }
    Ok(delta)
}

/// The choice with index 0; the first where none has an index.
fn first_choice(value: &Value) -> Option<&Value> {
    let choices = value["choices"].as_array()?;
    choices.iter().find(|choice| choice["index"].as_u64().unwrap_or(0) == 0)
}

/// Hands out all text; returns the channel that counts.
fn payload(choice: &Value, texts: &mut Texts) -> Option<Channel> {
    let delta = &choice["delta"];
    let mut payload = None;
    let mut take = |channel, text: Option<&str>, texts: &mut Texts| {
        if let Some(text) = text {
            texts.push(channel, text.as_bytes(), false);
            payload = payload.or(Some(channel));
        }
    };
    take(Channel::Content, text(&delta["content"]), texts);
    // Some servers send the same reasoning under both names.
    take(Channel::Reasoning, text(&delta["reasoning"]).or(text(&delta["reasoning_content"])), texts);
    take(Channel::Refusal, text(&delta["refusal"]), texts);
    let calls = delta["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let functions = calls.iter().map(|call| &call["function"]).chain([&delta["function_call"]]);
    for function in functions {
        take(Channel::ToolCall, text(&function["name"]), texts);
        take(Channel::ToolCall, text(&function["arguments"]), texts);
    }
    take(Channel::Text, text(&choice["text"]), texts);
    payload
}

fn usage(value: &Value) -> Usage {
    let usage = &value["usage"];
    let details = &usage["completion_tokens_details"]["reasoning_tokens"];
    let mut usage = Usage {
        prompt: usage["prompt_tokens"].as_u64(),
        completion: usage["completion_tokens"].as_u64(),
        cached: usage["prompt_tokens_details"]["cached_tokens"].as_u64(),
        reasoning: details.as_u64().or(usage["reasoning_tokens"].as_u64()),
    };
    usage.drop_zeros();
    usage
}

fn engine_counters(value: &Value) -> EngineCounters {
    let timings = &value["timings"];
    EngineCounters {
        prompt: timings["prompt_n"].as_u64(),
        cached: timings["cache_n"].as_u64(),
        generated: timings["predicted_n"].as_u64(),
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
