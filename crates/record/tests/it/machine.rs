//! The machine's part of a record.

use std::collections::BTreeMap;

use serde_json::json;
use tokometer_record::{
    AgentLink, CellTelemetry, ClockOffset, Container, Device, DeviceLink, DeviceMeta, DeviceSample,
    DeviceTelemetry, Hardware, Host, HostSample, Reading, ReasonBit, RecordError, RunFolder, SampleRow,
    Sampling, SamplingGap, Telemetry, TelemetryMeta,
};

use crate::sample;

/// A host with a value in every field.
pub(crate) fn host() -> Host {
    Host {
        hostname: Some("gpu1".to_owned()),
        distribution: Some("Debian GNU/Linux 12".to_owned()),
        kernel: Some("6.1.0".to_owned()),
        architecture: Some("x86_64".to_owned()),
        cpu: Some("EPYC 9575F".to_owned()),
        sockets: Some(2),
        cores: Some(128),
        threads: Some(256),
        governors: vec!["performance".to_owned()],
        numa_nodes: Some(2),
        memory_bytes: Some(1 << 40),
        swap_used_bytes: Some(0),
        board: Some("Vendor Board".to_owned()),
        virtual_machine: Some(false),
        load_average: Some(0.5),
        container: Some(Container {
            runtime: Some("docker".to_owned()),
            id: Some("0123456789ab".to_owned()),
            image: Some("vllm".to_owned()),
            digest: Some("vllm@sha256:00".to_owned()),
            command: Some("vllm serve m".to_owned()),
            environment: BTreeMap::from([("VLLM_USE_V1".to_owned(), "1".to_owned())]),
            shared_memory_bytes: Some(1 << 34),
            ipc_mode: Some("host".to_owned()),
            unknown: BTreeMap::from([("api".to_owned(), "permission denied".to_owned())]),
        }),
    }
}

/// A device with a value in every field.
pub(crate) fn device(index: u32) -> Device {
    Device {
        index,
        vendor: "nvidia".to_owned(),
        driver_name: Some("NVIDIA H200".to_owned()),
        name: "H200 SXM".to_owned(),
        used_by_server: Some(index < 2),
        memory_bytes: Some(150_754_820_096),
        memory_gb: Some(141.0),
        unified_memory: false,
        architecture: Some("9.0".to_owned()),
        driver: Some("580.95.05".to_owned()),
        compute: Some("CUDA 13.0".to_owned()),
        part_number: Some("692-2G520".to_owned()),
        vbios: Some("96.00".to_owned()),
        uuid_hash: Some("0011223344556677".to_owned()),
        pci_id: Some("0x2335".to_owned()),
        pci_address: Some("0000:0A:00.0".to_owned()),
        numa_node: Some(0),
        power_limit_watts: Some(700.0),
        power_default_watts: Some(700.0),
        power_min_watts: Some(200.0),
        power_max_watts: Some(700.0),
        core_clock_max_mhz: Some(1980),
        memory_clock_max_mhz: Some(3201),
        application_clock_mhz: Some(1980),
        core_clock_offset_mhz: Some(0),
        memory_clock_offset_mhz: Some(0),
        ecc: Some(true),
        mig: Some(false),
        mig_instances: Some(0),
        persistence: Some(true),
        pcie_generation_max: Some(5),
        pcie_width_max: Some(16),
        pcie_generation: Some(5),
        pcie_width: Some(16),
        nvlinks: Some(18),
        nvlink_version: Some(4),
        unknown: BTreeMap::from([("ecc".to_owned(), "not supported".to_owned())]),
    }
}

/// Hardware with a value in every field.
pub(crate) fn hardware() -> Hardware {
    let devices = vec![device(0), device(1), device(2), device(3)];
    let mut hardware = Hardware {
        class: Some("discrete_gpu".to_owned()),
        accelerators: Vec::new(),
        os: Some("linux".to_owned()),
        origin: Some("found".to_owned()),
        host: Some(host()),
        devices,
        links: vec![DeviceLink { a: 0, b: 1, path: "numa_node".to_owned(), direct_links: Some(18) }],
    };
    hardware.accelerators = Hardware::fold(hardware.used());
    hardware
}

/// A cell's telemetry with a value in every field.
pub(crate) fn cell_telemetry() -> CellTelemetry {
    let reading = Some(Reading { n: 60, min: 1.0, p50: 2.0, max: 3.0 });
    CellTelemetry {
        start_ns: 1,
        end_ns: 30_000_000_001,
        devices: vec![DeviceTelemetry {
            device: 0,
            core_clock_mhz: reading,
            memory_clock_mhz: reading,
            power_watts: reading,
            energy_joules: Some(12_000.0),
            temperature_c: reading,
            memory_temperature_c: reading,
            busy: reading,
            memory_used_bytes: reading,
            pcie_received: reading,
            pcie_sent: reading,
            reasons: Some(0x44),
            reason_words: vec!["hardware_thermal".to_owned()],
            unknown_bits: Some("0x4000000000".to_owned()),
        }],
        busy_samples: 60,
        slowed_share: Some(0.1),
        power_capped_share: Some(0.5),
        over_rated_share: Some(0.0),
        energy_joules: Some(12_000.0),
        energy_source: Some("counter".to_owned()),
        joules_per_token: Some(0.4),
        cpu_busy: reading,
        unknown: BTreeMap::from([("x".to_owned(), "y".to_owned())]),
    }
}

/// A reading of a machine with a value in every field.
pub(crate) fn sampling() -> Sampling {
    let clock = ClockOffset { at_ns: 1, offset_ns: -5, uncertainty_ns: 90_000, round_trips: 8 };
    Sampling {
        source: "agent".to_owned(),
        interval_seconds: 0.5,
        power_interval_seconds: 0.1,
        cpu_share: Some(0.001),
        agent: Some(AgentLink {
            url: "http://127.0.0.1:9474".to_owned(),
            version: Some("0.1.0".to_owned()),
            start: Some(clock),
            end: Some(clock),
            drift_ppm: Some(1.5),
            uncertainty_ns: Some(90_000),
            measured: 2,
        }),
        gaps: vec![SamplingGap { from_ns: 1, to_ns: Some(2), why: "no answer".to_owned() }],
        pieces: Vec::new(),
    }
}

fn series() -> Telemetry {
    let sample = DeviceSample {
        time_ns: 5,
        device: 1,
        full: true,
        power_watts: Some(701.5),
        energy_joules: Some(1e9),
        core_clock_mhz: Some(1980.0),
        memory_clock_mhz: Some(3201.0),
        temperature_c: Some(61.0),
        memory_temperature_c: Some(70.0),
        busy: Some(1.0),
        memory_busy: Some(0.4),
        memory_used_bytes: Some(1e11),
        reasons: Some(0x44),
        slowed: Some(true),
        power_capped: Some(false),
        pcie_received: Some(1e6),
        pcie_sent: Some(2e6),
        pcie_generation: Some(5.0),
        pcie_width: Some(16.0),
    };
    Telemetry {
        meta: TelemetryMeta {
            schema: TelemetryMeta::SCHEMA.to_owned(),
            run: "r".to_owned(),
            devices: vec![DeviceMeta {
                index: 1,
                name: "H200 SXM".to_owned(),
                used_by_server: Some(true),
                core_clock_max_mhz: Some(1980),
                reasons: vec![ReasonBit { bit: 0x40, word: "hardware_thermal".to_owned() }],
            }],
            hardware: Some(hardware()),
            sampling: sampling(),
        },
        devices: vec![sample, DeviceSample { time_ns: 6, device: 1, ..DeviceSample::default() }],
        host: vec![
            HostSample {
                time_ns: 5,
                cpu_busy: Some(0.25),
                cpu_stolen: Some(0.0),
                memory_available_bytes: Some(1e9),
            },
            HostSample { time_ns: 6, ..HostSample::default() },
        ],
        server: vec![SampleRow {
            time_ns: 7,
            running: Some(4.0),
            waiting: Some(0.0),
            generated_tokens: Some(1000.0),
            kv_used: Some(0.5),
            drafts: Some(1.0),
            draft_tokens: Some(2.0),
            accepted_tokens: Some(3.0),
            acceptance_length: Some(1.5),
            prefill_tokens: Some(8192.0),
            cached_prefill_tokens: Some(4096.0),
            preemptions: Some(0.0),
        }],
    }
}

#[test]
fn a_series_comes_back_as_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(folder.path(), "a").unwrap();
    let file = folder.save_telemetry(&series()).unwrap();
    assert_eq!(folder.load_telemetry(&file).unwrap(), series());
    let empty = Telemetry { meta: series().meta, ..Telemetry::default() };
    let file = folder.save_telemetry(&empty).unwrap();
    assert_eq!(folder.load_telemetry(&file).unwrap(), empty);
}

#[test]
fn a_series_in_pieces_is_read_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(folder.path(), "a").unwrap();
    let mut run = sample::run();
    run.telemetry = None;
    let (mut first, mut second) = (series(), series());
    first.devices.truncate(1);
    second.devices.remove(0);
    (second.host, second.server) = (Vec::new(), Vec::new());
    let save = |number, piece: &Telemetry| folder.save_telemetry_piece(number, piece).unwrap();
    run.sampling.as_mut().unwrap().pieces = vec![save(1, &first), save(2, &second)];
    assert_eq!(folder.load_series(&run).unwrap(), Some(series()));
    let found = folder.find_series(&run).unwrap();
    assert_eq!((found.files.len(), found.series.unwrap()), (2, series()));
    // The whole one goes before them, and takes their place.
    run.telemetry = Some(folder.save_telemetry(&first).unwrap());
    folder.remove_telemetry_pieces();
    assert_eq!(folder.load_series(&run).unwrap(), Some(first));
    run.telemetry = None;
    let found = folder.find_series(&run).unwrap();
    assert!(found.files == [None, None] && found.series.is_err());
    // A path that leads elsewhere is none.
    run.sampling.as_mut().unwrap().pieces[0].file = "../../telemetry.parquet".to_owned();
    assert!(matches!(folder.load_series(&run), Err(RecordError::Damaged { .. })));
    run.sampling = None;
    assert!(folder.find_series(&run).is_none() && folder.load_series(&run).unwrap().is_none());
}

#[test]
fn a_series_that_was_changed_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(folder.path(), "a").unwrap();
    let mut file = folder.save_telemetry(&series()).unwrap();
    file.sha256 = "00".repeat(32);
    assert!(matches!(folder.load_telemetry(&file), Err(RecordError::TraceChanged { .. })));
}

#[test]
fn hardware_of_an_older_record_is_read() {
    let old = json!({"class": "cpu", "accelerators": [{"name": "A", "count": 2, "memory_gb": null}], "os": "linux"});
    let hardware: Hardware = serde_json::from_value(old).unwrap();
    assert_eq!((hardware.accelerators[0].count, hardware.host, hardware.devices.len()), (2, None, 0));
}

#[test]
fn alike_devices_are_folded_and_unused_ones_left_out() {
    let hardware = hardware();
    assert_eq!(hardware.accelerators.len(), 1);
    assert_eq!((hardware.accelerators[0].name.as_str(), hardware.accelerators[0].count), ("H200 SXM", 2));
}
