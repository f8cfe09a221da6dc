//! `config`: where options come from.

use std::ffi::OsString;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every value of a command and where it comes from, as a tokometer.toml
    #[command(
        after_help = "Values come, in rising order, from the program's defaults, tokometer.toml (the nearest one from \
                      this folder upward, or the one that --config or TOKOMETER_CONFIG names), the environment \
                      (TOKOMETER_*), and the command line. A preset stands right below what is named beside it.\n\n\
                      Examples:\n  tokometer config show                    the values of `tokometer run`\n  \
                      tokometer config show run --preset quick\n  tokometer config show demo > tokometer.toml"
    )]
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Command and its options (default: run)
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) line: Vec<OsString>,
}
