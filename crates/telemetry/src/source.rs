//! What every kind of accelerator is asked for.

use tokometer_record::{Device, DeviceLink, DeviceSample, ReasonBit};

/// Accelerators of one driver, numbered from 0 by that driver.
pub(crate) trait Source: Send {
    /// All of them. `index` of each is its number here; the machine numbers all sources through.
    fn devices(&self) -> Vec<Device>;

    /// How they are connected, by their numbers here.
    fn links(&self) -> Vec<DeviceLink> {
        Vec::new()
    }

    /// What the bits of `reasons` in samples mean, as far as they are known.
    fn reasons(&self) -> Vec<ReasonBit>;

    /// Which processes use a device; none where the driver doesn't tell.
    fn users(&self, device: u32) -> Option<Users>;

    /// Puts power and energy into a sample: the part that is cheap.
    fn power(&self, device: u32, sample: &mut DeviceSample);

    /// Puts the rest into a sample.
    fn rest(&self, device: u32, sample: &mut DeviceSample);

    /// Puts what takes long into a sample; done for one device at a time.
    fn slow(&self, device: u32, sample: &mut DeviceSample);
}

/// Bits and their words as the record has them.
pub(crate) fn reason_bits(bits: &[(u64, &str)]) -> Vec<ReasonBit> {
    bits.iter().map(|(bit, word)| ReasonBit { bit: *bit, word: (*word).to_owned() }).collect()
}

/// Who uses a device.
#[derive(Debug, Default)]
pub(crate) struct Users {
    /// Process ids, as the driver sees them.
    pub(crate) pids: Vec<u32>,
    /// Memory in use by whomever, bytes.
    pub(crate) memory_used: Option<u64>,
}
