//! What a server answered to the probes, by request.

use std::collections::BTreeMap;

use serde_json::Value;
use tokometer_wire::{Answer, Failure};

/// The route that lists the models.
pub(crate) const MODELS: &str = "GET /v1/models";
/// The chat request of one token.
pub(crate) const SHORT_CHAT: &str = "POST /v1/chat/completions (1 token)";
/// The route of gauges and counters.
pub(crate) const METRICS: &str = "GET /metrics";

/// All answers so far. A body that does not parse is as good as none: a proxy may answer any route with a
/// page of its own.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    by_request: BTreeMap<String, Result<Answer, Failure>>,
}

impl Answers {
    pub(crate) fn insert(&mut self, request: &str, answer: Result<Answer, Failure>) {
        self.by_request.insert(request.to_owned(), answer);
    }

    /// True if the request was made and got a 2xx.
    pub(crate) fn succeeded(&self, request: &str) -> bool {
        self.success(request).is_some()
    }

    /// True if the request was made.
    pub(crate) fn asked(&self, request: &str) -> bool {
        self.by_request.contains_key(request)
    }

    /// The JSON object of a 2xx.
    pub(crate) fn object(&self, request: &str) -> Option<Value> {
        self.success(request)?.json().ok().filter(Value::is_object)
    }

    /// The JSON of a 2xx, of any kind.
    pub(crate) fn json(&self, request: &str) -> Option<Value> {
        self.success(request)?.json().ok()
    }

    /// The text of a 2xx, for expositions: never a web page, never JSON.
    pub(crate) fn text(&self, request: &str) -> Option<String> {
        let text = self.success(request)?.text().into_owned();
        let first = text.trim_start().chars().next()?;
        (!matches!(first, '<' | '{' | '[')).then_some(text)
    }

    /// A header of the list of models, or of the first answer to a chat request.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        [MODELS, SHORT_CHAT]
            .iter()
            .find_map(|request| self.by_request.get(*request)?.as_ref().ok()?.header(name))
    }

    /// Why a request gave nothing: `GET /metrics answered HTTP 404`.
    pub(crate) fn why_not(&self, request: &str) -> String {
        match self.by_request.get(request) {
            None => format!("{request} was not asked"),
            Some(Err(failure)) => format!("{request} failed: {failure}"),
            Some(Ok(answer)) if answer.is_success() => format!("{request} does not tell it"),
            Some(Ok(answer)) => format!("{request} answered HTTP {}", answer.status),
        }
    }

    fn success(&self, request: &str) -> Option<&Answer> {
        self.by_request.get(request)?.as_ref().ok().filter(|answer| answer.is_success())
    }
}
