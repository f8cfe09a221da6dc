//! mistral.rs.

use serde_json::Value;
use tokometer_wire::Dialect;
use tokometer_wire::metrics::{self, MetricNames};

use super::{Confidence, Engine, LengthField, Manner, Probe, Sign, metrics_prefix};
use crate::answers::{Answers, METRICS, SHORT_CHAT};
use crate::facts::{Facts, Field};
use crate::handling::Handling;
use crate::models::ModelEntry;

const SYSTEM_INFO: &str = "GET /v1/system/info";

const METRIC_NAMES: MetricNames = MetricNames {
    running: &["mistralrs_sequences_running"],
    waiting: &["mistralrs_sequences_waiting"],
    generated_tokens: &["mistralrs_decode_tokens_processed_total"],
    prompt_tokens: &["mistralrs_prefill_tokens_processed_total"],
    cached_tokens: &["mistralrs_prefix_cache_tokens_reused_total"],
    ..MetricNames::NONE
};

/// mistral.rs.
pub(super) struct MistralRs;

impl Engine for MistralRs {
    fn name(&self) -> Option<&'static str> {
        Some("mistral.rs")
    }

    fn probes(&self) -> &'static [Probe] {
        &[Probe::Get("/v1/system/info"), Probe::Get("/metrics")]
    }

    fn recognise(&self, _model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        let fingerprint = || {
            let told = super::fingerprint(answers).filter(|told| told == "local")?;
            Some(Sign::new(Confidence::Likely, format!("system_fingerprint {told}"), SHORT_CHAT))
        };
        let system = || {
            let told = answers.object(SYSTEM_INFO)?;
            (told.get("build").is_some() && told.get("devices").is_some())
                .then(|| Sign::new(Confidence::Likely, "build and devices", SYSTEM_INFO))
        };
        metrics_prefix(answers, "mistralrs_").or_else(system).or_else(fingerprint)
    }

    fn read(&self, model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        if let Some(max) = model.max_model_len {
            facts.number(Field::ModelMaxLength, max, "max_model_len of GET /v1/models");
        }
        if let Some(told) = answers.object(SYSTEM_INFO) {
            for (pointers, field) in [
                (["/build/version", "/version"], Field::EngineVersion),
                (["/build/git_revision", "/build/git_hash"], Field::EngineCommit),
            ] {
                for pointer in pointers {
                    let value =
                        told.pointer(pointer).and_then(Value::as_str).filter(|value| *value != "unknown");
                    if let Some(value) = value {
                        facts.text(
                            field,
                            value,
                            &format!("{} of {SYSTEM_INFO}", pointer[1..].replace('/', ".")),
                        );
                    }
                }
            }
        }
        facts.missing(Field::EngineVersion, answers.why_not(SYSTEM_INFO));
        if let Some(exposition) = answers.text(METRICS) {
            let sum =
                |name: &str| -> f64 { metrics::series(&exposition, name).map(|(_, value)| value).sum() };
            let source = format!("mistralrs_sequences_capacity of {METRICS}");
            let requests = sum("mistralrs_sequences_capacity") as u64;
            facts.number(Field::CapacityConcurrentRequests, requests, &source);
            let blocks = sum("mistralrs_kv_cache_blocks_total");
            if blocks > 0.0 {
                facts.beside(
                    "capacity.kv_blocks",
                    &blocks.to_string(),
                    "mistralrs_kv_cache_blocks_total of GET /metrics",
                );
            }
        }
        facts
            .missing(Field::CapacityKvTokens, "mistral.rs tells the blocks of its cache, but not their size");
    }

    fn manner(&self) -> Manner {
        Manner {
            dialect: Dialect::MistralRs,
            metrics: Some(&METRIC_NAMES),
            length: &[LengthField::IgnoreEos],
            handling: Handling::DISCONNECT,
            ..Manner::PLAIN
        }
    }
}
