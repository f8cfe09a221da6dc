//! The machine that a server runs on: host, accelerators, and who said so.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the server runs on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Hardware {
    /// `discrete_gpu`, `unified_memory`, `cpu`.
    pub class: Option<String>,
    /// Accelerators that the server uses, alike ones folded.
    pub accelerators: Vec<Accelerator>,
    /// `linux`, …
    pub os: Option<String>,
    /// Who told: `found` (read on the machine itself), `agent` (read on the server's host by an agent there) or
    /// `stated` (by the user); null in older records.
    #[serde(default)]
    pub origin: Option<String>,
    /// The host.
    #[serde(default)]
    pub host: Option<Host>,
    /// Every accelerator that was found, in the order of its driver, used or not.
    #[serde(default)]
    pub devices: Vec<Device>,
    /// How accelerators are connected with each other, each pair once.
    #[serde(default)]
    pub links: Vec<DeviceLink>,
}

/// Alike accelerators.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accelerator {
    /// `H200 SXM`.
    pub name: String,
    /// How many.
    pub count: u32,
    /// Marketing memory of each, GB.
    pub memory_gb: Option<f64>,
}

/// A host, without serial numbers. What the system doesn't tell is null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Its name; only where the user asked for it.
    pub hostname: Option<String>,
    /// Distribution and its version: `Ubuntu 24.04.3 LTS`.
    pub distribution: Option<String>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// `x86_64`, `aarch64`, …
    pub architecture: Option<String>,
    /// CPU as it names itself.
    pub cpu: Option<String>,
    /// CPU sockets.
    pub sockets: Option<u32>,
    /// Physical cores of all sockets.
    pub cores: Option<u32>,
    /// Hardware threads that are online.
    pub threads: Option<u32>,
    /// Frequency governors in use, each once: `performance`.
    pub governors: Vec<String>,
    /// NUMA nodes.
    pub numa_nodes: Option<u32>,
    /// Memory, bytes.
    pub memory_bytes: Option<u64>,
    /// Swap in use when looked, bytes.
    pub swap_used_bytes: Option<u64>,
    /// Board or machine: vendor and product.
    pub board: Option<String>,
    /// True where the CPU says that it is a virtual one.
    pub virtual_machine: Option<bool>,
    /// Load average over one minute when looked.
    pub load_average: Option<f64>,
    /// The container that the server runs in.
    pub container: Option<Container>,
}

/// A container, as far as it can be seen: its id from the control groups of its processes, the rest from the API of
/// the containers' daemon, where that may be asked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Container {
    /// `docker`, `containerd`, `podman`, `kubernetes`, …
    pub runtime: Option<String>,
    /// First 12 digits of its id.
    pub id: Option<String>,
    /// Its image, as it was named: `vllm/vllm-openai:v0.33.0`.
    pub image: Option<String>,
    /// The image by its contents: `vllm/vllm-openai@sha256:…`, or the image's own id where it came from no registry.
    #[serde(default)]
    pub digest: Option<String>,
    /// What the container was started with, entry point and arguments, secrets removed.
    #[serde(default)]
    pub command: Option<String>,
    /// Variables of its environment that change speed, secrets removed.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Size of its shared memory, bytes.
    #[serde(default)]
    pub shared_memory_bytes: Option<u64>,
    /// Its IPC mode: `private`, `host`, …
    #[serde(default)]
    pub ipc_mode: Option<String>,
    /// Fields that are null though one would expect a value: name → reason. `api`: the daemon could not be asked.
    #[serde(default)]
    pub unknown: BTreeMap<String, String>,
}

/// One accelerator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// Its number in samples of the telemetry.
    pub index: u32,
    /// `nvidia`, `amd`, `intel`, `apple`.
    pub vendor: String,
    /// As the driver names it.
    pub driver_name: Option<String>,
    /// Display name: `H200 SXM`.
    pub name: String,
    /// True if the server uses it; null where that can't be seen.
    pub used_by_server: Option<bool>,
    /// Memory as the driver tells it, bytes.
    pub memory_bytes: Option<u64>,
    /// Marketing memory, GB.
    pub memory_gb: Option<f64>,
    /// True where it shares the host's memory.
    pub unified_memory: bool,
    /// Microarchitecture or compute capability: `9.0`.
    pub architecture: Option<String>,
    /// Driver version.
    pub driver: Option<String>,
    /// Version of the compute stack that the driver offers: CUDA `13.0`, ROCm `7.1.0`.
    pub compute: Option<String>,
    /// Board part number (no serial number).
    pub part_number: Option<String>,
    /// VBIOS version.
    pub vbios: Option<String>,
    /// SHA-256 of its UUID and the run's id, 16 digits: the same device within a run, nothing beyond.
    pub uuid_hash: Option<String>,
    /// PCI device id: `0x2335`.
    pub pci_id: Option<String>,
    /// Address on the PCI bus.
    pub pci_address: Option<String>,
    /// NUMA node that it is attached to.
    pub numa_node: Option<u32>,
    /// Power limit in force, W.
    pub power_limit_watts: Option<f64>,
    /// Power limit of the factory, W.
    pub power_default_watts: Option<f64>,
    /// Smallest power limit that can be set, W.
    #[serde(default)]
    pub power_min_watts: Option<f64>,
    /// Largest power limit that can be set, W.
    pub power_max_watts: Option<f64>,
    /// Highest core clock that the driver lists, MHz.
    pub core_clock_max_mhz: Option<u32>,
    /// Highest memory clock that the driver lists, MHz.
    pub memory_clock_max_mhz: Option<u32>,
    /// Core clock that was asked for by an application setting, MHz.
    pub application_clock_mhz: Option<u32>,
    /// Offset of the core clock's curve, MHz; other than 0 is a tuned device.
    pub core_clock_offset_mhz: Option<i32>,
    /// Offset of the memory clock's curve, MHz.
    pub memory_clock_offset_mhz: Option<i32>,
    /// Error-correcting memory.
    pub ecc: Option<bool>,
    /// Multi-instance mode.
    pub mig: Option<bool>,
    /// Instances that a device in this mode is cut into.
    #[serde(default)]
    pub mig_instances: Option<u32>,
    /// Persistence mode.
    pub persistence: Option<bool>,
    /// PCIe generation of the device and its slot.
    pub pcie_generation_max: Option<u32>,
    /// PCIe lanes of the device and its slot.
    pub pcie_width_max: Option<u32>,
    /// Largest PCIe generation that was seen under load.
    pub pcie_generation: Option<u32>,
    /// Largest count of PCIe lanes that was seen under load.
    pub pcie_width: Option<u32>,
    /// Active NVLink links.
    pub nvlinks: Option<u32>,
    /// NVLink version.
    pub nvlink_version: Option<u32>,
    /// Fields that are null though one would expect a value: name → reason.
    pub unknown: BTreeMap<String, String>,
}

/// How two accelerators are connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceLink {
    /// Index of the first.
    pub a: u32,
    /// Index of the second.
    pub b: u32,
    /// `same_board`, `pcie_switch`, `pcie_switches`, `host_bridge`, `numa_node`, `system`.
    pub path: String,
    /// Links of the accelerators' own kind that lead from one straight to the other (NVLink, XGMI), without a switch
    /// in between; null where the driver does not tell.
    #[serde(default)]
    pub direct_links: Option<u32>,
}

impl Hardware {
    /// The devices that the server uses; where that can't be seen, all.
    pub fn used(&self) -> impl Iterator<Item = &Device> {
        self.devices.iter().filter(|device| device.used_by_server != Some(false))
    }

    /// Alike devices folded, in their order.
    pub fn fold<'a>(devices: impl Iterator<Item = &'a Device>) -> Vec<Accelerator> {
        let mut folded: Vec<Accelerator> = Vec::new();
        for device in devices {
            let same = |one: &&mut Accelerator| one.name == device.name && one.memory_gb == device.memory_gb;
            match folded.iter_mut().find(same) {
                Some(one) => one.count += 1,
                None => folded.push(Accelerator {
                    name: device.name.clone(),
                    count: 1,
                    memory_gb: device.memory_gb,
                }),
            }
        }
        folded
    }
}
