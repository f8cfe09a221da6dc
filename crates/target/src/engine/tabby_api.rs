//! TabbyAPI (exllama). It answers llama.cpp's `/props` as well.

use serde_json::Value;

use tokometer_wire::Dialect;

use super::{Confidence, Engine, LengthField, Manner, Probe, Sign, number, owned_by, text};
use crate::answers::Answers;
use crate::facts::{Facts, Field};
use crate::handling::Handling;
use crate::models::ModelEntry;
use crate::tokenize::TokenizeRoute;

const SERVICE: &str = "GET /.well-known/serviceinfo";
const MODEL: &str = "GET /v1/model";

/// TabbyAPI.
pub(super) struct TabbyApi;

impl Engine for TabbyApi {
    fn name(&self) -> Option<&'static str> {
        Some("tabbyapi")
    }

    fn probes(&self) -> &'static [Probe] {
        &[
            Probe::Get("/.well-known/serviceinfo"),
            Probe::Further("/v1/model"),
            Probe::Tokenize(TokenizeRoute::TokenEncode),
        ]
    }

    fn recognise(&self, model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        owned_by(model, "tabbyAPI").or_else(|| {
            let told = answers.object(SERVICE)?;
            let name = text(&told, "/software/name").filter(|name| name.eq_ignore_ascii_case("tabbyapi"))?;
            Some(Sign::new(Confidence::Certain, format!("software.name {name}"), SERVICE))
        })
    }

    fn read(&self, _model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        facts.missing(
            Field::EngineVersion,
            "TabbyAPI does not tell it: the version of serviceinfo is the format's",
        );
        let told = answers.object(MODEL);
        let Some(parameters) = told.as_ref().and_then(|told| told.get("parameters")) else {
            for field in [Field::ModelMaxLength, Field::CapacityKvTokens, Field::CapacityConcurrentRequests] {
                facts.missing(field, answers.why_not(MODEL));
            }
            return;
        };
        for (pointer, field) in [
            ("/max_seq_len", Field::ModelMaxLength),
            ("/cache_size", Field::CapacityKvTokens),
            ("/max_batch_size", Field::CapacityConcurrentRequests),
        ] {
            if let Some(value) = number(parameters, pointer) {
                facts.number(field, value, &format!("parameters.{} of {MODEL}", &pointer[1..]));
            }
        }
        if let Some(kind) = text(parameters, "/cache_mode") {
            facts.beside("capacity.kv_dtype", kind, &format!("parameters.cache_mode of {MODEL}"));
        }
        let draft = parameters.get("draft");
        let speculative = match draft {
            Some(draft) if !draft.is_null() => draft
                .get("id")
                .and_then(Value::as_str)
                .map_or("draft model".to_owned(), |id| format!("draft model {id}")),
            _ => "off".to_owned(),
        };
        facts.text(Field::EngineSpeculative, &speculative, &format!("parameters.draft of {MODEL}"));
    }

    fn manner(&self) -> Manner {
        Manner {
            dialect: Dialect::TabbyApi,
            tokenize: &[TokenizeRoute::TokenEncode],
            length: &[LengthField::IgnoreEos, LengthField::Least("min_tokens")],
            handling: Handling::DISCONNECT,
            ..Manner::PLAIN
        }
    }
}
