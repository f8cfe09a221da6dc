//! `transformers serve`. Nothing names it, so its routes do; it refuses fields that it does not know.

use tokometer_wire::Dialect;

use super::{Confidence, Engine, Manner, Probe, Sign, UsageOption};
use crate::answers::Answers;
use crate::facts::{Facts, Field};
use crate::models::ModelEntry;

const OPENAPI: &str = "GET /openapi.json";

/// All routes that it ever had; a server with another one is another server.
const ROUTES: [&str; 9] = [
    "/health",
    "/load_model",
    "/reset",
    "/v1/audio/transcriptions",
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/models",
    "/v1/models/{model_id}",
    "/v1/responses",
];

/// `transformers serve`.
pub(super) struct Transformers;

impl Engine for Transformers {
    fn name(&self) -> Option<&'static str> {
        Some("transformers")
    }

    fn probes(&self) -> &'static [Probe] {
        &[Probe::Get("/openapi.json")]
    }

    fn recognise(&self, _model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        let told = answers.object(OPENAPI)?;
        let paths = told.get("paths")?.as_object()?;
        let own = paths.keys().all(|path| ROUTES.contains(&path.as_str()))
            && ["/v1/chat/completions", "/v1/responses"].iter().all(|path| paths.contains_key(*path))
            && told.pointer("/info/title").and_then(serde_json::Value::as_str) == Some("FastAPI");
        own.then(|| Sign::new(Confidence::Likely, "the routes of transformers serve and no others", OPENAPI))
    }

    fn read(&self, _model: &ModelEntry, _answers: &Answers, facts: &mut Facts) {
        let reason = "transformers serve does not tell it over HTTP";
        for field in [Field::EngineVersion, Field::ModelMaxLength, Field::CapacityKvTokens] {
            facts.missing(field, reason);
        }
    }

    fn manner(&self) -> Manner {
        // Usage comes unasked.
        Manner { dialect: Dialect::Transformers, usage: UsageOption::None, ..Manner::PLAIN }
    }
}
