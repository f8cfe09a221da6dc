//! Tests of the estimators: published tables, simulated coverage, properties.

mod coverage;
mod properties;
mod proportions;
mod ratios;
mod resampling;
mod simulate;
mod tables;
