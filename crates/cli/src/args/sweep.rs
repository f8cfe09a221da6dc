//! `sweep`: many runs from one file.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    after_help = "The file lists servers to start (launch), servers that run (url) and simulated profiles (profile), \
                  grids of values that replace {name} in them, and options of tokometer run for all or for one. \
                  docs/sweep.md describes it, and --init writes one to begin with.\n\nWhat is measured lies in DIR/NAME, \
                  a folder for each run. The same command again goes on where the last one stopped: finished runs are \
                  kept, others are measured again beside what is left of them.\n\nExit code: 0 when all runs are there \
                  and sound, 1 when one could not be made, 3 when a cell is not valid, 130 after Ctrl-C.\n\nExamples:\n  \
                  tokometer sweep --init parallelism.toml\n  tokometer sweep parallelism.toml --dry-run\n  \
                  tokometer sweep parallelism.toml --yes"
)]
pub(crate) struct SweepArgs {
    /// File of the sweep
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// Write an example to FILE.toml, to be changed; nothing is measured
    #[arg(long, conflicts_with_all = ["out", "dry_run", "json", "quiet", "yes"])]
    pub(crate) init: bool,
    /// Folder for sweeps; this one has a folder in it named after its file
    #[arg(long, value_name = "DIR", default_value = "sweeps")]
    pub(crate) out: PathBuf,
    /// Show the plan and its time; start and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the summary as one JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only the path of the page
    #[arg(long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Do not ask before starting
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}
