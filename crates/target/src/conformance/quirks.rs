//! What clients have been seen to stumble over.

use serde::Serialize;

use super::events::{Seen, Stream};
use super::framing::excerpt;
use super::{Framing, LineEnds, Reading, StreamForm};

/// Something about a stream that a client must be ready for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quirk {
    /// Which.
    pub code: QuirkCode,
    /// The route.
    pub path: &'static str,
    /// What was seen.
    pub seen: String,
}

/// Kinds of quirks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuirkCode {
    /// Lines end with CR LF.
    CrLfLines,
    /// Lines end with CR.
    CrLines,
    /// Lines end in several ways.
    MixedLines,
    /// A byte order mark opens the stream.
    ByteOrderMark,
    /// `data:` without a space.
    NoSpaceAfterData,
    /// Spaces behind the data.
    TrailingSpace,
    /// Comment lines.
    Comments,
    /// `event:` lines.
    EventTypes,
    /// Lines outside the grammar.
    StrayLines,
    /// One JSON object a line instead of events.
    JsonLines,
    /// No `[DONE]`.
    NoDoneMarker,
    /// The body is compressed.
    Compressed,
    /// An event that is no JSON.
    NotJson,
    /// The first events carry no output.
    EmptyFirstEvents,
    /// The role is on every event.
    RoleOnEveryEvent,
    /// Events with choices but without any output later in the stream.
    EmptyEvents,
    /// Output and finish reason share an event.
    FinishWithOutput,
    /// Usage shares the finish reason's event.
    UsageOnFinish,
    /// Usage is all zero on some events though there is output.
    UsageZero,
    /// No usage, though it was asked for.
    UsageMissing,
    /// Events with several tokens.
    MultiTokenEvents,
    /// Not as many tokens as events.
    TokensAreNotEvents,
    /// Each event repeats the text before it.
    CumulativeText,
    /// Reasoning has fields of its own.
    ReasoningField,
    /// Reasoning is left in the answer.
    ThinkInContent,
    /// An error inside a 200.
    ErrorInStream,
    /// No finish reason.
    NoFinishReason,
    /// Everything came at once: something holds the stream back.
    WholeAtOnce,
    /// Several events a read.
    Coalesced,
}

/// The quirks of one route's first answer.
pub(super) fn of_stream(
    path: &'static str,
    framing: &Framing,
    stream: &Stream,
    encoding: Option<&str>,
) -> Vec<Quirk> {
    let mut quirks = Vec::new();
    let mut met = |code, seen: String| quirks.push(Quirk { code, path, seen });
    let events = stream.events.len();
    let counted = |test: fn(&Seen) -> bool| stream.events.iter().filter(|event| test(event)).count();

    match framing.line_ends {
        LineEnds::Lf => {}
        LineEnds::CrLf => met(QuirkCode::CrLfLines, "lines end with CR LF".to_owned()),
        LineEnds::Cr => met(QuirkCode::CrLines, "lines end with CR".to_owned()),
        LineEnds::Mixed => met(QuirkCode::MixedLines, "lines end in several ways".to_owned()),
    }
    if framing.byte_order_mark {
        met(QuirkCode::ByteOrderMark, "the body opens with EF BB BF".to_owned());
    }
    if framing.without_space > 0 {
        let seen = format!("{} of {} data lines", framing.without_space, framing.data_lines);
        met(QuirkCode::NoSpaceAfterData, seen);
    }
    if framing.trailing_space > 0 {
        met(
            QuirkCode::TrailingSpace,
            format!("{} of {} data lines", framing.trailing_space, framing.data_lines),
        );
    }
    if let Some(comment) = &framing.first_comment {
        met(QuirkCode::Comments, format!("{}, the first {comment:?}", framing.comments));
    }
    if !framing.event_types.is_empty() {
        met(QuirkCode::EventTypes, framing.event_types.join(", "));
    }
    if let Some(stray) = &framing.first_stray {
        met(QuirkCode::StrayLines, format!("{}, the first {stray:?}", framing.stray_lines));
    }
    match framing.form {
        StreamForm::JsonLines => met(QuirkCode::JsonLines, format!("{events} lines of JSON")),
        StreamForm::Events if !framing.done_marker => {
            met(QuirkCode::NoDoneMarker, format!("the stream ends after {events} events without [DONE]"));
        }
        StreamForm::Events | StreamForm::Other => {}
    }
    if let Some(encoding) = encoding {
        met(QuirkCode::Compressed, format!("Content-Encoding: {encoding}, though identity was asked for"));
    }

    if let Some(event) = stream.events.iter().find(|event| !event.is_json) {
        met(QuirkCode::NotJson, format!("{:?}", event.text));
    }
    if let Some(first) = stream.first_payload().filter(|first| first.event > 1) {
        met(QuirkCode::EmptyFirstEvents, first.before.join("; "));
        let after = &stream.events[first.event as usize..];
        let empty = |event: &&Seen| {
            event.has_choices && event.payload.is_none() && event.finish.is_none() && event.error.is_none()
        };
        let later = after.iter().filter(empty).count();
        if later > 0 {
            met(QuirkCode::EmptyEvents, format!("{later} of {events} events"));
        }
    }
    let (roles, payload) = (counted(|event| event.role && event.payload.is_some()), stream.payload().count());
    if payload > 1 && roles == payload {
        met(QuirkCode::RoleOnEveryEvent, format!("{roles} of {payload} events with output"));
    }
    if let Some(event) = stream.events.iter().find(|event| event.payload.is_some() && event.finish.is_some())
    {
        met(
            QuirkCode::FinishWithOutput,
            format!("{:?} with {}", excerpt(&event.text), event.finish.as_deref().unwrap_or_default()),
        );
    }
    if stream
        .events
        .iter()
        .any(|event| event.has_choices && event.finish.is_some() && event.usage.is_some_and(|n| n > 0))
        && !stream.events.iter().any(|event| !event.has_choices && event.usage.is_some())
    {
        met(QuirkCode::UsageOnFinish, "usage and the finish reason share an event".to_owned());
    }
    let zero = stream.payload().filter(|event| event.usage == Some(0)).count();
    if zero > 0 {
        met(QuirkCode::UsageZero, format!("{zero} of {payload} events with output"));
    }
    if payload > 0 && counted(|event| event.usage.is_some()) == 0 {
        met(QuirkCode::UsageMissing, format!("none in {events} events"));
    }
    let multi = stream.multi_token_events();
    if multi > 0 {
        met(QuirkCode::MultiTokenEvents, format!("usage rose by more than 1 at {multi} of {payload} events"));
    }
    if let Some(tokens) = stream.tokens().filter(|tokens| *tokens != payload as u64) {
        met(QuirkCode::TokensAreNotEvents, format!("{tokens} tokens in {payload} events with output"));
    }
    if stream.is_cumulative() {
        met(QuirkCode::CumulativeText, "each text begins with the one before".to_owned());
    }
    for field in ["reasoning", "reasoning_content"] {
        let count = stream.payload().filter(|event| event.payload == Some(field)).count();
        if count > 0 {
            met(QuirkCode::ReasoningField, format!("{field} on {count} of {payload} events with output"));
        }
    }
    if stream.content().contains("<think>") {
        met(QuirkCode::ThinkInContent, "<think> in content".to_owned());
    }
    if let Some(error) = stream.events.iter().find_map(|event| event.error.as_deref()) {
        met(QuirkCode::ErrorInStream, error.to_owned());
    }
    if payload > 0 && stream.finish().is_none() {
        met(QuirkCode::NoFinishReason, format!("none in {events} events"));
    }
    quirks
}

/// The quirks of the way in which the second answer arrived.
pub(super) fn of_reading(path: &'static str, reading: &Reading) -> Option<Quirk> {
    let (events, reads) = (reading.events, reading.reads);
    let code = match (reads, events) {
        (1, 4..) => QuirkCode::WholeAtOnce,
        (2.., _) if f64::from(events) > 1.5 * f64::from(reads) => QuirkCode::Coalesced,
        _ => return None,
    };
    Some(Quirk { code, path, seen: format!("{events} events in {reads} reads") })
}
