//! What `wire` observed, in the words of the record.

use tokometer_record as record;
use tokometer_wire as wire;

use crate::stream::Stream;

/// Finish reason of an engine (vLLM) that found a loop and ended the request.
const STOPPED_FOR_REPETITION: &str = "repetition";

pub(crate) fn request_row(number: u32, stream: &Stream, exchange: &wire::Exchange) -> record::RequestRow {
    record::RequestRow {
        request: number,
        stream: stream.index,
        kind: stream.kind,
        send_ns: exchange.send_ns,
        connect_ns: exchange.connect_ns,
        first_byte_ns: exchange.first_byte_ns,
        end_ns: exchange.end_ns,
        outcome: outcome(exchange.outcome),
        finish_reason: exchange.finish_reason.clone(),
        failure: exchange.failure.clone().map(failure),
        prompt_tokens: exchange.prompt_tokens,
        cached_tokens: exchange.cached_tokens,
        completion_tokens: exchange.completion_tokens,
        reasoning_tokens: exchange.reasoning_tokens,
        token_source: token_source(exchange.token_source),
        reads: exchange.reads,
        events: exchange.events,
        unknown_events: Some(exchange.unknown_events),
    }
}

/// A request that never left, since there was no connection.
pub(crate) fn unsent(number: u32, stream: &Stream, now_ns: u64, cause: wire::Failure) -> record::RequestRow {
    record::RequestRow {
        request: number,
        stream: stream.index,
        kind: stream.kind,
        send_ns: now_ns,
        connect_ns: None,
        first_byte_ns: None,
        end_ns: now_ns,
        outcome: record::Outcome::Failed,
        finish_reason: None,
        failure: Some(failure(cause)),
        prompt_tokens: None,
        cached_tokens: None,
        completion_tokens: None,
        reasoning_tokens: None,
        token_source: record::TokenSource::Events,
        reads: 0,
        events: 0,
        unknown_events: Some(0),
    }
}

/// Why a request counts as looped, if it does: its text repeated itself, or the engine stopped it for that.
pub(crate) fn loop_evidence(
    number: u32,
    stream: &Stream,
    exchange: &wire::Exchange,
) -> Option<record::LoopEvidence> {
    if let Some(found) = &exchange.repetition {
        return Some(record::LoopEvidence {
            request: number,
            stream: stream.index,
            channel: found.channel.name().to_owned(),
            period: found.period,
            cycles: found.cycles,
            repeated_characters: found.repeated_characters,
            excerpt: found.excerpt.clone(),
        });
    }
    (exchange.finish_reason.as_deref() == Some(STOPPED_FOR_REPETITION)).then(|| record::LoopEvidence {
        request: number,
        stream: stream.index,
        channel: wire::Channel::Content.name().to_owned(),
        period: 0,
        cycles: 0,
        repeated_characters: 0,
        excerpt: format!(
            "the engine itself stopped the request, with finish reason {STOPPED_FOR_REPETITION:?}; it does not \
             tell what repeated"
        ),
    })
}

pub(crate) fn failure(failure: wire::Failure) -> record::Failure {
    use record::FailureKind as To;
    use wire::FailureKind as From;
    record::Failure {
        kind: match failure.kind {
            From::Connect => To::Connect,
            From::Tls => To::Tls,
            From::HttpStatus => To::HttpStatus,
            From::Rejected => To::Rejected,
            From::ErrorEvent => To::ErrorEvent,
            From::Truncated => To::Truncated,
            From::NoToken => To::NoToken,
            From::Reset => To::Reset,
            From::Timeout => To::Timeout,
            From::Malformed => To::Malformed,
            From::NotAStream => To::NotAStream,
        },
        message: failure.message,
        http_status: failure.http_status,
        headers: failure.headers,
        body: failure.body,
    }
}

fn outcome(outcome: wire::Outcome) -> record::Outcome {
    match outcome {
        wire::Outcome::Ended => record::Outcome::Ended,
        wire::Outcome::Cut => record::Outcome::Cut,
        wire::Outcome::Failed => record::Outcome::Failed,
    }
}

fn token_source(source: wire::TokenSource) -> record::TokenSource {
    match source {
        wire::TokenSource::Usage => record::TokenSource::Usage,
        wire::TokenSource::TokenIds => record::TokenSource::TokenIds,
        wire::TokenSource::EngineEvents => record::TokenSource::EngineEvents,
        wire::TokenSource::UsageFinal => record::TokenSource::UsageFinal,
        wire::TokenSource::Events => record::TokenSource::Events,
    }
}
