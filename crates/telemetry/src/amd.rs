//! AMD accelerators through the sysfs of amdgpu: no library is needed.

use tokometer_record::{Device, DeviceLink, DeviceSample, ReasonBit};

use crate::drm::{self, Card};
use crate::root::Root;
use crate::source::{Source, Users, reason_bits};

const VENDOR: u32 = 0x1002;
/// `gpu_metrics` 1.3: where its field `indep_throttle_status` is, and how long it is at least.
const THROTTLE_AT: std::ops::Range<usize> = 112..120;
/// Bits of that field that are known, by the limit that was met.
const REASONS: [(u64, &str); 36] = [
    (1, "ppt0"),
    (1 << 1, "ppt1"),
    (1 << 2, "ppt2"),
    (1 << 3, "ppt3"),
    (1 << 4, "spl"),
    (1 << 5, "fppt"),
    (1 << 6, "sppt"),
    (1 << 7, "sppt_apu"),
    (1 << 16, "tdc_gfx"),
    (1 << 17, "tdc_soc"),
    (1 << 18, "tdc_mem"),
    (1 << 19, "tdc_vdd"),
    (1 << 20, "tdc_cvip"),
    (1 << 21, "edc_cpu"),
    (1 << 22, "edc_gfx"),
    (1 << 23, "apcc"),
    (1 << 32, "temp_gpu"),
    (1 << 33, "temp_core"),
    (1 << 34, "temp_mem"),
    (1 << 35, "temp_edge"),
    (1 << 36, "temp_hotspot"),
    (1 << 37, "temp_soc"),
    (1 << 38, "temp_vr_gfx"),
    (1 << 39, "temp_vr_soc"),
    (1 << 40, "temp_vr_mem0"),
    (1 << 41, "temp_vr_mem1"),
    (1 << 42, "temp_liquid0"),
    (1 << 43, "temp_liquid1"),
    (1 << 44, "vr_hot0"),
    (1 << 45, "vr_hot1"),
    (1 << 46, "prochot_cpu"),
    (1 << 47, "prochot_gfx"),
    (1 << 56, "ppm"),
    (1 << 57, "fit"),
    (1 << 58, "df_cstate"),
    (1 << 59, "edc_soc"),
];
/// Type of a link between two nodes of the compute driver that is no PCIe.
const XGMI: u64 = 11;
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

    /// XGMI links from one card straight to another; none where the compute driver has no such nodes.
    fn direct_links(&self, from: &Card, to: &Card) -> Option<u32> {
        let (from, to) = (self.compute_node(from)?, self.compute_node(to)?);
        let number: u64 = to.rsplit('/').next()?.parse().ok()?;
        let links = format!("{from}/io_links");
        let leads = |link: &String| {
            let link = format!("{links}/{link}");
            property(&self.root, &link, "type") == Some(XGMI)
                && property(&self.root, &link, "node_to") == Some(number)
        };
        u32::try_from(self.root.names(&links).iter().filter(|link| leads(link)).count()).ok()
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

    fn links(&self) -> Vec<DeviceLink> {
        let numa = |card: &Card| self.root.number::<u32>(&format!("{}/numa_node", card.device));
        let mut found = Vec::new();
        for (a, first) in (0..).zip(&self.cards) {
            for (b, second) in (0..).zip(&self.cards).skip(a as usize + 1) {
                let path = match (numa(first), numa(second)) {
                    (Some(one), Some(other)) if one == other => "numa_node",
                    (Some(_), Some(_)) => "system",
                    _ => continue,
                };
                let direct_links = self.direct_links(first, second);
                found.push(DeviceLink { a, b, path: path.to_owned(), direct_links });
            }
        }
        found
    }

    fn reasons(&self) -> Vec<ReasonBit> {
        reason_bits(&REASONS)
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
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}
