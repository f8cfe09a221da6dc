//! A figure that is far from those of others who measured the same.

use tokometer_stats::{median, median_deviation, sorted};

/// Others that a figure is held against, at least: of fewer the spread says too little.
const LEAST: usize = 5;
/// Makes of the median of distances the standard deviation of normal values.
const NORMAL: f64 = 1.4826;

/// How far a figure is from those of others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// How many others.
    pub n: usize,
    /// Their median.
    pub median: f64,
    /// The figure's distance from it on a log scale, in robust standard deviations.
    pub z: f64,
    /// The figure as a multiple of the median.
    pub ratio: f64,
}

/// How far `value` is from the median of `others`, on a log scale: rates differ by factors. The spread is the median of
/// distances, but at least `least_spread` (a share), since runs of one machine can agree more closely than machines of
/// one kind do. `None` with fewer than five others, or where a figure is not above zero.
pub fn outlier(value: f64, others: &[f64], least_spread: f64) -> Option<Outlier> {
    let is_figure = |value: &f64| value.is_finite() && *value > 0.0;
    if others.len() < LEAST || !others.iter().chain([&value]).all(is_figure) {
        return None;
    }
    let logs = sorted(&others.iter().map(|value| value.ln()).collect::<Vec<_>>());
    let centre = median(&logs)?;
    let spread = (median_deviation(&logs)? * NORMAL).max(least_spread.ln_1p());
    let distance = value.ln() - centre;
    Some(Outlier { n: others.len(), median: centre.exp(), z: distance / spread, ratio: distance.exp() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_count_and_a_close_group_is_no_trap() {
        let close = [100.0, 100.1, 99.9, 100.05, 99.95];
        assert!(outlier(101.0, &close, 0.03).unwrap().z < 1.0, "one per cent is no matter");
        let far = outlier(200.0, &close, 0.03).unwrap();
        assert!(far.z > 20.0 && (far.ratio - 2.0).abs() < 0.01, "{far:?}");
        assert!(outlier(50.0, &close, 0.03).unwrap().z < -20.0);
        // Two of seven may be anything.
        let mixed = [100.0, 104.0, 96.0, 102.0, 98.0, 1.0, 9000.0];
        assert!(outlier(103.0, &mixed, 0.03).unwrap().z.abs() < 2.0);
        assert!(outlier(400.0, &mixed, 0.03).unwrap().z > 5.0);
        assert_eq!(outlier(100.0, &close[..4], 0.03), None);
        assert_eq!(outlier(0.0, &close, 0.03), None);
    }
}
