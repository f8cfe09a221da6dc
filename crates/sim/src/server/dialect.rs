//! Which engine the server answers like. One file an engine, written from what is known of the engine.

mod llamacpp;
mod ollama;
mod sglang;
mod tensorrt_llm;
mod tgi;
mod vllm;
mod vllm_rust;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;

use super::answer::Refusal;
use super::frames::{Common, Route};
use super::routes::App;
use super::stream::Delivery;
use crate::engine::Finish;
use crate::{Profile, SimError};

/// The engine that the server answers like. Every answer says by a header that it is simulated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The simulator under its own name, in the shapes of vLLM. It tells more than vLLM does by default.
    #[default]
    Native,
    /// vLLM with its Python front end.
    Vllm,
    /// vLLM with its Rust front end.
    VllmRust,
    /// SGLang, started with metrics.
    Sglang,
    /// The server of llama.cpp, started with metrics.
    LlamaCpp,
    /// TensorRT-LLM, started with iteration and request statistics.
    TensorRtLlm,
    /// Text Generation Inference.
    Tgi,
    /// Ollama: its own interface and the one below `/v1`.
    Ollama,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Dialect; 8] = [
        Dialect::Native,
        Dialect::Vllm,
        Dialect::VllmRust,
        Dialect::Sglang,
        Dialect::LlamaCpp,
        Dialect::TensorRtLlm,
        Dialect::Tgi,
        Dialect::Ollama,
    ];

    /// Its name, as [`FromStr`] takes it.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Native => "native",
            Dialect::Vllm => "vllm",
            Dialect::VllmRust => "vllm-rust",
            Dialect::Sglang => "sglang",
            Dialect::LlamaCpp => "llamacpp",
            Dialect::TensorRtLlm => "tensorrt-llm",
            Dialect::Tgi => "tgi",
            Dialect::Ollama => "ollama",
        }
    }

    /// What the dialect does in its own way; made once per server.
    pub(super) fn manner(self) -> Arc<dyn Manner> {
        match self {
            Dialect::Native => Arc::new(vllm::NATIVE),
            Dialect::Vllm => Arc::new(vllm::VLLM),
            Dialect::VllmRust => Arc::new(vllm_rust::VllmRust),
            Dialect::Sglang => Arc::new(sglang::Sglang),
            Dialect::LlamaCpp => Arc::new(llamacpp::LlamaCpp),
            Dialect::TensorRtLlm => Arc::new(tensorrt_llm::TensorRtLlm::default()),
            Dialect::Tgi => Arc::new(tgi::Tgi),
            Dialect::Ollama => Arc::new(ollama::Ollama),
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = SimError;

    fn from_str(name: &str) -> Result<Dialect, SimError> {
        Dialect::ALL.into_iter().find(|dialect| dialect.name() == name).ok_or_else(|| {
            let known = Dialect::ALL.map(Dialect::name).join(", ");
            SimError::UnknownDialect { name: name.to_owned(), known }
        })
    }
}

/// What an engine does in its own way.
pub(super) trait Manner: Send + Sync {
    /// Its paths.
    fn routes(&self) -> Router<App>;

    /// True if this path wants the key.
    fn guards(&self, path: &str) -> bool;

    /// The answer to a request without the right key.
    fn unauthorized(&self) -> Response;

    /// A refusal in the engine's shape of errors.
    fn refuse(&self, path: &str, refusal: &Refusal) -> Response;

    /// What it makes of requests.
    fn rules(&self) -> Rules;

    /// How it answers on this route.
    fn format(&self, route: Route) -> &'static dyn Format;

    /// The profile within the limits that the engine states of itself.
    fn limit(&self, profile: Profile) -> Profile {
        profile
    }

    /// Puts in headers that all its answers have.
    fn mark(&self, _headers: &mut HeaderMap) {}

    /// The comment that it sends while a stream is silent, and after how long, if it does so by default.
    fn keep_alive(&self) -> (&'static str, Option<Duration>) {
        (": keep-alive\n\n", None)
    }
}

/// What an engine makes of requests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Requests for another model than the served one are refused.
    pub(super) checks_model: bool,
    /// `ignore_eos` is obeyed.
    pub(super) ignore_eos: bool,
    /// `min_tokens` is obeyed.
    pub(super) min_tokens: bool,
    /// `return_token_ids` is obeyed.
    pub(super) token_ids: bool,
    /// Prompts may be lists of token ids.
    pub(super) prompt_ids: bool,
    /// `continuous_usage_stats` is obeyed.
    pub(super) continuous_usage: bool,
    /// `stream_options` that say nothing else ask for usage, on every frame where that is obeyed.
    pub(super) usage_unless_declined: bool,
    /// A prompt that is too long is cut, not refused.
    pub(super) cuts_prompts: bool,
    /// Output tokens of a completion that does not say how many; none: as many as have room.
    pub(super) completion_tokens: Option<u64>,
    /// The only fields that requests may have; none: others are ignored.
    pub(super) known_fields: Option<&'static [&'static str]>,
}

impl Rules {
    /// The rules of vLLM; the others say what they do otherwise.
    pub(super) const VLLM: Rules = Rules {
        checks_model: true,
        ignore_eos: true,
        min_tokens: true,
        token_ids: true,
        prompt_ids: true,
        continuous_usage: true,
        usage_unless_declined: false,
        cuts_prompts: false,
        completion_tokens: Some(16),
        known_fields: None,
    };
}

/// How output is put.
pub(super) trait Format: Send + Sync {
    /// Media type of a stream.
    fn media_type(&self) -> &'static str {
        "text/event-stream; charset=utf-8"
    }

    /// True if a stream may have comments.
    fn has_comments(&self) -> bool {
        true
    }

    /// Makes the frames of a stream whose text comes from this seed.
    fn frames(&'static self, common: Common, seed: u64) -> Box<dyn Frames>;

    /// The answer in one piece.
    fn whole(&self, common: Common, output: Output) -> Value;
}

/// The frames of one stream.
pub(super) trait Frames: Send {
    /// What is sent before there is any token, if anything.
    fn open(&mut self) -> Bytes {
        Bytes::new()
    }

    /// Appends the frames for these tokens, with all that comes before the first and behind the last.
    fn write(&mut self, delivery: &Delivery, out: &mut Vec<u8>);

    /// An error within the stream, with all that comes behind it.
    fn fail(&mut self, message: &str) -> Bytes;

    /// The end of a stream that has had no token.
    fn end(&mut self) -> Bytes;
}

/// All output of a request.
pub(super) struct Output {
    pub(super) text: String,
    pub(super) ids: Vec<u32>,
    pub(super) completion_tokens: u64,
    pub(super) cached_tokens: u64,
    pub(super) finish: Finish,
    /// When the first and the last token came.
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
}
