//! `tokometer config`.

use std::ffi::OsString;

use clap::CommandFactory;

use crate::args::Cli;
use crate::args::config::{ConfigArgs, ConfigCommand, ShowArgs};
use crate::{config, out};

/// Shows where options come from.
pub(crate) fn config(args: &ConfigArgs) -> anyhow::Result<u8> {
    let ConfigCommand::Show(ShowArgs { line }) = &args.command;
    let run = [OsString::from("run")];
    let called = if line.is_empty() { run.as_slice() } else { line };
    let whole: Vec<OsString> = std::iter::once("tokometer".into()).chain(called.iter().cloned()).collect();
    out::result(&config::show::show(&Cli::command(), &whole)?)?;
    Ok(0)
}
