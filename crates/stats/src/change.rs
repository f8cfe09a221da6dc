//! Where the level of a series changes.

use crate::order::sorted;

/// The shortest piece between two changes.
const LEAST_PIECE: usize = 8;
/// What a change must explain, in variances of the noise and per logarithm of the count.
const PENALTY: f64 = 6.0;
/// Autocorrelation above this is taken as this: such noise would explain everything.
const MOST_LAG1: f64 = 0.9;
/// Share of the squared differences that the noise is taken from, the smallest.
const KEPT: f64 = 0.92;
/// Mean of so many of the squares of standard normal numbers: `1 − 2·c·φ(c) ÷ 0.92` with `c = Φ⁻¹(0.96)`.
const MEAN_OF_KEPT: f64 = 0.672;

/// Indices at which a new level begins, in rising order; empty where one level explains the series.
///
/// Of all ways to cut the series into pieces of eight values or more, the one with the least sum of squares around
/// the pieces' means plus `6·ln n` variances of the noise for each cut (optimal partitioning, quadratic in `n`). The
/// noise is taken as autoregressive, so that a slow wander is no change of level: its autocorrelation is
/// `ρ = V₂/V₁ − 1` from the variances `V₁`, `V₂` of differences one and two values apart (the largest
/// 8 % of their squares left out, where changes of level show), and what bears on a mean is `½·V₁·(1 + ρ)/(1 − ρ)²`.
///
/// Jackson et al., "An algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters
/// 12 (2005); the same minimum as PELT, Killick, Fearnhead and Eckley, Journal of the American Statistical
/// Association 107 (2012).
pub fn change_points(values: &[f64]) -> Vec<usize> {
    let count = values.len();
    if count < 2 * LEAST_PIECE || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let cost = Cost::new(values);
    // What rounding alone leaves of equal values is no noise, and no change either.
    let rounding = values.iter().map(|value| (value * f64::EPSILON).powi(2)).sum::<f64>()
        + count as f64 * f64::EPSILON * cost.of(0, count);
    let penalty = (PENALTY * (count as f64).ln() * noise(values)).max(rounding);
    // Least cost of the first `end` values, and where the last piece of it begins.
    let mut best = vec![(f64::INFINITY, 0); count + 1];
    best[0].0 = -penalty;
    for end in LEAST_PIECE..=count {
        for start in 0..=end - LEAST_PIECE {
            let candidate = best[start].0 + cost.of(start, end) + penalty;
            if candidate < best[end].0 {
                best[end] = (candidate, start);
            }
        }
    }
    let mut found = Vec::new();
    let mut end = best[count].1;
    while end > 0 {
        found.push(end);
        end = best[end].1;
    }
    found.reverse();
    found
}

/// Variance of the noise as far as it bears on means of many values.
fn noise(values: &[f64]) -> f64 {
    let mean_square = |apart: usize| {
        let differences = values.iter().zip(&values[apart..]);
        let squares = sorted(&differences.map(|(a, b)| (b - a).powi(2)).collect::<Vec<_>>());
        let kept = (squares.len() as f64 * KEPT) as usize;
        squares[..kept].iter().sum::<f64>() / kept as f64 / MEAN_OF_KEPT
    };
    let (one, two) = (mean_square(1), mean_square(2));
    let rho = if one > 0.0 { (two / one - 1.0).clamp(0.0, MOST_LAG1) } else { 0.0 };
    0.5 * one * (1.0 + rho) / (1.0 - rho).powi(2)
}

/// Sums of squares around the mean of any piece.
struct Cost {
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Cost {
    fn new(values: &[f64]) -> Cost {
        let centre = values.iter().sum::<f64>() / values.len() as f64;
        let running = |of: fn(f64) -> f64| {
            let mut sum = 0.0;
            std::iter::once(0.0)
                .chain(values.iter().map(|value| {
                    sum += of(value - centre);
                    sum
                }))
                .collect()
        };
        Cost { sums: running(|value| value), squares: running(|value| value * value) }
    }

    fn of(&self, start: usize, end: usize) -> f64 {
        let sum = self.sums[end] - self.sums[start];
        self.squares[end] - self.squares[start] - sum * sum / (end - start) as f64
    }
}
