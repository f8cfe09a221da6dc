//! Quantiles of the distributions that the estimators need.

use statrs::distribution::{Beta, Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};
use statrs::function::beta::checked_beta_reg;

/// The `p` quantile of Student's t with `freedom` degrees of freedom.
///
/// For small samples of unknown variance: Student, "The probable error of a mean", Biometrika 6 (1908).
pub fn t_quantile(p: f64, freedom: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0) {
        return None;
    }
    let quantile = StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(p);
    quantile.is_finite().then_some(quantile)
}

/// `P[|T| ≥ |t|]` of Student's t with `freedom` degrees of freedom.
pub(crate) fn t_two_sided(t: f64, freedom: f64) -> Option<f64> {
    let tail = StudentsT::new(0.0, 1.0, freedom).ok()?.sf(t.abs());
    tail.is_finite().then_some((2.0 * tail).min(1.0))
}

/// `P[X ≤ k]` of a fair coin thrown `n` times.
pub(crate) fn fair_coin_at_most(k: u64, n: u64) -> Option<f64> {
    Some(Binomial::new(0.5, n).ok()?.cdf(k))
}

/// The `p` quantile of the normal distribution.
pub(crate) fn normal_quantile(p: f64) -> Option<f64> {
    let quantile = Normal::standard().inverse_cdf(if p > 0.0 && p < 1.0 { p } else { return None });
    quantile.is_finite().then_some(quantile)
}

/// `P[Z ≤ z]` of the normal distribution.
pub(crate) fn normal_cumulative(z: f64) -> Option<f64> {
    z.is_finite().then(|| Normal::standard().cdf(z))
}

/// The `p` quantile of the beta distribution.
pub(crate) fn beta_quantile(p: f64, a: f64, b: f64) -> Option<f64> {
    let quantile = Beta::new(a, b).ok()?.inverse_cdf(if p > 0.0 && p < 1.0 { p } else { return None });
    quantile.is_finite().then_some(quantile)
}

/// `P[X ≤ x]` of the beta distribution: the regularised incomplete beta function `I_x(a, b)`.
pub(crate) fn beta_lower(x: f64, a: f64, b: f64) -> Option<f64> {
    checked_beta_reg(a, b, x).ok()
}
