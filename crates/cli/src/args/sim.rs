//! `sim`: the simulated engine as a server.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;

use super::values::{Rate, parse_rate};

#[derive(Debug, Args)]
pub(crate) struct SimArgs {
    /// Built-in name (`h200-x4`, `rtx-pro-6000-x4`) or a run record
    #[arg(long, value_name = "NAME|FILE", default_value = "h200-x4")]
    pub(crate) profile: String,
    /// Port; 0 takes a free one
    #[arg(long, default_value_t = 8000)]
    pub(crate) port: u16,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) host: std::net::IpAddr,
    /// Require this API key on /v1 (visible in the process list: for tests; else use --api-key-env)
    #[arg(long, value_name = "KEY", conflicts_with = "api_key_env")]
    pub(crate) api_key: Option<String>,
    /// Require the API key in this environment variable on /v1
    #[arg(long, value_name = "VAR")]
    pub(crate) api_key_env: Option<String>,
    /// Engine to answer like: native, vllm, vllm-rust, sglang, llamacpp, tensorrt-llm, tgi, ollama
    #[arg(long, value_name = "NAME", default_value = "native")]
    pub(crate) dialect: tokometer_sim::Dialect,
    /// What goes wrong on purpose, as `NAME`, `NAME@TOKENS`, `NAME/EVERY` or `NAME@TOKENS/EVERY`: error, truncated, tokenless, reset, stall, rate-limit, warm-cache, loop, early-end, other-traffic, fewer-running
    #[arg(long = "fault", value_name = "FAULT")]
    pub(crate) faults: Vec<tokometer_sim::Fault>,
    /// Speculative decoding: tokens of a draft, and the probability that one is accepted if all before it were
    #[arg(long, value_name = "TOKENS,ACCEPTANCE")]
    pub(crate) speculative: Option<tokometer_sim::Speculation>,
    /// Tokens that the simulated KV cache holds, instead of the profile's
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) kv_tokens: Option<u64>,
    /// Be a ruler instead of an engine: each stream gets this many tokens a second, without prefill; `max` is as fast as the machine can
    #[arg(long, value_name = "TOKENS", conflicts_with = "profile", value_parser = parse_rate)]
    pub(crate) rate: Option<Rate>,
    /// Join so many events of a stream in one write; tokens and their rate stay as they are
    #[arg(long, value_name = "N")]
    pub(crate) events_per_write: Option<NonZeroU32>,
    /// At the end, write when each event was really sent to this file (Parquet)
    #[arg(long, value_name = "FILE")]
    pub(crate) truth: Option<PathBuf>,
    /// End when standard input ends, for a program that starts it
    #[arg(long, hide = true)]
    pub(crate) until_stdin_ends: bool,
}

impl SimArgs {
    pub(crate) fn listen(&self) -> SocketAddr {
        SocketAddr::new(self.host, self.port)
    }
}
