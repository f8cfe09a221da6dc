//! The engines that are known, one file each.
//!
//! A new engine is a new file with an [`Engine`] and one line in [`ALL`].

mod dynamo;
mod gateway;
mod lite_llm;
mod llama_cpp;
mod lm_studio;
mod lmdeploy;
mod mistral_rs;
mod mlx_lm;
mod ollama;
mod open_router;
mod openai;
mod sglang;
mod sim;
mod tabby_api;
mod tensorrt_llm;
mod tgi;
mod transformers;
mod vllm;

pub(crate) use gateway::in_front;
pub(crate) use sim::is_simulated;

use serde_json::Value;
use tokometer_wire::Dialect;
use tokometer_wire::metrics::MetricNames;

use crate::answers::{Answers, METRICS, MODELS, SHORT_CHAT};
use crate::facts::Facts;
use crate::handling::Handling;
use crate::models::ModelEntry;
use crate::tokenize::TokenizeRoute;

/// All engines, in the order in which their signs are looked at and their probes made; the last recognises
/// everything.
pub(crate) const ALL: [&dyn Engine; 17] = [
    &sim::Sim,
    &sglang::Sglang,
    &vllm::Vllm,
    &tensorrt_llm::TensorRtLlm,
    &llama_cpp::LlamaCpp,
    &tgi::Tgi,
    &tabby_api::TabbyApi,
    &lmdeploy::LmDeploy,
    &dynamo::Dynamo,
    &lm_studio::LmStudio,
    &mistral_rs::MistralRs,
    &ollama::Ollama,
    &transformers::Transformers,
    &mlx_lm::MlxLm,
    &open_router::OpenRouter,
    &lite_llm::LiteLlm,
    &openai::OpenAi,
];

/// What is particular about one engine.
pub(crate) trait Engine: Sync {
    /// Its name in records; none for the servers that are not known.
    fn name(&self) -> Option<&'static str>;

    /// Requests that tell about it, beyond the list of models, in the order in which they are made.
    fn probes(&self) -> &'static [Probe];

    /// Whether the answers so far are this engine's.
    fn recognise(&self, model: &ModelEntry, answers: &Answers) -> Option<Sign>;

    /// Takes the facts out of the answers.
    fn read(&self, model: &ModelEntry, answers: &Answers, facts: &mut Facts);

    /// How it is spoken to.
    fn manner(&self) -> Manner;
}

/// A request that tells something about an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Probe {
    /// A GET by which the engine may be recognised.
    Get(&'static str),
    /// The same by its older name, made if the newer did not answer.
    Older { path: &'static str, newer: &'static str },
    /// A GET that is made only once the engine is known.
    Further(&'static str),
    /// The same, made only if the other one did not answer.
    FurtherElse { path: &'static str, better: &'static str },
    /// `GET /props?model=…`, which llama.cpp needs where it routes to several models.
    PropsOfModel,
    /// `POST /api/show`, by which Ollama describes a model.
    Show,
    /// A few words to a tokenise route.
    Tokenize(TokenizeRoute),
    /// The same in another form, made if the better one did not answer.
    TokenizeElse { route: TokenizeRoute, better: TokenizeRoute },
    /// A chat request of one token, for its `system_fingerprint`, or to have the model loaded.
    ShortChat,
}

/// The props of one model, as they are named among the answers.
pub(crate) const PROPS_OF_MODEL: &str = "GET /props?model=";
/// Ollama's description of a model, as it is named among the answers.
pub(crate) const SHOW: &str = "POST /api/show";

impl Probe {
    /// The request as it is named among the answers and in evidence.
    pub(crate) fn name(self) -> String {
        match self {
            Probe::Get(path)
            | Probe::Older { path, .. }
            | Probe::Further(path)
            | Probe::FurtherElse { path, .. } => format!("GET {path}"),
            Probe::PropsOfModel => PROPS_OF_MODEL.to_owned(),
            Probe::Show => SHOW.to_owned(),
            Probe::Tokenize(route) | Probe::TokenizeElse { route, .. } => route.name().to_owned(),
            Probe::ShortChat => SHORT_CHAT.to_owned(),
        }
    }

    /// True if an engine may be recognised by it. Nobody is asked for more than a GET before it is known.
    pub(crate) fn identifies(self) -> bool {
        matches!(self, Probe::Get(_) | Probe::Older { .. })
    }

    /// True if other answers make it needless.
    pub(crate) fn is_needless(self, answers: &Answers) -> bool {
        match self {
            Probe::Older { newer, .. } => answers.succeeded(&format!("GET {newer}")),
            Probe::FurtherElse { better, .. } => answers.succeeded(&format!("GET {better}")),
            Probe::TokenizeElse { better, .. } => answers.succeeded(better.name()),
            Probe::PropsOfModel => !llama_cpp::is_router(answers),
            _ => false,
        }
    }
}

/// How sure a sign is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Confidence {
    /// Nothing speaks for it.
    None,
    /// Names that only this engine uses.
    Likely,
    /// It says so itself.
    Certain,
}

/// What an engine was recognised by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sign {
    pub(crate) confidence: Confidence,
    /// What was seen.
    pub(crate) value: String,
    /// Where.
    pub(crate) source: &'static str,
}

impl Sign {
    fn new(confidence: Confidence, value: impl Into<String>, source: &'static str) -> Sign {
        Sign { confidence, value: value.into(), source }
    }
}

/// How usage is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageOption {
    /// Not at all: `stream_options` would be refused.
    None,
    /// `stream_options.include_usage`.
    Final,
    /// `stream_options.continuous_usage_stats` as well.
    Continuous,
}

/// A field that keeps a model from ending early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LengthField {
    /// `ignore_eos`.
    IgnoreEos,
    /// `ignore_eos` inside the object of this name.
    IgnoreEosIn(&'static str),
    /// The least number of output tokens, by this name.
    Least(&'static str),
}

/// How an engine is spoken to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// How it streams.
    pub(crate) dialect: Dialect,
    /// What its gauges and counters are called.
    pub(crate) metrics: Option<&'static MetricNames>,
    /// Where they are read.
    pub(crate) metrics_path: &'static str,
    /// Where its slots are listed, with or without gauges.
    pub(crate) slots_path: Option<&'static str>,
    /// Tokenise routes, the best first.
    pub(crate) tokenize: &'static [TokenizeRoute],
    /// How usage is asked for.
    pub(crate) usage: UsageOption,
    /// Fields that together make an answer exactly as long as asked.
    pub(crate) length: &'static [LengthField],
    /// Further flags that are set on every streamed request.
    pub(crate) flags: &'static [&'static str],
    /// How it is drained, aborted, and kept cold.
    pub(crate) handling: Handling,
}

impl Manner {
    /// Of a server that is known to take no more than the OpenAI API.
    pub(crate) const PLAIN: Manner = Manner {
        dialect: Dialect::OpenAi,
        metrics: None,
        metrics_path: "/metrics",
        slots_path: None,
        tokenize: &[],
        usage: UsageOption::Final,
        length: &[],
        flags: &[],
        handling: Handling::PLAIN,
    };
}

/// A `Sign` from the owner that the list of models names.
fn owned_by(model: &ModelEntry, start: &str) -> Option<Sign> {
    let owner = model.owned_by.as_deref().filter(|owner| owner.starts_with(start))?;
    Some(Sign::new(Confidence::Certain, format!("owned_by {owner}"), MODELS))
}

/// A `Sign` from the prefix of the metrics' names.
fn metrics_prefix(answers: &Answers, prefix: &str) -> Option<Sign> {
    metrics_prefix_of(answers, METRICS, prefix)
}

/// The same, on another route.
fn metrics_prefix_of(answers: &Answers, request: &'static str, prefix: &str) -> Option<Sign> {
    let text = answers.text(request)?;
    text.lines()
        .any(|line| line.starts_with(prefix))
        .then(|| Sign::new(Confidence::Likely, format!("metrics named {prefix}…"), request))
}

/// The `system_fingerprint` of the chat request of one token.
fn fingerprint(answers: &Answers) -> Option<String> {
    answers.object(SHORT_CHAT)?.get("system_fingerprint")?.as_str().map(str::to_owned)
}

/// Text of a JSON object; an empty one is none.
fn text<'a>(object: &'a Value, pointer: &str) -> Option<&'a str> {
    object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A count of a JSON object; 0 is none.
fn number(object: &Value, pointer: &str) -> Option<u64> {
    object.pointer(pointer).and_then(Value::as_u64).filter(|number| *number > 0)
}

/// What stands in a version behind `+`: the source commit (`g` and 7 to 40 hex digits) and the build (`cu132`, `cpu`).
pub fn local_version(version: &str) -> (Option<&str>, Option<&str>) {
    let Some((_, local)) = version.split_once('+') else { return (None, None) };
    let is_commit = |part: &str| {
        part.strip_prefix('g').is_some_and(|hex| {
            (7..=40).contains(&hex.len()) && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    let mut parts = local.split('.');
    let commit = parts.clone().find(|part| is_commit(part)).map(|part| &part[1..]);
    let build = parts.find(|part| {
        ["cu", "rocm", "cpu", "xpu", "tpu"].iter().any(|start| part.starts_with(start)) && !is_commit(part)
    });
    (commit, build)
}

/// The backend that a build of this name is for: `cuda` of `cu132`, `rocm` of `rocm7`.
pub fn backend_of(build: &str) -> &str {
    if build.starts_with("cu") { "cuda" } else { build.trim_end_matches(|c: char| !c.is_alphabetic()) }
}
