//! Why a server cannot be measured, and what to try.

use tokometer_record::RunFolder;
use tokometer_target::TargetError;
use tokometer_wire::{Failure, FailureKind};

use super::launch;
use crate::failure::Hinted;

/// The sentence and the hint for a server that cannot be used.
pub(super) fn on(error: &TargetError) -> Hinted {
    let advised = match error {
        TargetError::Unreachable { url, failure } => Some((unreachable(url, failure), start_it(failure))),
        TargetError::KeyMissing { url, status } => Some((
            format!("{url} asks for an API key (HTTP {status})"),
            "put the key into OPENAI_API_KEY, or name a variable with --api-key-env or a file with --api-key-file",
        )),
        TargetError::KeyRefused { url, status } => Some((
            format!("{url} refuses the API key (HTTP {status})"),
            "look at OPENAI_API_KEY, or give another key with --api-key-env or --api-key-file",
        )),
        TargetError::NoApi { url } => Some((
            format!("no OpenAI-compatible API at {url}/v1 (HTTP 404 for /v1/models)"),
            "give the base URL, up to /v1; behind a gateway it has a path in front",
        )),
        TargetError::NotAnApi { url, what } => Some((
            format!("{url}/v1/models answers with {what} instead of a list of models"),
            "give the address of the API, not of its web interface, and look whether it is http or https",
        )),
        TargetError::Redirect { url, location } => Some((
            format!("{url} redirects to {location}"),
            "give that address: redirects are not followed, for they would carry the key",
        )),
        TargetError::NoModel { url } => {
            Some((format!("{url} serves no model"), "load a model, then start again"))
        }
        TargetError::UnknownModel { asked, served } => Some((
            format!("the server has no model {asked:?}; it serves {}", served.join(", ")),
            "name one of these with --model, or leave it out where there is only one",
        )),
        TargetError::SeveralModels { served } => {
            Some((format!("the server has several models: {}", served.join(", ")), "name one with --model"))
        }
        TargetError::Sizing { route, failure } => Some((
            format!("the prompts could not be built: {route} failed: {failure}"),
            "the server answered probes but not this request; its log may say why",
        )),
        TargetError::NoUsage { route } => Some((
            format!(
                "the prompts could not be built: the server has no tokenise route, and its answers to {route} \
                 hold no usage.prompt_tokens"
            ),
            "the server must count tokens by one of both; a proxy in between may have removed them",
        )),
        TargetError::ShortPrompt { tokens, least } => Some((
            format!("a prompt of {tokens} tokens is too short: its fixed parts alone take {least}"),
            "name longer contexts with --contexts",
        )),
        _ => None,
    };
    let (message, hint) =
        advised.unwrap_or_else(|| (error.to_string(), "the server's log may say more; then start again"));
    Hinted::new(message, hint)
}

/// The same for a run that is resumed without a launch command. The record holds none that could be run: its secrets
/// are taken out.
pub(super) fn on_resumed(error: &TargetError, folder: &RunFolder) -> Hinted {
    match error {
        TargetError::Unreachable { url, failure } if launch::was_launched(folder) => Hinted::new(
            unreachable(url, failure),
            "the run's server was started by --launch: give the same --launch again, or start it yourself",
        ),
        other => on(other),
    }
}

fn unreachable(url: &str, failure: &Failure) -> String {
    match failure.kind {
        // These name the address themselves.
        FailureKind::Connect | FailureKind::Tls => failure.message.clone(),
        _ => format!("{url} does not answer: {failure}"),
    }
}

fn start_it(failure: &Failure) -> &'static str {
    match failure.kind {
        FailureKind::Tls => {
            "--cacert FILE trusts a certificate authority, --insecure any certificate; without TLS it is http://…"
        }
        FailureKind::Reset => "if the server speaks TLS, give its address as https://…; else look at its log",
        FailureKind::Timeout => "the server may still be loading its model: look at its log, then try again",
        FailureKind::Connect if failure.message.contains("no free local port") => {
            "ports of connections that have closed are free again after a minute"
        }
        _ => "start the server, or give another address: tokometer run HOST:PORT",
    }
}
