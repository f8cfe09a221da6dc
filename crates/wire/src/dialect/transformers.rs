//! `transformers serve`. No `[DONE]` closes its streams, and usage is on the finish event, asked for or not.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules { name: "transformers", closes_with_marker: false, ..SHARED };
