//! Why a target cannot be measured.

use tokometer_wire::Failure;

/// A server that cannot be used, in a sentence that says what to try.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// Nothing answers.
    #[error("cannot reach {url}: {failure}; is the server running, and are host and port right?")]
    Unreachable {
        /// The target.
        url: String,
        /// What happened.
        failure: Box<Failure>,
    },
    /// No key was sent, and one is needed.
    #[error(
        "{url} asks for an API key (HTTP {status}): put it into OPENAI_API_KEY, or name a variable with \
         --api-key-env or a file with --api-key-file"
    )]
    KeyMissing {
        /// The target.
        url: String,
        /// HTTP status.
        status: u16,
    },
    /// The key that was sent is not taken.
    #[error(
        "{url} refuses the API key (HTTP {status}): look at OPENAI_API_KEY, or give another with --api-key-env \
         or --api-key-file"
    )]
    KeyRefused {
        /// The target.
        url: String,
        /// HTTP status.
        status: u16,
    },
    /// There is no such route.
    #[error("no OpenAI-compatible API at {url}/v1 (HTTP 404 for /v1/models): is the base URL right?")]
    NoApi {
        /// The target.
        url: String,
    },
    /// The server sends elsewhere.
    #[error(
        "{url} redirects to {location}: use that address (redirects are not followed, for they would carry the key)"
    )]
    Redirect {
        /// The target.
        url: String,
        /// Where it sends.
        location: String,
    },
    /// Another status than 2xx.
    #[error("{url} answers HTTP {status} to /v1/models{}: is it still loading its model?", quoted(.body))]
    Status {
        /// The target.
        url: String,
        /// HTTP status.
        status: u16,
        /// First characters of the answer.
        body: String,
    },
    /// A web page or other text instead of JSON.
    #[error(
        "{url}/v1/models answers with {what} instead of a list of models: is that the address of the API, and \
         not of a web interface?"
    )]
    NotAnApi {
        /// The target.
        url: String,
        /// What came.
        what: String,
    },
    /// An empty list of models.
    #[error("{url} serves no model: load one, or name with --model the one that it shall load")]
    NoModel {
        /// The target.
        url: String,
    },
    /// A model that is not served.
    #[error("the server has no model {asked:?}: it serves {}", served.join(", "))]
    UnknownModel {
        /// What was asked for.
        asked: String,
        /// What is served, the likeliest name first.
        served: Vec<String>,
    },
    /// Several models, and none named.
    #[error("the server has several models, so name one with --model: {}", served.join(", "))]
    SeveralModels {
        /// What is served.
        served: Vec<String>,
    },
    /// A request that sizes a prompt was refused.
    #[error("cannot size prompts: {route} failed: {failure}")]
    Sizing {
        /// The route.
        route: String,
        /// What happened.
        failure: Box<Failure>,
    },
    /// Neither a tokenise route nor usage.
    #[error(
        "cannot size prompts: the server has no tokenise route that is known, and its answers to {route} hold no \
         usage.prompt_tokens"
    )]
    NoUsage {
        /// The route.
        route: String,
    },
    /// A prompt shorter than its fixed parts.
    #[error(
        "a prompt of {tokens} tokens is too short: its opening, closing and chat template alone take {least}"
    )]
    ShortPrompt {
        /// Tokens asked for.
        tokens: u64,
        /// Tokens of the shortest prompt.
        least: u64,
    },
    /// The task that wrote a prompt's text broke off.
    #[error("building a prompt was broken off: {0}")]
    Aborted(String),
}

/// `: "text"`, or nothing.
fn quoted(body: &str) -> String {
    if body.is_empty() { String::new() } else { format!(" ({body:?})") }
}
