//! How true the client is on a host: what `tokometer calibrate` found, kept in the user's state folder and, by each
//! run on that host, in its record.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::store::{schema_version, write_whole};
use crate::{RecordError, StampSource, Tool};

/// What a calibration found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// `tokometer.calibration/1`.
    pub schema: String,
    /// When it was made, RFC 3339, UTC.
    pub created_at: Option<String>,
    /// The program that was calibrated.
    pub tool: Tool,
    /// Where.
    pub host: Host,
    /// Streams at once.
    pub streams: u32,
    /// Tokens per second of each stream, one event each.
    pub rate: f64,
    /// Events that the engine joined in one write.
    pub events_per_write: u32,
    /// Window, seconds.
    pub duration_seconds: f64,
    /// Threads that read streams.
    pub load_threads: u32,
    /// True if client and engine had cores of their own.
    pub separate_cores: bool,
    /// Where the arrival stamps came from.
    pub stamp_source: StampSource,
    /// How far TTFT was from the truth.
    pub ttft_error: Errors,
    /// How far gaps were from the truth.
    pub gap_error: Errors,
    /// Gaps without stamps of their own, since their events shared a read; they are not judged.
    pub gaps_of_shared_reads: u64,
    /// Tokens counted against tokens sent.
    pub tokens: TokenBalance,
    /// Tokens of the window; null if the window was not reached.
    pub window_tokens: Option<WindowTokens>,
    /// When the client handled an event − its arrival, over the window.
    pub client_lag: Errors,
    /// Events per read, mean.
    pub events_per_read: Option<f64>,
    /// How long the engine's calls took that wrote events: the width of the truth, within which no error can be seen.
    pub truth_width: Errors,
    /// How late the engine was with its writes: from when an event was due until right before the call.
    pub engine_late: Errors,
    /// Events per second that arrived in the window.
    pub events_per_second: Option<f64>,
    /// CPU time of the client, all threads, user and system, in the window ÷ events in it, µs.
    pub cpu_us_per_event: Option<f64>,
    /// The most that went through.
    pub ceiling: Option<Ceiling>,
    /// Resident memory of the client that an open stream adds, bytes.
    pub bytes_per_idle_stream: Option<u64>,
    /// From the start of a `tokometer run` until its first request was at the server, ms.
    pub start_to_first_request_ms: Option<f64>,
    /// What the method needs at this load, and whether it is so.
    pub checks: Vec<Check>,
    /// Fields that are null though one would expect a value → reason.
    pub unknown: BTreeMap<String, String>,
}

/// What tells a host from others, as far as speed is concerned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Stands for the machine without naming it: the first 16 digits of a salted hash of the system's machine id.
    pub id: Option<String>,
    /// `linux`, …
    pub os: String,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Model of the processor.
    pub cpu: Option<String>,
    /// Logical cores that the process may use.
    pub cores: u32,
}

/// How large errors or delays are, ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// How many.
    pub n: u64,
    /// Median.
    pub p50_ms: Option<f64>,
    /// 99th percentile.
    pub p99_ms: Option<f64>,
    /// Largest.
    pub max_ms: Option<f64>,
}

/// Tokens on both sides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenBalance {
    /// By the client.
    pub counted: u64,
    /// By the engine: all tokens of requests that ended, and of the others those up to the last event that was read.
    pub sent: u64,
    /// Requests whose counts differ at any event.
    pub unequal_requests: u64,
}

/// Tokens of the window on both sides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowTokens {
    /// By the client.
    pub counted: u64,
    /// Sent for certain in the window.
    pub at_least: u64,
    /// Sent in the window, or perhaps so: the writes that its ends cut.
    pub at_most: u64,
}

/// The most that went through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Events per second that the client read while the engine sent flat out.
    pub events_per_second: f64,
    /// Streams.
    pub streams: u32,
    /// Events that the engine joined in one write.
    pub events_per_write: u32,
    /// Window, seconds.
    pub seconds: f64,
    /// Who could do no more.
    pub limited_by: Limit,
    /// CPU time of the client ÷ (window × its load threads).
    pub client_busy: f64,
    /// CPU time of the engine ÷ (window × its cores); null where the system does not tell.
    pub engine_busy: Option<f64>,
    /// Times that a socket was full, since the client had not read.
    pub full_sockets: u64,
    /// Tokens counted, and tokens sent to the same requests.
    pub tokens: TokenBalance,
}

/// Who could do no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The client: sockets were full, so that the engine had to wait for it.
    Client,
    /// The engine: no socket was full, the client waited for it. The client can do more.
    Engine,
    /// Neither: no socket was full and the engine was not busy. Other programs took the machine.
    Machine,
}

/// One need of the method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// What must be, in words.
    pub name: String,
    /// What was found, with its figures.
    pub found: String,
    /// Whether it is so.
    pub passed: bool,
}

impl Calibration {
    /// The name of this document's schema and version.
    pub const SCHEMA: &'static str = "tokometer.calibration/1";

    /// True if all is as the method needs it at this load.
    pub fn passed(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }

    /// Writes it, whole or not at all; makes the folder where there is none.
    pub fn save(&self, path: &Path) -> Result<(), RecordError> {
        let write = |source| RecordError::Write { path: path.to_owned(), source };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(write)?;
        }
        let mut text =
            serde_json::to_vec_pretty(self).map_err(|error| write(std::io::Error::other(error)))?;
        text.push(b'\n');
        write_whole(path, &text)
    }

    /// Reads it.
    pub fn load(path: &Path) -> Result<Calibration, RecordError> {
        let damaged = |why: String| RecordError::Damaged { path: path.to_owned(), why };
        let text = fs::read(path).map_err(|source| RecordError::Read { path: path.to_owned(), source })?;
        let document: serde_json::Value =
            serde_json::from_slice(&text).map_err(|error| damaged(format!("no JSON ({error})")))?;
        let schema = document.get("schema").and_then(serde_json::Value::as_str).unwrap_or_default();
        match schema_version(schema, "tokometer.calibration/") {
            Some(1) => {}
            Some(_) => {
                let found = schema.to_owned();
                return Err(RecordError::NewerSchema { path: path.to_owned(), found, known: Self::SCHEMA });
            }
            None => return Err(damaged(format!("its schema is {schema:?}"))),
        }
        Calibration::deserialize(document).map_err(|error| damaged(error.to_string()))
    }
}
