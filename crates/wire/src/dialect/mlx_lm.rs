//! mlx-lm. The role is on every delta, and comments tell how far the prompt is while it is processed.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules { name: "mlx_lm", ..SHARED };
