//! Any server that speaks the OpenAI API and is not known by name.

use super::{Confidence, Engine, Manner, Probe, Sign};
use crate::answers::{Answers, MODELS};
use crate::facts::{Facts, Field};
use crate::models::ModelEntry;

/// A server that is not known by name.
pub(super) struct OpenAi;

impl Engine for OpenAi {
    fn name(&self) -> Option<&'static str> {
        None
    }

    fn probes(&self) -> &'static [Probe] {
        &[]
    }

    fn recognise(&self, _model: &ModelEntry, _answers: &Answers) -> Option<Sign> {
        Some(Sign {
            confidence: Confidence::None,
            value: "an OpenAI-compatible API".to_owned(),
            source: MODELS,
        })
    }

    fn read(&self, model: &ModelEntry, _answers: &Answers, facts: &mut Facts) {
        let owner = model.owned_by.as_deref().unwrap_or("nobody");
        facts.missing(Field::EngineName, format!("no sign of an engine that is known (owned_by {owner})"));
        facts.missing(Field::EngineVersion, "the engine is unknown");
        if let Some(max) = model.max_model_len {
            facts.number(Field::ModelMaxLength, max, "max_model_len of GET /v1/models");
        }
    }

    fn manner(&self) -> Manner {
        Manner::PLAIN
    }
}
