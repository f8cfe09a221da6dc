//! SGLang. Every delta has the key `reasoning_content`, mostly null; the finish event stands alone and adds
//! `matched_stop`; usage has `reasoning_tokens` at its top. Token ids may come as typed events of their own.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules { name: "sglang", annotations: &["sglext", "sglext_ids"], ..SHARED };
