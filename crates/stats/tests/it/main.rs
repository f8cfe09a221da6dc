//! Tests of the estimators: published tables, simulated coverage, properties.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod coverage;
mod properties;
mod proportions;
mod ratios;
mod resampling;
mod simulate;
mod tables;
