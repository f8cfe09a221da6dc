//! Quantiles of the distributions that the estimators need.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, StudentsT};

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
