//! The bootstrap by clusters, and change points.

use tokometer_stats::{change_points, cluster_bootstrap, geometric_mean_interval};

use crate::simulate::{normal, series, share_of};

/// Fewer trials, since each is two thousand resamples.
const BOOTSTRAPS: usize = 200;

fn mean_of_all(clusters: &[&Vec<f64>]) -> Option<f64> {
    let sum: f64 = clusters.iter().flat_map(|cluster| cluster.iter()).sum();
    let count = clusters.iter().map(|cluster| cluster.len()).sum::<usize>();
    (count > 0).then(|| sum / count as f64)
}

#[test]
fn an_interval_follows_the_shape_of_the_sample() {
    // For a mean the interval of a symmetric sample is symmetric, and of a right-skewed one it reaches further to
    // the right.
    let symmetric: Vec<Vec<f64>> = (-10..=10).map(|value| vec![f64::from(value)]).collect();
    let found = cluster_bootstrap(&symmetric, 0.95, mean_of_all).unwrap();
    assert_eq!((found.estimate, found.clusters), (0.0, 21));
    // Standard error √(Σx²/n²) = 1.3213 and a normal shape: ± 1.96 of it, as 2000 resamples can tell.
    assert!((found.high - 2.59).abs() < 0.2 && (found.low + 2.59).abs() < 0.2, "{found:?}");
    let skewed: Vec<Vec<f64>> = (0..21).map(|value| vec![f64::from(value).exp2().sqrt()]).collect();
    let found = cluster_bootstrap(&skewed, 0.95, mean_of_all).unwrap();
    assert!(found.high - found.estimate > 1.5 * (found.estimate - found.low), "{found:?}");
}

#[test]
fn clusters_are_kept_together() {
    // 24 requests of 9 alike values each. By value the interval would be three times too narrow.
    let (mut kept, mut torn) = (0, 0);
    let random = &mut rand::SeedableRng::seed_from_u64(23);
    for trial in 0..BOOTSTRAPS {
        let clusters: Vec<Vec<f64>> = (0..24)
            .map(|_| {
                let level = 100.0 + 3.0 * normal(random);
                (0..9).map(|_| level + 0.5 * normal(random)).collect()
            })
            .collect();
        let holds = |low: f64, high: f64| low <= 100.0 && 100.0 <= high;
        let found = cluster_bootstrap(&clusters, 0.95, mean_of_all).unwrap();
        kept += usize::from(holds(found.low, found.high));
        if trial < 40 {
            let values: Vec<Vec<f64>> = clusters.iter().flatten().map(|value| vec![*value]).collect();
            let found = cluster_bootstrap(&values, 0.95, mean_of_all).unwrap();
            torn += usize::from(holds(found.low, found.high));
        }
    }
    let kept = kept as f64 / BOOTSTRAPS as f64;
    assert!((0.90..0.98).contains(&kept), "{kept}");
    assert!(torn < 24, "{torn} of 40");
}

#[test]
fn the_same_data_give_the_same_interval() {
    let ratios = [1.02, 0.98, 1.10, 1.07, 1.01, 1.12];
    let first = geometric_mean_interval(&ratios, 0.95).unwrap();
    assert_eq!(geometric_mean_interval(&ratios, 0.95), Some(first));
    assert!(first.low > 0.98 && first.low < first.estimate);
    assert!(first.high < 1.12 && first.high > first.estimate);
    // Values without spread, too few, and none that is positive.
    let flat = geometric_mean_interval(&[1.5; 5], 0.95).unwrap();
    assert!((flat.low - 1.5).abs() < 1e-12 && (flat.high - 1.5).abs() < 1e-12);
    assert_eq!(geometric_mean_interval(&[1.5], 0.95), None);
    assert_eq!(geometric_mean_interval(&[1.5, -1.0], 0.95), None);
}

#[test]
fn a_step_is_found_where_it_is() {
    let found = share_of(1000, 29, |random| {
        let values: Vec<f64> = series(random, 120, 0.3)
            .into_iter()
            .enumerate()
            .map(|(bin, value)| if bin < 70 { value } else { value - 9.0 })
            .collect();
        matches!(change_points(&values)[..], [at] if at.abs_diff(70) <= 3)
    });
    assert!(found > 0.9, "{found}");
}

#[test]
fn noise_has_no_steps() {
    for (rho, most) in [(0.0, 0.02), (0.5, 0.02), (0.8, 0.05)] {
        let found = share_of(1000, 31, |random| !change_points(&series(random, 120, rho)).is_empty());
        assert!(found <= most, "ρ {rho}: {found}");
    }
}

#[test]
fn steps_by_hand() {
    let mut values = vec![1.0; 20];
    values.extend([2.0; 30]);
    values.extend([1.5; 15]);
    assert_eq!(change_points(&values), [20, 50]);
    assert_eq!(change_points(&[0.1 + 0.2; 40]), [] as [usize; 0]);
    assert_eq!(change_points(&[1.0, f64::NAN]), [] as [usize; 0]);
    assert_eq!(change_points(&[]), [] as [usize; 0]);
}
