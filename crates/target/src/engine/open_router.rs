//! OpenRouter, which routes to providers whose engines it does not name.

use tokometer_wire::Dialect;

use super::{Confidence, Engine, Manner, Probe, Sign, number};
use crate::answers::{Answers, MODELS};
use crate::facts::{Facts, Field};
use crate::models::ModelEntry;

/// OpenRouter.
pub(super) struct OpenRouter;

impl Engine for OpenRouter {
    fn name(&self) -> Option<&'static str> {
        None
    }

    fn probes(&self) -> &'static [Probe] {
        &[]
    }

    fn recognise(&self, model: &ModelEntry, _answers: &Answers) -> Option<Sign> {
        in_front(model).map(|(name, source)| Sign::new(Confidence::Certain, name, source))
    }

    fn read(&self, model: &ModelEntry, _answers: &Answers, facts: &mut Facts) {
        facts.missing(Field::EngineVersion, "the engine is unknown");
        // The provider may take less than the model.
        for (pointer, source) in [
            ("/top_provider/context_length", "top_provider.context_length of GET /v1/models"),
            ("/context_length", "context_length of GET /v1/models"),
        ] {
            if let Some(max) = number(&model.raw, pointer) {
                facts.number(Field::ModelMaxLength, max, source);
            }
        }
    }

    fn manner(&self) -> Manner {
        Manner { dialect: Dialect::OpenRouter, ..Manner::PLAIN }
    }
}

/// Its name, and where it is told: only it lists prices and providers.
pub(super) fn in_front(model: &ModelEntry) -> Option<(String, &'static str)> {
    let listed = model.raw.get("top_provider").is_some() && model.raw.get("pricing").is_some();
    listed.then(|| ("OpenRouter".to_owned(), MODELS))
}
