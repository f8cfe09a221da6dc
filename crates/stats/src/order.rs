//! Estimators from sorted values: percentiles, and an interval for the median.

use crate::distribution::fair_coin_at_most;

/// The values in rising order, as the functions of this module want them.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Arithmetic mean.
pub fn mean(values: &[f64]) -> Option<f64> {
    finite(values.iter().sum::<f64>() / values.len() as f64)
}

/// The `p` percentile (`0 ≤ p ≤ 1`) of sorted values: at position `(n − 1)·p`, between two values by
/// linear interpolation.
///
/// Definition 7 of Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician
/// 50 (1996); the default of NumPy and R.
pub fn percentile(sorted: &[f64], p: f64) -> Option<f64> {
    if sorted.is_empty() || !(0.0..=1.0).contains(&p) {
        return None;
    }
    let position = (sorted.len() - 1) as f64 * p;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let share = position - below as f64;
    // No share of the upper value where none is needed, so that a sample comes back to the last bit.
    if share == 0.0 {
        return finite(sorted[below]);
    }
    finite(sorted[below] + share * (sorted[above] - sorted[below]))
}

/// The median of sorted values.
pub fn median(sorted: &[f64]) -> Option<f64> {
    percentile(sorted, 0.5)
}

/// The median of the distances from the median (MAD), of sorted values.
///
/// Times 1.4826 it estimates the standard deviation of normal values, and half of the values can be anything before it
/// says nothing: Rousseeuw and Croux, "Alternatives to the median absolute deviation", Journal of the American
/// Statistical Association 88 (1993).
pub fn median_deviation(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    median(&sorted(&distances))
}

/// An interval of the median that makes no assumption about the distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Rank of the lower end, from 1; the upper end has the same rank from above.
    pub rank: usize,
    /// Probability that such an interval holds the median; at least the level asked for.
    pub coverage: f64,
}

/// The narrowest interval `[x(k), x(n+1−k)]` of sorted values that holds the median with probability of at
/// least `level`: `1 − 2·P[Binomial(n, ½) ≤ k − 1] ≥ level`.
///
/// `None` where even the smallest and largest value do not: below 6 values for 95 %.
/// David and Nagaraja, "Order Statistics", 3rd edition (2003), section 7.1.
pub fn median_interval(sorted: &[f64], level: f64) -> Option<MedianInterval> {
    if !(level > 0.0 && level < 1.0) {
        return None;
    }
    let n = sorted.len();
    let coverage = |rank: usize| Some(1.0 - 2.0 * fair_coin_at_most(rank as u64 - 1, n as u64)?);
    let fits = |rank: usize| coverage(rank).is_some_and(|coverage| coverage >= level);
    if n < 2 || !fits(1) {
        return None;
    }
    // Coverage falls with the rank: the last rank that fits lies in low..high.
    let (mut low, mut high) = (1, n / 2 + 1);
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if fits(middle) { low = middle } else { high = middle }
    }
    Some(MedianInterval {
        low: finite(sorted[low - 1])?,
        high: finite(sorted[n - low])?,
        rank: low,
        coverage: coverage(low)?,
    })
}

/// The number, if it is one.
pub(crate) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
