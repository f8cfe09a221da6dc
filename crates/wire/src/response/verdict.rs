//! Whether a response that came to its end was a success.

use serde_json::Value;

use super::KEPT_BYTES;
use super::events::Events;
use super::head::{Content, Encoding, Head, header_map};
use crate::delta::error_message;
use crate::failure::{Failure, FailureKind};
use crate::redact::excerpt;

/// Characters of a body that a message shows.
const SHOWN_BYTES: usize = 120;

/// What is wrong with a stream that came to its end.
pub(super) fn of_stream(events: &Events) -> Option<Failure> {
    let outputs = events.ledger.payload_events();
    let failure = |kind, message| Some(Failure::new(kind, message));
    match events.finish_reason.as_deref() {
        Some(reason) if is_given_up(reason) => failure(
            FailureKind::ErrorEvent,
            format!("the server gave the request up with finish reason {reason:?}"),
        ),
        Some(_) if outputs > 0 || events.ledger.has_tokens() => None,
        Some(reason) => failure(
            FailureKind::NoToken,
            format!("the server ended the stream ({reason:?}) without a single token"),
        ),
        None if events.done_marker && outputs == 0 => {
            failure(FailureKind::NoToken, "the stream closed with [DONE] without a single token".to_owned())
        }
        None if events.done_marker => failure(
            FailureKind::Truncated,
            format!(
                "the stream closed with [DONE] after {outputs} events with output, but without a finish reason"
            ),
        ),
        None => failure(
            FailureKind::Truncated,
            format!("the stream broke off after {outputs} events with output, without a finish reason"),
        ),
    }
}

/// True for a finish reason that means no end, but that the request was given up. Any other one is an end: `stop`,
/// `length`, `eos_token`, `tool_calls`, and whatever a server calls it.
fn is_given_up(reason: &str) -> bool {
    let words =
        ["abort", "aborted", "cancel", "cancelled", "canceled", "error", "failed", "timeout", "timed_out"];
    words.iter().any(|word| reason.eq_ignore_ascii_case(word))
}

/// What is wrong with a response that is no event stream.
pub(super) fn of_body(head: &Head, body: &[u8], head_bytes: &[u8]) -> Failure {
    let status = head.status;
    let value = json_of(body);
    let stated = value.as_ref().and_then(error_message);
    let (kind, message) = if (200..300).contains(&status) {
        let is_error = value.as_ref().is_some_and(|value| value.get("choices").is_none());
        match stated.filter(|_| is_error) {
            Some(message) => (FailureKind::ErrorEvent, format!("the server sent an error: {message}")),
            None => (FailureKind::NotAStream, not_a_stream(head, body, value.is_some())),
        }
    } else {
        let kind =
            if matches!(status, 429 | 503 | 529) { FailureKind::Rejected } else { FailureKind::HttpStatus };
        (kind, of_status(status, stated, body, head_bytes))
    };
    let body = (!body.is_empty()).then(|| excerpt(body, KEPT_BYTES));
    Failure { body, ..Failure::new(kind, message) }
}

fn of_status(status: u16, stated: Option<String>, body: &[u8], head_bytes: &[u8]) -> String {
    let reason =
        http::StatusCode::from_u16(status).ok().and_then(|code| code.canonical_reason()).unwrap_or("");
    let mut message = format!("the server answered {status} {reason}");
    message.truncate(message.trim_end().len());
    let shown = stated.unwrap_or_else(|| if is_html(body) { "an HTML page".to_owned() } else { shown(body) });
    if !shown.is_empty() {
        message.push_str(": ");
        message.push_str(&shown);
    }
    let headers = header_map(head_bytes);
    let advice = match (status, headers.get("location"), headers.get("retry-after")) {
        (300..=399, Some(place), _) => {
            format!(" (it redirects to {place}: use that URL; redirects are not followed)")
        }
        (401 | 403, ..) => " (give the key with --api-key-env or --api-key-file)".to_owned(),
        (429 | 503 | 529, _, Some(after)) => format!(" (it asks to retry after {after})"),
        _ => String::new(),
    };
    message + &advice
}

fn not_a_stream(head: &Head, body: &[u8], is_json: bool) -> String {
    let unreadable = head.encoding == Encoding::Other;
    let what = if unreadable {
        "a body that is compressed in a way that was not asked for and cannot be read,".to_owned()
    } else if head.content == Content::Html || is_html(body) {
        "an HTML page".to_owned()
    } else if is_json {
        "whole JSON".to_owned()
    } else if body.is_empty() {
        "nothing".to_owned()
    } else {
        "something else".to_owned()
    };
    let begins = if unreadable || body.is_empty() { String::new() } else { format!(": {}", shown(body)) };
    format!("the server answered {} with {what} instead of an event stream{begins}", head.status)
}

/// The JSON of a body, also when an error is sent as an event.
fn json_of(body: &[u8]) -> Option<Value> {
    let body = body.trim_ascii();
    let body = body.strip_prefix(b"data:").unwrap_or(body);
    serde_json::from_slice(body).ok()
}

fn is_html(body: &[u8]) -> bool {
    let start = body.trim_ascii_start();
    let begins = |tag: &[u8]| start.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
    begins(b"<!doctype html") || begins(b"<html")
}

/// The start of a body on one line.
fn shown(body: &[u8]) -> String {
    let text = excerpt(body, SHOWN_BYTES).split_whitespace().collect::<Vec<_>>().join(" ");
    if body.len() > SHOWN_BYTES { format!("{text}…") } else { text }
}
