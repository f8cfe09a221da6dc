//! The machine over a cell: shares of busy samples, energy, and what the verdict makes of them.

use tokometer_analysis::telemetry::{attach, machine};
use tokometer_analysis::{Context, summarise};
use tokometer_record::{
    Cell, CellTrace, DeviceMeta, DeviceSample, FlagCode, HostSample, Phase, ReasonBit, Status, Telemetry,
};

use crate::build::{SECOND, STEADY, close, raised, reason, settings};

/// Readings ten times a second over the first `seconds`, every fifth full; `shape` fills in the rest.
fn series(devices: u32, seconds: u64, shape: impl Fn(u64, &mut DeviceSample)) -> Telemetry {
    let mut series = Telemetry::default();
    for device in 0..devices {
        series.meta.devices.push(DeviceMeta {
            index: device,
            name: "D".to_owned(),
            used_by_server: Some(true),
            core_clock_max_mhz: Some(2000),
            reasons: vec![ReasonBit { bit: 0x40, word: "hardware_thermal".to_owned() }],
        });
    }
    for tick in 0..=seconds * 10 {
        let time_ns = tick * SECOND / 10;
        for device in 0..devices {
            let mut row = DeviceSample { time_ns, device, full: tick % 5 == 0, ..DeviceSample::default() };
            shape(tick, &mut row);
            series.devices.push(row);
        }
        series.host.push(HostSample { time_ns, cpu_busy: Some(0.25), ..HostSample::default() });
    }
    series
}

fn judged(trace: &CellTrace, series: &Telemetry) -> Cell {
    let settings = settings();
    let told = machine(series, trace).unwrap();
    let context = Context { telemetry: Some((&told).into()), ..Context::new(&settings) };
    let mut cell = summarise(trace, &context);
    attach(&mut cell, told);
    cell
}

/// A device at work: 500 W, all of its time.
fn working(row: &mut DeviceSample) {
    row.power_watts = Some(500.0);
    row.energy_joules = Some(500.0 * row.time_ns as f64 / 1e9);
    if row.full {
        row.busy = Some(1.0);
        row.core_clock_mhz = Some(1980.0);
        (row.slowed, row.power_capped, row.reasons) = (Some(false), Some(false), Some(0));
    }
}

#[test]
fn energy_is_that_of_all_devices_over_the_window() {
    let cell = judged(&STEADY.trace(), &series(4, 20, |_, row| working(row)));
    assert_eq!(cell.status, Status::Valid);
    let told = cell.telemetry.unwrap();
    // 4 devices, 500 W, a window of 10 s.
    close(told.energy_joules.unwrap(), 20_000.0);
    assert_eq!(told.energy_source.as_deref(), Some("counter"));
    close(told.joules_per_token.unwrap(), 20_000.0 / cell.tokens.out.unwrap() as f64);
    assert_eq!((told.devices.len(), told.unknown.len()), (4, 0));
    let power = told.devices[3].power_watts.unwrap();
    assert_eq!((power.n, power.min, power.p50, power.max), (101, 500.0, 500.0, 500.0));
    assert_eq!(told.devices[0].core_clock_mhz.unwrap().n, 21);
    assert_eq!((told.busy_samples, told.slowed_share), (84, Some(0.0)));
    assert_eq!(told.cpu_busy.unwrap().p50, 0.25);
}

#[test]
fn without_a_counter_power_is_integrated_within_one_percent() {
    // 700 W and 300 W in turn, 0.7 s each.
    let step = |time_ns: u64| if (time_ns / (7 * SECOND / 10)).is_multiple_of(2) { 700.0 } else { 300.0 };
    let cell = judged(
        &STEADY.trace(),
        &series(1, 20, |_, row| {
            working(row);
            row.energy_joules = None;
            row.power_watts = Some(step(row.time_ns));
        }),
    );
    let told = cell.telemetry.unwrap();
    assert_eq!(told.energy_source.as_deref(), Some("power"));
    let right: f64 = (5000..15_000).map(|ms| step(ms * SECOND / 1000) / 1000.0).sum();
    let found = told.energy_joules.unwrap();
    assert!((found / right - 1.0).abs() < 0.01, "{found} J, {right} J");
}

#[test]
fn readings_that_are_missing_are_not_guessed() {
    let trace = STEADY.trace();
    let lost = |from: u64, to: u64, counter: bool| {
        let mut series = series(1, 20, |_, row| {
            working(row);
            row.energy_joules = row.energy_joules.filter(|_| counter);
        });
        series.devices.retain(|row| !(from..to).contains(&(row.time_ns / SECOND)));
        machine(&series, &trace).unwrap()
    };
    // Between its ends a counter needs no readings, and power does.
    close(lost(8, 13, true).energy_joules.unwrap(), 5000.0);
    let told = lost(8, 13, false);
    assert!(told.energy_joules.is_none() && told.unknown["energy_joules"].contains("missing"), "{told:?}");
    // A short gap is bridged.
    close(lost(8, 10, false).energy_joules.unwrap(), 5000.0);
    // Around the end of the window, and from its middle on.
    for (from, to) in [(13, 18), (10, 30), (0, 30)] {
        assert!(lost(from, to, true).energy_joules.is_none(), "{from} to {to}");
    }
}

#[test]
fn devices_that_the_server_does_not_use_count_for_nothing() {
    let mut series = series(4, 20, |_, row| working(row));
    for device in &mut series.meta.devices[2..] {
        device.used_by_server = Some(false);
    }
    let told = machine(&series, &STEADY.trace()).unwrap();
    assert_eq!(told.devices.len(), 2);
    close(told.energy_joules.unwrap(), 10_000.0);
}

#[test]
fn a_cell_on_slowed_devices_is_throttled() {
    let cell = judged(
        &STEADY.trace(),
        &series(2, 20, |tick, row| {
            working(row);
            if row.full && row.device == 1 {
                (row.slowed, row.reasons) = (Some(tick % 20 == 0), Some(0x40 | 1 << 40));
            }
        }),
    );
    assert!(reason(&cell, Status::Throttled).contains("busy samples"), "{:?}", cell.reason);
    let told = cell.telemetry.unwrap();
    // At 6, 8, 10, 12 and 14 s, of the 21 samples of each of two devices.
    close(told.slowed_share.unwrap(), 5.0 / 42.0);
    assert_eq!((told.devices[0].reasons, told.devices[1].reasons), (Some(0), Some(0x40 | 1 << 40)));
    // What is known is said in words, and what is not is kept.
    assert_eq!(told.devices[1].reason_words, ["hardware_thermal"]);
    assert_eq!(told.devices[1].unknown_bits.as_deref(), Some("0x10000000000"));
    assert_eq!((told.devices[0].reason_words.len(), &told.devices[0].unknown_bits), (0, &None));
}

#[test]
fn idle_samples_decide_nothing() {
    let cell = judged(
        &STEADY.trace(),
        &series(1, 20, |tick, row| {
            working(row);
            if row.full && tick % 10 == 0 {
                (row.busy, row.slowed) = (Some(0.05), Some(true));
            }
        }),
    );
    assert_eq!((cell.status, cell.telemetry.unwrap().slowed_share), (Status::Valid, Some(0.0)));
}

#[test]
fn power_limits_and_overclocking_are_flags() {
    let cell = judged(
        &STEADY.trace(),
        &series(1, 20, |tick, row| {
            working(row);
            if row.full {
                row.power_capped = Some(tick % 15 == 0);
                row.core_clock_mhz = Some(2021.0);
            }
        }),
    );
    assert_eq!(cell.status, Status::Valid);
    raised(&cell, FlagCode::PowerCapped);
    raised(&cell, FlagCode::OverRatedClock);
}

#[test]
fn what_devices_do_not_tell_is_null_with_a_reason() {
    let cell = judged(
        &STEADY.trace(),
        &series(2, 20, |_, row| {
            working(row);
            (row.slowed, row.power_capped, row.core_clock_mhz) = (None, None, None);
            // Without a word of one device there is no energy of all.
            if row.device == 1 {
                (row.power_watts, row.energy_joules) = (None, None);
            }
        }),
    );
    assert_eq!(cell.status, Status::Valid);
    let told = cell.telemetry.unwrap();
    assert_eq!((told.energy_joules, told.joules_per_token), (None, None));
    assert!(told.devices[0].energy_joules.is_some());
    for field in
        ["energy_joules", "joules_per_token", "slowed_share", "power_capped_share", "over_rated_share"]
    {
        assert!(told.unknown.contains_key(field), "{field}: {:?}", told.unknown);
    }
}

#[test]
fn a_cell_outside_of_the_series_has_no_energy() {
    let told = machine(&series(1, 3, |_, row| working(row)), &STEADY.trace()).unwrap();
    assert_eq!((told.energy_joules, told.busy_samples), (None, 0));
    let mut trace = STEADY.trace();
    trace.meta.window_start_ns = None;
    assert_eq!(machine(&series(1, 3, |_, row| working(row)), &trace), None);
}

#[test]
fn a_prefill_row_spans_its_requests() {
    let mut trace = STEADY.trace();
    trace.meta.phase = Phase::Prefill;
    let (start, end) = (
        trace.requests.iter().map(|row| row.send_ns).min().unwrap(),
        trace.requests.iter().map(|row| row.end_ns).max().unwrap(),
    );
    let told = machine(&series(1, 20, |_, row| working(row)), &trace).unwrap();
    assert_eq!((told.start_ns, told.end_ns), (start, end));
}
