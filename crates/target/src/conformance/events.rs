//! What the events of a stream hold.

use serde_json::Value;

use super::framing::excerpt;
use super::{ExactLength, Finding, FirstPayload, UsageForm};

/// Fields of a delta, or of a choice, that carry output as text.
const TEXT_FIELDS: [&str; 5] = ["content", "reasoning", "reasoning_content", "refusal", "text"];

/// One event.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The field that carries output.
    pub(super) payload: Option<&'static str>,
    /// That output.
    pub(super) text: String,
    pub(super) finish: Option<String>,
    /// `usage.completion_tokens`.
    pub(super) usage: Option<u64>,
    pub(super) has_choices: bool,
    pub(super) role: bool,
    /// A text field is there and null.
    pub(super) null_text: bool,
    /// A text field is there and empty.
    pub(super) empty_text: bool,
    pub(super) error: Option<String>,
    pub(super) is_json: bool,
}

/// All events of a stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) events: Vec<Seen>,
}

impl Stream {
    pub(super) fn read(events: &[String]) -> Stream {
        Stream { events: events.iter().map(|data| read(data)).collect() }
    }

    pub(super) fn payload(&self) -> impl Iterator<Item = &Seen> {
        self.events.iter().filter(|event| event.payload.is_some())
    }

    pub(super) fn finish(&self) -> Option<&str> {
        self.events.iter().rev().find_map(|event| event.finish.as_deref())
    }

    /// The last usage that is not all zero.
    pub(super) fn tokens(&self) -> Option<u64> {
        self.events.iter().rev().find_map(|event| event.usage.filter(|tokens| *tokens > 0))
    }

    pub(super) fn first_payload(&self) -> Option<FirstPayload> {
        let at = self.events.iter().position(|event| event.payload.is_some())?;
        Some(FirstPayload {
            event: at as u32 + 1,
            field: self.events[at].payload?.to_owned(),
            before: self.events[..at].iter().map(describe).collect(),
        })
    }

    pub(super) fn usage(&self) -> Finding<UsageForm> {
        let with: Vec<&Seen> = self.events.iter().filter(|event| event.usage.is_some()).collect();
        let Some(last) = with.last() else {
            return Finding::new(
                UsageForm::None,
                format!("none of {} events holds usage", self.events.len()),
            );
        };
        let Some(tokens) = self.tokens() else {
            let seen = format!("{} events hold usage, and all of it is 0", with.len());
            return Finding::new(UsageForm::Zero, seen);
        };
        let on_payload = self.payload().filter(|event| event.usage.is_some_and(|tokens| tokens > 0)).count();
        let place = match (last.has_choices, last.finish.is_some()) {
            (false, _) => "on an event of its own without choices",
            (true, true) => "on the event with the finish reason",
            (true, false) => "on an event with choices",
        };
        // One is enough where the last usage stands elsewhere: a busy server joins tokens into few events.
        if on_payload >= 2 || (on_payload == 1 && last.payload.is_none()) {
            let payload = self.payload().count();
            let seen = format!(
                "on {on_payload} of {payload} events with output, up to {tokens} tokens; last {place}"
            );
            return Finding::new(UsageForm::Continuous, seen);
        }
        Finding::new(UsageForm::Final, format!("{tokens} tokens, {place}"))
    }

    pub(super) fn exact_length(&self, asked: u64) -> Finding<ExactLength> {
        let finish = self.finish().unwrap_or("none");
        let Some(tokens) = self.tokens() else {
            let payload = self.payload().count();
            let seen = format!("no usage; {payload} events with output, finish reason {finish}");
            return Finding::new(ExactLength::Untold, seen);
        };
        let found = match tokens.cmp(&asked) {
            std::cmp::Ordering::Less => ExactLength::Fewer,
            std::cmp::Ordering::Equal => ExactLength::Exact,
            std::cmp::Ordering::Greater => ExactLength::More,
        };
        Finding::new(found, format!("{tokens} of {asked} tokens, finish reason {finish}"))
    }

    /// Every event repeats the text before it: three on end.
    pub(super) fn is_cumulative(&self) -> bool {
        let texts: Vec<&str> = self.payload().map(|event| event.text.as_str()).collect();
        let grows = |pair: &[&str]| pair[1].len() > pair[0].len() && pair[1].starts_with(pair[0]);
        texts.windows(4).any(|four| four.windows(2).all(grows))
    }

    /// Payload events by which usage rose by more than one token, the first one left out.
    pub(super) fn multi_token_events(&self) -> usize {
        let counts: Vec<u64> = self.payload().filter_map(|event| event.usage).collect();
        counts.windows(2).filter(|pair| pair[1] > pair[0] + 1).count()
    }

    pub(super) fn content(&self) -> String {
        self.payload()
            .filter(|event| event.payload == Some("content"))
            .map(|event| event.text.as_str())
            .collect()
    }
}

fn read(data: &str) -> Seen {
    let Ok(event) = serde_json::from_str::<Value>(data) else {
        return Seen { text: excerpt(data), ..Seen::default() };
    };
    let mut seen = Seen { is_json: true, ..Seen::default() };
    let choice = event.get("choices").and_then(|choices| choices.as_array()?.first());
    seen.has_choices = choice.is_some();
    seen.usage = event.pointer("/usage/completion_tokens").and_then(Value::as_u64);
    seen.error = error(&event);
    let Some(choice) = choice else { return seen };
    seen.finish = choice.get("finish_reason").and_then(Value::as_str).map(str::to_owned);
    let delta = choice.get("delta").unwrap_or(choice);
    seen.role = delta.get("role").is_some_and(|role| !role.is_null());
    for field in TEXT_FIELDS {
        match delta.get(field) {
            Some(Value::String(text)) if text.is_empty() => seen.empty_text = true,
            Some(Value::String(text)) if seen.payload.is_none() => {
                seen.payload = Some(field);
                seen.text.clone_from(text);
            }
            Some(Value::Null) => seen.null_text = true,
            _ => {}
        }
    }
    let calls = delta.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let has = |call: &Value, part: &str| {
        call.pointer(part).and_then(Value::as_str).is_some_and(|text| !text.is_empty())
    };
    if calls.iter().any(|call| has(call, "/function/name") || has(call, "/function/arguments")) {
        seen.payload = seen.payload.or(Some("tool_calls"));
    }
    let ids = choice.get("token_ids").or_else(|| delta.get("token_ids")).and_then(Value::as_array);
    if ids.is_some_and(|ids| !ids.is_empty()) {
        seen.payload = seen.payload.or(Some("token_ids"));
    }
    seen
}

fn error(event: &Value) -> Option<String> {
    let error = match event.get("error") {
        Some(error) if !error.is_null() => error,
        _ if event.get("object").and_then(Value::as_str) == Some("error") => event,
        _ => return None,
    };
    let message = error.get("message").unwrap_or(error);
    Some(excerpt(&message.as_str().map_or_else(|| message.to_string(), str::to_owned)))
}

/// An event without output in a few words.
fn describe(event: &Seen) -> String {
    if let Some(error) = &event.error {
        return format!("error: {error}");
    }
    if !event.is_json {
        return format!("no JSON: {}", event.text);
    }
    let mut parts = Vec::new();
    if event.role {
        parts.push("role");
    }
    if event.empty_text {
        parts.push("empty text");
    }
    if event.null_text {
        parts.push("null text");
    }
    if event.finish.is_some() {
        parts.push("finish reason");
    }
    if event.usage.is_some() {
        parts.push("usage");
    }
    if !event.has_choices {
        parts.push("no choices");
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
}
