//! Tests of the crate from outside, over real loopback sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails by panicking")]

mod alike;
mod allocation;
mod control;
mod faults;
mod fixtures;
mod http2;
mod metrics;
mod mutations;
mod redact;
mod secrets;
mod service;
mod stamps;
mod stream;
mod support;
mod tls;
mod url;
