//! Ollama. Facts come from its own routes, requests go to `/v1`.
//!
//! Others serve its routes too (SGLang all of them), so that its own greeting decides, and only where nobody is
//! named for certain.

use serde_json::Value;

use tokometer_wire::Dialect;

use super::{Confidence, Engine, Manner, Probe, SHOW, Sign, number, text};
use crate::answers::{Answers, SHORT_CHAT};
use crate::facts::{Facts, Field};
use crate::handling::Handling;
use crate::models::ModelEntry;

const VERSION: &str = "GET /api/version";
const GREETING: &str = "GET /";
const LOADED: &str = "GET /api/ps";

/// Ollama.
pub(super) struct Ollama;

impl Engine for Ollama {
    fn name(&self) -> Option<&'static str> {
        Some("ollama")
    }

    fn probes(&self) -> &'static [Probe] {
        // The model is loaded by the first request; how long a context it got is told only then.
        &[
            Probe::Get("/api/version"),
            Probe::Get("/"),
            Probe::Show,
            Probe::ShortChat,
            Probe::Further("/api/ps"),
        ]
    }

    fn recognise(&self, _model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        let greeting = || {
            let told = answers.text(GREETING)?;
            told.starts_with("Ollama is running")
                .then(|| Sign::new(Confidence::Likely, told.trim(), GREETING))
        };
        let fingerprint = || {
            let told = super::fingerprint(answers).filter(|told| told == "fp_ollama")?;
            Some(Sign::new(Confidence::Likely, told, SHORT_CHAT))
        };
        greeting().or_else(fingerprint)
    }

    fn read(&self, model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        match answers.object(VERSION).as_ref().and_then(|told| text(told, "/version")) {
            Some(version) => facts.text(Field::EngineVersion, version, VERSION),
            None => facts.missing(Field::EngineVersion, answers.why_not(VERSION)),
        }
        if let Some(show) = answers.object(SHOW) {
            read_show(&show, facts);
        }
        match loaded(model, answers) {
            Some(loaded) => {
                if let Some(length) = number(&loaded, "/context_length") {
                    let source = format!("context_length of {LOADED}; longer prompts are cut without a word");
                    facts.number(Field::ModelMaxLength, length, &source);
                }
            }
            None => facts.missing(
                Field::ModelMaxLength,
                format!("the context of the loaded model is not told ({})", answers.why_not(LOADED)),
            ),
        }
        let parallel = "OLLAMA_NUM_PARALLEL is known only on the server's machine; its default is 1";
        facts.missing(Field::CapacityConcurrentRequests, parallel);
        facts.missing(Field::CapacityKvTokens, format!("context × parallel requests; {parallel}"));
    }

    fn manner(&self) -> Manner {
        Manner { dialect: Dialect::Ollama, handling: Handling::DISCONNECT, ..Manner::PLAIN }
    }
}

fn read_show(show: &Value, facts: &mut Facts) {
    if let Some(kind) = text(show, "/details/quantization_level") {
        facts.text(Field::ModelQuantization, kind, &format!("details.quantization_level of {SHOW}"));
    }
    if let Some(size) = text(show, "/details/parameter_size") {
        facts.beside("model.parameters", size, &format!("details.parameter_size of {SHOW}"));
    }
    let Some(info) = show.get("model_info").and_then(Value::as_object) else { return };
    if let Some((name, trained)) = info.iter().find(|(name, _)| name.ends_with(".context_length")) {
        // What it was trained for, not what it was loaded with.
        facts.beside("model.trained_length", &trained.to_string(), &format!("model_info.{name} of {SHOW}"));
    }
}

/// The entry of this model among those that are loaded; `latest` is the tag of names without one.
fn loaded(model: &ModelEntry, answers: &Answers) -> Option<Value> {
    let told = answers.object(LOADED)?;
    let full = |name: &str| if name.contains(':') { name.to_owned() } else { format!("{name}:latest") };
    let is_it = |entry: &&Value| {
        ["/name", "/model"]
            .iter()
            .any(|field| text(entry, field).is_some_and(|name| full(name) == full(&model.id)))
    };
    told.get("models")?.as_array()?.iter().find(is_it).cloned()
}
