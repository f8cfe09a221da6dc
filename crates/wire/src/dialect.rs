//! How engines differ on the wire.

/// An engine's way of streaming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Dialect {
    /// Plain OpenAI, and every server not known by name.
    #[default]
    OpenAi,
    /// vLLM, Python and Rust front ends.
    Vllm,
    /// SGLang.
    Sglang,
    /// llama.cpp's server.
    LlamaCpp,
}

/// The route that a request goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completions,
}

impl Endpoint {
    /// The path below the target's base path.
    pub fn path(self) -> &'static str {
        match self {
            Endpoint::Chat => "/v1/chat/completions",
            Endpoint::Completions => "/v1/completions",
        }
    }
}

/// What a response is expected to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expect {
    /// The route.
    pub endpoint: Endpoint,
    /// The engine's way of streaming.
    pub dialect: Dialect,
}

/// How an engine's streams differ from the others'.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// `timings` are counters of the engine (llama.cpp).
    pub(crate) engine_counters: bool,
}

impl Dialect {
    pub(crate) fn rules(self) -> Rules {
        match self {
            // A server not known by name may well be llama.cpp behind a proxy.
            Dialect::OpenAi | Dialect::LlamaCpp => Rules { engine_counters: true },
            Dialect::Vllm | Dialect::Sglang => Rules { engine_counters: false },
        }
    }
}
