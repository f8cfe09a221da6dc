//! Ollama. Its `/v1` routes follow OpenAI, but put usage of zeros on every event, and send an error in
//! mid-stream as a bare line. Its own routes stream NDJSON: `message` or `response` per line, counters on the
//! line that says `"done":true`.

use super::openai::SHARED;
use super::rules::{Count, Path, Rules};
use crate::exchange::Channel;

pub(super) const RULES: Rules = Rules { name: "ollama", ..SHARED };

pub(super) const NATIVE_RULES: Rules = Rules {
    name: "ollama_native",
    chat_path: "/api/chat",
    completions_path: "/api/generate",
    texts: &[
        (&["message", "content"], Channel::Content),
        (&["message", "thinking"], Channel::Reasoning),
        (&["message", "tool_calls", "", "function", "name"], Channel::ToolCall),
        (&["response"], Channel::Text),
        (&["thinking"], Channel::Reasoning),
    ],
    token_ids: None,
    counts: &[COUNTERS],
    finish: &["done_reason"],
    done: Some(&["done"]),
    noise: &[&["created_at"]],
    annotations: &[],
    closes_with_marker: true,
};

/// `prompt_eval_count` counts what was left of the prompt after it was cut to the context.
const COUNTERS: &[(Path, Count)] =
    &[(&["prompt_eval_count"], Count::EnginePrompt), (&["eval_count"], Count::EngineGenerated)];
