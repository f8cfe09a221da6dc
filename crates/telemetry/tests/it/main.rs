//! Tests of the machine, through the real loader, real files and real processes.

#![expect(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod agent;
mod amd;
mod apple;
mod container;
mod intel;
mod launch;
mod nvidia;
mod server;
mod tree;
