//! Tests of the record's files, through the public interface.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod calibration;
mod foreign;
mod import;
mod sample;
mod schema;
mod store;
mod trace;
mod truth;
