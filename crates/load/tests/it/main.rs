//! Cells over real sockets: against the simulated engine, and against servers that misbehave by script.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails by panicking")]

mod adaptive;
mod bench;
mod calibration;
mod cells;
mod crowd;
mod delayed;
mod drains;
mod facts;
mod failures;
mod interrupts;
mod loops;
mod prefill;
mod ready;
mod scripted;
mod simulated;
