//! How engines differ on the wire: data, in one file an engine.
//!
//! All but one follow OpenAI's layout of an event ([`openai`]); a file says what is its engine's own: where its
//! counters are, which typed events it adds, how its streams look. No code asks which engine it is.

mod dynamo;
mod lite_llm;
mod llama_cpp;
mod lm_studio;
mod lmdeploy;
mod mistral_rs;
mod mlx_lm;
mod ollama;
mod open_router;
mod openai;
mod rules;
mod sglang;
mod tabby_api;
mod tensorrt_llm;
mod tgi;
mod transformers;
mod vllm;

pub(crate) use rules::{Count, Rules};

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
    /// TensorRT-LLM's server.
    TensorRtLlm,
    /// Text Generation Inference.
    Tgi,
    /// Ollama's OpenAI-compatible routes.
    Ollama,
    /// Ollama's own routes, which stream NDJSON.
    OllamaNative,
    /// LM Studio.
    LmStudio,
    /// mistral.rs.
    MistralRs,
    /// TabbyAPI.
    TabbyApi,
    /// mlx-lm's server.
    MlxLm,
    /// LMDeploy.
    LmDeploy,
    /// The front end of Dynamo.
    Dynamo,
    /// The LiteLLM proxy.
    LiteLlm,
    /// OpenRouter.
    OpenRouter,
    /// `transformers serve`.
    Transformers,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Dialect; 17] = [
        Dialect::OpenAi,
        Dialect::Vllm,
        Dialect::Sglang,
        Dialect::LlamaCpp,
        Dialect::TensorRtLlm,
        Dialect::Tgi,
        Dialect::Ollama,
        Dialect::OllamaNative,
        Dialect::LmStudio,
        Dialect::MistralRs,
        Dialect::TabbyApi,
        Dialect::MlxLm,
        Dialect::LmDeploy,
        Dialect::Dynamo,
        Dialect::LiteLlm,
        Dialect::OpenRouter,
        Dialect::Transformers,
    ];

    /// The word in files: `llama_cpp`.
    pub fn name(self) -> &'static str {
        self.rules().name
    }

    /// The dialect of that name.
    pub fn from_name(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// The route of an endpoint below the target's base path.
    pub fn path(self, endpoint: Endpoint) -> &'static str {
        match endpoint {
            Endpoint::Chat => self.rules().chat_path,
            Endpoint::Completions => self.rules().completions_path,
        }
    }

    /// True if a whole stream of this engine closes with a marker: `[DONE]`, or `"done":true` in NDJSON.
    pub fn closes_with_marker(self) -> bool {
        self.rules().closes_with_marker
    }

    pub(crate) fn rules(self) -> &'static Rules {
        match self {
            Dialect::OpenAi => &openai::RULES,
            Dialect::Vllm => &vllm::RULES,
            Dialect::Sglang => &sglang::RULES,
            Dialect::LlamaCpp => &llama_cpp::RULES,
            Dialect::TensorRtLlm => &tensorrt_llm::RULES,
            Dialect::Tgi => &tgi::RULES,
            Dialect::Ollama => &ollama::RULES,
            Dialect::OllamaNative => &ollama::NATIVE_RULES,
            Dialect::LmStudio => &lm_studio::RULES,
            Dialect::MistralRs => &mistral_rs::RULES,
            Dialect::TabbyApi => &tabby_api::RULES,
            Dialect::MlxLm => &mlx_lm::RULES,
            Dialect::LmDeploy => &lmdeploy::RULES,
            Dialect::Dynamo => &dynamo::RULES,
            Dialect::LiteLlm => &lite_llm::RULES,
            Dialect::OpenRouter => &open_router::RULES,
            Dialect::Transformers => &transformers::RULES,
        }
    }
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
    /// The path below the target's base path, on all servers that follow OpenAI.
    pub fn path(self) -> &'static str {
        Dialect::OpenAi.path(self)
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
