//! Known values.

use tokometer_stats::{
    batch_means, effective_count, lag1, median, median_interval, mser5, percentile, repeat_interval, slope,
    sorted, t_quantile,
};

fn close(left: f64, right: f64, tolerance: f64) {
    assert!((left - right).abs() <= tolerance, "{left} is not {right} ± {tolerance}");
}

#[test]
fn t_quantiles_as_in_printed_tables() {
    let table = [
        (0.975, 1.0, 12.7062),
        (0.975, 2.0, 4.3027),
        (0.975, 4.0, 2.7764),
        (0.975, 5.0, 2.5706),
        (0.975, 9.0, 2.2622),
        (0.975, 29.0, 2.0452),
        (0.975, 120.0, 1.9799),
        (0.95, 5.0, 2.0150),
        (0.995, 5.0, 4.0321),
        (0.5, 5.0, 0.0),
    ];
    for (p, freedom, expected) in table {
        close(t_quantile(p, freedom).unwrap(), expected, 6e-5);
        close(t_quantile(1.0 - p, freedom).unwrap(), -expected, 6e-5);
    }
    for (p, freedom) in [(0.0, 5.0), (1.0, 5.0), (f64::NAN, 5.0), (0.9, 0.0), (0.9, f64::NAN)] {
        assert_eq!(t_quantile(p, freedom), None, "{p} {freedom}");
    }
}

#[test]
fn percentiles_interpolate_between_ranks() {
    // The values that NumPy's default and R's type 7 give.
    let values = sorted(&[40.0, 15.0, 20.0, 50.0, 35.0]);
    for (p, expected) in
        [(0.0, 15.0), (0.05, 16.0), (0.3, 23.0), (0.4, 29.0), (0.5, 35.0), (0.95, 48.0), (1.0, 50.0)]
    {
        close(percentile(&values, p).unwrap(), expected, 1e-12);
    }
    assert_eq!(median(&[1.0, 2.0]), Some(1.5));
    assert_eq!(median(&[7.0]), Some(7.0));
    assert_eq!(median(&[]), None);
    assert_eq!(percentile(&values, 1.1), None);
}

#[test]
fn ranks_of_the_median_interval() {
    let ranks = |n: usize| {
        let values: Vec<f64> = (1..=n).map(|value| value as f64).collect();
        median_interval(&values, 0.95).map(|interval| (interval.low as usize, interval.high as usize))
    };
    assert_eq!(ranks(0), None);
    assert_eq!(ranks(5), None);
    assert_eq!(ranks(6), Some((1, 6)));
    assert_eq!(ranks(8), Some((1, 8)));
    assert_eq!(ranks(9), Some((2, 8)));
    assert_eq!(ranks(10), Some((2, 9)));
    assert_eq!(ranks(20), Some((6, 15)));
    assert_eq!(ranks(30), Some((10, 21)));
    let six: Vec<f64> = (1..=6).map(f64::from).collect();
    close(median_interval(&six, 0.95).unwrap().coverage, 0.96875, 1e-9);
    assert!(ranks(100_000).is_some());
}

#[test]
fn batch_means_by_hand() {
    // Mean 3, s² = 3.5, s/√6 = 0.763763; t(0.975, 5) = 2.570582.
    let interval = batch_means(&[0.5, 1.5, 2.5, 3.5, 4.5, 5.5], 0.95).unwrap();
    close(interval.mean, 3.0, 1e-12);
    close(interval.half_width, 2.570_582 * 0.763_763, 1e-5);
    assert_eq!(batch_means(&[5.0; 6], 0.95).unwrap().half_width, 0.0);
    assert_eq!(repeat_interval(&[0.5, 1.5, 2.5, 3.5, 4.5, 5.5], 0.95), Some(interval));
    assert_eq!(batch_means(&[1.0], 0.95), None);
    assert_eq!(batch_means(&[1.0, f64::NAN], 0.95), None);
}

#[test]
fn lag_one_by_hand() {
    // 1 2 3 4: deviations −1.5 −0.5 0.5 1.5, products 0.75 − 0.25 + 0.75, squares 5.
    close(lag1(&[1.0, 2.0, 3.0, 4.0]).unwrap(), 0.25, 1e-12);
    close(lag1(&[1.0, -1.0, 1.0, -1.0]).unwrap(), -0.75, 1e-12);
    assert_eq!(lag1(&[0.1 + 0.2, 0.3, 0.3]), None);
    assert_eq!(lag1(&[1.0, 2.0]), None);
}

#[test]
fn values_that_are_alike_tell_less() {
    close(effective_count(30, 0.5).unwrap(), 10.0, 1e-12);
    close(effective_count(30, 0.0).unwrap(), 30.0, 1e-12);
    close(effective_count(180, 0.8).unwrap(), 20.0, 1e-12);
    assert_eq!(effective_count(30, 1.0), None);
    assert_eq!(effective_count(30, f64::NAN), None);
}

#[test]
fn a_straight_line_is_found_and_its_error_too() {
    let line: Vec<(f64, f64)> = (0..10).map(|x| (f64::from(x), 3.0 + 0.5 * f64::from(x))).collect();
    let fit = slope(&line).unwrap();
    close(fit.slope, 0.5, 1e-12);
    close(fit.standard_error, 0.0, 1e-12);
    // x 1..5, y 2 4 5 4 5: Σxy = 6, Σx² = 10, residuals 2.4, so b = 0.6 and SE = √(2.4/3/10).
    let points = [(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 5.0)];
    let fit = slope(&points).unwrap();
    close(fit.slope, 0.6, 1e-12);
    close(fit.standard_error, (2.4_f64 / 3.0 / 10.0).sqrt(), 1e-12);
    assert!(fit.exceeds(2.0) && !fit.exceeds(3.0));
    assert_eq!(slope(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
}

#[test]
fn mser_cuts_a_start_up_and_nothing_else() {
    let flat = mser5(&[7.0; 120]).unwrap();
    assert_eq!((flat.cut, flat.batches, flat.limit, flat.at_limit()), (0, 24, 12, false));
    // Four low batches, then a steady alternation.
    let stepped: Vec<f64> = (0..120).map(|i| if i < 20 { 1.0 } else { 100.0 + f64::from(i % 2) }).collect();
    let cut = mser5(&stepped).unwrap();
    assert_eq!((cut.cut, cut.cut_values(), cut.at_limit()), (4, 20, false));
    // A ramp that never ends.
    let ramp: Vec<f64> = (0..120).map(f64::from).collect();
    assert!(mser5(&ramp).unwrap().at_limit());
    assert_eq!(mser5(&[1.0; 19]), None);
    assert_eq!(mser5(&[f64::NAN; 40]), None);
}
