//! What the machine did over a cell, from the series of the run.

use std::collections::BTreeMap;

use tokometer_record::{
    Cell, CellTelemetry, CellTrace, DeviceMeta, DeviceSample, DeviceTelemetry, Hardware, Phase, Reading,
    Telemetry,
};
use tokometer_stats::{median, sorted};

use crate::{Context, summarise};

/// Share of time with work from which a sample of a device counts as busy.
const BUSY: f64 = 0.2;
/// Clock ÷ highest clock that the driver lists, above which a clock counts as over its rating.
const OVER_RATED: f64 = 1.01;
/// How far a reading may lie outside of the span and still be its end, ns: two full readings.
const REACH_NS: u64 = 1_000_000_000;
/// Time between two readings of a device from which power and counters between them are not known, ns.
const GAP_NS: u64 = 3_000_000_000;

/// The row of a measured cell, with what the series of the machine says of it.
pub fn summarise_on(series: Option<&Telemetry>, trace: &CellTrace, context: &Context<'_>) -> Cell {
    let Some(told) = series.and_then(|series| machine(series, trace)) else {
        return summarise(trace, context);
    };
    let context = Context { telemetry: Some((&told).into()), ..*context };
    let mut cell = summarise(trace, &context);
    attach(&mut cell, told);
    cell
}

/// The PCIe links of a machine's devices as they were under load: an idle one falls back.
pub fn links_under_load(hardware: &mut Hardware, series: &Telemetry) {
    for device in &mut hardware.devices {
        let rows = || series.devices.iter().filter(|row| row.device == device.index);
        let largest = |values: Vec<f64>| values.into_iter().reduce(f64::max).map(|value| value as u32);
        device.pcie_generation = largest(rows().filter_map(|row| row.pcie_generation).collect());
        device.pcie_width = largest(rows().filter_map(|row| row.pcie_width).collect());
    }
}

/// The machine over a cell: over its window, or over all requests of a prefill row. None where nothing was read
/// or there is no such span.
pub fn machine(series: &Telemetry, trace: &CellTrace) -> Option<CellTelemetry> {
    let (start_ns, end_ns) = span(trace)?;
    let used: Vec<&DeviceMeta> =
        series.meta.devices.iter().filter(|device| device.used_by_server != Some(false)).collect();
    let mut told = CellTelemetry { start_ns, end_ns, ..CellTelemetry::default() };
    let inside = |time_ns: u64| (start_ns..=end_ns).contains(&time_ns);
    told.cpu_busy =
        reading(series.host.iter().filter(|row| inside(row.time_ns)).filter_map(|row| row.cpu_busy));

    let mut energies = Vec::new();
    let mut busy: Vec<(&DeviceSample, &DeviceMeta)> = Vec::new();
    for device in &used {
        let rows: Vec<&DeviceSample> =
            series.devices.iter().filter(|row| row.device == device.index).collect();
        let energy = energy(&rows, start_ns, end_ns);
        let within: Vec<&DeviceSample> = rows.into_iter().filter(|row| inside(row.time_ns)).collect();
        told.devices.push(describe(device, &within, energy.ok().map(|(joules, _)| joules)));
        energies.push(energy);
        let works = |row: &&DeviceSample| row.full && row.busy.is_none_or(|share| share >= BUSY);
        busy.extend(within.into_iter().filter(works).map(|row| (row, *device)));
    }
    told.busy_samples = busy.len() as u64;
    told.slowed_share = share(busy.iter().map(|(row, _)| row.slowed));
    told.power_capped_share = share(busy.iter().map(|(row, _)| row.power_capped));
    told.over_rated_share = share(busy.iter().map(|(row, device)| {
        let rated = f64::from(device.core_clock_max_mhz?);
        Some(row.core_clock_mhz? > OVER_RATED * rated)
    }));
    sum_energy(&mut told, &energies);
    explain(&mut told, &used, energies.into_iter().find_map(Result::err));
    Some(told)
}

/// Puts the machine's part into a row that has been summarised.
pub fn attach(cell: &mut Cell, mut told: CellTelemetry) {
    if cell.phase == Phase::Decode {
        let tokens = cell.tokens.out.filter(|tokens| *tokens > 0);
        told.joules_per_token = told.energy_joules.zip(tokens).map(|(joules, tokens)| joules / tokens as f64);
        if told.joules_per_token.is_none() {
            let why = match told.unknown.get("energy_joules") {
                Some(why) => why.clone(),
                None => "no output token arrived in the window".to_owned(),
            };
            told.unknown.insert("joules_per_token".to_owned(), why);
        }
    }
    cell.telemetry = Some(told);
}

impl From<&CellTelemetry> for crate::Telemetry {
    fn from(told: &CellTelemetry) -> crate::Telemetry {
        crate::Telemetry {
            busy_samples: told.busy_samples,
            slowed_share: told.slowed_share,
            power_capped_share: told.power_capped_share,
            over_rated_share: told.over_rated_share,
        }
    }
}

fn span(trace: &CellTrace) -> Option<(u64, u64)> {
    match trace.meta.phase {
        Phase::Decode => Some((trace.meta.window_start_ns?, trace.meta.window_end_ns?)),
        Phase::Prefill => {
            let start = trace.requests.iter().map(|row| row.send_ns).min()?;
            let end = trace.requests.iter().map(|row| row.end_ns).max()?;
            Some((start, end))
        }
    }
}

fn describe(device: &DeviceMeta, rows: &[&DeviceSample], energy_joules: Option<f64>) -> DeviceTelemetry {
    let of = |get: fn(&DeviceSample) -> Option<f64>| reading(rows.iter().filter_map(|row| get(row)));
    let reasons = rows.iter().filter_map(|row| row.reasons).reduce(|all, bits| all | bits);
    let seen = reasons.unwrap_or(0);
    let known = || device.reasons.iter().filter(|reason| seen & reason.bit != 0);
    let unknown = known().fold(seen, |left, reason| left & !reason.bit);
    // An older series doesn't tell what its bits mean.
    let tells = !device.reasons.is_empty();
    DeviceTelemetry {
        device: device.index,
        core_clock_mhz: of(|row| row.core_clock_mhz),
        memory_clock_mhz: of(|row| row.memory_clock_mhz),
        power_watts: of(|row| row.power_watts),
        energy_joules,
        temperature_c: of(|row| row.temperature_c),
        memory_temperature_c: of(|row| row.memory_temperature_c),
        busy: of(|row| row.busy),
        memory_used_bytes: of(|row| row.memory_used_bytes),
        pcie_received: of(|row| row.pcie_received),
        pcie_sent: of(|row| row.pcie_sent),
        reasons,
        reason_words: known().map(|reason| reason.word.clone()).collect(),
        unknown_bits: (tells && unknown != 0).then(|| format!("{unknown:#x}")),
    }
}

fn reading(values: impl Iterator<Item = f64>) -> Option<Reading> {
    let values = sorted(&values.filter(|value| value.is_finite()).collect::<Vec<_>>());
    Some(Reading {
        n: values.len() as u64,
        min: *values.first()?,
        p50: median(&values)?,
        max: *values.last()?,
    })
}

/// Share of those that tell; none where nobody does.
fn share(told: impl Iterator<Item = Option<bool>>) -> Option<f64> {
    let told: Vec<bool> = told.flatten().collect();
    let yes = told.iter().filter(|yes| **yes).count();
    (!told.is_empty()).then(|| yes as f64 / told.len() as f64)
}

/// Why the energy of a device is not known.
const NOT_TOLD: &str = "a device tells neither energy nor power over the span";
const GAP: &str = "readings of a device are missing for more than 3 s";

/// Energy of a device over a span, and how it was found: by its counter, else from its power.
fn energy(rows: &[&DeviceSample], start_ns: u64, end_ns: u64) -> Result<(f64, &'static str), &'static str> {
    let of = |get: fn(&DeviceSample) -> Option<f64>| {
        rows.iter().filter_map(|row| Some((row.time_ns, get(row)?))).collect::<Vec<(u64, f64)>>()
    };
    let counter = of(|row| row.energy_joules);
    if let Some((from, to)) = at(&counter, start_ns).zip(at(&counter, end_ns)) {
        // A counter that falls was reset with the driver.
        return if to >= from { Ok((to - from, "counter")) } else { Err("a counter of energy was reset") };
    }
    let power = of(|row| row.power_watts);
    if counter.is_empty() && power.is_empty() {
        return Err(NOT_TOLD);
    }
    let (Some(first), Some(last)) = (at(&power, start_ns), at(&power, end_ns)) else { return Err(GAP) };
    let mut points = vec![(start_ns, first)];
    points.extend(power.iter().filter(|(time_ns, _)| (start_ns + 1..end_ns).contains(time_ns)));
    points.push((end_ns, last));
    let mut joules = 0.0;
    for pair in points.windows(2) {
        let [(from_ns, from), (to_ns, to)] = [pair[0], pair[1]];
        if to_ns - from_ns > GAP_NS {
            return Err(GAP);
        }
        joules += f64::midpoint(from, to) * (to_ns - from_ns) as f64 / 1e9;
    }
    Ok((joules, "power"))
}

/// A value at a moment, between its neighbours; where there is none on one side, or they are far from each other, that
/// of the nearer one, if it is near.
fn at(values: &[(u64, f64)], time_ns: u64) -> Option<f64> {
    let after = values.partition_point(|(at_ns, _)| *at_ns < time_ns);
    let (before, after) = (after.checked_sub(1).map(|index| values[index]), values.get(after).copied());
    if let (Some((from_ns, from)), Some((to_ns, to))) = (before, after)
        && to_ns - from_ns <= GAP_NS
    {
        let part = (time_ns - from_ns) as f64 / (to_ns - from_ns).max(1) as f64;
        return Some(from + (to - from) * part);
    }
    let near = [before, after].into_iter().flatten().min_by_key(|(at_ns, _)| at_ns.abs_diff(time_ns));
    near.filter(|(at_ns, _)| at_ns.abs_diff(time_ns) <= REACH_NS).map(|(_, value)| value)
}

/// The sum over all devices: of some of them it would be no energy of the run.
fn sum_energy(told: &mut CellTelemetry, energies: &[Result<(f64, &'static str), &'static str>]) {
    let Ok(known) = energies.iter().copied().collect::<Result<Vec<(f64, &str)>, _>>() else { return };
    if known.is_empty() {
        return;
    }
    told.energy_joules = Some(known.iter().map(|(joules, _)| joules).sum());
    let counted = known.iter().all(|(_, source)| *source == "counter");
    told.energy_source = Some(if counted { "counter" } else { "power" }.to_owned());
}

fn explain(told: &mut CellTelemetry, used: &[&DeviceMeta], no_energy: Option<&'static str>) {
    let none = used.is_empty();
    let why = |otherwise: &str| {
        if none { "the server uses no accelerator that was read" } else { otherwise }.to_owned()
    };
    let missing: [(&str, bool, &str); 4] = [
        ("energy_joules", told.energy_joules.is_none(), no_energy.unwrap_or(NOT_TOLD)),
        ("slowed_share", told.slowed_share.is_none(), "the devices do not tell why clocks are held down"),
        (
            "power_capped_share",
            told.power_capped_share.is_none(),
            "the devices do not tell why clocks are held down",
        ),
        (
            "over_rated_share",
            told.over_rated_share.is_none(),
            "the devices tell no clock, or no highest clock",
        ),
    ];
    told.unknown = missing
        .into_iter()
        .filter(|(_, missing, _)| *missing)
        .map(|(field, _, otherwise)| (field.to_owned(), why(otherwise)))
        .collect::<BTreeMap<_, _>>();
}
