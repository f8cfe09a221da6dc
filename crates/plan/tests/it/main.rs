//! Tests of `tokometer-plan`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops where it is")]

mod corpus;
mod estimate;
mod matrix;
mod parse;
mod seed;
mod sweep;
mod text;
