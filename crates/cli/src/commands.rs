//! One file a command. Each returns the exit code of method section 8.

pub(crate) mod agent;
pub(crate) mod analyse;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod explain;
pub(crate) mod import;
pub(crate) mod login;
pub(crate) mod man;
pub(crate) mod probe;
pub(crate) mod publish;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
#[cfg(feature = "site")]
pub(crate) mod serve;
pub(crate) mod sim;
#[cfg(feature = "site")]
pub(crate) mod site;
pub(crate) mod sweep;
pub(crate) mod verify;
