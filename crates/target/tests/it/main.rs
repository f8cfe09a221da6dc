//! Tests of `tokometer-target` against answers of real engines, served on loopback.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops where it is")]

mod conformance;
mod discover;
mod engines;
mod errors;
mod recorded;
mod request;
mod sizer;
mod support;
