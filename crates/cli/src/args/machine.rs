//! Arguments about the machine under the server: what is stated of it, and how the server is started.

use std::path::PathBuf;

use clap::Args;

use super::agent::AgentJoinArgs;
use super::values::parse_duration;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct MachineArgs {
    /// Start the server with this command, measure it, and end it with all its children
    #[arg(long, value_name = "CMD")]
    pub(crate) launch: Option<String>,
    /// Time that a launched server has until it answers (default: 30 min)
    #[arg(long, value_name = "TIME", requires = "launch", allow_negative_numbers = true, value_parser = parse_duration)]
    pub(crate) launch_timeout: Option<f64>,
    /// How the server was started, where it can't be seen; secrets are removed
    #[arg(long, value_name = "CMD", conflicts_with = "launch")]
    pub(crate) stated_command: Option<String>,
    /// Full name of the model
    #[arg(long, value_name = "NAME")]
    pub(crate) model_id: Option<String>,
    /// Revision of the model's weights
    #[arg(long, value_name = "REVISION")]
    pub(crate) revision: Option<String>,
    /// Precision of the model's weights: BF16, FP8, Q4_K_M, …
    #[arg(long, value_name = "NAME")]
    pub(crate) quantization: Option<String>,
    /// Name of the engine
    #[arg(long, value_name = "NAME")]
    pub(crate) engine_name: Option<String>,
    /// Version of the engine
    #[arg(long, value_name = "VERSION")]
    pub(crate) engine_version: Option<String>,
    /// Source commit of the engine
    #[arg(long, value_name = "COMMIT")]
    pub(crate) engine_commit: Option<String>,
    /// Where the engine's source is
    #[arg(long, value_name = "URL")]
    pub(crate) engine_repository: Option<String>,
    /// Build variant of the engine: cuda-13.2, …
    #[arg(long, value_name = "NAME")]
    pub(crate) engine_build: Option<String>,
    /// Hardware as a JSON file, as `hardware` stands in a record: {"class", "accelerators", "os"}
    #[arg(long, value_name = "FILE")]
    pub(crate) hardware: Option<PathBuf>,
    /// Names and memory of accelerators that the built-in catalogue lacks, as a JSON list
    #[arg(long, value_name = "FILE")]
    pub(crate) accelerators: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) join: AgentJoinArgs,
    /// Record the host's name
    #[arg(long)]
    pub(crate) include_hostname: bool,
    /// Read nothing of the machine: no process, no hardware, no telemetry
    #[arg(long)]
    pub(crate) no_machine: bool,
}
