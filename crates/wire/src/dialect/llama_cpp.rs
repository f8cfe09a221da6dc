//! llama.cpp. A null content opens the stream, `prompt_progress` events may come before it, and pings are
//! comments. `timings` on the last event, or on each, are the engine's counters. After an error no `[DONE]`
//! comes.

use super::openai::{SHARED, USAGE};
use super::rules::{Count, Path, Rules};

pub(super) const RULES: Rules = Rules { name: "llama_cpp", counts: &[USAGE, TIMINGS], ..SHARED };

pub(super) const TIMINGS: &[(Path, Count)] = &[
    (&["timings", "prompt_n"], Count::EnginePrompt),
    (&["timings", "cache_n"], Count::EngineCached),
    (&["timings", "predicted_n"], Count::EngineGenerated),
];
