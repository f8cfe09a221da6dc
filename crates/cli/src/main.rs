//! The binary `tokometer`.

mod args;
mod calibration;
mod commands;
mod compat;
mod config;
mod dashboard;
mod details;
mod explain;
mod failure;
mod out;
mod progress;
mod publication;
mod publish;
mod session;
mod site_data;
mod sweep;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::args::{Cli, Command};
use crate::failure::Hinted;

fn main() -> ExitCode {
    let result = parsed().and_then(run);
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => ExitCode::from(failure::print(&error)),
    }
}

/// The command line; one that cannot be read ends the process with clap's own message.
fn parsed() -> anyhow::Result<Command> {
    let matches = config::read(args::groups::grouped(Cli::command()), std::env::args_os().collect())?;
    let plan = args::resume::plan_options(&matches);
    if !plan.is_empty() {
        return Err(Hinted::usage(
            format!("{} cannot be given with --resume: the plan is that of the run", plan.join(", ")),
            "leave it out, or start a new run",
        )
        .into());
    }
    Ok(Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()).command)
}

fn run(command: Command) -> anyhow::Result<u8> {
    match command {
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
        Command::Config(args) => commands::config::config(&args),
        Command::Explain(args) => commands::explain::explain(&args),
        Command::Completions(args) => commands::completions::completions(&args),
        Command::Man(args) => commands::man::man(&args),
        Command::Schema(args) => commands::schema::schema(&args),
        Command::Publish(args) => commands::publish::publish(&args),
        Command::Login(args) => commands::login::login(&args),
        Command::Logout(args) => commands::login::logout(&args),
        Command::Whoami(args) => commands::login::whoami(&args),
        #[cfg(feature = "site")]
        Command::Serve(args) => commands::serve::serve(args),
        #[cfg(feature = "site")]
        Command::Site(args) => commands::site::site(args),
    }
}
