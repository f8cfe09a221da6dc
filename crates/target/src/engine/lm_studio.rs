//! LM Studio. Facts come from its own routes, requests go to `/v1`.

use serde_json::Value;

use tokometer_wire::Dialect;

use super::{Confidence, Engine, Manner, Probe, Sign, number, text};
use crate::answers::Answers;
use crate::facts::{Facts, Field};
use crate::handling::Handling;
use crate::models::ModelEntry;

const MODELS_V1: &str = "GET /api/v1/models";
const MODELS_V0: &str = "GET /api/v0/models";

/// LM Studio.
pub(super) struct LmStudio;

impl Engine for LmStudio {
    fn name(&self) -> Option<&'static str> {
        Some("lm-studio")
    }

    fn probes(&self) -> &'static [Probe] {
        &[Probe::Get("/api/v1/models"), Probe::Older { path: "/api/v0/models", newer: "/api/v1/models" }]
    }

    fn recognise(&self, _model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        let first = |request: &'static str, list: &str, own: &'static str| {
            let listed = answers.object(request)?;
            listed.get(list)?.as_array()?.first()?.get(own)?;
            Some(Sign::new(Confidence::Certain, own, request))
        };
        first(MODELS_V1, "models", "loaded_instances")
            .or_else(|| first(MODELS_V0, "data", "compatibility_type"))
    }

    fn read(&self, model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        if let Some(entry) = entry(answers, MODELS_V1, "models", "/key", &model.id) {
            if let Some(kind) = text(&entry, "/quantization/name") {
                facts.text(Field::ModelQuantization, kind, &format!("quantization.name of {MODELS_V1}"));
            }
            let instance = entry.get("loaded_instances").and_then(|instances| instances.as_array()?.first());
            if let Some(length) = instance.and_then(|instance| number(instance, "/config/context_length")) {
                let source = format!("loaded_instances[0].config.context_length of {MODELS_V1}");
                facts.number(Field::ModelMaxLength, length, &source);
            }
            if let Some(requests) = instance.and_then(|instance| number(instance, "/config/parallel")) {
                let source = format!("loaded_instances[0].config.parallel of {MODELS_V1}");
                facts.number(Field::CapacityConcurrentRequests, requests, &source);
            }
            further(
                &entry,
                MODELS_V1,
                &[("/architecture", "model.architecture"), ("/format", "model.format")],
                facts,
            );
        }
        if let Some(entry) = entry(answers, MODELS_V0, "data", "/id", &model.id) {
            if let Some(kind) = text(&entry, "/quantization") {
                facts.text(Field::ModelQuantization, kind, &format!("quantization of {MODELS_V0}"));
            }
            if let Some(length) = number(&entry, "/loaded_context_length") {
                let source = format!("loaded_context_length of {MODELS_V0}");
                facts.number(Field::ModelMaxLength, length, &source);
            }
            let names = [("/arch", "model.architecture"), ("/compatibility_type", "model.format")];
            further(&entry, MODELS_V0, &names, facts);
        }
        facts.missing(Field::ModelMaxLength, "the model is not loaded, so its context is not settled");
        facts.missing(Field::EngineVersion, "LM Studio does not tell it over HTTP");
    }

    fn manner(&self) -> Manner {
        Manner { dialect: Dialect::LmStudio, handling: Handling::DISCONNECT, ..Manner::PLAIN }
    }
}

fn entry(answers: &Answers, request: &str, list: &str, name: &str, id: &str) -> Option<Value> {
    let listed = answers.object(request)?;
    let is_it = |entry: &&Value| {
        let instances = entry.get("loaded_instances").and_then(Value::as_array);
        text(entry, name) == Some(id)
            || instances.is_some_and(|all| all.iter().any(|instance| text(instance, "/id") == Some(id)))
    };
    listed.get(list)?.as_array()?.iter().find(is_it).cloned()
}

fn further(entry: &Value, source: &str, names: &[(&str, &str)], facts: &mut Facts) {
    for (pointer, path) in names {
        if let Some(value) = text(entry, pointer) {
            facts.beside(path, value, &format!("{} of {source}", &pointer[1..]));
        }
    }
    if let Some(max) = number(entry, "/max_context_length") {
        let source = format!("max_context_length of {source}");
        facts.beside("model.trained_length", &max.to_string(), &source);
    }
}
