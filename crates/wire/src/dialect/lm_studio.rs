//! LM Studio. Reasoning is `reasoning`; usage comes at the end when asked for.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules { name: "lm_studio", ..SHARED };
