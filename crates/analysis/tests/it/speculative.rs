//! Speculative decoding over the window, from counters and gauges in the trace.

use tokometer_record::{Cell, CellTrace, CounterSnapshot, SampleRow, SpeculativeSource};

use crate::build::{SECOND, changed, close};

#[expect(clippy::unnecessary_wraps, reason = "a snapshot is an option everywhere that it stands")]
fn counters(time_ns: u64, drafts: f64, accepted: f64, per_position: &[f64]) -> Option<CounterSnapshot> {
    Some(CounterSnapshot {
        time_ns,
        drafts: Some(drafts),
        draft_tokens: Some(3.0 * drafts),
        accepted_tokens: Some(accepted),
        accepted_per_position: per_position.to_vec(),
        ..CounterSnapshot::default()
    })
}

fn at_edges(trace: &mut CellTrace) {
    trace.meta.counters_window_start = counters(5 * SECOND + 1, 100.0, 50.0, &[40.0, 10.0]);
    trace.meta.counters_window_end = counters(15 * SECOND + 1, 1100.0, 1250.0, &[840.0, 310.0, 100.0]);
}

fn figures(cell: &Cell) -> tokometer_record::Speculative {
    cell.speculative.clone().unwrap_or_else(|| panic!("{:?}", cell.unknown))
}

#[test]
fn counters_at_the_edges_come_first() {
    let cell = changed(at_edges);
    let found = figures(&cell);
    close(found.acceptance_length, 2.2);
    close(found.acceptance_rate.unwrap(), 0.4);
    assert_eq!(
        (found.drafts, found.draft_tokens, found.accepted_tokens),
        (Some(1000), Some(3000), Some(1200))
    );
    close(found.accepted_per_position[0], 0.8);
    close(found.accepted_per_position[1], 0.3);
    // A position that was not told at the start began at nothing.
    close(found.accepted_per_position[2], 0.1);
    close(found.verify_steps_rate.unwrap(), cell.throughput.unwrap().total / 2.2);
    assert_eq!((found.source, found.readings), (SpeculativeSource::Counters, 2));
    assert_eq!((found.start_ns, found.end_ns), (5 * SECOND + 1, 15 * SECOND + 1));
}

#[test]
fn samples_inside_the_window_stand_in() {
    let cell = changed(|trace| {
        at_edges(trace);
        trace.meta.counters_window_end = None;
        for (index, sample) in trace.samples.iter_mut().enumerate() {
            sample.drafts = Some(100.0 * index as f64);
            sample.accepted_tokens = Some(150.0 * index as f64);
        }
        // Outside of the window nothing counts.
        trace.samples.push(SampleRow { time_ns: 16 * SECOND, drafts: Some(1e6), ..SampleRow::default() });
    });
    let found = figures(&cell);
    close(found.acceptance_length, 2.5);
    assert_eq!(
        (found.source, found.drafts, found.draft_tokens),
        (SpeculativeSource::SampledCounters, Some(900), None)
    );
    assert_eq!((found.readings, found.start_ns, found.end_ns), (10, 5 * SECOND + 1, 14 * SECOND + 1));
    assert!(found.accepted_per_position.is_empty() && found.acceptance_rate.is_none());
}

#[test]
fn a_gauge_is_averaged_over_the_window() {
    let cell = changed(|trace| {
        for (sample, length) in trace.samples.iter_mut().zip([0.0, 2.0, 3.0]) {
            sample.acceptance_length = Some(length);
        }
    });
    let found = figures(&cell);
    // Less than one token a step says nothing.
    close(found.acceptance_length, 2.5);
    assert_eq!((found.source, found.readings, found.drafts), (SpeculativeSource::Gauge, 2, None));
}

#[test]
fn no_figures_have_a_reason_and_no_speculation_has_none() {
    let why = |change: &dyn Fn(&mut CellTrace)| {
        let cell = changed(change);
        assert_eq!(cell.speculative, None);
        cell.unknown.get("speculative").cloned()
    };
    assert_eq!(why(&|_| {}), None);
    let with_end = |end: Option<CounterSnapshot>| {
        why(&move |trace: &mut CellTrace| {
            at_edges(trace);
            trace.meta.counters_window_end.clone_from(&end);
        })
    };
    assert!(with_end(counters(9, 100.0, 50.0, &[])).unwrap().contains("no draft"));
    assert!(with_end(counters(9, 50.0, 60.0, &[])).unwrap().contains("started anew"));
}
