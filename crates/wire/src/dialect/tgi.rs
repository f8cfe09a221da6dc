//! Text Generation Inference. No space behind `data:`, the role on every delta, comments to keep the connection
//! alive, errors as `{"error","error_type"}` events.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules { name: "tgi", ..SHARED };
