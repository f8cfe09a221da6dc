//! What the machine did over a cell, for its drawer.

use tokometer_record::telemetry::{CellTelemetry, DeviceTelemetry, Reading};

use crate::number::{self, count};
use crate::words::{clean, sentence, shorten};

/// The machine over one cell.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Energy, power, throttling: name and figure.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// A row for each accelerator: its number, clock, power, temperature, busy share, memory in use.
    pub(crate) devices: Vec<[String; 6]>,
    /// Why the rest is not known.
    pub(crate) unknown: Vec<String>,
}

impl Machine {
    /// What a cell's telemetry tells; none where it has nothing.
    pub(crate) fn of(telemetry: &CellTelemetry) -> Option<Machine> {
        let mut unknown: Vec<String> =
            telemetry.unknown.values().map(|why| sentence(&shorten(&clean(why), 400))).collect();
        unknown.sort_unstable();
        unknown.dedup();
        let devices = telemetry.devices.iter().map(device).collect();
        let machine = Machine { facts: facts(telemetry), devices, unknown };
        (!machine.facts.is_empty() || !machine.devices.is_empty()).then_some(machine)
    }
}

fn facts(telemetry: &CellTelemetry) -> Vec<(&'static str, String)> {
    let share =
        |value: f64| format!("{} % of {} busy readings", percent(value), count(telemetry.busy_samples));
    let source = match telemetry.energy_source.as_deref() {
        Some("counter") => ", by the boards' own counters",
        Some("power") => ", from readings of power",
        _ => "",
    };
    [
        (
            "Energy per output token",
            telemetry.joules_per_token.map(|value| format!("{} J", number::joules(value))),
        ),
        (
            "Energy of all boards",
            telemetry.energy_joules.map(|value| format!("{} J{source}", number::rate(value))),
        ),
        ("Slowed by heat or hardware", telemetry.slowed_share.map(share)),
        ("Held by the power limit", telemetry.power_capped_share.map(share)),
        ("Above the rated clock", telemetry.over_rated_share.map(share)),
        ("CPUs of the host busy", telemetry.cpu_busy.map(|busy| format!("{} %", range(busy, percent)))),
    ]
    .into_iter()
    .filter_map(|(label, value)| Some((label, value?)))
    .collect()
}

fn device(device: &DeviceTelemetry) -> [String; 6] {
    let of =
        |reading: Option<Reading>, text: fn(f64) -> String| super::or_none(reading, |it| range(it, text));
    [
        device.device.to_string(),
        of(device.core_clock_mhz, whole),
        of(device.power_watts, number::watts),
        of(device.temperature_c, whole),
        of(device.busy, percent),
        of(device.memory_used_bytes, gigabytes),
    ]
}

/// The median, with the smallest and the largest where they differ from it: `1,980 (1,965–1,980)`.
fn range(reading: Reading, text: fn(f64) -> String) -> String {
    let [low, middle, high] = [reading.min, reading.p50, reading.max].map(text);
    if low == high { middle } else { format!("{middle} ({low}–{high})") }
}

/// The smallest and the largest of some values; one where they are written alike.
pub(crate) fn spread(values: &[f64], text: fn(f64) -> String) -> Option<String> {
    let low = text(values.iter().copied().reduce(f64::min)?);
    let high = text(values.iter().copied().reduce(f64::max)?);
    Some(if low == high { low } else { format!("{low}–{high}") })
}

fn whole(value: f64) -> String {
    number::fixed(value, 0)
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    number::fixed(percent, usize::from(percent > 0.0 && percent < 10.0))
}

fn gigabytes(bytes: f64) -> String {
    number::fixed(bytes / 1e9, 1)
}
