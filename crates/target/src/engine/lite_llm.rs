//! The LiteLLM proxy, which speaks for engines that it does not name.
//!
//! It retries and falls back to other engines by itself, and may answer from a cache of its own.

use tokometer_wire::Dialect;

use super::{Confidence, Engine, Manner, Probe, Sign, metrics_prefix};
use crate::answers::{Answers, METRICS};
use crate::facts::{Facts, Field};
use crate::models::ModelEntry;

const READINESS: &str = "GET /health/readiness";

/// The LiteLLM proxy.
pub(super) struct LiteLlm;

impl Engine for LiteLlm {
    fn name(&self) -> Option<&'static str> {
        None
    }

    fn probes(&self) -> &'static [Probe] {
        &[Probe::Get("/health/readiness"), Probe::Get("/metrics")]
    }

    fn recognise(&self, _model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        // An engine that shows itself through the proxy is the better answer.
        let (name, source) = in_front(answers)?;
        Some(Sign::new(Confidence::Likely, name, source))
    }

    fn read(&self, model: &ModelEntry, _answers: &Answers, facts: &mut Facts) {
        facts.missing(Field::EngineVersion, "the engine is unknown");
        if let Some(max) = model.max_model_len {
            facts.number(Field::ModelMaxLength, max, "max_model_len of GET /v1/models");
        }
    }

    fn manner(&self) -> Manner {
        Manner { dialect: Dialect::LiteLlm, ..Manner::PLAIN }
    }
}

/// Its name and version, and where they are told.
pub(super) fn in_front(answers: &Answers) -> Option<(String, &'static str)> {
    let named = |version: &str| format!("LiteLLM {version}");
    let header = || Some((named(answers.header("x-litellm-version")?), "header x-litellm-version"));
    let readiness = || {
        let told = answers.object(READINESS)?;
        Some((named(super::text(&told, "/litellm_version")?), READINESS))
    };
    let call =
        || answers.header("x-litellm-call-id").map(|_| ("LiteLLM".to_owned(), "header x-litellm-call-id"));
    let metrics = || metrics_prefix(answers, "litellm_").map(|_| ("LiteLLM".to_owned(), METRICS));
    header().or_else(readiness).or_else(call).or_else(metrics)
}
