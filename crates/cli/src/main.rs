//! The binary `tokometer`.

mod args;
mod calibration;
mod commands;
mod details;
mod failure;
mod out;
mod progress;
mod publish;
mod session;
mod site_data;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.command {
        Command::Run(args) => commands::run::run(*args),
        Command::Demo(args) => commands::demo::demo(*args),
        Command::Probe(args) => commands::probe::probe(&args),
        Command::Sim(args) => commands::sim::sim(&args),
        Command::Calibrate(args) => commands::calibrate::calibrate(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::Import(args) => commands::import::import(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Analyse(args) => commands::analyse::analyse(&args),
        Command::Verify(args) => commands::verify::verify(&args),
        Command::Publish(args) => commands::publish::publish(&args),
        #[cfg(feature = "site")]
        Command::Serve(args) => commands::serve::serve(args),
        #[cfg(feature = "site")]
        Command::Site(args) => commands::site::site(args),
        Command::Schema => commands::schema::schema(),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => ExitCode::from(failure::print(&error)),
    }
}
