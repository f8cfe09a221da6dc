//! Tests of the binary and of the workspace.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agent;
mod arguments;
mod calibrate;
mod capacity;
mod compare;
mod config;
mod dialects;
mod docs;
#[cfg(unix)]
mod endings;
mod faults;
mod foreign;
mod help;
mod house;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod machine;
mod measured;
mod output;
#[cfg(target_os = "linux")]
mod portable;
#[cfg(target_os = "linux")]
mod ports;
mod repeated;
mod resumed;
mod scripted;
mod secrets;
mod servers;
#[cfg(feature = "site")]
mod site;
mod support;
#[cfg(target_os = "linux")]
mod sweep;
mod terminal;
mod verify;
