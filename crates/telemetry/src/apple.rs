//! Apple machines, as far as programs that need no privilege tell: `sysctl`, `system_profiler`, `ioreg`, `pmset`.
//!
//! Power and clocks need root there, so energy is not known. The parsers are tested on recorded text; on a real machine
//! none of this has been run yet.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use tokometer_record::{Device, DeviceSample, Host, ReasonBit};

use crate::root::Root;
use crate::source::{Source, Users};

/// Full readings between two that start programs: that takes CPU time of its own.
const SLOW_EVERY: u32 = 20;
/// What `sysctl` is asked for.
const KEYS: [&str; 11] = [
    "hw.memsize",
    "hw.physicalcpu",
    "hw.logicalcpu",
    "hw.packages",
    "hw.model",
    "machdep.cpu.brand_string",
    "kern.osrelease",
    "kern.osproductversion",
    "kern.hostname",
    "vm.swapusage",
    "vm.loadavg",
];

/// An Apple machine; without devices where this is none.
pub(crate) struct Apple {
    root: Root,
    sysctl: String,
    devices: Vec<Device>,
    rounds: AtomicU32,
}

impl Apple {
    pub(crate) fn open(root: &Root) -> Apple {
        let sysctl = root.command("sysctl", &KEYS).unwrap_or_default();
        let devices = if sysctl.is_empty() {
            Vec::new()
        } else {
            let displays = root.command("system_profiler", &["SPDisplaysDataType", "-json"]);
            devices(&displays.unwrap_or_default(), number(&sysctl, "hw.memsize"))
        };
        Apple { root: root.clone(), sysctl, devices, rounds: AtomicU32::new(0) }
    }

    /// The host; none where this is no such machine.
    pub(crate) fn host(&self, include_hostname: bool) -> Option<Host> {
        if self.sysctl.is_empty() {
            return None;
        }
        let text = |key: &str| value(&self.sysctl, key).map(str::to_owned);
        let count = |key: &str| number(&self.sysctl, key).and_then(|number| u32::try_from(number).ok());
        let settings = self.root.command("pmset", &["-g"]).unwrap_or_default();
        Some(Host {
            hostname: text("kern.hostname").filter(|_| include_hostname),
            distribution: text("kern.osproductversion").map(|version| format!("macOS {version}")),
            kernel: text("kern.osrelease"),
            architecture: Some(std::env::consts::ARCH.to_owned()),
            cpu: text("machdep.cpu.brand_string"),
            sockets: count("hw.packages"),
            cores: count("hw.physicalcpu"),
            threads: count("hw.logicalcpu"),
            governors: if is_low_power(&settings) { vec!["low_power_mode".to_owned()] } else { Vec::new() },
            numa_nodes: None,
            memory_bytes: number(&self.sysctl, "hw.memsize"),
            swap_used_bytes: value(&self.sysctl, "vm.swapusage").and_then(swap_used),
            board: text("hw.model").map(|model| format!("Apple {model}")),
            virtual_machine: None,
            load_average: value(&self.sysctl, "vm.loadavg")
                .and_then(|text| text.trim_start_matches('{').split_whitespace().next()?.parse().ok()),
            container: None,
        })
    }
}

impl Source for Apple {
    fn devices(&self) -> Vec<Device> {
        self.devices.clone()
    }

    fn reasons(&self) -> Vec<ReasonBit> {
        Vec::new()
    }

    /// The system does not tell who uses its one device.
    fn users(&self, _device: u32) -> Option<Users> {
        None
    }

    fn power(&self, _device: u32, _sample: &mut DeviceSample) {}

    fn rest(&self, _device: u32, _sample: &mut DeviceSample) {}

    fn slow(&self, _device: u32, sample: &mut DeviceSample) {
        if !self.rounds.fetch_add(1, Ordering::Relaxed).is_multiple_of(SLOW_EVERY) {
            return;
        }
        let registry = self.root.command("ioreg", &["-r", "-d", "1", "-c", "IOAccelerator"]);
        let registry = registry.unwrap_or_default();
        sample.busy = statistic(&registry, "Device Utilization %").map(|percent| percent / 100.0);
        sample.memory_used_bytes = statistic(&registry, "In use system memory");
        sample.slowed = self.root.command("pmset", &["-g", "therm"]).as_deref().and_then(is_slowed);
    }
}

/// The graphics processors of the chip.
fn devices(displays: &str, memory_bytes: Option<u64>) -> Vec<Device> {
    let displays: Value = serde_json::from_str(displays).unwrap_or_default();
    let all = displays["SPDisplaysDataType"].as_array().cloned().unwrap_or_default();
    let is_own =
        |one: &&Value| one["spdisplays_vendor"].as_str().is_some_and(|vendor| vendor.contains("Apple"));
    let describe = |(index, one): (u32, &Value)| {
        let name = one["sppci_model"].as_str().or(one["_name"].as_str()).map(str::to_owned);
        let metal = one["spdisplays_mtlgpufamilysupport"].as_str();
        let mut told = Device {
            index,
            vendor: "apple".to_owned(),
            driver_name: name.map(|name| match one["sppci_cores"].as_str() {
                Some(cores) => format!("{name} ({cores}-core GPU)"),
                None => name,
            }),
            memory_bytes,
            memory_gb: memory_bytes.map(|bytes| (bytes as f64 / f64::from(1 << 30)).round()),
            unified_memory: true,
            architecture: metal
                .and_then(|word| word.strip_prefix("spdisplays_metal"))
                .map(|of| format!("Metal {of}")),
            ..Device::default()
        };
        for field in ["power_limit_watts", "core_clock_max_mhz"] {
            told.unknown.insert(field.to_owned(), "the system tells it to root alone".to_owned());
        }
        told
    };
    (0..).zip(all.iter().filter(is_own)).map(describe).collect()
}

/// The value of a line `key: value`.
fn value<'a>(sysctl: &'a str, key: &str) -> Option<&'a str> {
    sysctl.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim()))
}

fn number(sysctl: &str, key: &str) -> Option<u64> {
    value(sysctl, key)?.parse().ok()
}

/// `total = 2048.00M  used = 1024.50M  free = 1023.50M  (encrypted)`.
fn swap_used(text: &str) -> Option<u64> {
    let used = text.split("used =").nth(1)?.split_whitespace().next()?;
    let (number, unit) = used.split_at(used.len().checked_sub(1)?);
    let bytes = match unit {
        "K" => 1024.0,
        "M" => 1024.0 * 1024.0,
        "G" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some((number.parse::<f64>().ok()? * bytes) as u64)
}

/// A number of the performance statistics: `"Device Utilization %"=97`.
fn statistic(registry: &str, name: &str) -> Option<f64> {
    let rest = registry.split_once(&format!("\"{name}\"="))?.1;
    let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// Whether heat holds the machine down; none where that can't be read.
fn is_slowed(therm: &str) -> Option<bool> {
    let told = |name: &str| {
        let line = therm.lines().find_map(|line| line.trim().strip_prefix(name))?;
        line.trim().trim_start_matches('=').trim().parse::<u32>().ok()
    };
    if let Some(limit) = told("CPU_Speed_Limit") {
        return Some(limit < 100);
    }
    if let Some(level) = told("Thermal Warning Level") {
        return Some(level > 0);
    }
    therm.contains("No thermal warning level has been recorded").then_some(false)
}

/// ` lowpowermode         1` among the settings of power.
fn is_low_power(settings: &str) -> bool {
    settings.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("lowpowermode") && words.next() == Some("1")
    })
}

#[cfg(test)]
mod tests {
    use super::{is_low_power, is_slowed, statistic, swap_used};

    #[test]
    fn texts_are_read() {
        assert_eq!(swap_used("total = 2048.00M  used = 1024.50M  free = 1023.50M"), Some(1_074_266_112));
        assert_eq!((swap_used("total = 0.00M"), swap_used("used = 3X")), (None, None));
        let registry =
            r#"  "PerformanceStatistics" = {"In use system memory"=4294967296,"Device Utilization %"=97}"#;
        assert_eq!(statistic(registry, "Device Utilization %"), Some(97.0));
        assert_eq!(statistic(registry, "Tiler Utilization %"), None);
        assert_eq!(is_slowed("CPU_Scheduler_Limit = 100\nCPU_Speed_Limit \t= 74\n"), Some(true));
        assert_eq!(is_slowed("Note: No thermal warning level has been recorded\n"), Some(false));
        assert_eq!((is_slowed("Thermal Warning Level = 2"), is_slowed("?")), (Some(true), None));
        assert!(is_low_power(" sleep 1\n lowpowermode         1\n") && !is_low_power(" lowpowermode 0"));
    }
}
