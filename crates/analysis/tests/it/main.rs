//! Tests of the analysis: made-up traces whose truth is known.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod adaptive;
mod build;
mod exit;
mod flags;
mod ledger;
mod prefill;
mod properties;
mod quantities;
mod statuses;
