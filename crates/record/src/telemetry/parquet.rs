//! The series of a run as a Parquet file: `row` says what a row is, as in traces.

use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::ColumnPath;
use bytes::Bytes;

use super::{DeviceSample, HostSample, Telemetry, TelemetryMeta};
use crate::SampleRow;
use crate::trace::parquet::column::Column;
use crate::trace::parquet::{GROUP_ROWS, Group, META_KEY, words, write_group};

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
}";

/// Figures of an accelerator: name of the column, how it is read, how it is written.
type Figure = (&'static str, fn(&DeviceSample) -> Option<f64>, fn(&mut DeviceSample, Option<f64>));

const FIGURES: [Figure; 13] = [
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

pub(super) fn encode(telemetry: &Telemetry) -> Result<Vec<u8>, String> {
    let meta = serde_json::to_string(&telemetry.meta).map_err(|error| error.to_string())?;
    let library = |error: ParquetError| error.to_string();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(format!("tokometer {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata(Some(vec![KeyValue::new(META_KEY.to_owned(), meta)]))
        .set_column_dictionary_enabled(ColumnPath::from("time_ns"), false)
        .set_column_encoding(ColumnPath::from("time_ns"), Encoding::DELTA_BINARY_PACKED)
        .build();
    let schema = parse_message_type(SCHEMA).map_err(library)?;
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema.into(), properties.into()).map_err(library)?;
    for rows in telemetry.devices.chunks(GROUP_ROWS) {
        write_group(&mut writer, "device", rows.len(), |name| Ok(device_column(name, rows)))?;
    }
    for rows in telemetry.host.chunks(GROUP_ROWS) {
        write_group(&mut writer, "host", rows.len(), |name| Ok(host_column(name, rows)))?;
    }
    for rows in telemetry.server.chunks(GROUP_ROWS) {
        write_group(&mut writer, "server", rows.len(), |name| Ok(server_column(name, rows)))?;
    }
    writer.into_inner().map_err(library)
}

fn device_column(name: &str, rows: &[DeviceSample]) -> Option<Column> {
    if let Some((_, get, _)) = FIGURES.iter().find(|(column, ..)| *column == name) {
        return Some(Column::f64(rows.iter().map(get)));
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
    let rows = rows.iter();
    Some(match name {
        "time_ns" => Column::u64(rows.map(|row| Some(row.time_ns))),
        "cpu_busy" => Column::f64(rows.map(|row| row.cpu_busy)),
        "cpu_stolen" => Column::f64(rows.map(|row| row.cpu_stolen)),
        "memory_available_bytes" => Column::f64(rows.map(|row| row.memory_available_bytes)),
        _ => return None,
    })
}

fn server_column(name: &str, rows: &[SampleRow]) -> Option<Column> {
    let rows = rows.iter();
    Some(match name {
        "time_ns" => Column::u64(rows.map(|row| Some(row.time_ns))),
        "running" => Column::f64(rows.map(|row| row.running)),
        "waiting" => Column::f64(rows.map(|row| row.waiting)),
        "generated_tokens" => Column::f64(rows.map(|row| row.generated_tokens)),
        "kv_used" => Column::f64(rows.map(|row| row.kv_used)),
        _ => return None,
    })
}

pub(super) fn decode(bytes: Bytes) -> Result<Telemetry, String> {
    let reader = SerializedFileReader::new(bytes).map_err(|error| words(&error))?;
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let meta = metadata
        .and_then(|pairs| pairs.iter().find(|pair| pair.key == META_KEY))
        .and_then(|pair| pair.value.as_deref())
        .ok_or("a Parquet file, but no telemetry of tokometer")?;
    let meta: TelemetryMeta = serde_json::from_str(meta).map_err(|error| format!("its metadata: {error}"))?;
    if meta.schema != TelemetryMeta::SCHEMA {
        return Err(format!("its schema is {:?}, not {:?}", meta.schema, TelemetryMeta::SCHEMA));
    }
    let mut telemetry = Telemetry { meta, ..Telemetry::default() };
    for index in 0..reader.num_row_groups() {
        let group = reader.get_row_group(index).map_err(|error| words(&error))?;
        let group = Group::new(group.as_ref())?;
        let kinds = group.text("row")?;
        let kind = kinds.first().and_then(Option::as_deref).unwrap_or_default();
        if kinds.iter().any(|other| other.as_deref() != Some(kind)) {
            return Err(format!("row group {index} mixes kinds of rows"));
        }
        match kind {
            "device" => read_devices(&group, &mut telemetry.devices)?,
            "host" => read_host(&group, &mut telemetry.host)?,
            "server" => read_server(&group, &mut telemetry.server)?,
            "" => {}
            other => return Err(format!("rows of an unknown kind {other:?}")),
        }
    }
    Ok(telemetry)
}

fn read_devices(group: &Group<'_>, samples: &mut Vec<DeviceSample>) -> Result<(), String> {
    let first = samples.len();
    samples.resize(first + group.rows, DeviceSample::default());
    let rows = &mut samples[first..];
    group.u64("time_ns", rows, |row, value| row.time_ns = value)?;
    group.u32("device", rows, |row, value| row.device = value)?;
    group.each("full", rows, Column::into_bool, |row, value| row.full = value.unwrap_or(false))?;
    for (name, _, put) in FIGURES {
        group.each(name, rows, Column::into_f64, put)?;
    }
    group.each("reasons", rows, Column::into_u64, |row, value| row.reasons = value)?;
    group.each("slowed", rows, Column::into_bool, |row, value| row.slowed = value)?;
    group.each("power_capped", rows, Column::into_bool, |row, value| row.power_capped = value)
}

fn read_host(group: &Group<'_>, samples: &mut Vec<HostSample>) -> Result<(), String> {
    let first = samples.len();
    samples.resize(first + group.rows, HostSample::default());
    let rows = &mut samples[first..];
    group.u64("time_ns", rows, |row, value| row.time_ns = value)?;
    group.each("cpu_busy", rows, Column::into_f64, |row, value| row.cpu_busy = value)?;
    group.each("cpu_stolen", rows, Column::into_f64, |row, value| row.cpu_stolen = value)?;
    group.each("memory_available_bytes", rows, Column::into_f64, |row, value| {
        row.memory_available_bytes = value;
    })
}

fn read_server(group: &Group<'_>, samples: &mut Vec<SampleRow>) -> Result<(), String> {
    let first = samples.len();
    samples.resize(first + group.rows, SampleRow::default());
    let rows = &mut samples[first..];
    group.u64("time_ns", rows, |row, value| row.time_ns = value)?;
    group.each("running", rows, Column::into_f64, |row, value| row.running = value)?;
    group.each("waiting", rows, Column::into_f64, |row, value| row.waiting = value)?;
    group.each("generated_tokens", rows, Column::into_f64, |row, value| row.generated_tokens = value)?;
    group.each("kv_used", rows, Column::into_f64, |row, value| row.kv_used = value)
}
