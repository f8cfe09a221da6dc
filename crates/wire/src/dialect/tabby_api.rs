//! TabbyAPI. Every line ends with CRLF, pings are comments, and usage carries times and speeds.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules { name: "tabby_api", ..SHARED };
