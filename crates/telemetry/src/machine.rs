//! All of a machine: its host and the accelerators of every driver that is there.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tokometer_record::{Container, Device, DeviceLink, Hardware, Host};
use tokometer_wire::clock::Clock;

use crate::amd::Amd;
use crate::apple::Apple;
use crate::catalogue::Catalogue;
use crate::host;
use crate::intel::Intel;
use crate::nvidia::Nvidia;
use crate::root::Root;
use crate::sampler::Watch;
use crate::source::{Source, Users};

/// Memory that a device has in use when nobody uses it, at most, bytes.
const IDLE_BYTES: u64 = 1 << 30;

/// Where a machine is read.
#[derive(Debug, Clone)]
pub struct Options {
    /// The file system.
    pub root: Root,
    /// NVML libraries to try, in order; none: where the system has it.
    pub nvml: Vec<PathBuf>,
    /// Names of accelerators.
    pub catalogue: Catalogue,
}

impl Default for Options {
    fn default() -> Options {
        Options { root: Root::system(), nvml: Vec::new(), catalogue: Catalogue::default() }
    }
}

/// A machine that is open for reading.
pub struct Machine {
    root: Root,
    catalogue: Catalogue,
    sources: Vec<Box<dyn Source>>,
    /// The host, where `/proc` has nothing of it; with its name.
    apple: Option<Host>,
    /// Why drivers are not there.
    absent: Vec<String>,
}

/// What a machine is asked about.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inventory<'a> {
    /// The server's processes; none where they can't be seen.
    pub processes: Option<&'a [u32]>,
    /// Mixed into hashes of ids: the same device has different ones in different runs.
    pub salt: &'a str,
    /// Name the host.
    pub include_hostname: bool,
    /// The container that the server runs in, where more is known of it than its processes tell.
    pub container: Option<&'a Container>,
}

impl Machine {
    /// Opens what is there.
    pub fn look(options: Options) -> Machine {
        let mut sources: Vec<Box<dyn Source>> = Vec::new();
        let mut absent = Vec::new();
        match Nvidia::open(&options.nvml) {
            Ok(nvidia) => sources.push(Box::new(nvidia)),
            Err(why) => absent.push(why),
        }
        sources.push(Box::new(Amd::open(&options.root)));
        sources.push(Box::new(Intel::open(&options.root)));
        let apple = Apple::open(&options.root);
        let host = apple.host(true);
        sources.push(Box::new(apple));
        Machine { apple: host, root: options.root, catalogue: options.catalogue, sources, absent }
    }

    /// The inventory, and why fields of it are missing, by dotted path in the record.
    pub fn hardware(&self, asked: &Inventory<'_>) -> (Hardware, BTreeMap<String, String>) {
        let mut unknown = BTreeMap::new();
        let mut devices = Vec::new();
        let mut links: Vec<DeviceLink> = Vec::new();
        for source in &self.sources {
            let first = u32::try_from(devices.len()).unwrap_or(u32::MAX);
            for mut device in source.devices() {
                let users = source.users(device.index);
                device.used_by_server = used(asked.processes, users.as_ref());
                device.index += first;
                self.name(&mut device, asked.salt);
                devices.push(device);
            }
            let numbered = |link: DeviceLink| DeviceLink { a: link.a + first, b: link.b + first, ..link };
            links.extend(source.links().into_iter().map(numbered));
        }
        // A process on one device is on all that it uses: where one is known, the others are not in doubt.
        if devices.iter().any(|device: &Device| device.used_by_server == Some(true)) {
            for device in devices.iter_mut().filter(|device| device.used_by_server.is_none()) {
                device.used_by_server = Some(false);
            }
        }
        let server = asked.processes.and_then(|pids| pids.first().copied());
        let mut host = match &self.apple {
            Some(host) => {
                Host { hostname: host.hostname.clone().filter(|_| asked.include_hostname), ..host.clone() }
            }
            None => host::inventory(&self.root, asked.include_hostname, server),
        };
        if let Some(container) = asked.container {
            host.container = Some(container.clone());
        }
        let mut hardware = Hardware {
            class: None,
            accelerators: Vec::new(),
            os: Some(std::env::consts::OS.to_owned()),
            origin: Some("found".to_owned()),
            host: Some(host),
            devices,
            links,
        };
        hardware.accelerators = Hardware::fold(hardware.used());
        hardware.class = Some(class(&hardware).to_owned());
        if hardware.accelerators.is_empty() {
            let why =
                if hardware.devices.is_empty() { self.why_none() } else { "the server uses none".to_owned() };
            unknown.insert("hardware.accelerators".to_owned(), why);
        }
        if hardware.devices.iter().any(|device| device.used_by_server.is_none()) {
            let why = "the driver does not tell which devices the server's processes use: all are counted";
            unknown.insert("hardware.devices.used_by_server".to_owned(), why.to_owned());
        }
        (hardware, unknown)
    }

    /// Reads the machine on a thread of its own until the watch is stopped.
    pub fn watch(self, hardware: &Hardware, run: &str, clock: Clock) -> std::io::Result<Watch> {
        Watch::start(self.root, self.sources, hardware, run, clock)
    }

    fn why_none(&self) -> String {
        let mut reasons = self.absent.clone();
        reasons.push("no card of amdgpu, xe or i915, and no Apple chip".to_owned());
        reasons.join("; ")
    }

    fn name(&self, device: &mut Device, salt: &str) {
        let pci = device.pci_id.as_deref();
        let entry = self.catalogue.find(&device.vendor, device.driver_name.as_deref(), pci);
        if let Some(entry) = entry {
            device.name.clone_from(&entry.name);
            device.memory_gb = entry.memory_gb;
            device.unified_memory = entry.unified;
        } else {
            let code = || pci.map(|pci| format!("{} {pci}", device.vendor));
            let name = device.driver_name.clone().or_else(code).unwrap_or_else(|| device.vendor.clone());
            name.trim_start_matches("NVIDIA ").clone_into(&mut device.name);
            if device.memory_gb.is_none() {
                let why = "the catalogue has no such device".to_owned();
                device.unknown.insert("memory_gb".to_owned(), why);
            }
        }
        device.uuid_hash = device
            .uuid_hash
            .take()
            .map(|uuid| tokometer_record::store::sha256(format!("{salt}{uuid}").as_bytes())[..16].to_owned());
    }
}

/// True if one of the server's processes uses the device.
fn used(processes: Option<&[u32]>, users: Option<&Users>) -> Option<bool> {
    let (processes, users) = (processes?, users?);
    if users.pids.iter().any(|pid| processes.contains(pid)) {
        return Some(true);
    }
    // Inside a container the driver names no process, or names them by numbers that mean nothing here.
    let idle = users.memory_used.is_some_and(|bytes| bytes < IDLE_BYTES);
    (idle && users.pids.is_empty()).then_some(false)
}

fn class(hardware: &Hardware) -> &'static str {
    let mut used = hardware.used().peekable();
    if used.peek().is_none() {
        "cpu"
    } else if used.all(|device| device.unified_memory) {
        "unified_memory"
    } else {
        "discrete_gpu"
    }
}
