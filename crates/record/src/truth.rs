//! What the simulated engine really did: when each request came, and when each write with events was made.
//!
//! All times are nanoseconds of `CLOCK_MONOTONIC`, which all processes of a host share. The truth of an event is an
//! interval: it left between `before_ns` and `after_ns`, which were read right before and right after the call that
//! wrote it. A client's stamp is off by its distance outside of that interval.
//!
//! In a file the truth is Parquet, one schema for both kinds of rows, as in a trace: the column `row` says `request`
//! or `send`, the columns of the other kind are null in it, and [`TruthMeta`] is JSON in the file's metadata under
//! `tokometer`.

mod parquet;

use std::fs;
use std::path::Path;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RecordError;
pub use parquet::TruthWriter;

/// What the simulated engine really did.
#[derive(Debug, Clone, PartialEq)]
pub struct Truth {
    /// What belongs to all of it.
    pub meta: TruthMeta,
    /// Requests for streams, in the order of their arrival.
    pub requests: Vec<TruthRequest>,
    /// Writes with events, by request and in order of time within one.
    pub sends: Vec<TruthSend>,
}

/// What belongs to the truth as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TruthMeta {
    /// `tokometer.truth/1`.
    pub schema: String,
    /// Name of the engine's profile.
    pub profile: String,
    /// Events that were joined in one write.
    pub events_per_write: u32,
    /// Threads that wrote.
    pub network_threads: u32,
    /// Start of the engine.
    pub start_ns: u64,
    /// When the first request of any kind had been read; null if there was none.
    pub first_request_ns: Option<u64>,
    /// Times that a socket took less than it was given, since its client had not read.
    pub full_sockets: u64,
}

impl TruthMeta {
    /// The name of the schema and its version.
    pub const SCHEMA: &'static str = "tokometer.truth/1";
}

/// A request for a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TruthRequest {
    /// Number, in the order of arrival.
    pub request: u32,
    /// Its field `user`: what the client calls the stream that sent it.
    pub label: Option<String>,
    /// When its head had been read.
    pub arrival_ns: u64,
    /// Tokens of its prompt.
    pub prompt_tokens: u64,
}

/// One write that held events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TruthSend {
    /// Number of the request.
    pub request: u32,
    /// Tokens in it. Each has an event of its own; only the token that ends an output by itself has no text.
    pub tokens: u32,
    /// When the engine had the last of them due.
    pub due_ns: u64,
    /// Right before the call that wrote it.
    pub before_ns: u64,
    /// Right after that call; where a socket was full, after the one that wrote its last byte.
    pub after_ns: u64,
}

impl Truth {
    /// Writes the file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), RecordError> {
        let mut writer = TruthWriter::create(path)?;
        writer.requests(&self.requests)?;
        writer.sends(&self.sends)?;
        writer.finish(&self.meta)
    }

    /// Reads a file.
    pub fn load(path: &Path) -> Result<Truth, RecordError> {
        let bytes = fs::read(path).map_err(|source| RecordError::Read { path: path.to_owned(), source })?;
        parquet::decode(Bytes::from(bytes)).map_err(|why| RecordError::Damaged { path: path.to_owned(), why })
    }
}
