//! How an adaptive window came to its end (method section 6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why an adaptive window ended where it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdaptiveEnd {
    /// Two checks in a row found a half-width up to 1 %.
    Precise,
    /// At the length asked, or later, the half-width was good enough: up to 2 %.
    GoodEnough,
    /// It has lasted as long as it may.
    Limit,
    /// It ended before a check could decide: by the user, or since no stream was left.
    Undecided,
}

/// One look at an adaptive window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdaptiveCheck {
    /// Seconds from the window's start: what arrived up to here was looked at.
    pub seconds: f64,
    /// Half-width of the interval ÷ estimate, as if the window ended here; null where it could not be made.
    pub half_width_relative: Option<f64>,
}

/// The checks of an adaptive window. The window ends exactly at the last of them, unless it is undecided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdaptiveWindow {
    /// Length asked, seconds: the window ends here if the interval is narrow enough.
    pub asked_seconds: f64,
    /// The longest that it may be, seconds.
    pub longest_seconds: f64,
    /// Every check, in order.
    pub checks: Vec<AdaptiveCheck>,
    /// What ended it.
    pub end: AdaptiveEnd,
}
