//! Proportions, and percentiles that hold with confidence.

use crate::distribution::{beta_lower, beta_quantile};
use crate::order::finite;

/// Confidence of [`percentile_bound`].
pub const EARLY_STOPPING_CONFIDENCE: f64 = 0.99;

/// An interval of a proportion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProportionInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The exact interval of a proportion of which `hits` of `trials` were seen, with `(1 − level)/2` in each tail:
/// the quantiles `B(α/2; k, n − k + 1)` and `B(1 − α/2; k + 1, n − k)` of beta distributions.
///
/// `None` without trials, or with more hits than trials. Clopper and Pearson, "The use of confidence or fiducial
/// limits illustrated in the case of the binomial", Biometrika 26 (1934).
pub fn clopper_pearson(hits: u64, trials: u64, level: f64) -> Option<ProportionInterval> {
    let in_tail = 0.5 * tail_of(hits, trials, level)?;
    Some(ProportionInterval {
        low: lower_limit(hits, trials, in_tail)?,
        high: 1.0 - lower_limit(trials - hits, trials, in_tail)?,
    })
}

/// The exact one-sided lower bound of a proportion: it lies above with probability `level`. With no miss,
/// 29 trials bound it at 90 %, 59 at 95 %, 299 at 99 %.
///
/// See [`clopper_pearson`].
pub fn proportion_at_least(hits: u64, trials: u64, level: f64) -> Option<f64> {
    let in_tail = tail_of(hits, trials, level)?;
    lower_limit(hits, trials, in_tail)
}

fn tail_of(hits: u64, trials: u64, level: f64) -> Option<f64> {
    (trials > 0 && hits <= trials && level > 0.0 && level < 1.0).then_some(1.0 - level)
}

fn lower_limit(hits: u64, trials: u64, in_tail: f64) -> Option<f64> {
    if hits == 0 {
        return Some(0.0);
    }
    finite(beta_quantile(in_tail, hits as f64, (trials - hits) as f64 + 1.0)?)
}

/// An upper bound of a percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PercentileBound {
    /// The sample that bounds the percentile from above with the confidence asked for.
    pub value: f64,
    /// Its rank from above, from 1: so many samples are allowed to be as large.
    pub rank_from_above: usize,
}

/// The smallest sample that bounds the `p` percentile from above with confidence `confidence` (early stopping of
/// MLPerf inference, tolerance 0): the `t`-th largest, with the largest `t` for which `h + t ≤ n`, where `h` is the
/// smallest with `P[Binomial(h + t, 1 − p) ≤ t] ≤ 1 − confidence`.
///
/// `None` with fewer samples than [`percentile_needs`]. MLCommons, "MLPerf Inference Rules", appendix on early
/// stopping.
pub fn percentile_bound(sorted: &[f64], p: f64, confidence: f64) -> Option<PercentileBound> {
    let n = sorted.len() as u64;
    if n < percentile_needs(p, confidence)? {
        return None;
    }
    // What t samples above ask for grows with t, by more than one each: the last that fits lies in low..high.
    let (mut low, mut high) = (1, n);
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if least_below(middle, p, confidence)? + middle <= n { low = middle } else { high = middle }
    }
    Some(PercentileBound { value: finite(sorted[(n - low) as usize])?, rank_from_above: low as usize })
}

/// Samples from which [`percentile_bound`] gives a bound: 11 for the median, 24 for p75, 64 for p90, 130 for p95,
/// 662 for p99, 6636 for p99.9 at 99 %.
pub fn percentile_needs(p: f64, confidence: f64) -> Option<u64> {
    Some(least_below(1, p, confidence)? + 1)
}

/// The smallest `h` with `P[Binomial(h + t, 1 − p) ≤ t] = I_p(h, t + 1) ≤ 1 − confidence`.
fn least_below(t: u64, p: f64, confidence: f64) -> Option<u64> {
    if !(p > 0.0 && p < 1.0 && confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let rest = 1.0 - confidence;
    let fits = |h: u64| beta_lower(p, h as f64, t as f64 + 1.0).is_some_and(|tail| tail <= rest);
    let mut high = 1;
    while !fits(high) {
        high = high.checked_mul(2).filter(|high| *high < 1 << 40)?;
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if fits(middle) { high = middle } else { low = middle }
    }
    Some(high)
}
