//! Do the intervals hold the truth? Over traces of the simulated engine's timing model with noise.

use std::sync::Arc;

use tokometer_analysis::adaptive::Watch;
use tokometer_record::{AdaptiveEnd, Cell, CellTrace, FlagCode, Status};
use tokometer_sim::Profile;

use crate::build::row;
use crate::synthetic::{READY_NS, Synthetic};

/// Cells of the published matrices: profile, context, concurrency.
const CELLS: [(&str, u64, u32); 5] = [
    ("h200-x4", 8192, 1),
    ("h200-x4", 32_768, 4),
    ("h200-x4", 131_072, 2),
    ("rtx-pro-6000-x4", 8192, 8),
    ("rtx-pro-6000-x4", 65_536, 1),
];
/// Noise of steps: spread, and what each remembers of the one before.
const NOISE: [(f64, f64); 5] = [(0.01, 0.0), (0.05, 0.5), (0.10, 0.5), (0.10, 0.8), (0.20, 0.8)];
/// Chance of each of two more tokens an event, and its spread.
const TEXTS: [(f64, f64); 3] = [(0.0, 0.0), (0.5, 0.0), (0.4, 0.1)];
/// 5 cells × 5 noises × 3 texts, four times each.
const TRACES: u64 = 300;

const DURATION: f64 = 30.0;
const LONGEST: f64 = 120.0;

fn synthetic(number: u64) -> Synthetic {
    let (profile, context, concurrency) = CELLS[number as usize % CELLS.len()];
    let (step_noise, step_memory) = NOISE[(number / 5) as usize % NOISE.len()];
    let (acceptance, text_noise) = TEXTS[(number / 25) as usize % TEXTS.len()];
    Synthetic {
        profile: Arc::new(Profile::builtin(profile).unwrap()),
        context,
        concurrency,
        max_output: 4096,
        natural_end: None,
        step_noise,
        step_memory,
        acceptance,
        text_noise,
        seed: 20_261_130 + number,
    }
}

/// Ends the window as the live rule does: from the events that have come by each check.
fn ended_adaptively(cell: &Synthetic) -> (CellTrace, AdaptiveEnd) {
    // Most end early: no need to make two minutes of each.
    for horizon in [20.0, 45.0, LONGEST] {
        let mut trace = cell.trace(horizon);
        let mut events = trace.events.clone();
        events.sort_by_key(|event| event.arrival_ns);
        let mut watch = Watch::new(READY_NS, DURATION);
        let (mut taken, mut next) = (0, watch.next_check(0.0));
        while next <= horizon {
            let until = READY_NS + (next * 1e9) as u64;
            let come = events.partition_point(|event| event.arrival_ns < until);
            events[taken..come].iter().for_each(|event| watch.take(event));
            taken = come;
            if let (_, Some(end)) = watch.check(next) {
                trace = cell.trace(next);
                return (trace, end);
            }
            next = watch.next_check(next);
        }
    }
    panic!("no window lasts longer than {LONGEST} s");
}

#[derive(Debug, Default)]
struct Tally {
    holds: u32,
    seconds: f64,
    precise: u32,
    unstable: u32,
}

impl Tally {
    fn add(&mut self, cell: &Cell, truth: f64) {
        let rates = cell.throughput.as_ref().unwrap();
        let relative = half_width(cell);
        let decoding = rates.decoding.unwrap();
        self.holds += u32::from((truth / decoding - 1.0).abs() <= relative);
        self.precise += u32::from(relative <= 0.01);
        self.seconds += cell.window.as_ref().unwrap().seconds;
        self.unstable += u32::from(cell.status == Status::Unstable);
        assert!(matches!(cell.status, Status::Valid | Status::Unstable), "{:?}", cell.reason);
        assert!(cell.flags.iter().all(|flag| flag.code == FlagCode::FewSamples), "{:?}", cell.flags);
    }
}

fn half_width(cell: &Cell) -> f64 {
    cell.throughput.as_ref().unwrap().interval.as_ref().unwrap().half_width_relative
}

#[test]
fn intervals_hold_the_true_rate_fixed_and_adaptive_alike() {
    let (mut fixed, mut adaptive) = (Tally::default(), Tally::default());
    let mut ends = [0; 3];
    // Adaptive and fixed seconds of the cells whose rate is known to half a percent in the fixed window.
    let mut steady = (0.0, 0.0);
    for number in 0..TRACES {
        let cell = synthetic(number);
        let truth = cell.true_rate();
        let whole = row(&cell.trace(DURATION));
        let (trace, end) = ended_adaptively(&cell);
        let ended = row(&trace);
        fixed.add(&whole, truth);
        adaptive.add(&ended, truth);
        if half_width(&whole) <= 0.005 {
            steady.0 += ended.window.unwrap().seconds;
            steady.1 += DURATION;
        }
        ends[end as usize] += 1;
    }
    println!(
        "fixed {fixed:?}\nadaptive {adaptive:?}, ended precise, good enough, by the limit: {ends:?}\nsteady cells {steady:?} s"
    );
    for tally in [&fixed, &adaptive] {
        let share = f64::from(tally.holds) / TRACES as f64;
        assert!((0.91..=0.99).contains(&share), "{share} of {tally:?}");
    }
    // It saves time where the rate is steady, and takes more where it is not.
    let (adaptive_seconds, fixed_seconds) = steady;
    assert!(adaptive_seconds < 0.6 * fixed_seconds, "{adaptive_seconds} s, fixed {fixed_seconds} s");
    assert!(ends.iter().all(|count| *count > 0), "{ends:?}");
}
