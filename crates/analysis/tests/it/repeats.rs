//! Rows from the repeats of a cell.

use tokometer_analysis::combine;
use tokometer_record::{Cell, FlagCode, Phase, Status, TraceFile};

use crate::build::{STEADY, Streams, changed, close, failure, row};

fn steady(step_ns: u64) -> Cell {
    let mut cell = row(&Streams { step_ns, ..STEADY }.trace());
    cell.trace = Some(TraceFile { file: format!("trace/{step_ns}"), sha256: String::new(), bytes: 1 });
    cell
}

fn numbered(rows: Vec<Cell>) -> Vec<(u32, Cell)> {
    (1..).zip(rows).collect()
}

#[test]
fn the_headline_is_the_mean_and_its_interval_is_over_repeats() {
    let rows = numbered(vec![steady(10_000_000), steady(10_300_000), steady(10_100_000)]);
    let totals: Vec<f64> = rows.iter().map(|(_, row)| row.throughput.as_ref().unwrap().total).collect();
    let cell = combine(&rows).unwrap();
    let rates = cell.throughput.as_ref().unwrap();
    let mean = totals.iter().sum::<f64>() / 3.0;
    close(rates.total, mean);
    let deviation = (totals.iter().map(|total| (total - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
    let interval = rates.interval.as_ref().unwrap();
    // t(0.975, 2).
    let half_width = 4.302_652_729_911_275 * deviation / 3.0_f64.sqrt();
    assert!((interval.high - mean - half_width).abs() < 1e-6 * mean);
    assert_eq!((interval.scope.as_str(), interval.method.as_str()), ("repeats", "repeats_t"));
    assert_eq!((rates.batches.len(), rates.lag1), (0, None));

    // The third lies nearest to the mean: what has no mean is its.
    assert_eq!(cell.status, Status::Valid);
    let shown: Vec<u32> =
        cell.repeats.iter().filter(|repeat| repeat.represents).map(|repeat| repeat.repeat).collect();
    assert_eq!(shown, [3]);
    assert_eq!(cell.ttft_ms, rows[2].1.ttft_ms);
    assert_eq!(cell.tokens, rows[2].1.tokens);
    // Every trace is named once.
    assert_eq!(cell.trace, None);
    let files: Vec<&str> = cell.traces().map(|trace| trace.file.as_str()).collect();
    assert_eq!(files, ["trace/10000000", "trace/10300000", "trace/10100000"]);
    let recorded: Vec<f64> = cell.repeats.iter().filter_map(|repeat| repeat.total).collect();
    assert_eq!(recorded, totals);
}

#[test]
fn one_repeat_keeps_its_own_interval() {
    let once = steady(10_000_000);
    let cell = combine(&[(1, once.clone())]).unwrap();
    assert_eq!(cell.throughput, once.throughput);
    assert_eq!(cell.throughput.unwrap().interval.unwrap().scope, "within_run");
    assert_eq!(cell.repeats.len(), 1);
    assert_eq!(combine(&[]), None);
}

#[test]
fn the_worst_repeat_decides_and_says_which_it_is() {
    let failed = changed(|trace| {
        trace.requests[0].outcome = tokometer_record::Outcome::Failed;
        trace.requests[0].failure = Some(failure("connection reset"));
    });
    let drifting =
        row(&STEADY.trace_with(|time, _| if time < 10_000_000_000 { 10_000_000 } else { 12_000_000 }));
    assert_eq!((failed.status, drifting.status), (Status::Error, Status::Unstable));
    let good = steady(10_000_000);
    let cell = combine(&numbered(vec![good.clone(), drifting, failed, good.clone()])).unwrap();
    assert_eq!(cell.status, Status::Error);
    let reason = cell.reason.as_ref().unwrap();
    assert!(reason.text.starts_with("repeat 3 of 4: 1 of "), "{}", reason.text);
    assert_eq!(cell.error.as_ref().unwrap().message, "connection reset");
    assert!(cell.repeats[2].represents);
    let statuses: Vec<Status> = cell.repeats.iter().map(|repeat| repeat.status).collect();
    assert_eq!(statuses, [Status::Valid, Status::Unstable, Status::Error, Status::Valid]);
}

#[test]
fn an_interrupted_repeat_takes_nothing_from_the_whole_ones() {
    let interrupted = changed(|trace| trace.meta.interrupted = true);
    let (one, two) = (steady(10_000_000), steady(10_200_000));
    let cell = combine(&numbered(vec![one.clone(), two.clone(), interrupted.clone()])).unwrap();
    assert_eq!(cell.status, Status::Valid);
    assert_eq!(cell.throughput, combine(&numbered(vec![one, two])).unwrap().throughput);
    assert_eq!(cell.repeats.len(), 3);
    // Alone it is all there is.
    assert_eq!(combine(&[(1, interrupted)]).unwrap().status, Status::Interrupted);
}

#[test]
fn flags_of_any_repeat_are_raised() {
    let stepped = changed(|trace| trace.meta.clock_step_ns = 80_000_000);
    let cell = combine(&numbered(vec![steady(10_000_000), stepped, steady(10_100_000)])).unwrap();
    let flag = cell.flag(FlagCode::ClockStep).unwrap();
    assert!(flag.detail.starts_with("in 1 of 3 repeats, repeat 2: the wall clock moved by 80.0 ms"));
    assert_eq!(flag.figures[0].value, 80.0);
    let all = combine(&numbered(vec![
        changed(|trace| trace.meta.clock_step_ns = 80_000_000),
        changed(|trace| trace.meta.clock_step_ns = 80_000_000),
    ]));
    assert!(all.unwrap().flag(FlagCode::ClockStep).unwrap().detail.starts_with("the wall clock"));
}

#[test]
fn prefill_rates_are_averaged_too() {
    let with = |rate: f64| Cell {
        status: Status::Valid,
        prefill_rate: Some(rate),
        prefill_samples: vec![rate - 1.0, rate + 1.0],
        ..Cell::planned(Phase::Prefill, 8192, 1)
    };
    let cell = combine(&numbered(vec![with(1000.0), with(1100.0)])).unwrap();
    assert_eq!(cell.prefill_rate, Some(1050.0));
    assert_eq!(cell.prefill_samples, [999.0, 1001.0, 1099.0, 1101.0]);
    let interval = cell.prefill_interval.unwrap();
    // t(0.975, 1) = 12.706 on a standard error of 50.
    assert!((interval.high - 1050.0 - 12.706_204_736_432_095 * 50.0).abs() < 1e-6);
    assert_eq!(interval.scope, "repeats");
    assert_eq!(combine(&[(1, with(1000.0))]).unwrap().prefill_interval, None);
}
