//! Arguments, as the user writes them. Values are checked here; meaning is given in the commands.

pub(crate) mod machine;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tokometer_report::{Format, Picture};

/// Measures how fast an LLM inference server really is.
#[derive(Debug, Parser)]
#[command(
    name = "tokometer",
    version,
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
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a live OpenAI-compatible server
    Run(Box<RunArgs>),
    /// Measure the embedded simulated engine: nothing else is needed
    Demo(Box<DemoArgs>),
    /// Show what is known of a server, and how it streams
    Probe(Box<ProbeArgs>),
    /// Start the simulated engine as a server of its own
    Sim(SimArgs),
    /// Prove on this machine how true this client is at a load, and what it costs
    Calibrate(CalibrateArgs),
    /// Show a run: as a terminal table, a page, or its record
    Report(ReportArgs),
    /// Turn the result file of another tool, or a published matrix, into a record
    Import(ImportArgs),
    /// Lay runs side by side: what differs in their settings, then a ratio for each cell
    Compare(CompareArgs),
    /// Analyse a run's traces again, with another window or with limits for its users
    Analyse(AnalyseArgs),
    /// Check a run: compute every number again from its traces, and hold it against itself
    Verify(VerifyArgs),
    /// Print the JSON Schema of the record
    Schema,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Server: `host`, `host:port`, `http(s)://…`, with or without `/v1`; none: look on this machine's usual ports
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) machine: machine::MachineArgs,
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
    /// Print only the path of the page
    #[arg(long, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Do not ask before starting
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
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

#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Streams at once: the largest concurrency that you mean to measure
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub(crate) streams: u32,
    /// Tokens a second for each stream: the fastest that the server gives one request
    #[arg(long, value_name = "TOKENS", default_value_t = 50.0, value_parser = parse_steady_rate)]
    pub(crate) rate: f64,
    /// Length of the window
    #[arg(long, value_name = "TIME", default_value = "10s", allow_negative_numbers = true, value_parser = parse_duration)]
    pub(crate) duration: f64,
    /// Let the engine join so many events of a stream in one write
    #[arg(long, value_name = "N")]
    pub(crate) events_per_write: Option<NonZeroU32>,
    /// Threads that read streams (default: all cores of the client but one)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) load_threads: Option<u16>,
    /// Keep the result in this file (default: the user's state folder, or the file named by TOKOMETER_CALIBRATION)
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Print one JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

/// Tokens a second for each stream; none: as fast as the machine can.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate(pub(crate) Option<f64>);

fn parse_rate(text: &str) -> Result<Rate, String> {
    match text.trim() {
        "max" => Ok(Rate(None)),
        number => parse_steady_rate(number).map(|rate| Rate(Some(rate))),
    }
}

fn parse_steady_rate(text: &str) -> Result<f64, String> {
    parse_within(text, 0.001, 1e6, "a number from 0.001 to 1000000")
}

impl SimArgs {
    pub(crate) fn listen(&self) -> SocketAddr {
        SocketAddr::new(self.host, self.port)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// Table for a terminal
    Terminal,
    /// One-file page
    Html,
    /// The record
    Json,
    /// Tables for a README or a post
    Markdown,
    /// One row a cell, units in the columns' names
    Csv,
    /// Picture as SVG
    Svg,
    /// Picture as PNG
    Png,
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Format {
        match format {
            FormatArg::Terminal => Format::Terminal,
            FormatArg::Html => Format::Html,
            FormatArg::Json => Format::Json,
            FormatArg::Markdown => Format::Markdown,
            FormatArg::Csv => Format::Csv,
            FormatArg::Svg => Format::Svg,
            FormatArg::Png => Format::Png,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChartArg {
    /// Title, headline figures, the matrix in small: 1200 × 630
    Card,
    /// The decode matrix
    Matrix,
    /// TTFT of cold prompts by context
    Prefill,
    /// Throughput against interactivity
    Interactivity,
}

impl From<ChartArg> for Picture {
    fn from(chart: ChartArg) -> Picture {
        match chart {
            ChartArg::Card => Picture::Card,
            ChartArg::Matrix => Picture::Matrix,
            ChartArg::Prefill => Picture::Prefill,
            ChartArg::Interactivity => Picture::Interactivity,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folder of a run, its run.json, or its report.html
    pub(crate) run: PathBuf,
    /// What to print
    #[arg(long, value_enum, default_value = "terminal")]
    pub(crate) format: FormatArg,
    /// What a picture shows (svg, png) [default: card]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) chart: Option<ChartArg>,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Result file of llm-inference-bench, vllm bench serve, AIPerf or GuideLLM, or a published matrix
    pub(crate) file: PathBuf,
    /// Folder for runs
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub(crate) out: PathBuf,
    /// Print only the path of the page
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A window is a part of the recorded one, counted from its start. Limits are kept by a cell where the \
                  lower 95 % bound of the share of its requests that keep all of them reaches the share asked for \
                  (90 % unless said). Nothing is written without --out.\n\nExamples:\n  \
                  tokometer analyse runs/<id> --window 10s..25s\n  \
                  tokometer analyse runs/<id> --slo 'ttft<=1s,rate>=50'\n  \
                  tokometer analyse runs/<id> --slo 'ttft<=500ms,share>=95%' --json"
)]
pub(crate) struct AnalyseArgs {
    /// Folder of a run, or its run.json
    pub(crate) run: PathBuf,
    /// Part of each window: `10s..25s`, `10s..`, `..25s`
    #[arg(long, value_name = "FROM..TO")]
    pub(crate) window: Option<String>,
    /// Limits that a served user's request keeps: `ttft<=1s,rate>=50,share>=90%`
    #[arg(long, value_name = "LIMITS")]
    pub(crate) slo: Option<String>,
    /// Save the result as a run of its own in this folder for runs (needs --window)
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A failure is a contradiction: a number that does not follow from the trace, a trace that was changed, a \
                  record that does not agree with itself. A warning is a figure that somebody should look at. Exit code: \
                  0 without failures, 1 with.\n\nExamples:\n  tokometer verify runs/<id>\n  \
                  tokometer verify runs/<id> --json"
)]
pub(crate) struct VerifyArgs {
    /// Folder of a run, its run.json, or its page (report.html)
    pub(crate) run: PathBuf,
    /// Print one JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A gate is QUANTITY<LIMIT or QUANTITY>LIMIT, with one of total_rate, decoding_rate, prefill_rate, ttft, \
                  time_between_tokens, per_request_rate. LIMIT is a change against the base (-3%, +50ms) or, without a \
                  sign, the run's own figure (1s, 200). A cell fails a gate where it is beyond the limit and the \
                  difference is detectable; without intervals the estimate decides.\n\nExamples:\n  \
                  tokometer compare runs/<base> runs/<new>\n  \
                  tokometer compare runs/<base> runs/<new> --fail-if 'total_rate<-3%' --fail-if 'ttft>+5%'\n  \
                  tokometer compare runs/<a> runs/<b> runs/<c> --slo 'ttft<=500ms,rate>=30' --json"
)]
pub(crate) struct CompareArgs {
    /// Base: folder of a run, its run.json, or its report.html
    pub(crate) base: PathBuf,
    /// Runs to compare with it, up to five
    #[arg(required = true, num_args = 1..)]
    pub(crate) new: Vec<PathBuf>,
    /// Exit with 4 if a cell is beyond this limit (see below); may be given several times
    #[arg(long, value_name = "GATE", allow_hyphen_values = true)]
    pub(crate) fail_if: Vec<String>,
    /// Limits that a served user's request keeps
    #[arg(long, value_name = "LIMITS", default_value = "ttft<=1s,rate>=50")]
    pub(crate) slo: String,
    /// Print one JSON document on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the comparison as one page to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// A list given as one argument: clap would otherwise take `Vec` as a repeated option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

/// A JSON object given as an argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Object(pub(crate) serde_json::Map<String, serde_json::Value>);

fn parse_contexts(text: &str) -> Result<List<u64>, String> {
    tokometer_plan::parse_contexts(text).map(List).map_err(|error| error.to_string())
}

fn parse_concurrency(text: &str) -> Result<List<u32>, String> {
    tokometer_plan::parse_concurrency(text).map(List).map_err(|error| error.to_string())
}

fn parse_duration(text: &str) -> Result<f64, String> {
    tokometer_plan::parse_duration(text).map_err(|error| error.to_string())
}

fn parse_temperature(text: &str) -> Result<f64, String> {
    parse_within(text, 0.0, f64::MAX, "a number from 0 on, such as 0.7")
}

fn parse_top_p(text: &str) -> Result<f64, String> {
    parse_within(text, 0.0, 1.0, "a number from 0 to 1, such as 0.95")
}

fn parse_within(text: &str, least: f64, most: f64, expected: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        // Not a number lies in no range.
        Ok(number) if number >= least && number <= most => Ok(number),
        _ => Err(format!("expected {expected}")),
    }
}

/// Fields of a request that decide what is measured, and what sets them.
const OWNED_FIELDS: [(&str, &str); 12] = [
    ("model", "use --model"),
    ("messages", "prompts are built by --contexts, --prompts and --corpus"),
    ("prompt", "prompts are built by --contexts, --prompts and --corpus"),
    ("max_tokens", "use --max-output"),
    ("max_completion_tokens", "use --max-output"),
    ("min_tokens", "use --max-output, or --respect-eos"),
    ("ignore_eos", "use --respect-eos"),
    ("stream", "responses are always streamed"),
    ("stream_options", "usage is asked for as the engine gives it"),
    ("n", "use --concurrency"),
    ("temperature", "use --temperature"),
    ("top_p", "use --top-p"),
];

fn parse_object(text: &str) -> Result<Object, String> {
    match serde_json::from_str(text) {
        Ok(serde_json::Value::Object(map)) => {
            match OWNED_FIELDS.iter().find(|(field, _)| map.contains_key(*field)) {
                Some((field, instead)) => Err(format!("{field:?} is set by the method: {instead}")),
                None => Ok(Object(map)),
            }
        }
        Ok(_) => Err("expected a JSON object such as '{\"top_k\": 20}'".to_owned()),
        Err(error) => Err(format!("not JSON ({error}); expected an object such as '{{\"top_k\": 20}}'")),
    }
}
