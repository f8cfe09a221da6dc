//! Tests of the simulated engine: its parts in virtual time, the server over real sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod client;
mod dialects;
mod engine;
mod faults;
mod profile;
mod runs;
mod server;
mod speculation;
mod text;
mod tokenizer;
mod truth;
