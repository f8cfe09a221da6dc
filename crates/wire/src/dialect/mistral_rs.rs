//! mistral.rs. Usage carries speeds beside its counts; comments keep the connection alive; a request that was
//! given up finishes with `canceled`.

use super::openai::SHARED;
use super::rules::Rules;

pub(super) const RULES: Rules = Rules { name: "mistral_rs", ..SHARED };
