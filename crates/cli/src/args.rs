//! Arguments, as the user writes them. Values are checked here; meaning is given in the commands.

pub(crate) mod agent;
pub(crate) mod calibrate;
pub(crate) mod config;
pub(crate) mod groups;
pub(crate) mod judge;
pub(crate) mod login;
pub(crate) mod machine;
pub(crate) mod matrix;
pub(crate) mod output;
pub(crate) mod publish;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;
#[cfg(feature = "site")]
pub(crate) mod sign_in;
pub(crate) mod sim;
#[cfg(feature = "site")]
pub(crate) mod site;
pub(crate) mod sweep;
pub(crate) mod target;
pub(crate) mod tool;
pub(crate) mod values;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Measures how fast an LLM inference server really is.
#[derive(Debug, Parser)]
#[command(
    name = "tokometer",
    version = env!("TOKOMETER_VERSION"),
    about,
    long_about = "Measures how fast an LLM inference server really is: prefill speed by context length, sustained \
                  decode for every context × number of requests at once, each with its interval, its evidence, or \
                  the reason why there is no number.",
    after_help = "Examples:\n  tokometer demo                          the whole tool on a simulated engine\n  \
                  tokometer run                           find the server on this machine and measure it\n  \
                  tokometer run gpu1:8000 --contexts 8k,32k --concurrency 1,8,32\n  \
                  tokometer report runs/<id> --format html > page.html\n  \
                  tokometer calibrate --streams 1000 --rate 50   prove that this machine can measure that\n  \
                  tokometer compare runs/<base> runs/<new>  what differs, and by how much"
)]
pub(crate) struct Cli {
    /// Configuration to read, instead of the nearest tokometer.toml from this folder upward
    #[arg(long, global = true, value_name = "FILE", help_heading = "Configuration")]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a live OpenAI-compatible server
    Run(Box<run::RunArgs>),
    /// Measure the embedded simulated engine: nothing else is needed
    Demo(Box<run::DemoArgs>),
    /// Measure many servers, or one with many settings, and lay the runs side by side
    Sweep(sweep::SweepArgs),
    /// Show what is known of a server, and how it streams
    Probe(Box<run::ProbeArgs>),
    /// Hand out the machine that a server runs on to runs that are made on another host
    Agent(agent::AgentArgs),
    /// Start the simulated engine as a server of its own
    Sim(sim::SimArgs),
    /// Prove on this machine how true this client is at a load, and what it costs
    Calibrate(calibrate::CalibrateArgs),
    /// Show a run: as a terminal table, a page, or its record
    Report(report::ReportArgs),
    /// Turn the result file of another tool, or a published matrix, into a record
    Import(report::ImportArgs),
    /// Lay runs side by side: what differs in their settings, then a ratio for each cell
    Compare(judge::CompareArgs),
    /// Analyse a run's traces again, with another window or with limits for its users
    Analyse(judge::AnalyseArgs),
    /// Check a run: compute every number again from its traces, and hold it against itself
    Verify(judge::VerifyArgs),
    /// Show the values of options, and where each comes from
    Config(config::ConfigArgs),
    /// Say what a word of a report, a verdict, a flag or a field of the record means
    Explain(tool::ExplainArgs),
    /// Print the JSON Schema of a document
    Schema(report::SchemaArgs),
    /// Print the completions of a shell
    Completions(tool::CompletionsArgs),
    /// Print or write the manual pages
    Man(tool::ManArgs),
    /// Publish a run on a site, after showing what will be sent
    Publish(publish::PublishArgs),
    /// Get a token of a site, with a browser on any machine
    Login(login::LoginArgs),
    /// End the token of a login, and forget it
    Logout(login::LoginArgs),
    /// Say who one is at a site
    Whoami(login::LoginArgs),
    /// Serve the site: where runs are published, found and compared
    #[cfg(feature = "site")]
    Serve(site::ServeArgs),
    /// Invite users, back up, and what else is done beside the site
    #[cfg(feature = "site")]
    Site(site::SiteArgs),
}
