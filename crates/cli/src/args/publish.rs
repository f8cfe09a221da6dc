//! Publishing runs.

use std::path::PathBuf;

use clap::Args;

/// Which site, and as whom.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Publishing")]
pub(crate) struct SiteOptions {
    /// File that holds the token (default: TOKOMETER_TOKEN, that of `tokometer login`, or that of a site on this host)
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Leave the server's address in the record; without it, it is taken out
    #[arg(long)]
    pub(crate) keep_address: bool,
    /// Trust this certificate authority (PEM) beside the system's, for the site
    #[arg(long, value_name = "FILE")]
    pub(crate) site_cacert: Option<PathBuf>,
    /// Send the token without TLS to another host
    #[arg(long)]
    pub(crate) without_tls: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The token is checked first, and what will be sent is shown; on a terminal you are asked. Nothing is sent \
                  twice: a retry leads to the same run. Without a connection the run is put in a queue.\n\nExamples:\n  \
                  tokometer publish runs/<id>\n  tokometer publish runs/<id> --site https://bench.example.org\n  \
                  tokometer publish runs/<id> --show        the whole document, and nothing is sent\n  \
                  tokometer publish --queued"
)]
pub(crate) struct PublishArgs {
    /// Folder of a run, its run.json, or its page (report.html)
    #[arg(required_unless_present = "queued")]
    pub(crate) run: Option<PathBuf>,
    /// Address of the site (default: the site on this host)
    #[arg(long, value_name = "URL", help_heading = "Publishing")]
    pub(crate) site: Option<String>,
    /// Send what is in the queue
    #[arg(long, conflicts_with_all = ["run", "show"])]
    pub(crate) queued: bool,
    /// Print the document that would be sent, and send nothing
    #[arg(long)]
    pub(crate) show: bool,
    /// Let the site check the run, and keep nothing
    #[arg(long, conflicts_with = "show")]
    pub(crate) dry_run: bool,
    /// Do not ask before sending
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Print the site's answer as JSON on standard output
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) options: SiteOptions,
}
