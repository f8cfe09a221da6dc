//! The server that is asked.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct TargetArgs {
    /// Model to ask for; needed where the server serves several
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Environment variable that holds the API key (default: OPENAI_API_KEY, if set)
    #[arg(long, value_name = "VAR", conflicts_with = "api_key_file")]
    pub(crate) api_key_env: Option<String>,
    /// File that holds the API key
    #[arg(long, value_name = "FILE")]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Header added to each request; its value is never recorded
    #[arg(long = "header", value_name = "K: V")]
    pub(crate) headers: Vec<String>,
    /// Accept any TLS certificate
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Trust this certificate authority (PEM) beside the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// HTTP version: 1 has a connection for each stream, 2 shares them, auto lets a TLS server choose
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) http: HttpArg,
    /// Measure although the server has other requests
    #[arg(long)]
    pub(crate) allow_busy: bool,
    /// Send no key from the default variable.
    #[arg(skip)]
    pub(crate) ignore_environment: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum HttpArg {
    /// HTTP/1.1, unless a TLS server chooses HTTP/2
    #[default]
    Auto,
    /// HTTP/1.1
    #[value(name = "1")]
    One,
    /// HTTP/2
    #[value(name = "2")]
    Two,
}
