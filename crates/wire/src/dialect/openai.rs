//! OpenAI's own layout, which nearly all servers follow. Usage comes once, behind the finish event.

use super::llama_cpp;
use super::rules::{Count, Path, Rules};
use crate::exchange::Channel;

/// A server that is not known by name may well be llama.cpp behind a proxy, so its counters are read too.
pub(super) const RULES: Rules = Rules { name: "open_ai", counts: &[USAGE, llama_cpp::TIMINGS], ..SHARED };

/// What the other dialects start from.
pub(super) const SHARED: Rules = Rules {
    name: "",
    chat_path: "/v1/chat/completions",
    completions_path: "/v1/completions",
    texts: TEXTS,
    token_ids: Some(&["choices", "", "token_ids"]),
    counts: &[USAGE],
    finish: &["choices", "", "finish_reason"],
    done: None,
    noise: &[&["obfuscation"]],
    annotations: &[],
    closes_with_marker: true,
};

const TEXTS: &[(Path, Channel)] = &[
    (&["choices", "", "delta", "content"], Channel::Content),
    // The newer name and the older one; some servers send the same text under both.
    (&["choices", "", "delta", "reasoning"], Channel::Reasoning),
    (&["choices", "", "delta", "reasoning_content"], Channel::Reasoning),
    (&["choices", "", "delta", "refusal"], Channel::Refusal),
    (&["choices", "", "delta", "tool_calls", "", "function", "name"], Channel::ToolCall),
    (&["choices", "", "delta", "tool_calls", "", "function", "arguments"], Channel::ToolCall),
    (&["choices", "", "delta", "function_call", "name"], Channel::ToolCall),
    (&["choices", "", "delta", "function_call", "arguments"], Channel::ToolCall),
    (&["choices", "", "text"], Channel::Text),
];

pub(super) const USAGE: &[(Path, Count)] = &[
    (&["usage", "prompt_tokens"], Count::Prompt),
    (&["usage", "completion_tokens"], Count::Completion),
    (&["usage", "prompt_tokens_details", "cached_tokens"], Count::Cached),
    (&["usage", "completion_tokens_details", "reasoning_tokens"], Count::Reasoning),
    // SGLang's place for it.
    (&["usage", "reasoning_tokens"], Count::FlatReasoning),
];
