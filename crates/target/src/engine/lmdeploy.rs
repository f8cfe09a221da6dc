//! LMDeploy.

use tokometer_wire::Dialect;
use tokometer_wire::metrics::{self, MetricNames};

use super::{Engine, LengthField, Manner, Probe, Sign, metrics_prefix, owned_by};
use crate::answers::{Answers, METRICS};
use crate::facts::{Facts, Field};
use crate::handling::Handling;
use crate::models::ModelEntry;
use crate::tokenize::TokenizeRoute;

/// Its counter of generated tokens is left out: versions were seen that add every token to it twice.
const METRIC_NAMES: MetricNames = MetricNames {
    running: &["lmdeploy:num_requests_running"],
    waiting: &["lmdeploy:num_requests_waiting"],
    prompt_tokens: &["lmdeploy:prompt_tokens_total"],
    kv_used: &["lmdeploy:gpu_cache_usage_perc"],
    ..MetricNames::NONE
};

/// LMDeploy.
pub(super) struct LmDeploy;

impl Engine for LmDeploy {
    fn name(&self) -> Option<&'static str> {
        Some("lmdeploy")
    }

    fn probes(&self) -> &'static [Probe] {
        &[Probe::Get("/metrics"), Probe::Tokenize(TokenizeRoute::Encode)]
    }

    fn recognise(&self, model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        owned_by(model, "lmdeploy").or_else(|| metrics_prefix(answers, "lmdeploy:"))
    }

    fn read(&self, model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        if let Some(max) = model.max_model_len {
            facts.number(Field::ModelMaxLength, max, "max_model_len of GET /v1/models");
        }
        if let Some(exposition) = answers.text(METRICS) {
            let drafts = ["lmdeploy:spec_decode_num_drafts_total", "lmdeploy:spec_decode_num_drafts"];
            if drafts.iter().any(|name| metrics::series(&exposition, name).next().is_some()) {
                let source = "lmdeploy:spec_decode counters of GET /metrics";
                facts.text(Field::EngineSpeculative, "on (the method is not told)", source);
            }
        }
        facts.missing(Field::EngineVersion, "LMDeploy does not tell it over HTTP");
        facts.missing(Field::CapacityKvTokens, "LMDeploy tells its blocks only in its log");
        facts.missing(
            Field::CapacityConcurrentRequests,
            "LMDeploy tells --max-batch-size only in its launch command",
        );
    }

    fn manner(&self) -> Manner {
        Manner {
            dialect: Dialect::LmDeploy,
            metrics: Some(&METRIC_NAMES),
            tokenize: &[TokenizeRoute::Encode],
            length: &[LengthField::IgnoreEos, LengthField::Least("min_new_tokens")],
            handling: Handling::DISCONNECT,
            ..Manner::PLAIN
        }
    }
}
