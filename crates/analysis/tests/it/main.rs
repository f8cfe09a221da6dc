//! Tests of the analysis: made-up traces whose truth is known.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod adaptive;
mod build;
mod cold;
mod compare;
mod corpus;
mod detail;
mod exit;
mod fidelity;
mod flags;
mod launch;
mod ledger;
mod prefill;
mod properties;
mod quantities;
mod repeats;
mod speculative;
mod statuses;
mod sweep;
mod synthetic;
mod telemetry;
mod truth;
mod watch;
