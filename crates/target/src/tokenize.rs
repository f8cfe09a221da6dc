//! Tokenise routes: what they take, and what they answer.

use serde::Serialize;
use serde_json::{Value, json};

/// What a tokenise route takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenizeRoute {
    /// `/tokenize` with `messages`: the chat template is counted.
    Messages,
    /// `/tokenize` with `prompt`.
    Prompt,
    /// `/tokenize` with `content`, as llama.cpp has it.
    Content,
    /// `/tokenize` with `inputs`, as TGI has it; it answers with a list of tokens.
    Inputs,
    /// `/v1/token/encode` with `text`, as TabbyAPI has it.
    TokenEncode,
    /// `/v1/encode` with `input`, as LMDeploy has it.
    Encode,
}

impl TokenizeRoute {
    /// The path below the target's base path.
    pub fn path(self) -> &'static str {
        match self {
            TokenizeRoute::Messages
            | TokenizeRoute::Prompt
            | TokenizeRoute::Content
            | TokenizeRoute::Inputs => "/tokenize",
            TokenizeRoute::TokenEncode => "/v1/token/encode",
            TokenizeRoute::Encode => "/v1/encode",
        }
    }

    /// The request as it is named in evidence and messages.
    pub fn name(self) -> &'static str {
        match self {
            TokenizeRoute::Messages => "POST /tokenize {messages}",
            TokenizeRoute::Prompt => "POST /tokenize {prompt}",
            TokenizeRoute::Content => "POST /tokenize {content}",
            TokenizeRoute::Inputs => "POST /tokenize {inputs}",
            TokenizeRoute::TokenEncode => "POST /v1/token/encode {text}",
            TokenizeRoute::Encode => "POST /v1/encode {input}",
        }
    }

    /// The body that asks for the tokens of `prompt`.
    pub(crate) fn body(self, model: &str, prompt: &str) -> Value {
        match self {
            TokenizeRoute::Messages => {
                json!({"model": model, "messages": [{"role": "user", "content": prompt}]})
            }
            TokenizeRoute::Prompt => json!({"model": model, "prompt": prompt}),
            TokenizeRoute::Content => json!({"content": prompt, "add_special": true}),
            TokenizeRoute::Inputs => json!({"inputs": prompt, "add_special_tokens": true}),
            TokenizeRoute::TokenEncode => json!({"text": prompt}),
            TokenizeRoute::Encode => json!({"input": prompt}),
        }
    }

    /// How many tokens an answer tells of; none if it is no answer of this route.
    pub(crate) fn count(self, answer: &Value) -> Option<u64> {
        let told = |name: &str| answer.get(name).and_then(Value::as_u64);
        let listed = |list: Option<&Value>| {
            list.and_then(Value::as_array)
                .filter(|tokens| !tokens.is_empty())
                .map(|tokens| tokens.len() as u64)
        };
        match self {
            TokenizeRoute::Messages | TokenizeRoute::Prompt | TokenizeRoute::Content => {
                told("count").or_else(|| listed(answer.get("tokens")))
            }
            TokenizeRoute::Inputs => listed(Some(answer)),
            TokenizeRoute::TokenEncode => told("length").or_else(|| listed(answer.get("tokens"))),
            TokenizeRoute::Encode => told("length").or_else(|| listed(answer.get("input_ids"))),
        }
    }
}
