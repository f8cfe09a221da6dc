//! Ratios against published examples, by simulated coverage, and by what must hold for any numbers.

use proptest::collection::vec;
use proptest::prelude::*;
use tokometer_stats::{Estimate, benjamini_hochberg, geometric_mean, ratio, ratio_of_means, ratio_of_pairs};

use crate::simulate::{normal, share};

fn close(left: f64, right: f64, tolerance: f64) {
    assert!((left - right).abs() <= tolerance, "{left} is not {right} ± {tolerance}");
}

/// Hours of extra sleep under two drugs, ten patients: Student (1908), the `sleep` data of R.
const FIRST: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
const SECOND: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];

/// Far from zero the logarithm of a ratio is a difference, so the printed tests of differences apply.
fn shifted(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value + 1e6).collect()
}

#[test]
fn welch_as_printed_for_students_data() {
    // Printed by R's `t.test`: t = −1.8608, df = 17.776, p = 0.07939, interval −3.3654832 to 0.2054832.
    let found = ratio_of_means(&shifted(&SECOND), &shifted(&FIRST), 0.95).unwrap();
    close(found.degrees_of_freedom, 17.776, 1e-3);
    close(found.p_value, 0.079_39, 1e-5);
    close((found.low - 1.0) * 1e6, -3.365_483_2, 1e-4);
    close((found.high - 1.0) * 1e6, 0.205_483_2, 1e-4);
}

#[test]
fn pairs_as_printed_for_students_data() {
    // t = −4.0621, df = 9, p = 0.002833, interval −2.4598858 to −0.7001142.
    let found = ratio_of_pairs(&shifted(&SECOND), &shifted(&FIRST), 0.95).unwrap();
    close(found.degrees_of_freedom, 9.0, 0.0);
    close(found.p_value, 0.002_833, 1e-6);
    close((found.low - 1.0) * 1e6, -2.459_885_8, 1e-4);
    close((found.high - 1.0) * 1e6, -0.700_114_2, 1e-4);
    assert_eq!(ratio_of_pairs(&FIRST, &SECOND[1..], 0.95), None);
}

#[test]
fn findings_of_benjamini_and_hochberg() {
    // The 15 p values of their example: at 5 % the first four stand (Bonferroni keeps three).
    let p = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
        0.6528, 0.7590, 1.0,
    ];
    let stands = benjamini_hochberg(&p, 0.05);
    assert_eq!(stands.iter().filter(|stands| **stands).count(), 4);
    assert!(stands[..4].iter().all(|stands| *stands));
    // Order does not matter, and a later p value may carry earlier ones with it.
    assert_eq!(benjamini_hochberg(&[0.9, 0.0001], 0.05), [false, true]);
    assert_eq!(benjamini_hochberg(&[0.04, 0.045, 0.05], 0.05), [true, true, true]);
    assert_eq!(benjamini_hochberg(&[0.04, 0.045, 0.051], 0.05), [false, false, false]);
    assert_eq!(benjamini_hochberg(&[f64::NAN, 0.02], 0.05), [false, true]);
    assert_eq!(benjamini_hochberg(&[], 0.05), [] as [bool; 0]);
}

#[test]
fn false_findings_stay_below_the_level() {
    // 28 cells without any difference: some cell stands in at most 5 % of comparisons.
    let found = share(5, |random| {
        let p: Vec<f64> = (0..28)
            .map(|_| {
                let mut side = || (0..6).map(|_| 100.0 + normal(random)).collect::<Vec<_>>();
                let (base, new) = (side(), side());
                ratio_of_means(&base, &new, 0.95).unwrap().p_value
            })
            .collect();
        benjamini_hochberg(&p, 0.05).contains(&true)
    });
    assert!(found < 0.06, "{found}");
}

#[test]
fn the_interval_of_a_ratio_covers() {
    // Unlike spreads and unlike counts, true ratio 1.1.
    let found = share(6, |random| {
        let mut side = |count: usize, mean: f64, spread: f64| -> Vec<f64> {
            (0..count).map(|_| mean + spread * normal(random)).collect()
        };
        let (base, new) = (side(6, 100.0, 1.0), side(12, 110.0, 4.0));
        let found = ratio_of_means(&base, &new, 0.95).unwrap();
        found.low <= 1.1 && 1.1 <= found.high
    });
    assert!((0.94..0.965).contains(&found), "{found}");
}

#[test]
fn values_without_spread_give_a_ratio_without_width() {
    let found = ratio_of_means(&[2.0; 6], &[3.0; 6], 0.95).unwrap();
    close(found.ratio, 1.5, 1e-12);
    assert_eq!((found.low, found.high, found.p_value), (found.ratio, found.ratio, 0.0));
    assert_eq!(ratio_of_means(&[2.0; 6], &[2.0; 6], 0.95).unwrap().p_value, 1.0);
    for bad in [&[1.0][..], &[0.0, 0.0], &[-1.0, -2.0], &[f64::NAN, 1.0]] {
        assert_eq!(ratio_of_means(bad, &[1.0, 2.0], 0.95), None);
        assert_eq!(ratio_of_means(&[1.0, 2.0], bad, 0.95), None);
    }
}

#[test]
fn a_total_rate_takes_its_error_from_the_decoding_rate() {
    let decoding = Estimate::of_means(&[99.0, 101.0, 100.0, 100.5, 99.5, 100.0]).unwrap();
    let total = decoding.around(80.0);
    close(total.standard_error / total.value, decoding.standard_error / decoding.value, 1e-15);
    let base = Estimate { value: 40.0, standard_error: 0.0, degrees_of_freedom: 5.0 };
    let found = ratio(base, total, 0.95).unwrap();
    close(found.ratio, 2.0, 1e-12);
    // All of the error is of one side, and so are its degrees of freedom.
    close(found.degrees_of_freedom, 5.0, 1e-9);
    close((found.high / found.ratio).ln(), 2.570_582 * decoding.standard_error / 100.0, 1e-8);
}

#[test]
fn geometric_means() {
    close(geometric_mean(&[1.0, 4.0]).unwrap(), 2.0, 1e-12);
    close(geometric_mean(&[2.0, 0.5]).unwrap(), 1.0, 1e-12);
    assert_eq!(geometric_mean(&[]), None);
    assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    assert_eq!(geometric_mean(&[1.0, f64::NAN]), None);
}

proptest! {
    #[test]
    fn turning_a_ratio_over_turns_its_interval_over(
        base in vec(1.0..1e3_f64, 2..12),
        new in vec(1.0..1e3_f64, 2..12),
    ) {
        let there = ratio_of_means(&base, &new, 0.95).unwrap();
        let back = ratio_of_means(&new, &base, 0.95).unwrap();
        prop_assert!(there.low <= there.ratio && there.ratio <= there.high);
        prop_assert!((there.low * back.high - 1.0).abs() < 1e-9);
        prop_assert!((there.p_value - back.p_value).abs() < 1e-9);
        prop_assert_eq!(there.p_value < 0.05, there.low > 1.0 || there.high < 1.0);
    }

    #[test]
    fn a_stricter_level_keeps_fewer_findings(p in vec(0.0..1.0_f64, 0..50)) {
        let strict = benjamini_hochberg(&p, 0.01);
        let loose = benjamini_hochberg(&p, 0.1);
        prop_assert!(strict.iter().zip(&loose).all(|(strict, loose)| !strict || *loose));
    }
}
