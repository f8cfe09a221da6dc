//! Ratios of two rates, and many of them at once.

use crate::distribution::{t_quantile, t_two_sided};
use crate::order::{finite, mean};

/// A positive estimate, how far it may be off, and how well that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error, in the same unit.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
}

impl Estimate {
    /// The mean of independent values (batch means, repeats): `s/√n` with `n − 1` degrees of freedom.
    ///
    /// `None` below two values.
    pub fn of_means(means: &[f64]) -> Option<Estimate> {
        if means.len() < 2 {
            return None;
        }
        let value = mean(means)?;
        let count = means.len() as f64;
        let squares: f64 = means.iter().map(|each| (each - value).powi(2)).sum();
        let degrees_of_freedom = count - 1.0;
        let standard_error = finite((squares / degrees_of_freedom / count).sqrt())?;
        Some(Estimate { value, standard_error, degrees_of_freedom })
    }

    /// The same relative error around another value: a total rate takes its error from the decoding rate.
    #[must_use]
    pub fn around(self, value: f64) -> Estimate {
        Estimate { value, standard_error: self.standard_error * (value / self.value).abs(), ..self }
    }

    /// Square of the relative standard error: the variance of the logarithm, to first order.
    fn log_variance(self) -> f64 {
        (self.standard_error / self.value).powi(2)
    }

    fn is_positive(self) -> bool {
        self.value > 0.0
            && self.value.is_finite()
            && self.standard_error >= 0.0
            && self.standard_error.is_finite()
            && self.degrees_of_freedom > 0.0
    }
}

/// A ratio and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioInterval {
    /// New ÷ base.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability of a ratio at least as far from 1 where the two are equal.
    pub p_value: f64,
    /// Welch's degrees of freedom.
    pub degrees_of_freedom: f64,
}

/// `new ÷ base` with its interval: `ln(new/base) ± t·√(SE²_new/new² + SE²_base/base²)`, Student's t with the
/// degrees of freedom of Welch and Satterthwaite.
///
/// On logarithms the interval stays above zero and turning the ratio over turns the interval over. Two
/// estimates without any spread give an interval without width. `None` where one isn't positive.
/// Welch, "The generalization of Student's problem when several different population variances are involved",
/// Biometrika 34 (1947); errors of logarithms by the delta method.
pub fn ratio(base: Estimate, new: Estimate, level: f64) -> Option<RatioInterval> {
    let usable = base.is_positive() && new.is_positive() && level > 0.0 && level < 1.0;
    if !usable {
        return None;
    }
    let log = (new.value / base.value).ln();
    let (of_base, of_new) = (base.log_variance(), new.log_variance());
    let variance = of_base + of_new;
    let welch = variance.powi(2)
        / (of_base.powi(2) / base.degrees_of_freedom + of_new.powi(2) / new.degrees_of_freedom);
    let (degrees_of_freedom, p_value) = if variance > 0.0 && welch.is_finite() {
        (welch, t_two_sided(log / variance.sqrt(), welch)?)
    } else {
        (base.degrees_of_freedom + new.degrees_of_freedom, if log == 0.0 { 1.0 } else { 0.0 })
    };
    let half = t_quantile(f64::midpoint(1.0, level), degrees_of_freedom)? * variance.sqrt();
    Some(RatioInterval {
        ratio: finite(log.exp())?,
        low: finite((log - half).exp())?,
        high: finite((log + half).exp())?,
        p_value,
        degrees_of_freedom,
    })
}

/// The ratio of two means from their values (batch means of two windows, or repeats of two runs).
///
/// `None` below two values on either side. See [`ratio`].
pub fn ratio_of_means(base: &[f64], new: &[f64], level: f64) -> Option<RatioInterval> {
    ratio(Estimate::of_means(base)?, Estimate::of_means(new)?, level)
}

/// The ratio of values that come in pairs (the same prompts on both sides): the mean of the logarithms of the
/// ratios with Student's t, `n − 1` degrees of freedom.
///
/// What both sides of a pair share cancels out. `None` below two pairs, for unequal counts, or where a value
/// isn't positive. Student, "The probable error of a mean", Biometrika 6 (1908).
pub fn ratio_of_pairs(base: &[f64], new: &[f64], level: f64) -> Option<RatioInterval> {
    if base.len() != new.len() || !(level > 0.0 && level < 1.0) {
        return None;
    }
    let logs: Vec<f64> = base.iter().zip(new).map(|(base, new)| (new / base).ln()).collect();
    let Estimate { value, standard_error, degrees_of_freedom } = Estimate::of_means(&logs)?;
    let p_value = if standard_error > 0.0 {
        t_two_sided(value / standard_error, degrees_of_freedom)?
    } else if value == 0.0 {
        1.0
    } else {
        0.0
    };
    let half = t_quantile(f64::midpoint(1.0, level), degrees_of_freedom)? * standard_error;
    Some(RatioInterval {
        ratio: finite(value.exp())?,
        low: finite((value - half).exp())?,
        high: finite((value + half).exp())?,
        p_value,
        degrees_of_freedom,
    })
}

/// Which of many findings stand when at most a share `q` of those that stand may be false: with the p values in
/// rising order, all up to the last `p(i) ≤ i·q/m`.
///
/// A p value that is no number never stands, and counts in `m`.
/// Benjamini and Hochberg, "Controlling the false discovery rate", Journal of the Royal Statistical Society B
/// 57 (1995).
pub fn benjamini_hochberg(p_values: &[f64], q: f64) -> Vec<bool> {
    let mut rising = p_values.to_vec();
    rising.sort_unstable_by(f64::total_cmp);
    let count = rising.len() as f64;
    let threshold = rising
        .iter()
        .enumerate()
        .filter(|(index, p)| **p <= (index + 1) as f64 * q / count)
        .map(|(_, p)| *p)
        .next_back();
    p_values.iter().map(|p| threshold.is_some_and(|threshold| *p <= threshold)).collect()
}

/// Geometric mean: `exp(mean of ln x)`. `None` for no values, or where one isn't positive.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    finite(mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>())?.exp())
}
