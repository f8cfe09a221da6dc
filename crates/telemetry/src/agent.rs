//! The machine on another host: an agent there hands out inventory and readings, the client of a run joins them.
//!
//! The agent answers GET requests alone, to whoever has its token, and changes nothing on its host:
//!
//! | path | answer |
//! |---|---|
//! | `/v1/health` | that it runs, its version |
//! | `/v1/clock` | its clock, for the offset between the two hosts |
//! | `/v1/inventory?port=&salt=&hostname=` | host, accelerators, the process that serves at a port (`Report`) |
//! | `/v1/telemetry?run=&port=&watch=&devices=&host=&now=` | readings since those that the caller has (`Piece`) |
//!
//! Reading begins with the first request for telemetry of a run, and ends when nobody has asked for a while.

mod client;
mod limits;
mod remote;
mod serve;
mod token;
mod watches;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tokometer_record::{DeviceSample, Hardware, HostSample, TelemetryMeta};

use crate::server::ServerProcess;
pub use client::{AgentError, Remote};
pub use remote::{RemoteRun, RemoteWatch};
pub use serve::{Agent, AgentOptions};
pub use token::{Token, TokenError};

/// The version of what agents and clients say to each other.
const SCHEMA: &str = "tokometer.agent/1";

/// What an agent knows of its host and of the server on it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// `tokometer.agent/1`.
    pub schema: String,
    /// Version of the agent's program.
    pub version: String,
    /// Which start of the agent answers.
    pub instance: String,
    /// The process that serves; secrets are removed.
    pub server: Option<ServerProcess>,
    /// Why it is not known.
    pub server_unknown: Option<String>,
    /// The machine.
    pub hardware: Hardware,
    /// Why fields of it are missing, by dotted path in the record.
    pub unknown: BTreeMap<String, String>,
}

/// An agent's clock.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ClockReading {
    instance: String,
    /// Monotonic, ns from the agent's start.
    now_ns: u64,
}

/// That an agent runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Health {
    schema: String,
    version: String,
    instance: String,
    /// Runs whose machine is being read.
    runs: usize,
}

/// Readings of an agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Piece {
    instance: String,
    /// Which reading of the run's machine: it began anew if this is another one than before.
    watch: u64,
    /// Numbers of the first rows, from the begin of the reading on.
    devices_from: usize,
    host_from: usize,
    /// True if there are more rows than one answer may have.
    more: bool,
    meta: TelemetryMeta,
    devices: Vec<DeviceSample>,
    host: Vec<HostSample>,
}
