//! Intel accelerators through the sysfs of xe and i915.

use tokometer_record::{Device, DeviceSample};

use crate::drm::{self, Card};
use crate::root::Root;
use crate::source::{Source, Users};

const VENDOR: u32 = 0x8086;
/// Power limits and currents.
const POWER_WORDS: [&str; 5] = ["pl1", "pl2", "pl4", "psys", "vr_tdc"];
/// Heat.
const HEAT_WORDS: [&str; 5] = ["thermal", "prochot", "ratl", "vr_thermalert", "memory_thermal"];

/// The devices of the xe and i915 drivers.
pub(crate) struct Intel {
    root: Root,
    cards: Vec<Card>,
}

impl Intel {
    pub(crate) fn open(root: &Root) -> Intel {
        Intel { root: root.clone(), cards: Card::all(root, VENDOR) }
    }

    fn card(&self, device: u32) -> Option<&Card> {
        self.cards.get(device as usize)
    }

    fn describe(&self, index: u32, card: &Card) -> Device {
        let mut told = Device { index, vendor: "intel".to_owned(), ..Device::default() };
        card.describe(&self.root, &mut told);
        let driver = self.root.link(&format!("{}/driver", card.device));
        told.driver = driver.and_then(|link| link.rsplit('/').next().map(str::to_owned));
        told.core_clock_max_mhz = self.clock(card, "rps_RP0_freq_mhz", "rp0_freq").map(|mhz| mhz as u32);
        told.memory_bytes = self.root.number(&format!("{}/lmem_total_bytes", card.folder));
        for (field, missing) in [
            ("memory_bytes", told.memory_bytes.is_none()),
            ("power_limit_watts", told.power_limit_watts.is_none()),
        ] {
            if missing {
                let why = "xe and i915 do not tell it of this device";
                told.unknown.insert(field.to_owned(), why.to_owned());
            }
        }
        told
    }

    /// A clock of the first engine group: i915's name, xe's name.
    fn clock(&self, card: &Card, old: &str, new: &str) -> Option<f64> {
        let of_old = self.root.number(&format!("{}/gt/gt0/{old}", card.folder));
        of_old.or_else(|| self.root.number(&format!("{}/tile0/gt0/freq0/{new}", card.device)))
    }

    /// The words of the reasons why clocks are held down; none where the driver has no such files.
    fn reasons(&self, card: &Card) -> Option<Vec<String>> {
        for (folder, prefix) in [
            (format!("{}/gt/gt0", card.folder), "throttle_reason_"),
            (format!("{}/tile0/gt0/freq0/throttle", card.device), "reason_"),
        ] {
            let names = self.root.names(&folder);
            let mut told =
                names.iter().filter_map(|name| Some((name, name.strip_prefix(prefix)?))).peekable();
            if told.peek().is_some() {
                let set = |name: &str| self.root.number::<u32>(&format!("{folder}/{name}")) == Some(1);
                return Some(
                    told.filter(|(name, word)| *word != "status" && set(name))
                        .map(|(_, word)| word.to_owned())
                        .collect(),
                );
            }
        }
        None
    }
}

impl Source for Intel {
    fn devices(&self) -> Vec<Device> {
        (0..).zip(&self.cards).map(|(index, card)| self.describe(index, card)).collect()
    }

    fn users(&self, device: u32) -> Option<Users> {
        let pids = drm::users(&self.root, self.card(device)?.address.as_deref()?);
        Some(Users { pids, memory_used: None })
    }

    fn power(&self, device: u32, sample: &mut DeviceSample) {
        let Some(card) = self.card(device) else { return };
        sample.power_watts = card.sensor(&self.root, "power1_input", 1e6);
        sample.energy_joules = card.sensor(&self.root, "energy1_input", 1e6);
    }

    fn rest(&self, device: u32, sample: &mut DeviceSample) {
        let Some(card) = self.card(device) else { return };
        sample.core_clock_mhz = self.clock(card, "rps_act_freq_mhz", "act_freq");
        sample.temperature_c =
            card.temperature(&self.root, "pkg").or_else(|| card.sensor(&self.root, "temp1_input", 1000.0));
        if let Some(words) = self.reasons(card) {
            let any = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
            sample.slowed = Some(any(&HEAT_WORDS));
            sample.power_capped = Some(any(&POWER_WORDS));
        }
        sample.pcie_generation = card.generation(&self.root, "current_link_speed").map(f64::from);
        sample.pcie_width = self.root.number(&format!("{}/current_link_width", card.device));
    }

    fn slow(&self, _device: u32, _sample: &mut DeviceSample) {}
}
