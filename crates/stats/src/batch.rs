//! The interval of a mean from batches of a window.

use crate::distribution::t_quantile;
use crate::order::{finite, mean};

/// A mean and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanInterval {
    /// Mean of the batches.
    pub mean: f64,
    /// Half the width of the interval, in the unit of the mean.
    pub half_width: f64,
    /// Number of batches.
    pub batches: usize,
}

/// Batch means with Student's t: `m̄ ± t((1 + level)/2, b − 1)·s/√b` over the means of `b` equal batches.
///
/// Values that follow each other are alike, so single seconds understate the spread; means of long batches
/// are nearly independent. Five or six batches of 30 s keep the coverage that is promised where thirty of
/// 1 s do not. Needs two batches.
/// Law and Kelton, "Simulation Modeling and Analysis", chapter 9 (fixed-sample-size batch means).
pub fn batch_means(means: &[f64], level: f64) -> Option<MeanInterval> {
    let batches = means.len();
    if batches < 2 || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let centre = mean(means)?;
    let squares: f64 = means.iter().map(|value| (value - centre).powi(2)).sum();
    let freedom = (batches - 1) as f64;
    let error = (squares / freedom / batches as f64).sqrt();
    let half_width = finite(t_quantile(f64::midpoint(1.0, level), freedom)? * error)?;
    Some(MeanInterval { mean: centre, half_width, batches })
}

/// The interval of the mean over independent repeats of a whole measurement: `ȳ ± t((1 + level)/2, R − 1)·s_R/√R`.
///
/// What differs from repeat to repeat (a server's start, clocks, placement) is in it, what differs within one is
/// not needed. Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM (2013), for the top level
/// alone.
pub fn repeat_interval(repeats: &[f64], level: f64) -> Option<MeanInterval> {
    batch_means(repeats, level)
}

/// How many independent values tell as much about a mean as `count` values with lag-1 autocorrelation `rho`:
/// `n·(1 − ρ)/(1 + ρ)`, for autoregressive noise.
///
/// `None` where `rho` is not between −1 and 1. Law and Kelton, "Simulation Modeling and Analysis", chapter 4.
pub fn effective_count(count: usize, rho: f64) -> Option<f64> {
    (rho > -1.0 && rho < 1.0).then(|| count as f64 * (1.0 - rho) / (1.0 + rho))
}

/// Lag-1 autocorrelation: `Σ (x_i − x̄)(x_{i+1} − x̄) ÷ Σ (x_i − x̄)²`.
///
/// `None` for fewer than three values, or where all are equal.
/// Box and Jenkins, "Time Series Analysis", section 2.1 (the estimator r₁).
pub fn lag1(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - centre) * (pair[1] - centre)).sum();
    // What rounding alone leaves of equal values is no spread.
    let rounding = values.len() as f64 * (centre * f64::EPSILON).powi(2);
    if squares <= rounding { None } else { finite(products / squares) }
}
