//! What the sysfs of graphics drivers has in common.

use tokometer_record::Device;

use crate::root::Root;

/// One card below `/sys/class/drm`.
#[derive(Debug, Clone)]
pub(crate) struct Card {
    /// `sys/class/drm/card0`.
    pub(crate) folder: String,
    /// `sys/class/drm/card0/device`.
    pub(crate) device: String,
    /// Folder of its sensors, if it has one.
    pub(crate) hwmon: Option<String>,
    /// PCI device id.
    pub(crate) pci: Option<u32>,
    /// PCI address.
    pub(crate) address: Option<String>,
}

impl Card {
    /// The cards of a vendor, by its PCI id.
    pub(crate) fn all(root: &Root, vendor: u32) -> Vec<Card> {
        let number = |name: &String| name.strip_prefix("card")?.parse::<u32>().ok();
        let mut names: Vec<(u32, String)> =
            root.names("sys/class/drm").into_iter().filter_map(|name| Some((number(&name)?, name))).collect();
        names.sort();
        names
            .into_iter()
            .map(|(_, name)| format!("sys/class/drm/{name}"))
            .filter(|folder| root.hex(&format!("{folder}/device/vendor")) == Some(vendor))
            .map(|folder| Card::read(root, folder))
            .collect()
    }

    fn read(root: &Root, folder: String) -> Card {
        let device = format!("{folder}/device");
        let sensors = format!("{device}/hwmon");
        let hwmon = root.names(&sensors).first().map(|name| format!("{sensors}/{name}"));
        let events = root.text(&format!("{device}/uevent")).unwrap_or_default();
        let address = events.lines().find_map(|line| line.strip_prefix("PCI_SLOT_NAME=")).map(str::to_owned);
        Card { pci: root.hex(&format!("{device}/device")), folder, device, hwmon, address }
    }

    /// A sensor's value in its unit, from one in parts of a million (µW, µJ) or a thousand (m°C).
    pub(crate) fn sensor(&self, root: &Root, name: &str, parts: f64) -> Option<f64> {
        let folder = self.hwmon.as_ref()?;
        Some(root.number::<f64>(&format!("{folder}/{name}"))? / parts)
    }

    /// Temperature of the sensor with this label, °C.
    pub(crate) fn temperature(&self, root: &Root, label: &str) -> Option<f64> {
        let folder = self.hwmon.as_ref()?;
        let names = root.names(folder);
        let labels = names.iter().filter(|name| name.starts_with("temp") && name.ends_with("_label"));
        let of = |name: &&String| root.text(&format!("{folder}/{name}")).as_deref() == Some(label);
        let name = labels.into_iter().find(of)?;
        self.sensor(root, &name.replace("_label", "_input"), 1000.0)
    }

    /// Puts in what all drivers tell alike.
    pub(crate) fn describe(&self, root: &Root, told: &mut Device) {
        told.pci_address.clone_from(&self.address);
        told.pci_id = self.pci.map(|id| format!("{id:#06x}"));
        // −1 where there is only one.
        told.numa_node = root.number(&format!("{}/numa_node", self.device));
        told.pcie_generation_max = self.generation(root, "max_link_speed");
        told.pcie_width_max = root.number(&format!("{}/max_link_width", self.device));
        told.power_limit_watts =
            self.sensor(root, "power1_cap", 1e6).or(self.sensor(root, "power1_max", 1e6));
        told.power_default_watts = self.sensor(root, "power1_cap_default", 1e6);
        told.power_min_watts = self.sensor(root, "power1_cap_min", 1e6);
        told.power_max_watts = self.sensor(root, "power1_cap_max", 1e6);
    }

    /// The PCIe generation of a speed: `32.0 GT/s PCIe`.
    pub(crate) fn generation(&self, root: &Root, file: &str) -> Option<u32> {
        let text = root.text(&format!("{}/{file}", self.device))?;
        let speed = text.split_whitespace().next()?;
        [("2.5", 1), ("5.0", 2), ("5", 2), ("8.0", 3), ("8", 3), ("16.0", 4), ("32.0", 5), ("64.0", 6)]
            .into_iter()
            .find_map(|(of, generation)| (of == speed).then_some(generation))
    }
}

/// Processes that hold memory of the device at a PCI address, by what the kernel says of their open files.
///
/// A process that only opened the device (as every process of some runtimes opens every device) is none.
pub(crate) fn users(root: &Root, address: &str) -> Vec<u32> {
    let pids = root.names("proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
    pids.filter(|pid| {
        let folder = format!("proc/{pid}/fdinfo");
        root.names(&folder)
            .iter()
            .any(|fd| root.text(&format!("{folder}/{fd}")).is_some_and(|text| holds_memory(&text, address)))
    })
    .collect()
}

/// Less is what opening a device takes.
const LEAST_KIB: u64 = 16 * 1024;

fn holds_memory(fdinfo: &str, address: &str) -> bool {
    let mut on_device = false;
    let mut kib = 0;
    for line in fdinfo.lines() {
        let Some((key, value)) = line.split_once(':') else { continue };
        match key {
            "drm-pdev" => on_device = value.trim() == address,
            "drm-memory-vram" | "drm-total-vram0" | "drm-total-local0" | "drm-memory-gtt" => {
                let mut words = value.split_whitespace();
                let number = words.next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
                kib = kib.max(match words.next() {
                    Some("MiB") => number * 1024,
                    Some("KiB") => number,
                    _ => number / 1024,
                });
            }
            _ => {}
        }
    }
    on_device && kib >= LEAST_KIB
}
