//! How a server streams, found out with a few small requests.
//!
//! Each route is asked twice for the same prompt. The first answer is looked at byte by byte, with a reader of
//! its own that shares nothing with the one that measures; the second is read by that one. So the report says
//! what the server sends, and what a measurement will make of it.

mod ask;
mod events;
mod framing;
mod quirks;

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use tokometer_wire::Connector;

use crate::target::Target;

pub use quirks::{Quirk, QuirkCode};

/// Settings of [`conformance`].
#[derive(Debug, Clone)]
pub struct ConformanceOptions {
    /// The words that open the prompts, so that nothing of them is cached: another for every call.
    pub salt: String,
    /// Words of the prompt, fewer where the model takes fewer.
    pub prompt_words: usize,
    /// Output tokens asked for.
    pub output_tokens: u64,
    /// Limit for each request.
    pub timeout: Duration,
    /// The user's own fields of each request.
    pub request_json: Option<Map<String, Value>>,
}

impl ConformanceOptions {
    /// 600 words, 16 tokens, 2 minutes.
    pub fn new(salt: impl Into<String>) -> ConformanceOptions {
        ConformanceOptions {
            salt: salt.into(),
            prompt_words: 600,
            output_tokens: 16,
            timeout: Duration::from_mins(2),
            request_json: None,
        }
    }
}

/// Asks `target` and says how it answers. Nothing here fails: what goes wrong is part of the report.
pub async fn conformance(
    connector: &Connector,
    target: &Target,
    options: &ConformanceOptions,
) -> Conformance {
    ask::all(connector, target, options).await
}

/// How a server answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Conformance {
    /// Requests that were sent.
    pub requests: u32,
    /// The streamed routes: chat, completions.
    pub routes: Vec<RouteConformance>,
    /// What becomes of a field that it does not know.
    pub unknown_fields: Finding<UnknownFields>,
    /// Whatever clients have been seen to stumble over.
    pub quirks: Vec<Quirk>,
}

/// Something found out, and what it was seen by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding<T> {
    /// What was found.
    pub found: T,
    /// What was seen.
    pub seen: String,
}

impl<T> Finding<T> {
    pub(crate) fn new(found: T, seen: impl Into<String>) -> Finding<T> {
        Finding { found, seen: seen.into() }
    }
}

/// How one route answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RouteConformance {
    /// `/v1/chat/completions` or `/v1/completions`.
    pub path: &'static str,
    /// HTTP status of the first request.
    pub status: Option<u16>,
    /// Why there is no more to say.
    pub problem: Option<String>,
    /// How the stream is cut into events.
    pub framing: Option<Framing>,
    /// The first event with output.
    pub first_payload: Option<FirstPayload>,
    /// Usage as it was asked for.
    pub usage: Option<Finding<UsageForm>>,
    /// Whether as many tokens came as were asked for.
    pub exact_length: Option<Finding<ExactLength>>,
    /// Whether the second request tells that its prompt was cached.
    pub cached_tokens: Option<Finding<CachedTokens>>,
    /// What the measuring reader makes of the second request.
    pub reading: Option<Reading>,
}

/// How a body is cut into events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Framing {
    /// Header `Content-Type`.
    pub content_type: Option<String>,
    /// What the body is.
    pub form: StreamForm,
    /// How its lines end.
    pub line_ends: LineEnds,
    /// A byte order mark opens it.
    pub byte_order_mark: bool,
    /// `data:` lines.
    pub data_lines: u32,
    /// Those without a space behind the colon.
    pub without_space: u32,
    /// Those with spaces at their end.
    pub trailing_space: u32,
    /// Comment lines.
    pub comments: u32,
    /// The first of them.
    pub first_comment: Option<String>,
    /// Types of events, as `event:` lines name them.
    pub event_types: Vec<String>,
    /// Lines that are none of the above.
    pub stray_lines: u32,
    /// The first of them.
    pub first_stray: Option<String>,
    /// Events with data, the closing marker left out.
    pub events: u32,
    /// The stream closes with `[DONE]`.
    pub done_marker: bool,
    /// Size of the body.
    pub bytes: u64,
}

/// What a body is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamForm {
    /// Server-sent events.
    Events,
    /// One JSON object a line.
    JsonLines,
    /// Something else.
    #[default]
    Other,
}

/// How lines end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineEnds {
    /// LF.
    #[default]
    Lf,
    /// CR LF.
    CrLf,
    /// CR.
    Cr,
    /// Not all the same.
    Mixed,
}

/// The first event with output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FirstPayload {
    /// Which event it is, from 1.
    pub event: u32,
    /// The field that carries it: `content`, `reasoning_content`, `text`.
    pub field: String,
    /// What the events before it hold.
    pub before: Vec<String>,
}

/// How usage comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UsageForm {
    /// With every event, cumulative.
    Continuous,
    /// Once.
    Final,
    /// All zero though there is output.
    Zero,
    /// Not at all.
    None,
}

/// Whether as many tokens came as were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExactLength {
    /// As many.
    Exact,
    /// Fewer.
    Fewer,
    /// More.
    More,
    /// The server does not count.
    Untold,
}

/// Whether a server tells of cached prompt tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CachedTokens {
    /// Yes, and there were some.
    Some,
    /// Yes, and there were none.
    Zero,
    /// No.
    Untold,
}

/// What becomes of a field that a server does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnknownFields {
    /// It is passed over.
    Ignored,
    /// The request is refused.
    Rejected,
    /// The request failed for another reason.
    Unclear,
}

/// What the measuring reader makes of a request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Reading {
    /// `ended`, `cut`, `failed`.
    pub outcome: &'static str,
    /// Why it failed.
    pub failure: Option<String>,
    /// Where tokens are counted from: `usage`, `token_ids`, `engine_events`, `usage_final`, `events`.
    pub token_source: &'static str,
    /// All events.
    pub events: u32,
    /// Events with output.
    pub payload_events: u32,
    /// Reads that brought events.
    pub reads: u32,
    /// Events of a type that is not known.
    pub unknown_events: u32,
    /// Prompt tokens.
    pub prompt_tokens: Option<u64>,
    /// Those that were cached.
    pub cached_tokens: Option<u64>,
    /// Output tokens.
    pub completion_tokens: Option<u64>,
    /// As the server said it.
    pub finish_reason: Option<String>,
    /// What the first event with output carried.
    pub first_channel: Option<&'static str>,
    /// From send to that event.
    pub first_payload_ms: Option<f64>,
}
