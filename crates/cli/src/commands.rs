//! One file a command. Each returns the exit code of method section 8.

pub(crate) mod agent;
pub(crate) mod analyse;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod demo;
pub(crate) mod import;
pub(crate) mod probe;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod sim;
pub(crate) mod sweep;
pub(crate) mod verify;
