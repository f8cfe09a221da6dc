//! `agent`: the machine of another host, for runs that are made elsewhere; and the arguments of such a run.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(
    long_about = "Hand out the machine that a server runs on to runs that are made on another host: inventory, launch \
                  command (secrets removed) and readings. It is only read, and only by who has its token. It speaks plain \
                  HTTP and listens on loopback: reach it through ssh -L 9474:127.0.0.1:9474 gpu1, or put a reverse proxy \
                  with TLS in front."
)]
pub(crate) struct AgentArgs {
    /// Address and port to listen on; other than loopback is open to the network, without encryption
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9474")]
    pub(crate) listen: SocketAddr,
    /// File of the token, made at the first start, readable by its user alone (default: agent-token in tokometer's folder of configuration; the variable TOKOMETER_AGENT_TOKEN goes before it)
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Print the token
    #[arg(long)]
    pub(crate) show_token: bool,
    /// Names and memory of accelerators that the built-in catalogue lacks, as a JSON list
    #[arg(long, value_name = "FILE")]
    pub(crate) accelerators: Option<PathBuf>,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Machine")]
pub(crate) struct AgentJoinArgs {
    /// Agent on the server's host (tokometer agent): hardware, launch command and telemetry come from it
    #[arg(long, value_name = "URL", conflicts_with_all = ["launch", "no_machine"])]
    pub(crate) agent: Option<String>,
    /// File of the agent's token (default: the variable TOKOMETER_AGENT_TOKEN, else agent-token in tokometer's folder of configuration)
    #[arg(long, value_name = "FILE", requires = "agent")]
    pub(crate) agent_token_file: Option<PathBuf>,
    /// Port of the server on its own host, where the address of this run names another one (a tunnel, a proxy)
    #[arg(long, value_name = "PORT", requires = "agent")]
    pub(crate) agent_server_port: Option<u16>,
}
