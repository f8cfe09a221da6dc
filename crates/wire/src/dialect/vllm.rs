//! vLLM. The Python front end opens with a role and empty content, the Rust one with a role alone. Reasoning is
//! `reasoning`, in old versions `reasoning_content`. The finish event may carry the last text. Usage per event
//! counts one choice; the last usage counts all. A parser that swallows tokens sends no event at all.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules { name: "vllm", ..SHARED };
