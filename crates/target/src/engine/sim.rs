//! tokometer's simulated engine, which speaks as vLLM does and says what it is.

use super::{Confidence, Engine, Manner, Probe, Sign, owned_by, vllm};
use crate::answers::{Answers, MODELS};
use crate::facts::{Facts, Field};
use crate::models::ModelEntry;

/// Owner of the simulated engine's models, and its name in records.
const NAME: &str = "tokometer-sim";
/// Response header of the simulated engine.
const HEADER: &str = "x-tokometer-simulated";

/// The simulated engine.
pub(super) struct Sim;

impl Engine for Sim {
    fn name(&self) -> Option<&'static str> {
        Some(NAME)
    }

    fn probes(&self) -> &'static [Probe] {
        vllm::PROBES
    }

    fn recognise(&self, model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        owned_by(model, NAME).or_else(|| {
            let value = format!("header {HEADER}: {}", answers.header(HEADER)?);
            Some(Sign { confidence: Confidence::Certain, value, source: MODELS })
        })
    }

    fn read(&self, model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        vllm::read_facts(model, answers, facts);
        facts.missing(Field::Hardware, "a simulated engine has none");
    }

    fn manner(&self) -> Manner {
        vllm::MANNER
    }
}

/// True if a server says that it is simulated.
pub(crate) fn is_simulated(model: &ModelEntry, answers: &Answers) -> bool {
    Sim.recognise(model, answers).is_some()
}
