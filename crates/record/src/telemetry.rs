//! What the machine did while it was measured: the series of a run, and what is said of it per cell.
//!
//! [`Telemetry`] is the whole series (`telemetry.parquet` in the run's folder), on the run's time line.
//! While a run goes on the series is saved in pieces (`telemetry/0001.parquet`, …), so that a process that is killed
//! leaves it up to its last finished cell. [`Sampling`] is what the run document says of the reading itself,
//! [`CellTelemetry`] what it says of one cell; `tokometer-analysis` makes that from the series.

mod parquet;
mod sampling;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::store::{sha256, write_whole};
use crate::{Hardware, RecordError, Run, RunFolder, SampleRow, TraceFile};
pub use sampling::{AgentLink, ClockOffset, Sampling, SamplingGap};

/// Name of the file in a run's folder.
const FILE: &str = "telemetry.parquet";
/// Name of the folder of pieces in a run's folder.
const PIECES: &str = "telemetry";

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
    /// The accelerators that rows name by number.
    pub devices: Vec<DeviceMeta>,
    /// The machine as it was found before the first reading; null in older files.
    #[serde(default)]
    pub hardware: Option<Hardware>,
    /// How the machine was read, as the run document says it.
    #[serde(default)]
    pub sampling: Sampling,
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
    /// What the bits of `reasons` in its rows mean, as far as the driver's are known; empty in older files.
    #[serde(default)]
    pub reasons: Vec<ReasonBit>,
}

/// A reason why clocks are held down, as one bit of a driver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasonBit {
    /// The bit, as a mask.
    pub bit: u64,
    /// `hardware_thermal`.
    pub word: String,
}

/// One reading of one accelerator. What it doesn't tell is null; between two full readings there are rows with
/// power and energy alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceSample {
    /// When it was read.
    pub time_ns: u64,
    /// Number of the accelerator.
    pub device: u32,
    /// True for a full reading.
    pub full: bool,
    /// Power of the board at this moment, W.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_watts: Option<f64>,
    /// Energy since the driver was loaded, J.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy_joules: Option<f64>,
    /// Clock of the cores, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_clock_mhz: Option<f64>,
    /// Clock of the memory, MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_clock_mhz: Option<f64>,
    /// Temperature of the chip, °C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f64>,
    /// Temperature of the memory, °C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_temperature_c: Option<f64>,
    /// Share of time in which work ran, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
    /// Share of time in which memory was read or written, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_busy: Option<f64>,
    /// Memory in use, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_used_bytes: Option<f64>,
    /// Why clocks are held down, as the driver's bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasons: Option<u64>,
    /// True if heat or the hardware slows a clock down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowed: Option<bool>,
    /// True if the power limit holds a clock down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_capped: Option<bool>,
    /// Received over PCIe, bytes/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_received: Option<f64>,
    /// Sent over PCIe, bytes/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_sent: Option<f64>,
    /// PCIe generation at this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_generation: Option<f64>,
    /// PCIe lanes at this moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pcie_width: Option<f64>,
}

/// One reading of the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostSample {
    /// When it was read.
    pub time_ns: u64,
    /// Share of all CPUs that was busy since the last reading, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_busy: Option<f64>,
    /// Share of all CPUs that a hypervisor took away since the last reading, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_stolen: Option<f64>,
    /// Memory that is left, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    /// Bits of the reasons why clocks were held down that were seen, or-ed.
    pub reasons: Option<u64>,
    /// The same in words, as far as the bits are known.
    #[serde(default)]
    pub reason_words: Vec<String>,
    /// Bits among them that nobody here knows, in hex: a newer driver may have more.
    #[serde(default)]
    pub unknown_bits: Option<String>,
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

impl Telemetry {
    /// The series as the bytes of a Parquet file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecordError> {
        parquet::encode(self).map_err(|why| RecordError::BadTrace { cell: FILE.to_owned(), why })
    }

    /// A series from the bytes of a Parquet file; `path` is for messages.
    pub fn from_bytes(bytes: Bytes, path: &Path) -> Result<Telemetry, RecordError> {
        parquet::decode(bytes).map_err(|why| RecordError::Damaged { path: path.to_owned(), why })
    }

    /// Puts the rows of a later piece behind these; what belongs to the whole is that of the later one.
    pub fn append(&mut self, mut later: Telemetry) {
        self.devices.append(&mut later.devices);
        self.host.append(&mut later.host);
        self.server.append(&mut later.server);
        self.meta = later.meta;
    }
}

/// The series of a run as it lies in its folder.
#[derive(Debug)]
pub struct StoredTelemetry {
    /// SHA-256 and size of each file that the run document names, in its order; none where there is no such file.
    pub files: Vec<Option<(String, u64)>>,
    /// What they hold together, if all are there and can be read.
    pub series: Result<Telemetry, RecordError>,
}

impl Run {
    /// The files of the machine's series: one, or the pieces that a run left which was cut off.
    pub fn telemetry_files(&self) -> Vec<&TraceFile> {
        let pieces = self.sampling.iter().flat_map(|sampling| &sampling.pieces);
        match &self.telemetry {
            Some(file) => vec![file],
            None => pieces.collect(),
        }
    }
}

impl RunFolder {
    /// Writes the series of a run, whole or not at all, and returns what the run document says about it.
    pub fn save_telemetry(&self, telemetry: &Telemetry) -> Result<TraceFile, RecordError> {
        self.save_series(FILE.to_owned(), telemetry)
    }

    /// Writes a piece of the series, numbered from 1.
    pub fn save_telemetry_piece(&self, number: usize, piece: &Telemetry) -> Result<TraceFile, RecordError> {
        let folder = self.path.join(PIECES);
        fs::create_dir_all(&folder).map_err(|source| RecordError::Write { path: folder, source })?;
        self.save_series(format!("{PIECES}/{number:04}.parquet"), piece)
    }

    /// Removes all pieces: the whole series is saved, and the run document names it.
    pub fn remove_telemetry_pieces(&self) {
        // Without pieces there is nothing to remove; and one that stays does no harm.
        let _ = fs::remove_dir_all(self.path.join(PIECES));
    }

    fn save_series(&self, file: String, telemetry: &Telemetry) -> Result<TraceFile, RecordError> {
        let bytes = telemetry.to_bytes()?;
        write_whole(&self.path.join(&file), &bytes)?;
        Ok(TraceFile { file, sha256: sha256(&bytes), bytes: bytes.len() as u64 })
    }

    /// Reads a file of the series, and checks that it is the one that the run document names.
    pub fn load_telemetry(&self, file: &TraceFile) -> Result<Telemetry, RecordError> {
        let path = self.trace_path(file)?;
        let bytes = fs::read(&path).map_err(|source| RecordError::Read { path: path.clone(), source })?;
        let found = sha256(&bytes);
        if found != file.sha256 {
            return Err(RecordError::TraceChanged { path, found, recorded: file.sha256.clone() });
        }
        Telemetry::from_bytes(Bytes::from(bytes), &path)
    }

    /// The whole series of a run, also one that lies in pieces; none where the run has no series.
    pub fn load_series(&self, run: &Run) -> Result<Option<Telemetry>, RecordError> {
        let mut whole: Option<Telemetry> = None;
        for file in run.telemetry_files() {
            let piece = self.load_telemetry(file)?;
            match &mut whole {
                Some(whole) => whole.append(piece),
                None => whole = Some(piece),
            }
        }
        Ok(whole)
    }

    /// The series of a run as it lies in the folder, whatever its state; none where the run names none.
    pub fn find_series(&self, run: &Run) -> Option<StoredTelemetry> {
        let named = run.telemetry_files();
        if named.is_empty() {
            return None;
        }
        let mut files = Vec::new();
        let mut series: Result<Telemetry, RecordError> = Ok(Telemetry::default());
        for file in named {
            let found = self.trace_path(file).and_then(|path| match fs::read(&path) {
                Ok(bytes) => Ok((bytes, path)),
                Err(source) => Err(RecordError::Read { path, source }),
            });
            let piece = match found {
                Ok((bytes, path)) => {
                    files.push(Some((sha256(&bytes), bytes.len() as u64)));
                    Telemetry::from_bytes(Bytes::from(bytes), &path)
                }
                Err(error) => {
                    files.push(None);
                    Err(error)
                }
            };
            series = series.and_then(|mut whole| {
                whole.append(piece?);
                Ok(whole)
            });
        }
        Some(StoredTelemetry { files, series })
    }
}
