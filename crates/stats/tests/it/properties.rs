//! What must hold for any numbers.

use proptest::collection::vec;
use proptest::prelude::*;
use tokometer_stats::{batch_means, lag1, mean, median, median_interval, mser5, percentile, slope, sorted};

fn numbers(least: usize) -> impl Strategy<Value = Vec<f64>> {
    vec(-1e6..1e6_f64, least..80)
}

proptest! {
    #[test]
    fn percentiles_rise_and_stay_within_the_values(values in numbers(1), p in 0.0..=1.0_f64, q in 0.0..=1.0_f64) {
        let values = sorted(&values);
        let (low, high) = (p.min(q), p.max(q));
        let at = |p| percentile(&values, p).unwrap();
        prop_assert!(at(low) <= at(high) + 1e-9);
        prop_assert!(values[0] <= at(low) && at(high) <= values[values.len() - 1] + 1e-9);
        prop_assert_eq!(at(0.0), values[0]);
        prop_assert_eq!(at(1.0), values[values.len() - 1]);
    }

    #[test]
    fn the_interval_of_the_median_holds_the_median(values in numbers(6)) {
        let values = sorted(&values);
        let interval = median_interval(&values, 0.95).unwrap();
        let middle = median(&values).unwrap();
        prop_assert!(interval.low <= middle && middle <= interval.high);
        prop_assert!(interval.coverage >= 0.95);
    }

    #[test]
    fn batch_means_move_and_scale_with_their_values(values in numbers(2), shift in -1e6..1e6_f64) {
        let interval = batch_means(&values, 0.95).unwrap();
        let moved: Vec<f64> = values.iter().map(|value| value * 2.0 + shift).collect();
        let moved = batch_means(&moved, 0.95).unwrap();
        prop_assert!((moved.mean - (interval.mean * 2.0 + shift)).abs() < 1e-6);
        prop_assert!((moved.half_width - interval.half_width * 2.0).abs() < 1e-6);
        prop_assert!(batch_means(&values, 0.99).unwrap().half_width >= interval.half_width);
    }

    #[test]
    fn autocorrelation_lies_between_minus_one_and_one(values in numbers(3)) {
        if let Some(rho) = lag1(&values) {
            prop_assert!((-1.0..=1.0).contains(&rho));
        }
    }

    #[test]
    fn a_cut_never_passes_its_limit_and_ignores_shift(values in numbers(20), shift in 1.0..1e3_f64) {
        let cut = mser5(&values).unwrap();
        prop_assert!(cut.cut <= cut.limit && cut.limit == cut.batches / 2);
        let scaled: Vec<f64> = values.iter().map(|value| value * shift).collect();
        prop_assert_eq!(mser5(&scaled).unwrap().batches, cut.batches);
    }

    #[test]
    fn a_slope_is_found_under_any_shift(values in numbers(3), shift in -1e6..1e6_f64) {
        let points = |shift: f64| -> Vec<(f64, f64)> {
            values.iter().enumerate().map(|(x, y)| (x as f64 + shift, *y)).collect()
        };
        let (here, there) = (slope(&points(0.0)).unwrap(), slope(&points(shift)).unwrap());
        prop_assert!((here.slope - there.slope).abs() <= 1e-6 * (1.0 + here.slope.abs()));
        prop_assert!(here.standard_error >= 0.0);
    }

    #[test]
    fn odd_numbers_never_come_out(values in vec(any::<f64>(), 0..40)) {
        let values = sorted(&values);
        let mut all = vec![mean(&values), median(&values), lag1(&values), percentile(&values, 0.99)];
        all.extend(batch_means(&values, 0.95).map(|interval| [interval.mean, interval.half_width].map(Some)).into_iter().flatten());
        all.extend(median_interval(&values, 0.95).map(|interval| [interval.low, interval.high].map(Some)).into_iter().flatten());
        let points: Vec<(f64, f64)> = values.iter().map(|value| (*value, *value)).collect();
        all.extend(slope(&points).map(|slope| [slope.slope, slope.standard_error, slope.mean].map(Some)).into_iter().flatten());
        prop_assert!(all.into_iter().flatten().all(f64::is_finite));
        let _ = mser5(&values);
    }
}
