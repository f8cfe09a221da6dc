//! Traces as Parquet files: one file per cell, one schema for all rows.
//!
//! The column `row` says what a row is: `request`, `event` or `sample`; the columns of the other kinds are
//! null in it. Rows of one kind stand together in row groups of their own, so a null column costs nothing.
//! What belongs to the cell as a whole ([`TraceMeta`]) is JSON in the file's metadata, under `tokometer`.
//!
//! Columns are converted one at a time; no value is boxed per row.

use std::path::Path;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::de::value::{Error as PlainError, StrDeserializer};
use serde::{Deserialize, Serialize};

use super::{CellTrace, EventRow, RequestRow, SampleRow, TraceMeta};
use crate::RecordError;
use crate::columnar::column::Column;
use crate::columnar::{Figures, Group, Reader, Writer, figure_column, no_value, read_figures, unknown_kind};
use crate::store::schema_version;

/// Every column of a trace file, in order. Times are nanoseconds from the run's start.
const SCHEMA: &str = "message trace {
    required binary row (STRING);
    optional int32 request (INTEGER(32, false));
    optional int64 arrival_ns (INTEGER(64, false));
    optional int64 lag_ns (INTEGER(64, false));
    optional int32 tokens (INTEGER(32, false));
    optional int32 bytes (INTEGER(32, false));
    optional boolean payload;
    optional boolean answer;
    optional boolean last_of_read;
    optional int32 stream (INTEGER(32, false));
    optional binary kind (STRING);
    optional int64 send_ns (INTEGER(64, false));
    optional int64 connect_ns (INTEGER(64, false));
    optional int64 first_byte_ns (INTEGER(64, false));
    optional int64 end_ns (INTEGER(64, false));
    optional binary outcome (STRING);
    optional binary finish_reason (STRING);
    optional binary error (JSON);
    optional int64 prompt_tokens (INTEGER(64, false));
    optional int64 cached_tokens (INTEGER(64, false));
    optional int64 completion_tokens (INTEGER(64, false));
    optional int64 reasoning_tokens (INTEGER(64, false));
    optional binary token_source (STRING);
    optional int32 reads (INTEGER(32, false));
    optional int32 events (INTEGER(32, false));
    optional int32 unknown_events (INTEGER(32, false));
    optional int64 time_ns (INTEGER(64, false));
    optional double running;
    optional double waiting;
    optional double generated_tokens;
    optional double kv_used;
    optional double drafts;
    optional double draft_tokens;
    optional double accepted_tokens;
    optional double acceptance_length;
    optional double prefill_tokens;
    optional double cached_prefill_tokens;
    optional double preemptions;
}";

/// Columns whose values mostly grow: stored as differences.
const GROWING: [&str; 6] = ["request", "arrival_ns", "lag_ns", "tokens", "send_ns", "time_ns"];
/// The version in [`TraceMeta::SCHEMA`].
const TRACE_VERSION: u64 = 1;

/// A trace as the bytes of a Parquet file.
pub fn write(trace: &CellTrace) -> Result<Vec<u8>, RecordError> {
    encode(trace).map_err(|why| RecordError::BadTrace { cell: trace.meta.cell_name(), why })
}

/// A trace from the bytes of a Parquet file; `path` is for messages.
pub fn read(bytes: Bytes, path: &Path) -> Result<CellTrace, RecordError> {
    let damaged = |why: String| RecordError::Damaged { path: path.to_owned(), why };
    let reader = Reader::new(bytes).map_err(damaged)?;
    let meta = reader.meta("trace of tokometer").map_err(damaged)?;
    check_schema(meta, path)?;
    let meta: TraceMeta =
        serde_json::from_str(meta).map_err(|error| damaged(format!("its metadata: {error}")))?;
    decode(&reader, meta).map_err(damaged)
}

/// Only the schema of the metadata, so that a newer file is recognised before it is read.
#[derive(Deserialize)]
struct SchemaOnly {
    schema: String,
}

fn check_schema(meta: &str, path: &Path) -> Result<(), RecordError> {
    let damaged = |why: String| RecordError::Damaged { path: path.to_owned(), why };
    let SchemaOnly { schema } =
        serde_json::from_str(meta).map_err(|error| damaged(format!("its metadata: {error}")))?;
    match schema_version(&schema, "tokometer.trace/") {
        _ if schema == TraceMeta::SCHEMA => Ok(()),
        Some(version) if version > TRACE_VERSION => {
            Err(RecordError::NewerSchema { path: path.to_owned(), found: schema, known: TraceMeta::SCHEMA })
        }
        _ => Err(damaged(format!("its schema is {schema:?}"))),
    }
}

fn encode(trace: &CellTrace) -> Result<Vec<u8>, String> {
    let mut writer = Writer::new(Vec::new(), SCHEMA, &GROWING)?;
    writer.rows("request", &trace.requests, request_column)?;
    writer.rows("event", &trace.events, |name, rows| Ok(event_column(name, rows)))?;
    writer.rows("sample", &trace.samples, |name, rows| Ok(sample_column(name, rows)))?;
    writer.finish(&trace.meta)
}

fn event_column(name: &str, rows: &[EventRow]) -> Option<Column> {
    let rows = rows.iter();
    Some(match name {
        "request" => Column::u32(rows.map(|row| Some(row.request))),
        "arrival_ns" => Column::u64(rows.map(|row| Some(row.arrival_ns))),
        "lag_ns" => Column::u64(rows.map(|row| Some(row.lag_ns))),
        "tokens" => Column::u32(rows.map(|row| row.tokens)),
        "bytes" => Column::u32(rows.map(|row| Some(row.bytes))),
        "payload" => Column::bool(rows.map(|row| Some(row.payload))),
        "answer" => Column::bool(rows.map(|row| Some(row.answer))),
        "last_of_read" => Column::bool(rows.map(|row| Some(row.last_of_read))),
        _ => return None,
    })
}

fn request_column(name: &str, rows: &[RequestRow]) -> Result<Option<Column>, String> {
    let iter = rows.iter();
    Ok(Some(match name {
        "request" => Column::u32(iter.map(|row| Some(row.request))),
        "stream" => Column::u32(iter.map(|row| Some(row.stream))),
        "kind" => Column::text(iter.map(|row| word(&row.kind).map(Some)))?,
        "send_ns" => Column::u64(iter.map(|row| Some(row.send_ns))),
        "connect_ns" => Column::u64(iter.map(|row| row.connect_ns)),
        "first_byte_ns" => Column::u64(iter.map(|row| row.first_byte_ns)),
        "end_ns" => Column::u64(iter.map(|row| Some(row.end_ns))),
        "outcome" => Column::text(iter.map(|row| word(&row.outcome).map(Some)))?,
        "finish_reason" => Column::text(iter.map(|row| Ok(row.finish_reason.clone())))?,
        "error" => Column::text(iter.map(|row| {
            row.failure.as_ref().map(serde_json::to_string).transpose().map_err(|error| error.to_string())
        }))?,
        "prompt_tokens" => Column::u64(iter.map(|row| row.prompt_tokens)),
        "cached_tokens" => Column::u64(iter.map(|row| row.cached_tokens)),
        "completion_tokens" => Column::u64(iter.map(|row| row.completion_tokens)),
        "reasoning_tokens" => Column::u64(iter.map(|row| row.reasoning_tokens)),
        "token_source" => Column::text(iter.map(|row| word(&row.token_source).map(Some)))?,
        "reads" => Column::u32(iter.map(|row| Some(row.reads))),
        "events" => Column::u32(iter.map(|row| Some(row.events))),
        "unknown_events" => Column::u32(iter.map(|row| row.unknown_events)),
        _ => return Ok(None),
    }))
}

/// Figures of a reading of the server.
pub(crate) const SAMPLE_FIGURES: &Figures<SampleRow> = &[
    ("running", |row| row.running, |row, value| row.running = value),
    ("waiting", |row| row.waiting, |row, value| row.waiting = value),
    ("generated_tokens", |row| row.generated_tokens, |row, value| row.generated_tokens = value),
    ("kv_used", |row| row.kv_used, |row, value| row.kv_used = value),
    ("drafts", |row| row.drafts, |row, value| row.drafts = value),
    ("draft_tokens", |row| row.draft_tokens, |row, value| row.draft_tokens = value),
    ("accepted_tokens", |row| row.accepted_tokens, |row, value| row.accepted_tokens = value),
    ("acceptance_length", |row| row.acceptance_length, |row, value| row.acceptance_length = value),
    ("prefill_tokens", |row| row.prefill_tokens, |row, value| row.prefill_tokens = value),
    (
        "cached_prefill_tokens",
        |row| row.cached_prefill_tokens,
        |row, value| row.cached_prefill_tokens = value,
    ),
    ("preemptions", |row| row.preemptions, |row, value| row.preemptions = value),
];

pub(crate) fn sample_column(name: &str, rows: &[SampleRow]) -> Option<Column> {
    match name {
        "time_ns" => Some(Column::u64(rows.iter().map(|row| Some(row.time_ns)))),
        _ => figure_column(SAMPLE_FIGURES, name, rows),
    }
}

/// The word of an enum without fields, as in JSON.
fn word(value: &impl Serialize) -> Result<String, String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Ok(word),
        _ => Err("an enum that is no plain word".to_owned()),
    }
}

/// The enum of a word.
fn of_word<T: DeserializeOwned>(word: &str) -> Result<T, String> {
    T::deserialize(StrDeserializer::<PlainError>::new(word)).map_err(|error| error.to_string())
}

fn decode(reader: &Reader, meta: TraceMeta) -> Result<CellTrace, String> {
    let mut trace = CellTrace { meta, requests: Vec::new(), events: Vec::new(), samples: Vec::new() };
    reader.groups(|kind, group| match kind {
        "request" => read_requests(group, &mut trace.requests),
        "event" => read_events(group, &mut trace.events),
        "sample" => read_samples(group, &mut trace.samples),
        other => Err(unknown_kind(other)),
    })?;
    Ok(trace)
}

fn read_events(group: &Group<'_>, events: &mut Vec<EventRow>) -> Result<(), String> {
    let first = events.len();
    let blank = EventRow {
        request: 0,
        arrival_ns: 0,
        lag_ns: 0,
        tokens: None,
        bytes: 0,
        payload: false,
        answer: false,
        last_of_read: false,
    };
    events.resize(first + group.rows, blank);
    let rows = &mut events[first..];
    group.u32("request", rows, |row, value| row.request = value)?;
    group.u64("arrival_ns", rows, |row, value| row.arrival_ns = value)?;
    group.u64("lag_ns", rows, |row, value| row.lag_ns = value)?;
    group.each("tokens", rows, Column::into_u32, |row, value| row.tokens = value)?;
    group.u32("bytes", rows, |row, value| row.bytes = value)?;
    group.bool("payload", rows, |row, value| row.payload = value)?;
    group.bool("answer", rows, |row, value| row.answer = value)?;
    group.bool("last_of_read", rows, |row, value| row.last_of_read = value)
}

pub(crate) fn read_samples(group: &Group<'_>, samples: &mut Vec<SampleRow>) -> Result<(), String> {
    let first = samples.len();
    samples.resize(first + group.rows, SampleRow::default());
    let rows = &mut samples[first..];
    group.u64("time_ns", rows, |row, value| row.time_ns = value)?;
    read_figures(SAMPLE_FIGURES, group, rows)
}

fn read_requests(group: &Group<'_>, requests: &mut Vec<RequestRow>) -> Result<(), String> {
    let kinds = group.text("kind")?;
    let outcomes = group.text("outcome")?;
    let sources = group.text("token_source")?;
    let needed = |text: &Option<String>, name: &str| text.clone().ok_or_else(|| no_value(name));
    let first = requests.len();
    for row in 0..group.rows {
        requests.push(RequestRow {
            request: 0,
            stream: 0,
            kind: of_word(&needed(&kinds[row], "kind")?)?,
            send_ns: 0,
            connect_ns: None,
            first_byte_ns: None,
            end_ns: 0,
            outcome: of_word(&needed(&outcomes[row], "outcome")?)?,
            finish_reason: None,
            failure: None,
            prompt_tokens: None,
            cached_tokens: None,
            completion_tokens: None,
            reasoning_tokens: None,
            token_source: of_word(&needed(&sources[row], "token_source")?)?,
            reads: 0,
            events: 0,
            unknown_events: None,
        });
    }
    let rows = &mut requests[first..];
    group.u32("request", rows, |row, value| row.request = value)?;
    group.u32("stream", rows, |row, value| row.stream = value)?;
    group.u64("send_ns", rows, |row, value| row.send_ns = value)?;
    group.each("connect_ns", rows, Column::into_u64, |row, value| row.connect_ns = value)?;
    group.each("first_byte_ns", rows, Column::into_u64, |row, value| row.first_byte_ns = value)?;
    group.u64("end_ns", rows, |row, value| row.end_ns = value)?;
    group.each("finish_reason", rows, Column::into_text, |row, value| row.finish_reason = value)?;
    group.each("prompt_tokens", rows, Column::into_u64, |row, value| row.prompt_tokens = value)?;
    group.each("cached_tokens", rows, Column::into_u64, |row, value| row.cached_tokens = value)?;
    group.each("completion_tokens", rows, Column::into_u64, |row, value| row.completion_tokens = value)?;
    group.each("reasoning_tokens", rows, Column::into_u64, |row, value| row.reasoning_tokens = value)?;
    group.u32("reads", rows, |row, value| row.reads = value)?;
    group.u32("events", rows, |row, value| row.events = value)?;
    group.each("unknown_events", rows, Column::into_u32, |row, value| row.unknown_events = value)?;
    for (row, error) in rows.iter_mut().zip(group.text("error")?) {
        row.failure = error
            .map(|text| serde_json::from_str(&text))
            .transpose()
            .map_err(|error| format!("an error: {error}"))?;
    }
    Ok(())
}
