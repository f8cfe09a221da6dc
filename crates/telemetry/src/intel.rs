//! Intel accelerators through the sysfs of xe and i915.

use tokometer_record::{Device, DeviceSample, ReasonBit};

use crate::drm::{self, Card};
use crate::root::Root;
use crate::source::{Source, Users, reason_bits};

const VENDOR: u32 = 0x8086;
/// Words of the drivers for reasons why clocks are held down, each with a bit of our own: power limits and currents.
const POWER: [(u64, &str); 5] =
    [(1, "pl1"), (1 << 1, "pl2"), (1 << 2, "pl4"), (1 << 3, "psys"), (1 << 4, "vr_tdc")];
/// Heat.
const HEAT: [(u64, &str); 5] = [
    (1 << 8, "thermal"),
    (1 << 9, "prochot"),
    (1 << 10, "ratl"),
    (1 << 11, "vr_thermalert"),
    (1 << 12, "memory_thermal"),
];
/// The bit of a word that is none of them.
const OTHER: u64 = 1 << 63;

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

    /// The bits of the reasons why clocks are held down; none where the driver has no such files.
    fn held_down(&self, card: &Card) -> Option<u64> {
        for (folder, prefix) in [
            (format!("{}/gt/gt0", card.folder), "throttle_reason_"),
            (format!("{}/tile0/gt0/freq0/throttle", card.device), "reason_"),
        ] {
            let names = self.root.names(&folder);
            let mut told =
                names.iter().filter_map(|name| Some((name, name.strip_prefix(prefix)?))).peekable();
            if told.peek().is_some() {
                let set = |name: &str| self.root.number::<u32>(&format!("{folder}/{name}")) == Some(1);
                let words = told.filter(|(name, word)| *word != "status" && set(name));
                return Some(words.fold(0, |bits, (_, word)| bits | bit(word)));
            }
        }
        None
    }
}

impl Source for Intel {
    fn devices(&self) -> Vec<Device> {
        (0..).zip(&self.cards).map(|(index, card)| self.describe(index, card)).collect()
    }

    fn reasons(&self) -> Vec<ReasonBit> {
        reason_bits(&[POWER, HEAT].concat())
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
        sample.reasons = self.held_down(card);
        let any = |of: &[(u64, &str)], bits: u64| of.iter().any(|(bit, _)| bits & bit != 0);
        sample.slowed = sample.reasons.map(|bits| any(&HEAT, bits));
        sample.power_capped = sample.reasons.map(|bits| any(&POWER, bits));
        sample.pcie_generation = card.generation(&self.root, "current_link_speed").map(f64::from);
        sample.pcie_width = self.root.number(&format!("{}/current_link_width", card.device));
    }

    fn slow(&self, _device: u32, _sample: &mut DeviceSample) {}
}

fn bit(word: &str) -> u64 {
    let known = POWER.iter().chain(&HEAT).find(|(_, known)| *known == word);
    known.map_or(OTHER, |(bit, _)| *bit)
}
