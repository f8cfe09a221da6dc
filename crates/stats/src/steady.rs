//! Is a series steady: where its start-up ends, and whether it drifts.

use crate::order::{finite, mean};

/// Values that one batch of MSER-5 averages.
const MSER_BATCH: usize = 5;

/// Where MSER-5 cuts a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mser {
    /// Batches of five values that belong to the start-up.
    pub cut: usize,
    /// Batches of the whole series.
    pub batches: usize,
    /// The latest cut that is looked at, half of the batches.
    pub limit: usize,
}

impl Mser {
    /// True if the cut is as late as it may be: no steady state was found.
    pub fn at_limit(&self) -> bool {
        self.cut == self.limit
    }

    /// Values that belong to the start-up.
    pub fn cut_values(&self) -> usize {
        self.cut * MSER_BATCH
    }
}

/// MSER-5: the cut `d ≤ ⌊k/2⌋` that minimises the marginal standard error of what is left,
/// `Σ_{j>d} (Z_j − Z̄_{>d})² ÷ (k − d)²`, over the means `Z` of `k` batches of five values. Values after the
/// last whole batch are left out; of equally good cuts the earliest is taken.
///
/// `None` below four batches. White, "An effective truncation heuristic for bias reduction in simulation
/// output", Simulation 69 (1997); batches of five after White, Cobb and Spratt, Winter Simulation
/// Conference (2000).
pub fn mser5(values: &[f64]) -> Option<Mser> {
    let batches: Vec<f64> = values.chunks_exact(MSER_BATCH).filter_map(mean).collect();
    let count = batches.len();
    if count < 4 || count != values.len() / MSER_BATCH {
        return None;
    }
    let limit = count / 2;
    let centre = mean(&batches)?;
    let rounding = (centre * f64::EPSILON).powi(2);
    let mut best = (f64::INFINITY, 0);
    for cut in 0..=limit {
        let rest = &batches[cut..];
        let centre = mean(rest)?;
        let squares: f64 = rest.iter().map(|value| (value - centre).powi(2)).sum();
        // Differences that are rounding alone are none.
        let squares = if squares <= rounding * rest.len() as f64 { 0.0 } else { squares };
        let error = squares / (rest.len() as f64).powi(2);
        if error < best.0 {
            best = (error, cut);
        }
    }
    Some(Mser { cut: best.1, batches: count, limit })
}

/// A straight line through points, by least squares.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// Rise per unit of `x`.
    pub slope: f64,
    /// Standard error of `slope`.
    pub standard_error: f64,
    /// Mean of the `y`.
    pub mean: f64,
}

impl Slope {
    /// True if the line is steeper than `factor` standard errors.
    pub fn exceeds(&self, factor: f64) -> bool {
        self.slope.abs() > factor * self.standard_error
    }
}

/// Least-squares slope `b = Σ (x − x̄)(y − ȳ) ÷ Σ (x − x̄)²` and its standard error
/// `√(Σ residual² ÷ (n − 2) ÷ Σ (x − x̄)²)`.
///
/// `None` below three points, or where all `x` are equal.
/// Draper and Smith, "Applied Regression Analysis", chapter 1.
pub fn slope(points: &[(f64, f64)]) -> Option<Slope> {
    let count = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let spread_x: f64 = points.iter().map(|point| (point.0 - mean_x).powi(2)).sum();
    let products: f64 = points.iter().map(|point| (point.0 - mean_x) * (point.1 - mean_y)).sum();
    if spread_x <= 0.0 {
        return None;
    }
    let slope = finite(products / spread_x)?;
    let residuals: f64 =
        points.iter().map(|point| (point.1 - mean_y - slope * (point.0 - mean_x)).powi(2)).sum();
    let standard_error = finite((residuals / (count - 2.0) / spread_x).sqrt())?;
    Some(Slope { slope, standard_error, mean: finite(mean_y)? })
}
