//! AMD accelerators through the sysfs of amdgpu: no library is needed.

use tokometer_record::{Device, DeviceSample};

use crate::drm::{self, Card};
use crate::root::Root;
use crate::source::{Source, Users};

const VENDOR: u32 = 0x1002;
/// `gpu_metrics` 1.3: where its field `indep_throttle_status` is, and how long it is at least.
const THROTTLE_AT: std::ops::Range<usize> = 112..120;
/// Bits of that field: package power, currents.
const REASONS_POWER: u64 = 0x00ff_00ff;
/// Bits of that field: temperatures, hot regulators, PROCHOT.
const REASONS_HEAT: u64 = 0x0000_ffff_0000_0000;

/// The devices of the amdgpu driver.
pub(crate) struct Amd {
    root: Root,
    cards: Vec<Card>,
}

impl Amd {
    pub(crate) fn open(root: &Root) -> Amd {
        Amd { root: root.clone(), cards: Card::all(root, VENDOR) }
    }

    fn card(&self, device: u32) -> Option<&Card> {
        self.cards.get(device as usize)
    }

    fn number(&self, card: &Card, file: &str) -> Option<f64> {
        self.root.number(&format!("{}/{file}", card.device))
    }

    fn describe(&self, index: u32, card: &Card) -> Device {
        let root = &self.root;
        let mut told = Device { index, vendor: "amd".to_owned(), ..Device::default() };
        card.describe(root, &mut told);
        told.driver_name = root.text(&format!("{}/product_name", card.device));
        told.memory_bytes = root.number(&format!("{}/mem_info_vram_total", card.device));
        told.driver =
            root.text("sys/module/amdgpu/version").or_else(|| root.text("proc/sys/kernel/osrelease"));
        told.compute = root.text("opt/rocm/.info/version").map(|version| format!("ROCm {version}"));
        told.vbios = root.text(&format!("{}/vbios_version", card.device));
        told.part_number = root.text(&format!("{}/product_number", card.device));
        told.uuid_hash = root.text(&format!("{}/unique_id", card.device));
        told.core_clock_max_mhz = clocks(root, card, "pp_dpm_sclk").map(|(_, highest)| highest as u32);
        told.memory_clock_max_mhz = clocks(root, card, "pp_dpm_mclk").map(|(_, highest)| highest as u32);
        told.architecture = self.architecture(card);
        for (field, missing) in [
            ("power_limit_watts", told.power_limit_watts.is_none()),
            ("memory_bytes", told.memory_bytes.is_none()),
            ("core_clock_max_mhz", told.core_clock_max_mhz.is_none()),
            ("compute", told.compute.is_none()),
        ] {
            if missing {
                told.unknown.insert(field.to_owned(), "amdgpu does not tell it of this device".to_owned());
            }
        }
        told.unknown.insert("ecc".to_owned(), "not read on AMD devices".to_owned());
        told
    }

    /// `gfx942`, from the node of the compute driver at the same PCI address.
    fn architecture(&self, card: &Card) -> Option<String> {
        let node = self.compute_node(card)?;
        let version = property(&self.root, &node, "gfx_target_version")?;
        let (major, minor, step) = (version / 10_000, version / 100 % 100, version % 100);
        (version > 0).then(|| format!("gfx{major}{minor:x}{step:x}"))
    }

    /// The folder of a card in the topology of the compute driver.
    fn compute_node(&self, card: &Card) -> Option<String> {
        let address = card.address.as_deref()?;
        let nodes = "sys/class/kfd/kfd/topology/nodes";
        let folders = self.root.names(nodes).into_iter().map(|name| format!("{nodes}/{name}"));
        folders.into_iter().find(|folder| {
            let location = property(&self.root, folder, "location_id").unwrap_or(0);
            let domain = property(&self.root, folder, "domain").unwrap_or(0);
            let (bus, device, function) = (location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
            location > 0 && format!("{domain:04x}:{bus:02x}:{device:02x}.{function}") == address
        })
    }
}

impl Source for Amd {
    fn devices(&self) -> Vec<Device> {
        (0..).zip(&self.cards).map(|(index, card)| self.describe(index, card)).collect()
    }

    fn users(&self, device: u32) -> Option<Users> {
        let card = self.card(device)?;
        let mut pids = drm::users(&self.root, card.address.as_deref()?);
        let id = self.compute_node(card).and_then(|node| self.root.text(&format!("{node}/gpu_id")));
        if let Some(id) = id {
            let computing = "sys/class/kfd/kfd/proc";
            pids.extend(self.root.names(computing).iter().filter_map(|pid| {
                let bytes: u64 = self.root.number(&format!("{computing}/{pid}/vram_{id}"))?;
                if bytes > 0 { pid.parse::<u32>().ok() } else { None }
            }));
        }
        pids.sort_unstable();
        pids.dedup();
        let memory_used = self.root.number(&format!("{}/mem_info_vram_used", card.device));
        Some(Users { pids, memory_used })
    }

    fn power(&self, device: u32, sample: &mut DeviceSample) {
        let Some(card) = self.card(device) else { return };
        let watts = |file| card.sensor(&self.root, file, 1e6);
        sample.power_watts = watts("power1_input").or_else(|| watts("power1_average"));
        sample.energy_joules = card.sensor(&self.root, "energy1_input", 1e6);
    }

    fn rest(&self, device: u32, sample: &mut DeviceSample) {
        let Some(card) = self.card(device) else { return };
        let hertz = |file| card.sensor(&self.root, file, 1e6);
        let level = |file| clocks(&self.root, card, file).and_then(|(now, _)| now);
        sample.core_clock_mhz = hertz("freq1_input").or_else(|| level("pp_dpm_sclk"));
        sample.memory_clock_mhz = hertz("freq2_input").or_else(|| level("pp_dpm_mclk"));
        let celsius = |label| card.temperature(&self.root, label);
        sample.temperature_c = celsius("junction").or_else(|| celsius("edge"));
        sample.memory_temperature_c = celsius("mem");
        sample.busy = self.number(card, "gpu_busy_percent").map(|percent| percent / 100.0);
        sample.memory_busy = self.number(card, "mem_busy_percent").map(|percent| percent / 100.0);
        sample.memory_used_bytes = self.number(card, "mem_info_vram_used");
        let metrics = self.root.bytes(&format!("{}/gpu_metrics", card.device));
        sample.reasons = metrics.as_deref().and_then(reasons);
        sample.slowed = sample.reasons.map(|bits| bits & REASONS_HEAT != 0);
        sample.power_capped = sample.reasons.map(|bits| bits & REASONS_POWER != 0);
        sample.pcie_generation = card.generation(&self.root, "current_link_speed").map(f64::from);
        sample.pcie_width = self.number(card, "current_link_width");
    }

    fn slow(&self, _device: u32, _sample: &mut DeviceSample) {}
}

/// Why clocks are held down, from the binary table. Only its form 1.3 has a field that is the same on all
/// devices; newer ones tell nothing here.
fn reasons(metrics: &[u8]) -> Option<u64> {
    let form = metrics.get(2..4)?;
    let bytes: [u8; 8] = metrics.get(THROTTLE_AT)?.try_into().ok()?;
    let bits = u64::from_le_bytes(bytes);
    // All ones stand for "not told".
    (form == [1, 3] && bits != u64::MAX).then_some(bits)
}

/// The level in use (`*`) and the highest of a table of clocks, MHz: `1: 2100Mhz *`.
fn clocks(root: &Root, card: &Card, file: &str) -> Option<(Option<f64>, f64)> {
    let text = root.text(&format!("{}/{file}", card.device))?;
    let clock = |line: &str| {
        let word = line.split_whitespace().nth(1)?.to_ascii_lowercase();
        word.strip_suffix("mhz")?.parse::<f64>().ok()
    };
    let now = text.lines().find(|line| line.trim_end().ends_with('*')).and_then(clock);
    let highest = text.lines().filter_map(clock).reduce(f64::max)?;
    Some((now, highest))
}

/// A number of a node of the compute driver's topology.
fn property(root: &Root, node: &str, name: &str) -> Option<u64> {
    let text = root.text(&format!("{node}/properties"))?;
    text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}
