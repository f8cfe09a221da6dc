//! Intervals by resampling, for estimates that no formula covers.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::distribution::{normal_cumulative, normal_quantile};
use crate::order::{finite, percentile, sorted};
use crate::ratio::geometric_mean;

/// Resamples of every bootstrap.
pub const RESAMPLES: usize = 2000;

/// The same data give the same interval, always.
const SEED: u64 = 0x746f_6b6f_6d65_7465;

/// An estimate and its interval by resampling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapInterval {
    /// The estimate from the data as they are.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Clusters that were resampled.
    pub clusters: usize,
}

/// The interval of a statistic over clusters, bias-corrected and accelerated (BCa), from [`RESAMPLES`] resamples of
/// whole clusters with a fixed seed.
///
/// What belongs to one request stays together, since its values are alike: resampling single tokens would promise
/// too much. `statistic` gets clusters, some of them several times. The acceleration comes from the jackknife.
/// `None` below two clusters, or where the statistic is not a number for the data or for most resamples.
/// Efron, "Better bootstrap confidence intervals", Journal of the American Statistical Association 82 (1987);
/// clusters after Davison and Hinkley, "Bootstrap Methods and their Application" (1997), section 3.8.
pub fn cluster_bootstrap<C>(
    clusters: &[C],
    level: f64,
    statistic: impl Fn(&[&C]) -> Option<f64>,
) -> Option<BootstrapInterval> {
    let count = clusters.len();
    if count < 2 || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let whole: Vec<&C> = clusters.iter().collect();
    let estimate = finite(statistic(&whole)?)?;
    let mut random = Pcg64::seed_from_u64(SEED);
    let mut drawn = whole.clone();
    let mut replicates = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for place in &mut drawn {
            *place = &clusters[random.random_range(0..count)];
        }
        replicates.extend(statistic(&drawn).and_then(finite));
    }
    if replicates.len() < RESAMPLES / 2 {
        return None;
    }
    let replicates = sorted(&replicates);
    let bias = bias_correction(&replicates, estimate)?;
    let acceleration = acceleration(&whole, statistic);
    let end = |p: f64| {
        let z = normal_quantile(p)?;
        let moved = bias + (bias + z) / (1.0 - acceleration * (bias + z));
        percentile(&replicates, normal_cumulative(moved)?)
    };
    let tail = 0.5 * (1.0 - level);
    Some(BootstrapInterval { estimate, low: end(tail)?, high: end(1.0 - tail)?, clusters: count })
}

/// The geometric mean of values (ratios of cells), with its interval over them.
pub fn geometric_mean_interval(values: &[f64], level: f64) -> Option<BootstrapInterval> {
    cluster_bootstrap(values, level, |drawn| {
        geometric_mean(&drawn.iter().map(|value| **value).collect::<Vec<_>>())
    })
}

/// `z₀`: how far the estimate is off the median of its replicates. Equal ones count half, and at least one
/// replicate is taken to lie on either side.
fn bias_correction(replicates: &[f64], estimate: f64) -> Option<f64> {
    let below = replicates.partition_point(|value| *value < estimate);
    let upto = replicates.partition_point(|value| *value <= estimate);
    let count = replicates.len() as f64;
    let share = (below + upto) as f64 / 2.0 / count;
    normal_quantile(share.clamp(1.0 / count, 1.0 - 1.0 / count))
}

/// `a = Σ d³ ÷ 6 (Σ d²)^{3/2}` over what each cluster does to the estimate; 0 where that can't be told.
fn acceleration<C>(whole: &[&C], statistic: impl Fn(&[&C]) -> Option<f64>) -> f64 {
    let mut rest = whole[1..].to_vec();
    let mut without = Vec::with_capacity(whole.len());
    // Each in turn is left out: what was left out before comes back in the place of the next.
    for (left_out, cluster) in whole.iter().enumerate() {
        without.extend(statistic(&rest).and_then(finite));
        if let Some(place) = rest.get_mut(left_out) {
            *place = cluster;
        }
    }
    let centre = without.iter().sum::<f64>() / without.len() as f64;
    let power = |exponent: i32| without.iter().map(|value| (centre - value).powi(exponent)).sum::<f64>();
    finite(power(3) / (6.0 * power(2).powf(1.5))).unwrap_or(0.0)
}
