//! Proportions and percentile bounds against published tables and by simulated coverage.

use proptest::prelude::*;
use rand::RngExt;
use tokometer_stats::{
    EARLY_STOPPING_CONFIDENCE, clopper_pearson, percentile_bound, percentile_needs, proportion_at_least,
    sorted,
};

use crate::simulate::{normal, share};

#[test]
fn floors_of_early_stopping() {
    // As the rules of MLPerf inference print them.
    for (p, expected) in [(0.5, 11), (0.75, 24), (0.9, 64), (0.95, 130), (0.99, 662), (0.999, 6636)] {
        assert_eq!(percentile_needs(p, EARLY_STOPPING_CONFIDENCE), Some(expected), "p {p}");
    }
    for p in [0.0, 1.0, -1.0, f64::NAN] {
        assert_eq!(percentile_needs(p, EARLY_STOPPING_CONFIDENCE), None);
    }
}

#[test]
fn a_bound_is_a_sample_near_the_percentile() {
    let values = |n: usize| -> Vec<f64> { (1..=n).map(|value| value as f64).collect() };
    let bound = |n: usize, p: f64| percentile_bound(&values(n), p, EARLY_STOPPING_CONFIDENCE);
    assert_eq!(bound(63, 0.9), None);
    assert_eq!(bound(661, 0.99), None);
    // At the floor the largest sample is the bound.
    let floor = bound(64, 0.9).unwrap();
    assert_eq!((floor.value, floor.rank_from_above), (64.0, 1));
    // With many samples it comes close to the percentile itself, from above.
    let many = bound(100_000, 0.9).unwrap();
    assert!((90_000.0..90_400.0).contains(&many.value), "{many:?}");
    assert_eq!(many.rank_from_above as f64, 100_001.0 - many.value);
}

#[test]
fn the_bound_holds_with_its_confidence() {
    // The true p90 of a normal distribution.
    for n in [64, 200, 1000] {
        let found = share(17, |random| {
            let values: Vec<f64> = (0..n).map(|_| normal(random)).collect();
            percentile_bound(&sorted(&values), 0.9, 0.99).unwrap().value >= 1.281_551_6
        });
        assert!((0.985..=1.0).contains(&found), "n = {n}: {found}");
    }
}

#[test]
fn clopper_and_pearson_as_in_printed_tables() {
    let table = [
        (0, 10, 0.95, 0.0, 0.308_497),
        (1, 10, 0.95, 0.002_529, 0.445_016),
        (5, 10, 0.95, 0.187_086, 0.812_914),
        (10, 10, 0.95, 0.691_503, 1.0),
        (4, 20, 0.95, 0.057_334, 0.436_614),
        (15, 29, 0.95, 0.325_315, 0.705_514),
        (1, 2, 0.95, 0.012_579, 0.987_421),
    ];
    for (hits, trials, level, low, high) in table {
        let found = clopper_pearson(hits, trials, level).unwrap();
        assert!(
            (found.low - low).abs() < 2e-6 && (found.high - high).abs() < 2e-6,
            "{hits} of {trials}: {found:?}"
        );
    }
    assert_eq!(clopper_pearson(0, 0, 0.95), None);
    assert_eq!(clopper_pearson(3, 2, 0.95), None);
}

#[test]
fn trials_without_a_miss_that_bound_a_level() {
    for (level, trials) in [(0.9, 29), (0.95, 59), (0.99, 299)] {
        assert!(proportion_at_least(trials, trials, 0.95).unwrap() >= level);
        assert!(proportion_at_least(trials - 1, trials - 1, 0.95).unwrap() < level);
    }
}

#[test]
fn the_interval_of_a_proportion_covers() {
    for truth in [0.05, 0.5, 0.9] {
        let found = share(19, |random| {
            let hits = (0..60).filter(|_| random.random_range(0.0..1.0) < truth).count();
            let interval = clopper_pearson(hits as u64, 60, 0.95).unwrap();
            interval.low <= truth && truth <= interval.high
        });
        assert!((0.945..=1.0).contains(&found), "{truth}: {found}");
    }
}

proptest! {
    #[test]
    fn hits_and_misses_mirror_each_other(trials in 1_u64..2000, share in 0.0..=1.0_f64) {
        let hits = (share * trials as f64) as u64;
        let there = clopper_pearson(hits, trials, 0.95).unwrap();
        let back = clopper_pearson(trials - hits, trials, 0.95).unwrap();
        let seen = hits as f64 / trials as f64;
        prop_assert!(there.low <= seen && seen <= there.high);
        prop_assert!((there.low + back.high - 1.0).abs() < 1e-9);
        prop_assert!(proportion_at_least(hits, trials, 0.95).unwrap() >= there.low);
    }

    #[test]
    fn a_bound_never_lies_below_the_sample_percentile(n in 11_usize..3000, p in 0.1..0.995_f64) {
        let values: Vec<f64> = (0..n).map(|value| value as f64).collect();
        if let Some(bound) = percentile_bound(&values, p, 0.99) {
            prop_assert!(bound.value >= ((n - 1) as f64 * p).floor());
        } else {
            prop_assert!((n as u64) < percentile_needs(p, 0.99).unwrap());
        }
    }
}
