//! Commands that measure a server: `run`, `demo`, `probe`.

use clap::Args;

use crate::config::Preset;

use super::machine::MachineArgs;
use super::matrix::MatrixArgs;
use super::output::OutputArgs;
use super::resume::ResumeArgs;
use super::target::TargetArgs;

#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Every option can also stand in tokometer.toml (the section is the heading's: [matrix], [method], \
                  [target] for the server, …) or in a variable TOKOMETER_<OPTION>; see tokometer config show.\n\n\
                  Keys while it runs: q finish and save, s skip the cell, o a stream's output, ? all keys.\n\n\
                  Exit code: 0 all valid or left out by plan, 1 no run, 2 wrong command line, 3 cells that are not \
                  valid, 130 ended by the user.\n\nExamples:\n  \
                  tokometer run                                        the server on this machine\n  \
                  tokometer run gpu1:8000 --preset quick               a first look\n  \
                  tokometer run gpu1:8000 --contexts 8k,64k --concurrency 1,8,32 --adaptive\n  \
                  tokometer run --launch 'vllm serve Qwen/Qwen3-8B'    start it, measure it, end it\n  \
                  tokometer run gpu1:8000 --dry-run                    the plan, and how long it takes\n  \
                  tokometer run --resume runs/<id>                     go on after a crash or Ctrl-C\n  \
                  tokometer run --resume runs/<id> --redo status=unstable,error"
)]
pub(crate) struct RunArgs {
    /// Server: `host`, `host:port`, `http(s)://…`, with or without `/v1`; none: look on this machine's usual ports
    #[arg(help_heading = "Server")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    #[command(flatten)]
    pub(crate) matrix: MatrixArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    /// Set of values to start from
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Configuration")]
    pub(crate) preset: Option<Preset>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tokometer demo                                two minutes, nothing else needed\n  \
                  tokometer demo --contexts 8k --concurrency 1,8 --duration 10s\n  \
                  tokometer demo --speculative 3,0.7            with speculative decoding"
)]
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
    #[command(flatten)]
    pub(crate) resume: ResumeArgs,
    /// Set of values to start from
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Configuration")]
    pub(crate) preset: Option<Preset>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tokometer probe                        the server on this machine\n  \
                  tokometer probe gpu1:8000 --json\n  \
                  tokometer probe https://host/v1 --api-key-env TEAM_KEY")]
pub(crate) struct ProbeArgs {
    /// Server: `host`, `host:port`, `http(s)://…`, with or without `/v1`; none: look on this machine's usual ports
    #[arg(help_heading = "Server")]
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Print one JSON document on standard output
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Send nothing beyond probes: leave out how the server streams
    #[arg(long, help_heading = "Probe")]
    pub(crate) no_requests: bool,
}
