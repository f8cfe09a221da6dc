//! TensorRT-LLM.
//!
//! Its `/metrics` is a queue of iterations that reading empties, so gauges are read on `/prometheus/metrics`, and
//! the queue is touched only where that is missing, once and before anything is measured. It refuses fields that
//! it does not know.

use serde_json::Value;
use tokometer_wire::Dialect;
use tokometer_wire::metrics::{self, MetricNames};

use super::{
    Confidence, Engine, LengthField, Manner, Probe, Sign, UsageOption, local_version, metrics_prefix_of,
    number, owned_by, text,
};
use crate::answers::{Answers, METRICS};
use crate::facts::{Facts, Field};
use crate::handling::{Abort, CacheReset, CacheSalt, Handling};
use crate::models::ModelEntry;

const VERSION: &str = "GET /version";
const PROMETHEUS: &str = "GET /prometheus/metrics";
const CACHE_CONFIGS: [&str; 2] = ["trtllm_kv_cache_config_info", "trtllm_cache_config_info"];

const METRIC_NAMES: MetricNames = MetricNames {
    running: &["trtllm_num_requests_running"],
    waiting: &["trtllm_num_requests_waiting"],
    generated_tokens: &["trtllm_generation_tokens_total"],
    prompt_tokens: &["trtllm_prompt_tokens_total"],
    cached_tokens: &["trtllm_prompt_cached_tokens_total"],
    kv_used: &["trtllm_kv_cache_utilization"],
    acceptance_length: &["trtllm_spec_decode_acceptance_length"],
    ..MetricNames::NONE
};

/// TensorRT-LLM.
pub(super) struct TensorRtLlm;

impl Engine for TensorRtLlm {
    fn name(&self) -> Option<&'static str> {
        Some("tensorrt-llm")
    }

    fn probes(&self) -> &'static [Probe] {
        &[
            Probe::Get("/version"),
            Probe::Get("/prometheus/metrics"),
            Probe::FurtherElse { path: "/metrics", better: "/prometheus/metrics" },
        ]
    }

    fn recognise(&self, model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        owned_by(model, "tensorrt_llm").or_else(|| metrics_prefix_of(answers, PROMETHEUS, "trtllm_")).or_else(
            || {
                let list = answers.json(METRICS)?;
                let iteration = list.as_array()?.first()?;
                iteration.get("kvCacheStats").or_else(|| iteration.get("numActiveRequests"))?;
                Some(Sign::new(Confidence::Likely, "a list of iterations", METRICS))
            },
        )
    }

    fn read(&self, model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        if let Some(version) = answers.object(VERSION).as_ref().and_then(|told| text(told, "/version")) {
            facts.text(Field::EngineVersion, version, VERSION);
            match local_version(version).0 {
                Some(commit) => facts.text(Field::EngineCommit, commit, VERSION),
                None => facts.missing(Field::EngineCommit, "TensorRT-LLM tells its version only"),
            }
        } else {
            facts.missing(Field::EngineVersion, answers.why_not(VERSION));
        }
        facts.text(Field::EngineBackend, "cuda", "TensorRT-LLM runs on nothing else");
        if let Some(max) = model.max_model_len {
            facts.number(Field::ModelMaxLength, max, "max_model_len of GET /v1/models");
        }
        if let Some(exposition) = answers.text(PROMETHEUS) {
            read_prometheus(&exposition, facts);
        } else {
            let why = format!("{} (it needs return_perf_metrics)", answers.why_not(PROMETHEUS));
            for field in [
                Field::EngineParallelism,
                Field::EngineSpeculative,
                Field::ModelQuantization,
                Field::ModelMaxLength,
            ] {
                facts.missing(field, why.clone());
            }
        }
        if let Some(last) = answers.json(METRICS).as_ref().and_then(|list| list.as_array()?.last()) {
            read_iteration(last, facts);
        }
        facts.missing(
            Field::CapacityKvTokens,
            "neither metrics nor iterations tell the blocks of the KV cache",
        );
    }

    fn manner(&self) -> Manner {
        Manner {
            dialect: Dialect::TensorRtLlm,
            metrics: Some(&METRIC_NAMES),
            metrics_path: "/prometheus/metrics",
            usage: UsageOption::Continuous,
            length: &[LengthField::IgnoreEos, LengthField::Least("min_tokens")],
            handling: Handling {
                abort: Abort::Disconnect {
                    remark: Some("the server looks for closed connections once a second"),
                },
                cache_reset: CacheReset::No { remark: "only a restart, or a salt on the chat route" },
                cache_salt: Some(CacheSalt { field: "cache_salt", completions: false }),
            },
            ..Manner::PLAIN
        }
    }
}

fn read_prometheus(exposition: &str, facts: &mut Facts) {
    let label = |metric: &str, name: &str| -> Option<String> {
        let value = metrics::series(exposition, metric).find_map(|(labels, _)| labels.get(name))?;
        (!matches!(value.to_lowercase().as_str(), "" | "none" | "unknown")).then_some(value)
    };
    let source = |metric: &str| format!("{metric} of {PROMETHEUS}");
    let gauge = |name: &str| -> f64 { metrics::series(exposition, name).map(|(_, value)| value).sum() };

    let model = "trtllm_model_config_info";
    if let Some(path) = label(model, "model") {
        facts.text(Field::ModelId, &path, &source(model));
    }
    if let Some(kind) = label(model, "quantization") {
        facts.text(Field::ModelQuantization, &kind, &source(model));
    }
    if let Some(dtype) = label(model, "dtype").filter(|dtype| dtype != "auto") {
        facts.text(Field::ModelQuantization, &dtype, &source(model));
        facts.beside("model.dtype", &dtype, &source(model));
    }
    if let Some(max) = label(model, "max_model_len").and_then(|max| max.parse().ok()) {
        facts.number(Field::ModelMaxLength, max, &source(model));
    }
    if let Some(accelerator) = label(model, "gpu_type") {
        facts.beside("hardware.accelerators", &accelerator, &source(model));
    }
    let parallel = "trtllm_parallel_config_info";
    let ranks: Vec<_> =
        [("tp", "tensor_parallel_size"), ("pp", "pipeline_parallel_size"), ("ep", "expert_parallel_size")]
            .into_iter()
            .filter_map(|(short, name)| Some((short, label(parallel, name)?)))
            .filter(|(short, size)| *short == "tp" || size != "1")
            .map(|(short, size)| format!("{short}{size}"))
            .collect();
    facts.text(Field::EngineParallelism, &ranks.join(" "), &source(parallel));
    let speculative = "trtllm_speculative_config_info";
    if let Some(enabled) = label(speculative, "spec_enabled") {
        let method =
            label(speculative, "spec_method").unwrap_or_else(|| "on (the method is not told)".to_owned());
        let steps = label(speculative, "spec_num_tokens").map(|tokens| format!(", {tokens} draft tokens"));
        let on = enabled.eq_ignore_ascii_case("true");
        let value = if on { method + &steps.unwrap_or_default() } else { "off".to_owned() };
        facts.text(Field::EngineSpeculative, &value, &source(speculative));
    }
    for config in CACHE_CONFIGS {
        if let Some(reuse) = label(config, "enable_block_reuse") {
            let source = format!("enable_block_reuse of {}", source(config));
            facts.prefix_caching(reuse.eq_ignore_ascii_case("true"), &source);
        }
        if let Some(kind) = label(config, "cache_dtype").filter(|kind| kind != "auto") {
            facts.beside("capacity.kv_dtype", &kind, &source(config));
        }
    }
    let block_tokens = metrics::series(exposition, "trtllm_kv_cache_tokens_per_block")
        .map(|(_, value)| value)
        .fold(0.0, f64::max);
    facts.number(
        Field::CapacityKvTokens,
        (gauge("trtllm_kv_cache_max_blocks") * block_tokens) as u64,
        &source("trtllm_kv_cache_max_blocks × trtllm_kv_cache_tokens_per_block"),
    );
    for name in ["trtllm_max_num_active_requests", "trtllm_max_batch_size_static"] {
        facts.number(Field::CapacityConcurrentRequests, gauge(name) as u64, &source(name));
    }
}

/// One iteration of the queue.
fn read_iteration(iteration: &Value, facts: &mut Facts) {
    let blocks = number(iteration, "/kvCacheStats/maxNumBlocks");
    let block_tokens = number(iteration, "/kvCacheStats/tokensPerBlock");
    if let (Some(blocks), Some(block_tokens)) = (blocks, block_tokens) {
        let source = format!("kvCacheStats.maxNumBlocks × tokensPerBlock of {METRICS}");
        facts.number(Field::CapacityKvTokens, blocks.saturating_mul(block_tokens), &source);
    }
    for name in ["maxNumActiveRequests", "maxBatchSizeStatic"] {
        if let Some(requests) = number(iteration, &format!("/{name}")) {
            facts.number(Field::CapacityConcurrentRequests, requests, &format!("{name} of {METRICS}"));
        }
    }
    if iteration.get("specDecodingStats").is_some_and(|stats| !stats.is_null()) {
        let source = format!("specDecodingStats of {METRICS}");
        facts.text(Field::EngineSpeculative, "on (the method is not told)", &source);
    }
}
