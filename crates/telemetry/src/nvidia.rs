//! NVIDIA accelerators through NVML, which is loaded at run time: without a driver there is nothing, and no error.

use std::ffi::OsStr;
use std::path::PathBuf;

use nvml_wrapper::enum_wrappers::device::{Clock, PcieUtilCounter, TemperatureSensor, TopologyLevel};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::{Bits, NvmlError};
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::{Nvml, cuda_driver_version_major, cuda_driver_version_minor};
use tokometer_record::{Device, DeviceLink, DeviceSample, ReasonBit};

use crate::source::{Source, Users, reason_bits};

/// Where the driver's library is looked for: containers have the first name only.
const LIBRARIES: [&str; 2] = ["libnvidia-ml.so.1", "libnvidia-ml.so"];
/// Field of the power at this moment; `power_usage` is an average over a second on newer devices.
const POWER_INSTANT: FieldId = FieldId(186);
/// Field of the memory's temperature.
const MEMORY_TEMPERATURE: FieldId = FieldId(82);
/// Most NVLink links that a device has.
const LINKS: u32 = 18;
/// Reasons why clocks are held down, as NVML names them. A newer driver may have more.
const REASONS: [(u64, &str); 9] = [
    (0x1, "idle"),
    (0x2, "application_clocks"),
    (0x4, "software_power_cap"),
    (0x8, "hardware_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "software_thermal"),
    (0x40, "hardware_thermal"),
    (0x80, "hardware_power_brake"),
    (0x100, "display_clock"),
];
/// The software power cap.
const REASON_POWER_CAP: u64 = 0x4;
/// Hardware slowdown, software thermal, hardware thermal, hardware power brake.
const REASONS_SLOWED: u64 = 0x8 | 0x20 | 0x40 | 0x80;

/// The devices of the NVIDIA driver.
pub(crate) struct Nvidia {
    nvml: Nvml,
    count: u32,
}

impl Nvidia {
    /// Loads the driver's library from `paths`, or from where the system has it; the reason if that fails.
    pub(crate) fn open(paths: &[PathBuf]) -> Result<Nvidia, String> {
        let named: Vec<&OsStr> = match paths {
            [] => LIBRARIES.iter().map(OsStr::new).collect(),
            paths => paths.iter().map(|path| path.as_os_str()).collect(),
        };
        let mut why = String::from("no NVIDIA driver library on this machine");
        for path in named {
            match Nvml::builder().lib_path(path).init() {
                Ok(nvml) => {
                    let count = nvml.device_count().map_err(|error| words(&error))?;
                    return Ok(Nvidia { nvml, count });
                }
                Err(NvmlError::LibloadingError(_)) => {}
                Err(error) => why = format!("the NVIDIA driver library does not start: {error}"),
            }
        }
        Err(why)
    }

    fn device(&self, device: u32) -> Result<nvml_wrapper::Device<'_>, NvmlError> {
        self.nvml.device_by_index(device)
    }

    fn describe(&self, index: u32) -> Device {
        let mut told = Device { index, vendor: "nvidia".to_owned(), ..Device::default() };
        let device = match self.device(index) {
            Ok(device) => device,
            Err(error) => {
                told.unknown.insert("name".to_owned(), words(&error));
                return told;
            }
        };
        let mut asked = Asked { device: &mut told };
        asked.ask("driver_name", device.name(), |told, name| told.driver_name = Some(name));
        asked.ask("memory_bytes", device.memory_info(), |told, info| told.memory_bytes = Some(info.total));
        asked.ask("architecture", device.cuda_compute_capability(), |told, capability| {
            told.architecture = Some(format!("{}.{}", capability.major, capability.minor));
        });
        asked.ask("driver", self.nvml.sys_driver_version(), |told, version| told.driver = Some(version));
        asked.ask("compute", self.nvml.sys_cuda_driver_version(), |told, version| {
            let (major, minor) = (cuda_driver_version_major(version), cuda_driver_version_minor(version));
            told.compute = Some(format!("CUDA {major}.{minor}"));
        });
        asked.ask("part_number", device.board_part_number(), |told, number| told.part_number = Some(number));
        asked.ask("vbios", device.vbios_version(), |told, version| told.vbios = Some(version));
        // The machine replaces it by a hash before anybody sees it.
        asked.ask("uuid_hash", device.uuid(), |told, uuid| told.uuid_hash = Some(uuid));
        asked.ask("pci_address", device.pci_info(), |told, pci| {
            // The lower half is the vendor.
            told.pci_id = Some(format!("{:#06x}", pci.pci_device_id >> 16));
            told.pci_address = Some(pci.bus_id);
        });
        asked.ask("power_limit_watts", device.enforced_power_limit(), |told, milliwatts| {
            told.power_limit_watts = Some(watts(milliwatts));
        });
        asked.ask("power_default_watts", device.power_management_limit_default(), |told, milliwatts| {
            told.power_default_watts = Some(watts(milliwatts));
        });
        asked.ask("power_max_watts", device.power_management_limit_constraints(), |told, limits| {
            (told.power_min_watts, told.power_max_watts) =
                (Some(watts(limits.min_limit)), Some(watts(limits.max_limit)));
        });
        asked.ask("core_clock_max_mhz", device.max_clock_info(Clock::SM), |told, mhz| {
            told.core_clock_max_mhz = Some(mhz);
        });
        asked.ask("memory_clock_max_mhz", device.max_clock_info(Clock::Memory), |told, mhz| {
            told.memory_clock_max_mhz = Some(mhz);
        });
        asked.ask("application_clock_mhz", device.applications_clock(Clock::SM), |told, mhz| {
            told.application_clock_mhz = Some(mhz);
        });
        asked.ask("core_clock_offset_mhz", device.gpc_clock_vf_offset(), |told, mhz| {
            told.core_clock_offset_mhz = Some(mhz);
        });
        asked.ask("memory_clock_offset_mhz", device.mem_clock_vf_offset(), |told, mhz| {
            told.memory_clock_offset_mhz = Some(mhz);
        });
        asked.ask("ecc", device.is_ecc_enabled(), |told, state| told.ecc = Some(state.currently_enabled));
        asked.ask("mig", device.mig_mode(), |told, mode| told.mig = Some(mode.current != 0));
        if asked.device.mig == Some(true) {
            asked.ask("mig_instances", device.mig_device_count(), |told, most| {
                let is_there = |index: &u32| device.mig_device_by_index(*index).is_ok();
                told.mig_instances = u32::try_from((0..most).filter(is_there).count()).ok();
            });
        }
        asked.ask("persistence", device.is_in_persistent_mode(), |told, on| told.persistence = Some(on));
        asked.ask("pcie_generation_max", device.max_pcie_link_gen(), |told, generation| {
            told.pcie_generation_max = Some(generation);
        });
        asked.ask("pcie_width_max", device.max_pcie_link_width(), |told, width| {
            told.pcie_width_max = Some(width);
        });
        asked.ask("numa_node", device.numa_node_id(), |told, node| told.numa_node = Some(node));
        links(&device, &mut told);
        told
    }
}

impl Source for Nvidia {
    fn devices(&self) -> Vec<Device> {
        (0..self.count).map(|index| self.describe(index)).collect()
    }

    fn links(&self) -> Vec<DeviceLink> {
        let mut found = Vec::new();
        for a in 0..self.count {
            for b in a + 1..self.count {
                let (Ok(first), Ok(second)) = (self.device(a), self.device(b)) else { continue };
                let Ok(level) = self.nvml.topology_common_ancestor(&first, &second) else { continue };
                let path = match level {
                    TopologyLevel::Internal => "same_board",
                    TopologyLevel::Single => "pcie_switch",
                    TopologyLevel::Multiple => "pcie_switches",
                    TopologyLevel::HostBridge => "host_bridge",
                    TopologyLevel::Node => "numa_node",
                    TopologyLevel::System => "system",
                };
                let direct_links = direct_links(&first, &second);
                found.push(DeviceLink { a, b, path: path.to_owned(), direct_links });
            }
        }
        found
    }

    fn reasons(&self) -> Vec<ReasonBit> {
        reason_bits(&REASONS)
    }

    fn users(&self, device: u32) -> Option<Users> {
        let device = self.device(device).ok()?;
        let processes = device.running_compute_processes().ok()?;
        Some(Users {
            pids: processes.iter().map(|process| process.pid).collect(),
            memory_used: device.memory_info().ok().map(|info| info.used),
        })
    }

    fn power(&self, device: u32, sample: &mut DeviceSample) {
        let Ok(device) = self.device(device) else { return };
        sample.power_watts = field(&device, POWER_INSTANT)
            .map(|milliwatts| milliwatts / 1000.0)
            .or_else(|| device.power_usage().ok().map(watts));
        sample.energy_joules =
            device.total_energy_consumption().ok().map(|millijoules| millijoules as f64 / 1000.0);
    }

    fn rest(&self, device: u32, sample: &mut DeviceSample) {
        let Ok(device) = self.device(device) else { return };
        let number = |value: Result<u32, NvmlError>| value.ok().map(f64::from);
        sample.core_clock_mhz = number(device.clock_info(Clock::SM));
        sample.memory_clock_mhz = number(device.clock_info(Clock::Memory));
        sample.temperature_c = number(device.temperature(TemperatureSensor::Gpu));
        // A device without such a sensor says 0.
        sample.memory_temperature_c = field(&device, MEMORY_TEMPERATURE).filter(|celsius| *celsius > 0.0);
        if let Ok(rates) = device.utilization_rates() {
            sample.busy = Some(f64::from(rates.gpu) / 100.0);
            sample.memory_busy = Some(f64::from(rates.memory) / 100.0);
        }
        sample.memory_used_bytes = device.memory_info().ok().map(|info| info.used as f64);
        sample.reasons = raw_reasons(&device);
        sample.slowed = sample.reasons.map(|bits| bits & REASONS_SLOWED != 0);
        sample.power_capped = sample.reasons.map(|bits| bits & REASON_POWER_CAP != 0);
        sample.pcie_generation = number(device.current_pcie_link_gen());
        sample.pcie_width = number(device.current_pcie_link_width());
    }

    fn slow(&self, device: u32, sample: &mut DeviceSample) {
        let Ok(device) = self.device(device) else { return };
        // In KB/s over 20 ms, for which the call waits.
        let rate =
            |counter| device.pcie_throughput(counter).ok().map(|kilobytes| f64::from(kilobytes) * 1000.0);
        sample.pcie_received = rate(PcieUtilCounter::Receive);
        sample.pcie_sent = rate(PcieUtilCounter::Send);
    }
}

/// Puts answers into a device, and why there is none.
struct Asked<'a> {
    device: &'a mut Device,
}

impl Asked<'_> {
    fn ask<T>(&mut self, field: &str, answer: Result<T, NvmlError>, put: impl FnOnce(&mut Device, T)) {
        match answer {
            Ok(value) => put(self.device, value),
            Err(error) => {
                self.device.unknown.insert(field.to_owned(), words(&error));
            }
        }
    }
}

fn links(device: &nvml_wrapper::Device<'_>, told: &mut Device) {
    let first = device.link_wrapper_for(0).is_active();
    if let Err(error) = &first {
        told.unknown.insert("nvlinks".to_owned(), words(error));
        return;
    }
    let active: Vec<u32> =
        (0..LINKS).filter(|link| device.link_wrapper_for(*link).is_active().is_ok_and(|on| on)).collect();
    told.nvlinks = u32::try_from(active.len()).ok();
    told.nvlink_version = active.first().and_then(|link| device.link_wrapper_for(*link).version().ok());
}

/// NVLink links that lead from one device straight to the other; none where the driver does not tell their ends.
fn direct_links(from: &nvml_wrapper::Device<'_>, to: &nvml_wrapper::Device<'_>) -> Option<u32> {
    let address = to.pci_info().ok()?.bus_id;
    let links: Vec<_> = (0..LINKS).map(|link| from.link_wrapper_for(link)).collect();
    let mut active = links.iter().filter(|link| link.is_active().is_ok_and(|on| on)).peekable();
    active.peek()?;
    let ends = active.map(|link| Some(link.remote_pci_info().ok()?.bus_id)).collect::<Option<Vec<_>>>()?;
    u32::try_from(ends.iter().filter(|end| end.eq_ignore_ascii_case(&address)).count()).ok()
}

/// The bits of the reasons why clocks are held down, also those that the wrapper has no name for.
fn raw_reasons(device: &nvml_wrapper::Device<'_>) -> Option<u64> {
    match device.current_throttle_reasons_strict() {
        Ok(reasons) => Some(reasons.bits()),
        Err(NvmlError::IncorrectBits(Bits::U64(bits))) => Some(bits),
        Err(_) => None,
    }
}

/// The value of a field, whatever its type.
fn field(device: &nvml_wrapper::Device<'_>, id: FieldId) -> Option<f64> {
    let values = device.field_values_for(&[id]).ok()?;
    match values.into_iter().next()?.ok()?.value.ok()? {
        SampleValue::F64(value) => Some(value),
        SampleValue::U32(value) => Some(f64::from(value)),
        SampleValue::U64(value) => Some(value as f64),
        SampleValue::I64(value) => Some(value as f64),
    }
}

fn watts(milliwatts: u32) -> f64 {
    f64::from(milliwatts) / 1000.0
}

fn words(error: &NvmlError) -> String {
    match error {
        NvmlError::FailedToLoadSymbol(_) => "the driver library has no such function".to_owned(),
        NvmlError::NotSupported => "the driver does not tell it of this device".to_owned(),
        other => other.to_string(),
    }
}
