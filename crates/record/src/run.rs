//! The run document.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::calibration::Calibration;
use crate::cell::{Cell, TraceFile};
use crate::hardware::Hardware;
use crate::sweep::SweepPart;
use crate::telemetry::Sampling;

/// How far a run got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A plan; nothing was sent beyond probes.
    DryRun,
    /// Being measured, or its process was killed: finished cells are in the record.
    Running,
    /// All cells of the plan were reached.
    Finished,
    /// Ended early by the user; what was measured is kept.
    Interrupted,
    /// Ended early by a failure of the run itself (a full disk, a server that went away).
    Failed,
}

/// One run: everything that is published about it but the traces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// `tokometer.run/1`.
    pub schema: String,
    /// UUID: version 7, made by the client; of imports version 8, from the SHA-256 of the file.
    pub id: String,
    /// Wall-clock start, RFC 3339, UTC; null where an imported record does not tell.
    pub created_at: Option<String>,
    /// How far the run got.
    pub state: RunState,
    /// Why, where `state` is `failed`.
    pub state_reason: Option<String>,
    /// Seconds from start to end.
    pub elapsed_seconds: Option<f64>,
    /// The user's title.
    pub title: Option<String>,
    /// The user's note.
    pub note: Option<String>,
    /// True if the target is a simulated engine: every view of the run says SIMULATED in its title.
    pub simulated: bool,
    /// Its place in a sweep, if it was measured in one.
    #[serde(default)]
    pub sweep: Option<SweepPart>,
    /// Where the record comes from, if it was not measured by tokometer.
    pub imported: Option<Imported>,
    /// The program that measured.
    pub tool: Tool,
    /// The definitions that the numbers follow.
    pub method: Method,
    /// What was measured, as an address.
    pub target: Target,
    /// What the server serves.
    pub model: Model,
    /// What serves it.
    pub engine: Engine,
    /// What it runs on.
    pub hardware: Hardware,
    /// How the server was started, secrets removed.
    pub launch_command: Option<String>,
    /// How many tokens and requests the server can hold.
    pub capacity: Capacity,
    /// What was asked of this run.
    pub settings: Settings,
    /// What was last found about the client on the host that measured.
    #[serde(default)]
    pub calibration: Option<Calibration>,
    /// Prefill rows and the decode matrix, in the order of the plan; also those that were not run.
    pub cells: Vec<Cell>,
    /// What the machine did, as a series; null where nothing was read.
    #[serde(default)]
    pub telemetry: Option<TraceFile>,
    /// How the machine was read meanwhile; null where nothing was read, and in older records.
    #[serde(default)]
    pub sampling: Option<Sampling>,
    /// Fields that are null though one would expect a value: dotted path → reason.
    pub unknown: BTreeMap<String, String>,
    /// Facts with their sources, as the probe found them.
    pub evidence: Vec<Evidence>,
    /// Things that happened and belong beside the numbers, in order.
    pub remarks: Vec<String>,
}

impl Run {
    /// The name of this document's schema and version.
    pub const SCHEMA: &'static str = "tokometer.run/1";

    /// An empty record with every unknown null.
    pub fn new(id: String, tool: Tool, settings: Settings) -> Run {
        Run {
            schema: Run::SCHEMA.to_owned(),
            id,
            created_at: None,
            state: RunState::Running,
            state_reason: None,
            elapsed_seconds: None,
            title: None,
            note: None,
            simulated: false,
            sweep: None,
            imported: None,
            tool,
            method: Method::default(),
            target: Target::default(),
            model: Model::default(),
            engine: Engine::default(),
            hardware: Hardware::default(),
            launch_command: None,
            capacity: Capacity::default(),
            settings,
            calibration: None,
            cells: Vec::new(),
            telemetry: None,
            sampling: None,
            unknown: BTreeMap::new(),
            evidence: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// The line that titles every view: the user's title or the model, after `SIMULATED` where it is.
    pub fn display_title(&self) -> String {
        let name = self
            .title
            .clone()
            .or_else(|| self.model.id.clone())
            .or_else(|| self.model.served_name.clone())
            .unwrap_or_else(|| "unknown model".to_owned());
        if self.simulated { format!("SIMULATED · {name}") } else { name }
    }
}

/// Where an imported record comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Imported {
    /// The format that was read: `published_matrix`.
    pub format: String,
    /// Name of the file that was read, without its folder.
    pub file: String,
}

/// The program that measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `tokometer`, or the other tool's name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its source commit.
    pub commit: Option<String>,
}

/// The definitions that the numbers follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Method {
    /// `tokometer`, or the tool whose own definitions apply.
    pub name: String,
    /// `1.0`.
    pub version: String,
}

impl Default for Method {
    fn default() -> Method {
        Method { name: "tokometer".to_owned(), version: "1.0".to_owned() }
    }
}

/// What was measured, as an address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// Base URL up to and without `/v1`, user and password removed.
    pub url: Option<String>,
    /// Names (never values) of headers that the user added.
    pub headers: Vec<String>,
    /// A proxy or gateway that answers in front of the engine.
    pub proxy: Option<String>,
}

/// What the server serves.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// Full name: `Qwen/Qwen3.8-Flash-Next`.
    pub id: Option<String>,
    /// The name that requests use.
    pub served_name: Option<String>,
    /// Revision of the weights.
    pub revision: Option<String>,
    /// `BF16`, `FP8`, `Q4_K_M`, …
    pub quantization: Option<String>,
    /// Longest prompt plus output, in tokens.
    pub max_length: Option<u64>,
}

/// What serves the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Engine {
    /// `vllm`, `sglang`, `llama.cpp`, …
    pub name: Option<String>,
    /// As the engine says it.
    pub version: Option<String>,
    /// Source commit.
    pub commit: Option<String>,
    /// Where the source is.
    pub repository: Option<String>,
    /// Build variant: `cuda-13.2`.
    pub build: Option<String>,
    /// `cuda`, `rocm`, `cpu`, …
    pub backend: Option<String>,
    /// Parallelism as the engine tells it: `tp4 ep`.
    pub parallelism: Option<String>,
    /// Speculative decoding as the engine tells it.
    pub speculative: Option<String>,
    /// Whether it caches prompt prefixes.
    pub prefix_caching: Option<bool>,
}

/// How many tokens and requests the server can hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// Tokens that the KV cache holds, all ranks.
    pub kv_tokens: Option<u64>,
    /// Where that figure comes from.
    pub kv_source: Option<String>,
    /// Tokens of each data-parallel rank's own cache, in the order of the ranks, where the engine tells them: a request
    /// runs on one rank and can't use another's. Empty where they are not told.
    #[serde(default)]
    pub kv_tokens_per_rank: Vec<u64>,
    /// The same cache in blocks, where the engine tells enough: exact also for models whose requests need blocks that do
    /// not grow with their length.
    #[serde(default)]
    pub kv_blocks: Option<KvBlocks>,
    /// Requests that the server runs at once.
    pub concurrent_requests: Option<u64>,
    /// Where that figure comes from.
    pub concurrent_source: Option<String>,
}

/// A KV cache in blocks. With recurrent or windowed layers each request needs a fixed number of them beside those that
/// grow with its length, so that such a cache holds fewer tokens in short requests than in long ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KvBlocks {
    /// Blocks, all ranks.
    pub blocks: u64,
    /// Tokens in a block.
    pub block_tokens: u64,
    /// Blocks that each request needs whatever its length: the state of recurrent layers, a window.
    pub fixed_per_request: f64,
}

impl KvBlocks {
    /// Blocks that `requests` of `tokens` each need.
    pub fn needed(&self, requests: u64, tokens: u64) -> u64 {
        let each = tokens.div_ceil(self.block_tokens.max(1)) as f64 + self.fixed_per_request;
        (each * requests as f64).ceil() as u64
    }

    /// A number of blocks in tokens.
    pub fn in_tokens(&self, blocks: u64) -> u64 {
        blocks.saturating_mul(self.block_tokens)
    }
}

/// Route that the requests use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completions,
}

/// Whether the streams of a cell send one prompt or each its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Prompts {
    /// All streams of a context send the same prompt.
    Shared,
    /// Each stream sends its own.
    Unique,
}

/// What happens to running requests when the window ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// They are cut.
    Cut,
    /// They run out.
    Finish,
}

/// The order in which a run measures its cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// All contexts at the first concurrency, then the first context at all others, then row by row.
    #[default]
    Standard,
    /// Shuffled by the run's seed, anew in every round of repeats; prefill stays before its context's first cell.
    Shuffled,
}

/// What was asked of a run. Imports leave what the other tool did not tell at null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Contexts of the decode matrix, in tokens.
    pub contexts: Vec<u64>,
    /// Requests at once of the decode matrix.
    pub concurrency: Vec<u32>,
    /// Contexts of the prefill row, in tokens.
    pub prefill_contexts: Vec<u64>,
    /// Cold requests per prefill context.
    pub prefill_repeats: u32,
    /// Window length, seconds; of adaptive windows the length from which on a wider interval will do.
    pub duration_seconds: f64,
    /// True if windows end by their interval (method section 6), not at a fixed length.
    #[serde(default)]
    pub adaptive: bool,
    /// How often each cell and each prefill row is measured.
    #[serde(default = "once")]
    pub repeats: u32,
    /// The order of the cells.
    #[serde(default)]
    pub order: Order,
    /// Output tokens asked per request.
    pub max_output_tokens: u64,
    /// `fixed_duration`, or `adaptive_duration`.
    pub decode_test: String,
    /// How prefill was measured: `cold_alone`, or the other tool's word.
    pub prefill_mode: String,
    /// Same prompt for all streams, or one each.
    pub prompts: Option<Prompts>,
    /// True if prompts were not warmed before the window (`unique` only).
    pub cold: Option<bool>,
    /// Route.
    pub endpoint: Option<Endpoint>,
    /// False: output length was fixed by `ignore_eos` where the engine takes it.
    pub respect_eos: Option<bool>,
    /// Sent temperature; null: the server's own.
    pub temperature: Option<f64>,
    /// Sent top-p; null: the server's own.
    pub top_p: Option<f64>,
    /// Seed of prompts and plan.
    pub seed: Option<u64>,
    /// Fields merged into each request.
    pub request_json: Option<serde_json::Value>,
    /// What each request's body held beside model and prompt.
    pub request_fields: Option<serde_json::Value>,
    /// What happens to running requests at the window's end.
    pub at_end: Option<AtEnd>,
    /// Seconds without a byte after which a request counts as failed.
    pub timeout_seconds: Option<f64>,
    /// The user's corpus: file name and SHA-256; null: the built-in generator.
    pub corpus: Option<String>,
    /// How prompts were sized: `tokenize_route`, `measured_usage`.
    pub prompt_sizing: Option<String>,
    /// True if other requests on the server were allowed at the start.
    pub allow_busy: Option<bool>,
    /// Threads that read streams.
    pub load_threads: Option<u32>,
}

/// Records from before there were repeats.
fn once() -> u32 {
    1
}

/// A fact and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Dotted path of the field in this record: `engine.version`.
    pub field: String,
    /// The value as found.
    pub value: String,
    /// Where it was found: `GET /version`.
    pub source: String,
}
