//! How often intervals hold the truth, by simulation with fixed seeds.

use rand::SeedableRng;
use rand_pcg::Pcg64;
use tokometer_stats::{median_interval, mser5, slope, sorted};

use crate::simulate::{TABLE, coverage, normal, series, share};

#[test]
fn batch_means_cover_as_the_table_of_the_method_says() {
    for (seconds, rho, batches, expected) in TABLE {
        let found = coverage(seconds, rho, batches);
        assert!(
            (found - expected).abs() < 0.025,
            "{seconds} s, ρ {rho}, b {batches}: {found}, not {expected}"
        );
    }
}

#[test]
fn the_interval_of_the_median_covers_a_skewed_truth() {
    for n in [6, 10, 30, 101] {
        let found = share(7, |random| {
            let values: Vec<f64> = (0..n).map(|_| normal(random).exp()).collect();
            let interval = median_interval(&sorted(&values), 0.95).unwrap();
            interval.low <= 1.0 && 1.0 <= interval.high
        });
        assert!((0.94..0.99).contains(&found), "n = {n}: {found}");
    }
}

#[test]
fn the_slope_of_white_noise_rarely_exceeds_two_errors() {
    let found = share(11, |random| {
        let values = series(random, 120, 0.0);
        let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
        slope(&points).unwrap().exceeds(2.0)
    });
    assert!((0.03..0.065).contains(&found), "{found}");
}

#[test]
fn mser_takes_a_ramp_away() {
    // 40 s of bins of 250 ms whose start is 40 % low and recovers with a time constant of 2 s.
    let mut random = Pcg64::seed_from_u64(3);
    let (mut raw, mut kept) = (0.0, 0.0);
    let trials = 500;
    for _ in 0..trials {
        let values: Vec<f64> = series(&mut random, 160, 0.0)
            .into_iter()
            .enumerate()
            .map(|(bin, value)| value - 40.0 * (-(bin as f64) * 0.25 / 2.0).exp())
            .collect();
        let cut = mser5(&values).unwrap();
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        raw += mean(&values) / f64::from(trials);
        kept += mean(&values[cut.cut_values()..]) / f64::from(trials);
    }
    assert!((raw - 97.9).abs() < 0.2, "{raw}");
    assert!((kept - 99.9).abs() < 0.15, "{kept}");
}
