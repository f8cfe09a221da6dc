//! What the machine did while it was measured: the series of a run, and what is said of it per cell.
//!
//! [`Telemetry`] is the whole series (`telemetry.parquet` in the run's folder), on the run's time line.
//! [`CellTelemetry`] is what the run document says of one cell; `tokometer-analysis` makes it from the series.

mod parquet;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::store::{sha256, write_whole};
use crate::{RecordError, RunFolder, SampleRow, TraceFile};

/// Name of the file in a run's folder.
const FILE: &str = "telemetry.parquet";

/// The series of a run. Rows of a kind stand in the order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Telemetry {
    /// What belongs to the series as a whole.
    pub meta: TelemetryMeta,
    /// Readings of accelerators.
    pub devices: Vec<DeviceSample>,
    /// Readings of the host.
    pub host: Vec<HostSample>,
    /// Readings of the server's gauges, while cells ran.
    pub server: Vec<SampleRow>,
}

/// What belongs to a series as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TelemetryMeta {
    /// `tokometer.telemetry/1`.
    pub schema: String,
    /// Id of the run.
    pub run: String,
    /// Time between two full readings, seconds.
    pub interval_seconds: f64,
    /// Time between two readings of power and energy, seconds; that of full readings where they cost too much.
    pub power_interval_seconds: f64,
    /// Share of one CPU that reading took.
    pub cost_cpu_share: Option<f64>,
    /// The accelerators that rows name by number.
    pub devices: Vec<DeviceMeta>,
}

impl TelemetryMeta {
    /// The name of the schema and its version.
    pub const SCHEMA: &'static str = "tokometer.telemetry/1";
}

/// An accelerator of a series.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceMeta {
    /// Its number in rows.
    pub index: u32,
    /// Display name.
    pub name: String,
    /// True if the server uses it; null where that can't be seen.
    pub used_by_server: Option<bool>,
    /// Highest core clock that the driver lists, MHz.
    pub core_clock_max_mhz: Option<u32>,
}

/// One reading of one accelerator. What it doesn't tell is null; between two full readings there are rows with
/// power and energy alone.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceSample {
    /// When it was read.
    pub time_ns: u64,
    /// Number of the accelerator.
    pub device: u32,
    /// True for a full reading.
    pub full: bool,
    /// Power of the board at this moment, W.
    pub power_watts: Option<f64>,
    /// Energy since the driver was loaded, J.
    pub energy_joules: Option<f64>,
    /// Clock of the cores, MHz.
    pub core_clock_mhz: Option<f64>,
    /// Clock of the memory, MHz.
    pub memory_clock_mhz: Option<f64>,
    /// Temperature of the chip, °C.
    pub temperature_c: Option<f64>,
    /// Temperature of the memory, °C.
    pub memory_temperature_c: Option<f64>,
    /// Share of time in which work ran, 0 to 1.
    pub busy: Option<f64>,
    /// Share of time in which memory was read or written, 0 to 1.
    pub memory_busy: Option<f64>,
    /// Memory in use, bytes.
    pub memory_used_bytes: Option<f64>,
    /// Why clocks are held down, as the driver's bits.
    pub reasons: Option<u64>,
    /// True if heat or the hardware slows a clock down.
    pub slowed: Option<bool>,
    /// True if the power limit holds a clock down.
    pub power_capped: Option<bool>,
    /// Received over PCIe, bytes/s.
    pub pcie_received: Option<f64>,
    /// Sent over PCIe, bytes/s.
    pub pcie_sent: Option<f64>,
    /// PCIe generation at this moment.
    pub pcie_generation: Option<f64>,
    /// PCIe lanes at this moment.
    pub pcie_width: Option<f64>,
}

/// One reading of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HostSample {
    /// When it was read.
    pub time_ns: u64,
    /// Share of all CPUs that was busy since the last reading, 0 to 1.
    pub cpu_busy: Option<f64>,
    /// Share of all CPUs that a hypervisor took away since the last reading, 0 to 1.
    pub cpu_stolen: Option<f64>,
    /// Memory that is left, bytes.
    pub memory_available_bytes: Option<f64>,
}

/// What the machine did over one cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellTelemetry {
    /// Start of the span, ns from the run's start: the window of a decode cell, all requests of a prefill row.
    pub start_ns: u64,
    /// End of the span.
    pub end_ns: u64,
    /// One entry for each accelerator that the server uses; where that can't be seen, for each.
    pub devices: Vec<DeviceTelemetry>,
    /// Full readings of accelerators that were busy, all together.
    pub busy_samples: u64,
    /// Share of these in which heat or the hardware slowed a clock down; null where the devices don't tell.
    pub slowed_share: Option<f64>,
    /// Share of these in which the power limit held a clock down; null where the devices don't tell.
    pub power_capped_share: Option<f64>,
    /// Share of these with a core clock more than 1 % above the highest that the driver lists.
    pub over_rated_share: Option<f64>,
    /// Energy of the boards together over the span, J.
    pub energy_joules: Option<f64>,
    /// How energy was found: `counter` or `power` (integrated).
    pub energy_source: Option<String>,
    /// Energy ÷ output tokens of the window, J/tok.
    pub joules_per_token: Option<f64>,
    /// Busy share of the host's CPUs.
    pub cpu_busy: Option<Reading>,
    /// Fields that are null though one would expect a value: name → reason.
    pub unknown: BTreeMap<String, String>,
}

/// What one accelerator did over one cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceTelemetry {
    /// Its number in `hardware.devices`.
    pub device: u32,
    /// Core clock, MHz.
    pub core_clock_mhz: Option<Reading>,
    /// Memory clock, MHz.
    pub memory_clock_mhz: Option<Reading>,
    /// Power, W.
    pub power_watts: Option<Reading>,
    /// Energy over the span, J.
    pub energy_joules: Option<f64>,
    /// Temperature of the chip, °C.
    pub temperature_c: Option<Reading>,
    /// Temperature of the memory, °C.
    pub memory_temperature_c: Option<Reading>,
    /// Share of time in which work ran, 0 to 1.
    pub busy: Option<Reading>,
    /// Memory in use, bytes.
    pub memory_used_bytes: Option<Reading>,
    /// Received over PCIe, bytes/s.
    pub pcie_received: Option<Reading>,
    /// Sent over PCIe, bytes/s.
    pub pcie_sent: Option<Reading>,
    /// Bits of the reasons that were seen, or-ed.
    pub reasons: Option<u64>,
}

/// Readings of one quantity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// Number of readings.
    pub n: u64,
    /// Smallest.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// Largest.
    pub max: f64,
}

impl RunFolder {
    /// Writes the series of a run, whole or not at all, and returns what the run document says about it.
    pub fn save_telemetry(&self, telemetry: &Telemetry) -> Result<TraceFile, RecordError> {
        let bytes =
            parquet::encode(telemetry).map_err(|why| RecordError::BadTrace { cell: FILE.to_owned(), why })?;
        write_whole(&self.path.join(FILE), &bytes)?;
        Ok(TraceFile { file: FILE.to_owned(), sha256: sha256(&bytes), bytes: bytes.len() as u64 })
    }

    /// Reads the series of a run, and checks that it is the one that the run document names.
    pub fn load_telemetry(&self, file: &TraceFile) -> Result<Telemetry, RecordError> {
        let path = self.path.join(FILE);
        let bytes = fs::read(&path).map_err(|source| RecordError::Read { path: path.clone(), source })?;
        let found = sha256(&bytes);
        if found != file.sha256 {
            return Err(RecordError::TraceChanged { path, found, recorded: file.sha256.clone() });
        }
        read(bytes, &path)
    }
}

/// A series from the bytes of its file; `path` is for messages.
pub fn read(bytes: Vec<u8>, path: &Path) -> Result<Telemetry, RecordError> {
    parquet::decode(Bytes::from(bytes)).map_err(|why| RecordError::Damaged { path: path.to_owned(), why })
}
