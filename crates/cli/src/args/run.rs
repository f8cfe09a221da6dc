//! Commands that measure a server: `run`, `demo`, `probe`.

use clap::Args;

use super::machine::MachineArgs;
use super::matrix::MatrixArgs;
use super::output::OutputArgs;
use super::target::TargetArgs;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Server: `host`, `host:port`, `http(s)://…`, with or without `/v1`; none: look on this machine's usual ports
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    #[command(flatten)]
    pub(crate) matrix: MatrixArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Profile of the simulated engine: a built-in name (`h200-x4`, `rtx-pro-6000-x4`) or a run record
    #[arg(long, value_name = "NAME|FILE", default_value = "h200-x4")]
    pub(crate) profile: String,
    /// Let the simulated engine speculate: tokens of a draft, and the probability that one is accepted if all before it were
    #[arg(long, value_name = "TOKENS,ACCEPTANCE")]
    pub(crate) speculative: Option<tokometer_sim::Speculation>,
    /// Measure the full default matrix instead of the demo's small one
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) matrix: MatrixArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// Server: `host`, `host:port`, `http(s)://…`, with or without `/v1`; none: look on this machine's usual ports
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Print one JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Send nothing beyond probes: leave out how the server streams
    #[arg(long)]
    pub(crate) no_requests: bool,
}
