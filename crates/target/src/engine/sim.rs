//! tokometer's simulated engine under its own name, which speaks as vLLM does. Where it passes for another engine
//! that one's file is used, and a header of every answer says that it is simulated.

use super::{Engine, Manner, Probe, Sign, owned_by, vllm};
use crate::answers::Answers;
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

    fn recognise(&self, model: &ModelEntry, _answers: &Answers) -> Option<Sign> {
        owned_by(model, NAME)
    }

    fn read(&self, model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        vllm::read_facts(model, answers, facts);
        facts.missing(Field::Hardware, "a simulated engine has none");
    }

    fn manner(&self) -> Manner {
        vllm::MANNER
    }
}

/// True if a server says that it is simulated, also where it passes for another engine.
pub(crate) fn is_simulated(model: &ModelEntry, answers: &Answers) -> bool {
    owned_by(model, NAME).is_some() || answers.header(HEADER).is_some()
}
