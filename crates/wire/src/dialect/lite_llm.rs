//! The LiteLLM proxy. It renames `reasoning` to `reasoning_content`, and may retry or answer from a cache behind
//! our back, which only its response headers tell.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules { name: "lite_llm", ..SHARED };
