//! What is measured, and how.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::{
    List, Object, parse_concurrency, parse_contexts, parse_duration, parse_object, parse_temperature,
    parse_top_p,
};

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Matrix")]
pub(crate) struct MatrixArgs {
    /// Context lengths, K = 1024 tokens (default: 8k,16k,32k,64k,128k and the largest that fits, as the model allows)
    #[arg(long, value_name = "LIST", allow_negative_numbers = true, value_parser = parse_contexts)]
    pub(crate) contexts: Option<List<u64>>,
    /// Requests at once (default: 1,2,4,8,16,32,64,128)
    #[arg(long, value_name = "LIST", allow_negative_numbers = true, value_parser = parse_concurrency)]
    pub(crate) concurrency: Option<List<u32>>,
    /// Length of each window (default: 30s)
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = parse_duration)]
    pub(crate) duration: Option<f64>,
    /// End each window by its interval: from 10 s on once it is narrow (1 %), at --duration if it is narrow enough (2 %), else later, up to 120 s
    #[arg(long)]
    pub(crate) adaptive: bool,
    /// Measure everything so many times, round by round: rates are means, and intervals are over the repeats
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeats: u32,
    /// Order of the cells; shuffled by --seed, anew in each round
    #[arg(long, value_enum, default_value = "standard")]
    pub(crate) order: OrderArg,
    /// Output tokens asked per request
    #[arg(long, value_name = "TOKENS", default_value_t = 4096, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_output: u64,
    /// Context lengths of the prefill row (default: the matrix's contexts and the largest that the model takes)
    #[arg(long, value_name = "LIST", allow_negative_numbers = true, value_parser = parse_contexts)]
    pub(crate) prefill_contexts: Option<List<u64>>,
    /// Cold requests per prefill context
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) prefill_repeats: u32,
    /// One prompt for all streams of a context, or one each
    #[arg(long, value_enum, default_value = "shared")]
    pub(crate) prompts: PromptsArg,
    /// With --prompts unique: do not warm the prompts before the window
    #[arg(long)]
    pub(crate) cold: bool,
    /// Tokens that the server's KV cache holds, where it does not tell or tells it wrong
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) kv_tokens: Option<u64>,
    /// Let the model end its answers by itself
    #[arg(long)]
    pub(crate) respect_eos: bool,
    /// Sampling temperature to send (default: the server's own)
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = parse_temperature)]
    pub(crate) temperature: Option<f64>,
    /// Top-p to send (default: the server's own)
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = parse_top_p)]
    pub(crate) top_p: Option<f64>,
    /// Seed of the text of prompts and of a shuffled order; each run opens them with a salt of its own all the same
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Fields merged into each request, recorded
    #[arg(long, value_name = "JSON", value_parser = parse_object)]
    pub(crate) request_json: Option<Object>,
    /// Route
    #[arg(long, value_enum, default_value = "chat")]
    pub(crate) endpoint: EndpointArg,
    /// Time without a byte after which a request counts as failed
    #[arg(long, value_name = "TIME", default_value = "600s", allow_negative_numbers = true, value_parser = parse_duration)]
    pub(crate) timeout: f64,
    /// Text file to build prompts from, instead of the built-in generator
    #[arg(long, value_name = "FILE")]
    pub(crate) corpus: Option<PathBuf>,
    /// What happens to running requests when the window ends
    #[arg(long, value_enum, default_value = "cut")]
    pub(crate) at_end: AtEndArg,
    /// Address of this host that connections come from; more than one take turns
    #[arg(long, value_name = "IP", value_delimiter = ',')]
    pub(crate) source_address: Vec<std::net::IpAddr>,
    /// Threads that read streams (default: all cores but one)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) load_threads: Option<u16>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptsArg {
    /// All streams of a context send the same prompt
    Shared,
    /// Each stream sends its own
    Unique,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EndpointArg {
    /// /v1/chat/completions
    Chat,
    /// /v1/completions
    Completions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AtEndArg {
    /// Running requests are cut when the window ends
    Cut,
    /// Running requests run out
    Finish,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OrderArg {
    /// All contexts at the first number of requests, then row by row
    Standard,
    /// In random order, so that drift and the number of requests are told apart
    Shuffled,
}
