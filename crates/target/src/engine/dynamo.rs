//! The Dynamo front end. It speaks for workers of other engines, which it does not name.

use tokometer_wire::Dialect;
use tokometer_wire::metrics::{self, MetricNames};

use super::{Confidence, Engine, LengthField, Manner, Probe, Sign, metrics_prefix};
use crate::answers::{Answers, METRICS, MODELS};
use crate::facts::{Facts, Field};
use crate::handling::Handling;
use crate::models::ModelEntry;

/// Its gauge of queued requests counts each until its first token, which is no waiting: it is left out.
const METRIC_NAMES: MetricNames = MetricNames {
    running: &["dynamo_frontend_inflight_requests"],
    generated_tokens: &["dynamo_frontend_output_tokens_total"],
    prompt_tokens: &["dynamo_frontend_input_sequence_tokens_sum"],
    cached_tokens: &["dynamo_frontend_cached_tokens_sum"],
    ..MetricNames::NONE
};

/// The Dynamo front end.
pub(super) struct Dynamo;

impl Engine for Dynamo {
    fn name(&self) -> Option<&'static str> {
        Some("dynamo")
    }

    fn probes(&self) -> &'static [Probe] {
        &[Probe::Get("/metrics")]
    }

    fn recognise(&self, model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        let header = || {
            answers.header("x-dynamo-request-id")?;
            Some(Sign::new(Confidence::Likely, "header x-dynamo-request-id", MODELS))
        };
        let owner = || {
            model.owned_by.as_deref().filter(|owner| *owner == "nvidia")?;
            metrics_prefix(answers, "dynamo_")
        };
        metrics_prefix(answers, "dynamo_frontend_").or_else(owner).or_else(header)
    }

    fn read(&self, model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        facts.missing(Field::EngineVersion, "the front end does not tell it, nor its workers' engine");
        facts.missing(Field::EngineParallelism, "each worker tells its own on DYN_SYSTEM_PORT");
        let Some(exposition) = answers.text(METRICS) else {
            facts.missing(Field::CapacityKvTokens, answers.why_not(METRICS));
            return;
        };
        let of_model = |name: &str| -> Option<u64> {
            metrics::series(&exposition, name)
                .filter(|(labels, _)| labels.get("model").is_none_or(|of| of.eq_ignore_ascii_case(&model.id)))
                .map(|(_, value)| value)
                .filter(|value| *value > 0.0)
                .map(|value| value as u64)
                .max()
        };
        if let Some(length) = of_model("dynamo_frontend_model_context_length") {
            facts.number(
                Field::ModelMaxLength,
                length,
                "dynamo_frontend_model_context_length of GET /metrics",
            );
        }
        if let Some(requests) = of_model("dynamo_frontend_model_max_num_seqs") {
            let source = "dynamo_frontend_model_max_num_seqs of GET /metrics";
            facts.beside("capacity.concurrent_requests_of_a_worker", &requests.to_string(), source);
        }
        let blocks = of_model("dynamo_frontend_model_total_kv_blocks");
        let block_tokens = of_model("dynamo_frontend_model_kv_cache_block_size");
        if let (Some(blocks), Some(block_tokens)) = (blocks, block_tokens) {
            let source = "dynamo_frontend_model_total_kv_blocks × model_kv_cache_block_size of GET /metrics";
            let tokens = blocks.saturating_mul(block_tokens).to_string();
            facts.beside("capacity.kv_tokens_of_a_worker", &tokens, source);
        }
        let per_worker = "the front end tells it of one worker, and not how many there are";
        facts.missing(Field::CapacityKvTokens, per_worker);
        facts.missing(Field::CapacityConcurrentRequests, per_worker);
    }

    fn manner(&self) -> Manner {
        Manner {
            dialect: Dialect::Dynamo,
            metrics: Some(&METRIC_NAMES),
            length: &[LengthField::IgnoreEosIn("nvext")],
            handling: Handling::DISCONNECT,
            ..Manner::PLAIN
        }
    }
}
