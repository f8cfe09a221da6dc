//! Samples as the distributions of the record.

use tokometer_record::{Distribution, Spread};
use tokometer_stats::{mean, median, median_interval, percentile, sorted};

/// Percentiles with the number of samples from which they are given (method section 6): with fewer, no
/// sample bounds the percentile with 99 % confidence.
const P90_FROM: usize = 64;
const P95_FROM: usize = 130;
const P99_FROM: usize = 662;

/// Confidence level of every interval.
pub(crate) const LEVEL: f64 = 0.95;

/// Samples in rising order.
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// Samples that are not finite are no samples.
    pub(crate) fn new(values: impl IntoIterator<Item = f64>) -> Samples {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        Samples(sorted(&values))
    }

    pub(crate) fn median(&self) -> Option<f64> {
        median(&self.0)
    }

    /// The 99th percentile of any number of samples, for rules and not for printing.
    pub(crate) fn p99_raw(&self) -> Option<f64> {
        percentile(&self.0, 0.99)
    }

    /// `None` where there are no samples.
    pub(crate) fn distribution(&self) -> Option<Distribution> {
        let values = &self.0;
        let from = |least: usize, p: f64| (values.len() >= least).then(|| percentile(values, p)).flatten();
        Some(Distribution {
            n: Some(values.len() as u64),
            mean: Some(mean(values)?),
            min: values.first().copied(),
            p50: median(values),
            p90: from(P90_FROM, 0.90),
            p95: from(P95_FROM, 0.95),
            p99: from(P99_FROM, 0.99),
            max: values.last().copied(),
            p50_interval: median_interval(values, LEVEL).map(|interval| [interval.low, interval.high]),
        })
    }
}

/// Median and range of counts.
pub(crate) fn spread(counts: &[u64]) -> Option<Spread> {
    let values: Vec<f64> = counts.iter().map(|count| *count as f64).collect();
    Some(Spread {
        n: counts.len() as u64,
        p50: median(&sorted(&values))?,
        min: *counts.iter().min()?,
        max: *counts.iter().max()?,
    })
}
