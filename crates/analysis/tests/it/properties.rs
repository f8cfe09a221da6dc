//! What must hold for any trace.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokometer_record::{
    Cell, CellTrace, CounterSnapshot, Outcome, Phase, RequestKind, SampleRow, StampSource, TokenSource,
};

use crate::build::{SECOND, STEADY, event, failure, meta, request, row};

/// A trace without any sense, from a seed.
fn nonsense(seed: u64) -> CellTrace {
    let mut random = Pcg64::seed_from_u64(seed);
    let phase = if random.random_bool(0.8) { Phase::Decode } else { Phase::Prefill };
    let mut trace = CellTrace {
        meta: meta(phase, random.random_range(0..5)),
        requests: Vec::new(),
        events: Vec::new(),
        samples: Vec::new(),
    };
    let time = |random: &mut Pcg64| match random.random_range(0..20) {
        0 => 0,
        1 => u64::MAX,
        _ => random.random_range(0..20 * SECOND),
    };
    if random.random_bool(0.2) {
        trace.meta.window_start_ns = random.random_bool(0.5).then(|| time(&mut random));
        trace.meta.window_end_ns = random.random_bool(0.9).then(|| time(&mut random).min(u64::MAX / 2));
        // A window of centuries would only make the test slow.
        if trace.meta.window_end_ns.is_some_and(|end| end > 100 * SECOND) {
            trace.meta.window_end_ns = Some(100 * SECOND);
        }
    }
    trace.meta.stamp_source = if random.random_bool(0.5) { StampSource::Kernel } else { StampSource::Read };
    trace.meta.max_output_tokens = random.random_range(0..3) * 100;
    let gauge = |random: &mut Pcg64| match random.random_range(0..5) {
        0 => None,
        1 => Some(f64::NAN),
        2 => Some(f64::INFINITY),
        _ => Some(f64::from(random.random_range(0..9))),
    };
    for _ in 0..random.random_range(0..4) {
        let running = gauge(&mut random);
        let (waiting, kv_used) = (gauge(&mut random), gauge(&mut random));
        trace.samples.push(SampleRow {
            time_ns: time(&mut random),
            running,
            waiting,
            generated_tokens: None,
            kv_used,
            ..SampleRow::default()
        });
    }
    for counters in [&mut trace.meta.counters_before, &mut trace.meta.counters_after] {
        let generated_tokens = gauge(&mut random);
        let cached_tokens = gauge(&mut random);
        *counters = Some(CounterSnapshot { generated_tokens, cached_tokens, ..CounterSnapshot::default() });
    }
    for number in 0..random.random_range(0..8) {
        let mut row = request(number, number % 3, time(&mut random));
        row.kind = match random.random_range(0..6) {
            0 => RequestKind::Scout,
            1 => RequestKind::Prefill,
            2 => RequestKind::Calibration,
            _ => RequestKind::Stream,
        };
        row.outcome = [Outcome::Ended, Outcome::Cut, Outcome::Failed][random.random_range(0..3)];
        row.failure = random.random_bool(0.1).then(|| failure("x"));
        row.token_source =
            [TokenSource::Usage, TokenSource::UsageFinal, TokenSource::Events][random.random_range(0..3)];
        row.end_ns = time(&mut random);
        row.completion_tokens = random.random_bool(0.5).then(|| random.random_range(0..500));
        row.prompt_tokens = random.random_bool(0.5).then(|| random.random_range(0..9000));
        row.cached_tokens = random.random_bool(0.5).then(|| random.random_range(0..9000));
        (row.reads, row.events) = (random.random_range(0..3), random.random_range(0..9));
        trace.requests.push(row);
        for _ in 0..random.random_range(0..30) {
            let tokens = random.random_bool(0.6).then(|| random.random_range(0..500));
            let mut row = event(number, time(&mut random), tokens);
            row.payload = random.random_bool(0.8);
            row.last_of_read = random.random_bool(0.8);
            row.lag_ns = time(&mut random);
            trace.events.push(row);
        }
    }
    trace
}

/// True if no number of the row is infinite or no number at all.
fn all_finite(cell: &Cell) -> bool {
    let mut cell = cell.clone();
    // Sentences may hold any word.
    cell.unknown.clear();
    (cell.reason, cell.error) = (None, None);
    cell.flags.iter_mut().for_each(|flag| flag.detail.clear());
    let text = format!("{cell:?}");
    !text
        .split(|character: char| !character.is_ascii_alphanumeric())
        .any(|word| matches!(word, "NaN" | "inf"))
}

/// What the window alone decides.
fn of_the_window(cell: &Cell) -> impl PartialEq + std::fmt::Debug + use<> {
    let lag = cell.client_lag_us.clone();
    let numbers = (cell.tokens.out, cell.longest_gap_ms, cell.average_active_requests, lag);
    (
        cell.throughput.clone(),
        cell.window_view.clone(),
        cell.window.clone(),
        cell.requests.ended_in_window,
        numbers,
    )
}

proptest! {
    #[test]
    fn every_number_is_finite_and_every_null_has_a_reason(seed in any::<u64>()) {
        let cell = row(&nonsense(seed));
        prop_assert!(all_finite(&cell), "{cell:?}");
        if cell.phase == Phase::Decode {
            for (field, is_null) in [
                ("throughput", cell.throughput.is_none()),
                ("ttft_ms", cell.ttft_ms.is_none()),
                ("time_between_tokens_ms", cell.time_between_tokens_ms.is_none()),
                ("average_active_requests", cell.average_active_requests.is_none()),
                ("tokens.server", cell.tokens.server.is_none()),
                ("context_actual", cell.context_actual.is_none()),
            ] {
                prop_assert!(!is_null || cell.unknown.contains_key(field), "{} in {:?}", field, cell.unknown);
            }
        }
    }

    #[test]
    fn events_outside_of_the_window_change_no_number_of_the_window(
        before in 0..4_900_u64, after in 15_000..40_000_u64, steps in 1..20_u64,
    ) {
        let mut trace = STEADY.trace();
        let truth = of_the_window(&row(&trace));
        for (number, start) in [(900, before), (901, after)] {
            let mut row = request(number, 0, start * 1_000_000);
            for step in 0..steps {
                let arrival = (start + step * 5) * 1_000_000;
                trace.events.push(event(number, arrival, Some(step as u32 + 1)));
                row.end_ns = arrival;
            }
            trace.requests.push(row);
        }
        prop_assert_eq!(of_the_window(&row(&trace)), truth);
    }

    #[test]
    fn a_shift_in_time_changes_nothing(shift in 0..1_000_000_000_000_u64) {
        let mut trace = STEADY.trace();
        let truth = row(&trace);
        for row in &mut trace.requests {
            row.send_ns += shift;
            row.end_ns += shift;
            row.first_byte_ns = row.first_byte_ns.map(|time| time + shift);
        }
        trace.events.iter_mut().for_each(|event| event.arrival_ns += shift);
        trace.samples.iter_mut().for_each(|sample| sample.time_ns += shift);
        trace.meta.window_start_ns = trace.meta.window_start_ns.map(|time| time + shift);
        trace.meta.window_end_ns = trace.meta.window_end_ns.map(|time| time + shift);
        let mut shifted = row(&trace);
        shifted.window.clone_from(&truth.window);
        prop_assert_eq!(shifted, truth);
    }
}
