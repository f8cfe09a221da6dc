//! How a machine was read while it was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TraceFile;

/// How the machine was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sampling {
    /// `local` (the client's host is the server's) or `agent` (one on the server's host).
    pub source: String,
    /// Time between two full readings, seconds.
    pub interval_seconds: f64,
    /// Time between two readings of power and energy, seconds; that of full readings where they cost too much.
    pub power_interval_seconds: f64,
    /// CPU time of the thread that read ÷ time, on the host that was read: share of one CPU. Null for a reading of
    /// less than a second, and where a system does not tell it of a thread.
    pub cpu_share: Option<f64>,
    /// The agent.
    pub agent: Option<AgentLink>,
    /// Spans without readings, in order.
    pub gaps: Vec<SamplingGap>,
    /// Of a run that is not over, or was cut off: the pieces of the series so far, in order.
    pub pieces: Vec<TraceFile>,
}

/// An agent on the server's host, and how its clock stands to the run's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLink {
    /// Its address, secrets removed.
    pub url: String,
    /// Its version.
    pub version: Option<String>,
    /// Its clock before the first reading.
    pub start: Option<ClockOffset>,
    /// Its clock after the last reading; null where it was gone by then.
    pub end: Option<ClockOffset>,
    /// How its clock ran against the run's between the two, parts per million; null where they are less than 10 s
    /// apart, or closer together than their uncertainties.
    pub drift_ppm: Option<f64>,
    /// The largest uncertainty of an offset that readings were joined with, ns.
    pub uncertainty_ns: Option<u64>,
    /// How often its clock was measured.
    pub measured: u32,
}

/// The clock of an agent against the run's time line, by the fastest of several round trips.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockOffset {
    /// When it was measured, ns from the run's start.
    pub at_ns: u64,
    /// Run's time − agent's time, ns.
    pub offset_ns: i64,
    /// Half of the round trip: the offset is off by no more, ns.
    pub uncertainty_ns: u64,
    /// Round trips of which the fastest was taken.
    pub round_trips: u32,
}

/// A span without readings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SamplingGap {
    /// Its start, ns from the run's start.
    pub from_ns: u64,
    /// Its end; null where it lasted until the run's.
    pub to_ns: Option<u64>,
    /// Why.
    pub why: String,
}
