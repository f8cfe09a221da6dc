//! Tests of the binary and of the workspace.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod arguments;
mod calibrate;
mod capacity;
mod compare;
mod dialects;
mod docs;
#[cfg(unix)]
mod endings;
mod foreign;
mod house;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod machine;
mod measured;
mod output;
mod repeated;
mod scripted;
mod secrets;
mod servers;
#[cfg(feature = "site")]
mod site;
mod support;
mod verify;
