//! llama.cpp's server, alone or as a router to several models.
//!
//! Some of its gauges are averages since they were last read, and reading resets them: only those are taken that
//! are not.

use serde_json::Value;
use tokometer_wire::Dialect;
use tokometer_wire::metrics::MetricNames;

use super::{Confidence, Engine, LengthField, Manner, PROPS_OF_MODEL, Probe, Sign, metrics_prefix, owned_by};
use crate::answers::{Answers, MODELS};
use crate::facts::{Facts, Field};
use crate::handling::{CacheReset, Handling};
use crate::models::ModelEntry;
use crate::tokenize::TokenizeRoute;

const PROPS: &str = "GET /props";

const METRIC_NAMES: MetricNames = MetricNames {
    running: &["llamacpp:requests_processing"],
    waiting: &["llamacpp:requests_deferred"],
    generated_tokens: &["llamacpp:tokens_predicted_total"],
    prompt_tokens: &["llamacpp:prompt_tokens_total"],
    cached_tokens: &["llamacpp:prompt_tokens_cached_total"],
    ..MetricNames::NONE
};

/// llama.cpp.
pub(super) struct LlamaCpp;

impl Engine for LlamaCpp {
    fn name(&self) -> Option<&'static str> {
        Some("llama.cpp")
    }

    fn probes(&self) -> &'static [Probe] {
        &[
            Probe::Get("/props"),
            Probe::PropsOfModel,
            Probe::Get("/metrics"),
            Probe::Tokenize(TokenizeRoute::Content),
        ]
    }

    fn recognise(&self, model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        let header = || {
            let server = answers.header("server").filter(|server| server.starts_with("llama.cpp"))?;
            Some(Sign {
                confidence: Confidence::Certain,
                value: format!("header Server: {server}"),
                source: MODELS,
            })
        };
        // Others answer /props too, but without the build.
        let props = || {
            let build = answers.object(PROPS)?.get("build_info")?.as_str()?.to_owned();
            Some(Sign { confidence: Confidence::Likely, value: format!("build_info {build}"), source: PROPS })
        };
        owned_by(model, "llamacpp")
            .or_else(header)
            .or_else(props)
            .or_else(|| metrics_prefix(answers, "llamacpp:"))
    }

    fn read(&self, model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        let props = if is_router(answers) { answers.object(PROPS_OF_MODEL) } else { answers.object(PROPS) };
        let Some(props) = props else {
            let why = answers.why_not(PROPS);
            for field in [
                Field::EngineVersion,
                Field::EngineCommit,
                Field::ModelQuantization,
                Field::CapacityKvTokens,
                Field::CapacityConcurrentRequests,
            ] {
                facts.missing(field, why.clone());
            }
            read_meta(model, facts);
            return;
        };
        let text = |name: &str| props.get(name).and_then(Value::as_str).unwrap_or_default();
        let build = text("build_info");
        facts.text(Field::EngineVersion, build, "build_info of GET /props");
        match build.split_once('-') {
            Some((_, commit)) if commit.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                facts.text(Field::EngineCommit, commit, "build_info of GET /props");
            }
            _ => {
                facts
                    .missing(Field::EngineCommit, format!("the build_info {build} of GET /props names none"));
            }
        }
        let file = text("model_path").rsplit(['/', '\\']).next().unwrap_or_default();
        facts.text(Field::ModelId, file, "model_path of GET /props");
        facts.text(Field::ModelQuantization, text("model_ftype"), "model_ftype of GET /props");

        let slots = props.get("total_slots").and_then(Value::as_u64).unwrap_or(0);
        let slot_length =
            props.pointer("/default_generation_settings/n_ctx").and_then(Value::as_u64).unwrap_or(0);
        facts.number(
            Field::ModelMaxLength,
            slot_length,
            "default_generation_settings.n_ctx of GET /props (each slot's)",
        );
        facts.number(Field::CapacityConcurrentRequests, slots, "total_slots of GET /props");
        facts.number(
            Field::CapacityKvTokens,
            slots.saturating_mul(slot_length),
            "total_slots × n_ctx of GET /props: overstates a cache that all slots share (--kv-unified)",
        );
        facts.prefix_caching(true, "each request asks for it (cache_prompt)");
        read_defaults(&props, facts);
        facts.missing(Field::EngineParallelism, "llama.cpp tells it only in its launch command");
        read_meta(model, facts);
    }

    fn manner(&self) -> Manner {
        Manner {
            dialect: Dialect::LlamaCpp,
            metrics: Some(&METRIC_NAMES),
            tokenize: &[TokenizeRoute::Content],
            slots_path: Some("/slots"),
            length: &[LengthField::IgnoreEos],
            flags: &["timings_per_token", "cache_prompt"],
            handling: Handling {
                cache_reset: CacheReset::No {
                    remark: "open each prompt with words of its own; POST /slots/{id}?action=erase needs --slot-save-path",
                },
                ..Handling::DISCONNECT
            },
            ..Manner::PLAIN
        }
    }
}

/// What a request gets that asks for nothing else.
fn read_defaults(props: &Value, facts: &mut Facts) {
    let Some(params) = props.pointer("/default_generation_settings/params") else { return };
    let source = "default_generation_settings.params of GET /props";
    for (name, path) in [
        ("temperature", "sampling.temperature"),
        ("top_p", "sampling.top_p"),
        ("top_k", "sampling.top_k"),
        ("min_p", "sampling.min_p"),
    ] {
        if let Some(value) = params.get(name).and_then(Value::as_f64) {
            // They are written as doubles and meant as floats.
            facts.beside(path, &(value as f32).to_string(), source);
        }
    }
    if let Some(kinds) = params.get("speculative.types").and_then(Value::as_str) {
        let speculative = if kinds == "none" { "off" } else { kinds };
        facts.text(Field::EngineSpeculative, speculative, &format!("speculative.types in {source}"));
    }
}

/// True if it routes to several models and shows no props of its own.
pub(super) fn is_router(answers: &Answers) -> bool {
    answers.object(PROPS).is_some_and(|props| props.get("role").and_then(Value::as_str) == Some("router"))
}

/// The list of models holds a few figures as well.
fn read_meta(model: &ModelEntry, facts: &mut Facts) {
    let meta = |name: &str| model.raw.get("meta").and_then(|meta| meta.get(name));
    if let Some(length) = meta("n_ctx").and_then(Value::as_u64) {
        facts.number(Field::ModelMaxLength, length, "meta.n_ctx of GET /v1/models");
    }
    if let Some(kind) = meta("ftype").and_then(Value::as_str) {
        facts.text(Field::ModelQuantization, kind, "meta.ftype of GET /v1/models");
    }
}
