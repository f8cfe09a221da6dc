//! The binary `tokometer`.

mod args;
mod calibration;
mod commands;
mod details;
mod failure;
mod out;
mod progress;
mod publication;
mod session;
mod sweep;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(args) => commands::run::run(*args),
        Command::Demo(args) => commands::demo::demo(*args),
        Command::Sweep(args) => commands::sweep::sweep(&args),
        Command::Probe(args) => commands::probe::probe(&args),
        Command::Agent(args) => commands::agent::agent(&args),
        Command::Sim(args) => commands::sim::sim(&args),
        Command::Calibrate(args) => commands::calibrate::calibrate(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::Import(args) => commands::import::import(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Analyse(args) => commands::analyse::analyse(&args),
        Command::Verify(args) => commands::verify::verify(&args),
        Command::Schema(args) => commands::schema::schema(&args),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => ExitCode::from(failure::print(&error)),
    }
}
