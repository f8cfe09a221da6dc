//! OpenRouter. Comments come while it looks for a provider; an error in mid-stream comes with finish reason
//! `error`.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules { name: "open_router", ..SHARED };
