//! The engines that are known, one file each.
//!
//! A new engine is a new file with an [`Engine`] and one line in [`ALL`].

mod llama_cpp;
mod openai;
mod sglang;
mod sim;
mod vllm;

pub(crate) use sim::is_simulated;

use tokometer_wire::Dialect;
use tokometer_wire::metrics::MetricNames;

use crate::answers::Answers;
use crate::facts::Facts;
use crate::models::ModelEntry;

/// All engines, in the order in which their signs are looked at; the last recognises everything.
pub(crate) const ALL: [&dyn Engine; 5] =
    [&sim::Sim, &vllm::Vllm, &sglang::Sglang, &llama_cpp::LlamaCpp, &openai::OpenAi];

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
    /// A GET.
    Get(&'static str),
    /// A GET by its older name, made if the newer did not answer.
    Older { path: &'static str, newer: &'static str },
    /// A few words to a tokenise route.
    Tokenize(TokenizeRoute),
    /// The same in another form, made if the better one did not answer.
    TokenizeElse { route: TokenizeRoute, better: TokenizeRoute },
    /// A chat request of one token, for its `system_fingerprint`.
    ShortChat,
}

/// The chat request of one token, as it is named among the answers.
pub(crate) const SHORT_CHAT: &str = "POST /v1/chat/completions (1 token)";

impl Probe {
    /// The request as it is named among the answers and in evidence.
    pub(crate) fn name(self) -> String {
        match self {
            Probe::Get(path) | Probe::Older { path, .. } => format!("GET {path}"),
            Probe::Tokenize(route) | Probe::TokenizeElse { route, .. } => route.name().to_owned(),
            Probe::ShortChat => SHORT_CHAT.to_owned(),
        }
    }

    /// True if it makes the model work, which nobody should pay for who is not known to tell something by it.
    pub(crate) fn generates(self) -> bool {
        self == Probe::ShortChat
    }

    /// The request whose answer makes this one needless.
    pub(crate) fn needless_after(self) -> Option<String> {
        match self {
            Probe::Older { newer, .. } => Some(format!("GET {newer}")),
            Probe::TokenizeElse { better, .. } => Some(better.name().to_owned()),
            Probe::Get(_) | Probe::Tokenize(_) | Probe::ShortChat => None,
        }
    }
}

/// What a tokenise route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenizeRoute {
    /// `/tokenize` with `messages`: the chat template is counted.
    Messages,
    /// `/tokenize` with `prompt`.
    Prompt,
    /// `/tokenize` with `content`, as llama.cpp has it.
    Content,
}

impl TokenizeRoute {
    /// The path below the target's base path.
    pub fn path(self) -> &'static str {
        "/tokenize"
    }

    /// The request as it is named in evidence and messages.
    pub fn name(self) -> &'static str {
        match self {
            TokenizeRoute::Messages => "POST /tokenize {messages}",
            TokenizeRoute::Prompt => "POST /tokenize {prompt}",
            TokenizeRoute::Content => "POST /tokenize {content}",
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

/// How an engine is spoken to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// How it streams.
    pub(crate) dialect: Dialect,
    /// What its gauges and counters are called.
    pub(crate) metrics: Option<&'static MetricNames>,
    /// Tokenise routes, the best first.
    pub(crate) tokenize: &'static [TokenizeRoute],
    /// Takes `stream_options.continuous_usage_stats`.
    pub(crate) continuous_usage: bool,
    /// Takes `ignore_eos`.
    pub(crate) ignore_eos: bool,
    /// Takes `min_tokens`.
    pub(crate) min_tokens: bool,
    /// Further flags that are set on every streamed request.
    pub(crate) flags: &'static [&'static str],
}

/// A `Sign` from the owner that the list of models names.
fn owned_by(model: &ModelEntry, start: &str) -> Option<Sign> {
    let owner = model.owned_by.as_deref().filter(|owner| owner.starts_with(start))?;
    Some(Sign {
        confidence: Confidence::Certain,
        value: format!("owned_by {owner}"),
        source: crate::answers::MODELS,
    })
}

/// A `Sign` from the prefix of the metrics' names.
fn metrics_prefix(answers: &Answers, prefix: &str) -> Option<Sign> {
    let text = answers.text(crate::answers::METRICS)?;
    text.lines().any(|line| line.starts_with(prefix)).then(|| Sign {
        confidence: Confidence::Likely,
        value: format!("metrics named {prefix}…"),
        source: crate::answers::METRICS,
    })
}

/// What stands in a version behind `+`: the source commit (`g` and 7 to 40 hex digits) and the build.
fn local_version(version: &str) -> (Option<&str>, Option<&str>) {
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
