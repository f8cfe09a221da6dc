//! NVIDIA devices, played by a library of our own that the real loader loads.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::time::{ClockId, clock_gettime};
use tempfile::TempDir;
use tokometer_record::{DeviceSample, Hardware, Telemetry};
use tokometer_telemetry::{Inventory, Machine, Options, Root};
use tokometer_wire::clock::Clock;

/// Compiles the library with these switches.
pub(crate) fn library(folder: &Path, switches: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stub/nvml.c");
    let library = folder.join("libnvidia-ml.so.1");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-Wall", "-Werror", "-O1", "-o"]).arg(&library).arg(source);
    let switches = switches.iter().map(|switch| format!("-D{switch}"));
    assert!(compiler.args(switches).status().unwrap().success());
    library
}

fn machine(switches: &[&str]) -> (TempDir, Machine) {
    let folder = tempfile::tempdir().unwrap();
    let nvml = vec![library(folder.path(), switches)];
    // Sysfs of another machine: only what the library plays is there.
    let root = Root::at(&folder.path().join("empty"));
    let machine = Machine::look(Options { root, nvml, ..Options::default() });
    (folder, machine)
}

fn hardware(machine: &Machine, processes: Option<&[u32]>) -> Hardware {
    machine.hardware(&Inventory { processes, salt: "run", ..Inventory::default() }).0
}

#[test]
fn four_are_found_and_two_are_used() {
    let (_folder, machine) = machine(&["STUB_PID=4242"]);
    let hardware = hardware(&machine, Some(&[17, 4242]));
    let used: Vec<Option<bool>> = hardware.devices.iter().map(|device| device.used_by_server).collect();
    assert_eq!(used, [Some(true), Some(true), Some(false), Some(false)]);
    assert_eq!(hardware.accelerators.len(), 1);
    let folded = &hardware.accelerators[0];
    assert_eq!((folded.name.as_str(), folded.count, folded.memory_gb), ("H200 SXM", 2, Some(141.0)));
    assert_eq!(hardware.class.as_deref(), Some("discrete_gpu"));
    assert_eq!(hardware.links.len(), 6);
    let path = |a, b| hardware.links.iter().find(|link| (link.a, link.b) == (a, b)).unwrap().path.as_str();
    assert_eq!((path(0, 1), path(1, 2)), ("numa_node", "system"));
    // All links lead to a switch.
    assert!(hardware.links.iter().all(|link| link.direct_links == Some(0)), "{:?}", hardware.links);
}

#[test]
fn tuned_cut_and_bridged_devices_say_so() {
    let (_folder, machine) = machine(&["STUB_PID=4242", "STUB_TUNED", "STUB_MIG", "STUB_BRIDGED"]);
    let hardware = hardware(&machine, Some(&[4242]));
    let device = &hardware.devices[0];
    assert_eq!((device.core_clock_offset_mhz, device.memory_clock_offset_mhz), (Some(150), Some(-500)));
    assert_eq!((device.mig, device.mig_instances), (Some(true), Some(3)));
    let direct = |a, b| hardware.links.iter().find(|link| (link.a, link.b) == (a, b)).unwrap().direct_links;
    assert_eq!((direct(0, 1), direct(1, 2), direct(2, 3)), (Some(18), Some(0), Some(18)));
}

#[test]
fn a_device_is_told_in_full_and_what_is_missing_has_a_reason() {
    let (_folder, machine) = machine(&["STUB_PID=4242"]);
    let device = hardware(&machine, Some(&[4242])).devices.remove(1);
    assert_eq!(device.driver_name.as_deref(), Some("NVIDIA H200"));
    assert_eq!(device.memory_bytes, Some(150_754_820_096));
    assert_eq!(device.driver.as_deref(), Some("580.95.05"));
    assert_eq!(device.compute.as_deref(), Some("CUDA 13.0"));
    assert_eq!(device.architecture.as_deref(), Some("9.0"));
    assert_eq!(device.part_number.as_deref(), Some("692-2G520-0280-001"));
    assert_eq!(device.vbios.as_deref(), Some("96.00.A5.00.01"));
    assert_eq!(
        (device.pci_address.as_deref(), device.pci_id.as_deref()),
        (Some("00000000:0B:00.0"), Some("0x2335"))
    );
    assert_eq!((device.power_limit_watts, device.power_default_watts), (Some(650.0), Some(700.0)));
    assert_eq!((device.power_min_watts, device.power_max_watts), (Some(200.0), Some(700.0)));
    assert_eq!((device.core_clock_max_mhz, device.memory_clock_max_mhz), (Some(1980), Some(3201)));
    assert_eq!((device.ecc, device.mig, device.persistence), (Some(true), Some(false), Some(true)));
    assert_eq!((device.pcie_generation_max, device.pcie_width_max), (Some(5), Some(16)));
    assert_eq!((device.nvlinks, device.nvlink_version), (Some(18), Some(4)));
    // The library lacks these functions.
    assert_eq!((device.core_clock_offset_mhz, device.numa_node), (None, None));
    for field in ["core_clock_offset_mhz", "memory_clock_offset_mhz", "numa_node"] {
        assert!(device.unknown[field].contains("no such function"), "{field}: {:?}", device.unknown);
    }
    assert_eq!(device.unknown.len(), 3, "{:?}", device.unknown);
}

#[test]
fn ids_are_hashed_and_differ_between_runs() {
    let (_folder, machine) = machine(&[]);
    let of =
        |salt| machine.hardware(&Inventory { salt, ..Inventory::default() }).0.devices.remove(0).uuid_hash;
    let (one, other) = (of("a").unwrap(), of("b").unwrap());
    assert_eq!((one.len(), one == other, Some(one), Some(other).is_some()), (16, false, of("a"), true));
}

#[test]
fn devices_whose_users_cannot_be_seen_are_all_counted_and_said_so() {
    // As in a container: the driver lists no process, but memory is in use.
    let (_folder, machine) = machine(&[]);
    let asked = Inventory { processes: Some(&[17]), ..Inventory::default() };
    let (hardware, unknown) = machine.hardware(&asked);
    let used: Vec<Option<bool>> = hardware.devices.iter().map(|device| device.used_by_server).collect();
    assert_eq!(used, [None, None, Some(false), Some(false)]);
    assert_eq!(hardware.accelerators[0].count, 2);
    assert!(unknown["hardware.devices.used_by_server"].contains("does not tell"), "{unknown:?}");
}

#[test]
fn a_driver_that_does_not_run_is_a_reason_and_no_error() {
    let (_folder, machine) = machine(&["STUB_NO_DRIVER"]);
    let (hardware, unknown) = machine.hardware(&Inventory::default());
    assert_eq!((hardware.devices.len(), hardware.class.as_deref()), (0, Some("cpu")));
    assert!(unknown["hardware.accelerators"].contains("driver is not loaded"), "{unknown:?}");
}

fn monotonic() -> f64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap();
    now.tv_sec() as f64 + now.tv_nsec() as f64 / 1e9
}

/// Energy of a used device from the origin of the clock to `t`, as the library defines its power.
fn integral(t: f64) -> f64 {
    let step = 0.35;
    let pairs = (t / (2.0 * step)).floor();
    let rest = t - pairs * 2.0 * step;
    let high = pairs * step + rest.min(step);
    high * 700.0 + (t - high) * 300.0
}

/// A series of some seconds, and the moment of the monotonic clock at its start.
fn series(switches: &[&str]) -> (Telemetry, f64) {
    let (_folder, machine) = machine(switches);
    let hardware = hardware(&machine, Some(&[4242]));
    let start = monotonic();
    let clock = Clock::start();
    let watch = machine.watch(&hardware, "run", clock).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2600));
    (watch.stop(), start)
}

#[test]
fn a_series_follows_power_and_counts_energy() {
    let (series, start) = series(&["STUB_PID=4242", "STUB_THROTTLED"]);
    let of = |device: u32| series.devices.iter().filter(move |row| row.device == device);
    let (first, last) = (of(0).next().unwrap(), of(0).next_back().unwrap());
    let counted = last.energy_joules.unwrap() - first.energy_joules.unwrap();
    let at = |row: &DeviceSample| start + row.time_ns as f64 / 1e9;
    let right = integral(at(last)) - integral(at(first));
    assert!((counted / right - 1.0).abs() < 0.01, "{counted} J, {right} J");
    // The instant field, not the average.
    assert!(of(0).all(|row| [Some(300.0), Some(700.0)].contains(&row.power_watts)));
    assert!(of(3).all(|row| row.power_watts == Some(75.0)));
    assert!(of(0).filter(|row| !row.full).count() > of(0).filter(|row| row.full).count());
    let full: Vec<&DeviceSample> = of(0).filter(|row| row.full).collect();
    for row in &full {
        assert_eq!((row.temperature_c, row.memory_temperature_c), (Some(84.0), Some(90.0)));
        assert_eq!((row.busy, row.memory_busy), (Some(0.99), Some(0.55)));
        assert_eq!((row.pcie_generation, row.pcie_width), (Some(5.0), Some(16.0)));
        assert!(row.slowed.is_some() && row.power_capped.is_some());
        assert_eq!(row.slowed.unwrap(), row.reasons.unwrap() & 0x20 != 0);
        // The wrapper has no name for this bit.
        assert_ne!(row.reasons.unwrap() & 0x40_0000_0000, 0);
    }
    assert!(
        full.iter().any(|row| row.slowed == Some(true))
            && full.iter().any(|row| row.power_capped == Some(true))
    );
    assert!(full.iter().any(|row| row.pcie_received == Some(1e6) && row.pcie_sent == Some(2e6)));
    assert_eq!(series.meta.devices.len(), 4);
    assert!(series.meta.devices[0].reasons.iter().any(|known| known.word == "software_thermal"));
    assert!(series.meta.devices[0].reasons.iter().all(|known| known.bit != 0x40_0000_0000));
    let sampling = &series.meta.sampling;
    assert_eq!((sampling.source.as_str(), sampling.interval_seconds), ("local", 0.5));
    assert!(sampling.cpu_share.is_some_and(|share| share < 0.5), "{sampling:?}");
    assert_eq!(series.meta.devices[2].used_by_server, Some(false));
}

#[test]
fn a_reading_can_be_asked_for_at_any_moment() {
    let (_folder, machine) = machine(&["STUB_PID=4242"]);
    let hardware = hardware(&machine, Some(&[4242]));
    let clock = Clock::start();
    let watch = machine.watch(&hardware, "run", clock).unwrap();
    for _ in 0..5 {
        let asked_ns = clock.now_ns();
        assert!(watch.read_now());
        watch.with(|series| {
            let last = &series.devices[series.devices.len() - 4..];
            assert!(last.iter().all(|row| row.full && row.time_ns >= asked_ns), "{last:?}");
        });
    }
    let series = watch.stop();
    let times: Vec<u64> = series.devices.iter().map(|row| row.time_ns).collect();
    assert!(times.is_sorted());
}

#[test]
fn without_an_energy_counter_power_is_there() {
    let (series, _) = series(&["STUB_PID=4242", "STUB_NO_ENERGY"]);
    assert!(series.devices.iter().all(|row| row.energy_joules.is_none() && row.power_watts.is_some()));
}
