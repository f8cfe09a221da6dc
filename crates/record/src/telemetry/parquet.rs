//! The series of a run as a Parquet file: `row` says what a row is, as in traces.

use bytes::Bytes;

use super::{DeviceSample, HostSample, Telemetry, TelemetryMeta};
use crate::columnar::column::Column;
use crate::columnar::{Figures, Group, Reader, Writer, figure_column, read_figures, unknown_kind};
use crate::trace::parquet::{read_samples, sample_column};

/// Every column of the file, in order. Times are nanoseconds from the run's start.
const SCHEMA: &str = "message telemetry {
    required binary row (STRING);
    optional int64 time_ns (INTEGER(64, false));
    optional int32 device (INTEGER(32, false));
    optional boolean full;
    optional double power_watts;
    optional double energy_joules;
    optional double core_clock_mhz;
    optional double memory_clock_mhz;
    optional double temperature_c;
    optional double memory_temperature_c;
    optional double busy;
    optional double memory_busy;
    optional double memory_used_bytes;
    optional int64 reasons (INTEGER(64, false));
    optional boolean slowed;
    optional boolean power_capped;
    optional double pcie_received;
    optional double pcie_sent;
    optional double pcie_generation;
    optional double pcie_width;
    optional double cpu_busy;
    optional double cpu_stolen;
    optional double memory_available_bytes;
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

/// Figures of an accelerator.
const FIGURES: &Figures<DeviceSample> = &[
    ("power_watts", |row| row.power_watts, |row, value| row.power_watts = value),
    ("energy_joules", |row| row.energy_joules, |row, value| row.energy_joules = value),
    ("core_clock_mhz", |row| row.core_clock_mhz, |row, value| row.core_clock_mhz = value),
    ("memory_clock_mhz", |row| row.memory_clock_mhz, |row, value| row.memory_clock_mhz = value),
    ("temperature_c", |row| row.temperature_c, |row, value| row.temperature_c = value),
    ("memory_temperature_c", |row| row.memory_temperature_c, |row, value| row.memory_temperature_c = value),
    ("busy", |row| row.busy, |row, value| row.busy = value),
    ("memory_busy", |row| row.memory_busy, |row, value| row.memory_busy = value),
    ("memory_used_bytes", |row| row.memory_used_bytes, |row, value| row.memory_used_bytes = value),
    ("pcie_received", |row| row.pcie_received, |row, value| row.pcie_received = value),
    ("pcie_sent", |row| row.pcie_sent, |row, value| row.pcie_sent = value),
    ("pcie_generation", |row| row.pcie_generation, |row, value| row.pcie_generation = value),
    ("pcie_width", |row| row.pcie_width, |row, value| row.pcie_width = value),
];

/// Figures of a host.
const HOST_FIGURES: &Figures<HostSample> = &[
    ("cpu_busy", |row| row.cpu_busy, |row, value| row.cpu_busy = value),
    ("cpu_stolen", |row| row.cpu_stolen, |row, value| row.cpu_stolen = value),
    (
        "memory_available_bytes",
        |row| row.memory_available_bytes,
        |row, value| row.memory_available_bytes = value,
    ),
];

pub(super) fn encode(telemetry: &Telemetry) -> Result<Vec<u8>, String> {
    let mut writer = Writer::new(Vec::new(), SCHEMA, &["time_ns"])?;
    writer.rows("device", &telemetry.devices, |name, rows| Ok(device_column(name, rows)))?;
    writer.rows("host", &telemetry.host, |name, rows| Ok(host_column(name, rows)))?;
    writer.rows("server", &telemetry.server, |name, rows| Ok(sample_column(name, rows)))?;
    writer.finish(&telemetry.meta)
}

fn device_column(name: &str, rows: &[DeviceSample]) -> Option<Column> {
    if let Some(column) = figure_column(FIGURES, name, rows) {
        return Some(column);
    }
    let rows = rows.iter();
    Some(match name {
        "time_ns" => Column::u64(rows.map(|row| Some(row.time_ns))),
        "device" => Column::u32(rows.map(|row| Some(row.device))),
        "full" => Column::bool(rows.map(|row| Some(row.full))),
        "reasons" => Column::u64(rows.map(|row| row.reasons)),
        "slowed" => Column::bool(rows.map(|row| row.slowed)),
        "power_capped" => Column::bool(rows.map(|row| row.power_capped)),
        _ => return None,
    })
}

fn host_column(name: &str, rows: &[HostSample]) -> Option<Column> {
    match name {
        "time_ns" => Some(Column::u64(rows.iter().map(|row| Some(row.time_ns)))),
        _ => figure_column(HOST_FIGURES, name, rows),
    }
}

pub(super) fn decode(bytes: Bytes) -> Result<Telemetry, String> {
    let reader = Reader::new(bytes)?;
    let meta = reader.meta("telemetry of tokometer")?;
    let meta: TelemetryMeta = serde_json::from_str(meta).map_err(|error| format!("its metadata: {error}"))?;
    if meta.schema != TelemetryMeta::SCHEMA {
        return Err(format!("its schema is {:?}, not {:?}", meta.schema, TelemetryMeta::SCHEMA));
    }
    let mut telemetry = Telemetry { meta, ..Telemetry::default() };
    reader.groups(|kind, group| match kind {
        "device" => read_devices(group, &mut telemetry.devices),
        "host" => read_host(group, &mut telemetry.host),
        "server" => read_samples(group, &mut telemetry.server),
        other => Err(unknown_kind(other)),
    })?;
    Ok(telemetry)
}

fn read_devices(group: &Group<'_>, samples: &mut Vec<DeviceSample>) -> Result<(), String> {
    let first = samples.len();
    samples.resize(first + group.rows, DeviceSample::default());
    let rows = &mut samples[first..];
    group.u64("time_ns", rows, |row, value| row.time_ns = value)?;
    group.u32("device", rows, |row, value| row.device = value)?;
    group.each("full", rows, Column::into_bool, |row, value| row.full = value.unwrap_or(false))?;
    read_figures(FIGURES, group, rows)?;
    group.each("reasons", rows, Column::into_u64, |row, value| row.reasons = value)?;
    group.each("slowed", rows, Column::into_bool, |row, value| row.slowed = value)?;
    group.each("power_capped", rows, Column::into_bool, |row, value| row.power_capped = value)
}

fn read_host(group: &Group<'_>, samples: &mut Vec<HostSample>) -> Result<(), String> {
    let first = samples.len();
    samples.resize(first + group.rows, HostSample::default());
    let rows = &mut samples[first..];
    group.u64("time_ns", rows, |row, value| row.time_ns = value)?;
    read_figures(HOST_FIGURES, group, rows)
}
