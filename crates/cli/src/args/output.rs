//! Where a run goes, and what is said of it.

use std::path::PathBuf;

use clap::Args;

use super::publish::SiteOptions;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Folder for runs
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub(crate) out: PathBuf,
    /// Title of the run
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Note kept beside the numbers
    #[arg(long)]
    pub(crate) note: Option<String>,
    /// Show and record the plan; send nothing beyond probes
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print the record on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Show one line a cell instead of the dashboard, also on a terminal
    #[arg(long)]
    pub(crate) plain: bool,
    /// Print only the path of the page
    #[arg(long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Publish the run on the site at this address when it is measured; the token is checked before
    #[arg(long, value_name = "URL", conflicts_with = "dry_run")]
    pub(crate) publish: Option<String>,
    /// Do not ask before starting
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    // Last: its heading would be that of what follows.
    #[command(flatten)]
    pub(crate) site: SiteOptions,
}
