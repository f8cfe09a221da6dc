//! TensorRT-LLM. A space stands behind the JSON of each event; events whose token has no text yet carry an empty
//! string, so that the first payload may come later than the first token; errors are flat objects.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules { name: "tensorrt_llm", ..SHARED };
