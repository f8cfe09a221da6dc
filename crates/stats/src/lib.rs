//! Pure estimators over slices of numbers: no clocks, no files, no types of the record.
//!
//! Each function states its formula and its source. What can't be estimated (too few values, no spread,
//! a number that is not finite) is `None`; no function panics and none returns NaN.
//!
//! ```
//! use tokometer_stats::{batch_means, percentile, sorted};
//!
//! let latencies = sorted(&[3.0, 1.0, 2.0, 4.0]);
//! assert_eq!(percentile(&latencies, 0.5), Some(2.5));
//!
//! // Six batches of a window: the mean and what it may be off by, with 95 % confidence.
//! let rate = batch_means(&[99.0, 101.0, 100.0, 100.5, 99.5, 100.0], 0.95).unwrap();
//! assert_eq!(rate.mean, 100.0);
//! assert!(rate.half_width < 0.8);
//! ```

mod batch;
mod bootstrap;
mod change;
mod distribution;
mod order;
mod proportion;
mod ratio;
mod steady;

pub use batch::{MeanInterval, batch_means, effective_count, lag1, repeat_interval};
pub use bootstrap::{BootstrapInterval, RESAMPLES, cluster_bootstrap, geometric_mean_interval};
pub use change::change_points;
pub use distribution::t_quantile;
pub use order::{MedianInterval, mean, median, median_deviation, median_interval, percentile, sorted};
pub use proportion::{
    EARLY_STOPPING_CONFIDENCE, PercentileBound, ProportionInterval, clopper_pearson, percentile_bound,
    percentile_needs, proportion_at_least,
};
pub use ratio::{
    Estimate, RatioInterval, benjamini_hochberg, geometric_mean, ratio, ratio_of_means, ratio_of_pairs,
};
pub use steady::{Mser, Slope, mser5, slope};
