//! The truth as a Parquet file.

use std::fmt;
use std::fs::File;
use std::path::Path;

use bytes::Bytes;

use super::{Truth, TruthMeta, TruthRequest, TruthSend};
use crate::RecordError;
use crate::columnar::column::Column;
use crate::columnar::{Group, Reader, Writer, unknown_kind};
use crate::store::PartFile;

/// Every column of the file, in order.
const SCHEMA: &str = "message truth {
    required binary row (STRING);
    optional int32 request (INTEGER(32, false));
    optional binary label (STRING);
    optional int64 arrival_ns (INTEGER(64, false));
    optional int64 prompt_tokens (INTEGER(64, false));
    optional int32 tokens (INTEGER(32, false));
    optional int64 due_ns (INTEGER(64, false));
    optional int64 before_ns (INTEGER(64, false));
    optional int64 after_ns (INTEGER(64, false));
}";

/// Columns whose values mostly grow: stored as differences.
const GROWING: [&str; 5] = ["request", "arrival_ns", "due_ns", "before_ns", "after_ns"];

/// A truth on its way into a file, a piece at a time: only a piece is ever in memory. What was written is there once
/// [`TruthWriter::finish`] has said so; before that it stands beside its place.
pub struct TruthWriter {
    file: PartFile,
    writer: Writer<File>,
}

impl TruthWriter {
    /// Begins a file that is to be at `path`.
    pub fn create(path: &Path) -> Result<TruthWriter, RecordError> {
        let (file, output) = PartFile::create(path)?;
        let writer = Writer::new(output, SCHEMA, &GROWING).map_err(bad)?;
        Ok(TruthWriter { file, writer })
    }

    /// Requests that follow those given before, in the order of their arrival.
    pub fn requests(&mut self, rows: &[TruthRequest]) -> Result<(), RecordError> {
        self.writer.rows("request", rows, request_column).map_err(bad)
    }

    /// Writes with events; those of one request follow each other in order of time, also from call to call.
    pub fn sends(&mut self, rows: &[TruthSend]) -> Result<(), RecordError> {
        self.writer.rows("send", rows, |name, rows| Ok(send_column(name, rows))).map_err(bad)
    }

    /// The end: what belongs to the whole is added, and the file takes its place.
    pub fn finish(self, meta: &TruthMeta) -> Result<(), RecordError> {
        let TruthWriter { file, writer } = self;
        file.finish(writer.finish(meta).map_err(bad)?)
    }
}

fn bad(why: String) -> RecordError {
    RecordError::BadTruth { why }
}

impl fmt::Debug for TruthWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TruthWriter").field("file", &self.file).finish_non_exhaustive()
    }
}

fn request_column(name: &str, rows: &[TruthRequest]) -> Result<Option<Column>, String> {
    let rows = rows.iter();
    Ok(Some(match name {
        "request" => Column::u32(rows.map(|row| Some(row.request))),
        "label" => Column::text(rows.map(|row| Ok(row.label.clone())))?,
        "arrival_ns" => Column::u64(rows.map(|row| Some(row.arrival_ns))),
        "prompt_tokens" => Column::u64(rows.map(|row| Some(row.prompt_tokens))),
        _ => return Ok(None),
    }))
}

fn send_column(name: &str, rows: &[TruthSend]) -> Option<Column> {
    let rows = rows.iter();
    Some(match name {
        "request" => Column::u32(rows.map(|row| Some(row.request))),
        "tokens" => Column::u32(rows.map(|row| Some(row.tokens))),
        "due_ns" => Column::u64(rows.map(|row| Some(row.due_ns))),
        "before_ns" => Column::u64(rows.map(|row| Some(row.before_ns))),
        "after_ns" => Column::u64(rows.map(|row| Some(row.after_ns))),
        _ => return None,
    })
}

pub(super) fn decode(bytes: Bytes) -> Result<Truth, String> {
    let reader = Reader::new(bytes)?;
    let meta = reader.meta("truth of a simulated engine")?;
    let meta: TruthMeta = serde_json::from_str(meta).map_err(|error| format!("its metadata: {error}"))?;
    if meta.schema != TruthMeta::SCHEMA {
        return Err(format!("its schema is {:?}, not {:?}", meta.schema, TruthMeta::SCHEMA));
    }
    let mut truth = Truth { meta, requests: Vec::new(), sends: Vec::new() };
    reader.groups(|kind, group| match kind {
        "request" => read_requests(group, &mut truth.requests),
        "send" => read_sends(group, &mut truth.sends),
        other => Err(unknown_kind(other)),
    })?;
    // Stable, so that the writes of a request keep their order.
    truth.sends.sort_by_key(|send| send.request);
    Ok(truth)
}

fn read_requests(group: &Group<'_>, requests: &mut Vec<TruthRequest>) -> Result<(), String> {
    let first = requests.len();
    let labels = group.text("label")?;
    requests.extend(labels.into_iter().map(|label| TruthRequest {
        request: 0,
        label,
        arrival_ns: 0,
        prompt_tokens: 0,
    }));
    let rows = &mut requests[first..];
    group.u32("request", rows, |row, value| row.request = value)?;
    group.u64("arrival_ns", rows, |row, value| row.arrival_ns = value)?;
    group.u64("prompt_tokens", rows, |row, value| row.prompt_tokens = value)
}

fn read_sends(group: &Group<'_>, sends: &mut Vec<TruthSend>) -> Result<(), String> {
    let first = sends.len();
    let blank = TruthSend { request: 0, tokens: 0, due_ns: 0, before_ns: 0, after_ns: 0 };
    sends.resize(first + group.rows, blank);
    let rows = &mut sends[first..];
    group.u32("request", rows, |row, value| row.request = value)?;
    group.u32("tokens", rows, |row, value| row.tokens = value)?;
    group.u64("due_ns", rows, |row, value| row.due_ns = value)?;
    group.u64("before_ns", rows, |row, value| row.before_ns = value)?;
    group.u64("after_ns", rows, |row, value| row.after_ns = value)
}
