//! SGLang.
//!
//! `/server_info` holds the server's keys among its arguments, so only named fields are ever taken out of
//! it. It also asks the scheduler: it is read once, before anything is measured. `/health` is never asked: it
//! may generate a token.

use std::collections::BTreeMap;

use serde_json::Value;
use tokometer_wire::metrics::{self, MetricNames};
use tokometer_wire::{Dialect, redact};

use super::{
    Confidence, Engine, LengthField, Manner, Probe, Sign, UsageOption, local_version, metrics_prefix,
    owned_by,
};
use crate::answers::{Answers, METRICS};
use crate::facts::{Facts, Field};
use crate::handling::{Abort, CacheReset, CacheSalt, Handling};
use crate::models::ModelEntry;
use crate::tokenize::TokenizeRoute;

const SERVER_INFO: &str = "GET /server_info";
/// More data-parallel ranks than there are anywhere.
const MOST_RANKS: u64 = 4096;
const OLD_SERVER_INFO: &str = "GET /get_server_info";

/// Arguments that are secrets, whatever they look like.
const KEYS: [&str; 5] =
    ["api_key", "admin_api_key", "ssl_keyfile_password", "watermark_key", "watermark_key_b"];

const METRIC_NAMES: MetricNames = MetricNames {
    running: &["sglang:num_running_reqs"],
    waiting: &["sglang:num_queue_reqs"],
    generated_tokens: &["sglang:generation_tokens_total"],
    prompt_tokens: &["sglang:prompt_tokens_total"],
    cached_tokens: &["sglang:cached_tokens_total"],
    kv_used: &["sglang:token_usage"],
    preemptions: &["sglang:num_retracted_requests_total", "sglang:num_retracted_reqs"],
    // It counts verification passes too, but not in a unit that is known for batches.
    acceptance_length: &["sglang:spec_accept_length"],
    ..MetricNames::NONE
};

/// SGLang.
pub(super) struct Sglang;

impl Engine for Sglang {
    fn name(&self) -> Option<&'static str> {
        Some("sglang")
    }

    fn probes(&self) -> &'static [Probe] {
        &[
            Probe::Get("/server_info"),
            Probe::Older { path: "/get_server_info", newer: "/server_info" },
            Probe::Get("/metrics"),
            Probe::Tokenize(TokenizeRoute::Prompt),
        ]
    }

    fn recognise(&self, model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        owned_by(model, "sglang")
            .or_else(|| {
                let (info, source) = server_info(answers)?;
                let known = ["max_total_num_tokens", "internal_states"]
                    .into_iter()
                    .find(|name| info.get(name).is_some())?;
                Some(Sign { confidence: Confidence::Certain, value: known.to_owned(), source })
            })
            .or_else(|| metrics_prefix(answers, "sglang:"))
    }

    fn read(&self, model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        if let Some((info, source)) = server_info(answers) {
            read_server_info(&info, source, facts);
        } else {
            let why = answers.why_not(SERVER_INFO);
            for field in [
                Field::EngineVersion,
                Field::EngineParallelism,
                Field::EngineSpeculative,
                Field::ModelQuantization,
                Field::CapacityConcurrentRequests,
            ] {
                facts.missing(field, why.clone());
            }
        }
        if let Some(root) = &model.root {
            facts.text(Field::ModelId, root, "root of GET /v1/models");
        }
        if let Some(max) = model.max_model_len {
            facts.number(Field::ModelMaxLength, max, "max_model_len of GET /v1/models");
        }
        if let Some(text) = answers.text(METRICS) {
            // Tensor-parallel ranks repeat the figure, data-parallel ranks add to it.
            let mut ranks = BTreeMap::new();
            for (labels, value) in metrics::series(&text, "sglang:max_total_num_tokens") {
                let rank = ranks.entry(labels.get("dp_rank")).or_insert(0.0_f64);
                *rank = rank.max(value);
            }
            let ranks: Vec<u64> = ranks.values().map(|tokens| *tokens as u64).collect();
            facts.kv_tokens_of_ranks(&ranks, "sglang:max_total_num_tokens of GET /metrics");
        }
    }

    fn manner(&self) -> Manner {
        Manner {
            dialect: Dialect::Sglang,
            metrics: Some(&METRIC_NAMES),
            tokenize: &[TokenizeRoute::Prompt],
            usage: UsageOption::Continuous,
            length: &[LengthField::IgnoreEos, LengthField::Least("min_tokens")],
            handling: Handling {
                abort: Abort::Request { path: "/abort_request", id_field: "rid" },
                cache_reset: CacheReset::Post {
                    path: "/flush_cache",
                    remark: "HTTP 400 while requests run; needs the admin key where one is set",
                },
                cache_salt: Some(CacheSalt { field: "cache_salt", completions: true }),
            },
            ..Manner::PLAIN
        }
    }
}

fn server_info(answers: &Answers) -> Option<(Value, &'static str)> {
    [SERVER_INFO, OLD_SERVER_INFO].into_iter().find_map(|request| Some((answers.object(request)?, request)))
}

/// How it was started: by the values of its own keys, by names and by looks, nothing secret is left in it.
fn read_command(info: &Value, source: &str, facts: &mut Facts) {
    let Some(command) = info.get("launch_command").and_then(Value::as_str) else { return };
    let mut keys: Vec<String> = KEYS
        .iter()
        .filter_map(|name| info.get(*name)?.as_str())
        .filter(|key| !key.is_empty())
        .map(str::to_owned)
        .collect();
    keys.sort_by_key(|key| std::cmp::Reverse(key.len()));
    let told = redact::values(&redact::line(command), &keys);
    facts.text(Field::LaunchCommand, &told, &format!("launch_command of {source}"));
}

fn read_server_info(info: &Value, source: &str, facts: &mut Facts) {
    let text = |name: &str| info.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let number = |name: &str| info.get(name).and_then(Value::as_u64);
    if let Some(version) = text("version") {
        facts.text(Field::EngineVersion, version, source);
        match local_version(version).0 {
            Some(commit) => facts.text(Field::EngineCommit, commit, source),
            None => facts.missing(Field::EngineCommit, "SGLang tells its version only"),
        }
    }
    for (name, field) in [
        ("model_path", Field::ModelId),
        ("revision", Field::ModelRevision),
        ("quantization", Field::ModelQuantization),
        ("dtype", Field::ModelQuantization),
        ("device", Field::EngineBackend),
    ] {
        // `auto` is a wish, not what came of it.
        if let Some(value) = text(name).filter(|value| *value != "auto") {
            facts.text(field, value, &format!("{name} of {source}"));
        }
    }
    for (name, path) in [("dtype", "model.dtype"), ("kv_cache_dtype", "capacity.kv_dtype")] {
        if let Some(value) = text(name).filter(|value| *value != "auto") {
            facts.beside(path, value, &format!("{name} of {source}"));
        }
    }
    // The method has a default also where nothing is offloaded; the weights have none.
    if let (Some(method), Some(_)) = (text("kt_method"), text("kt_weight_path")) {
        facts.beside("engine.offload", &format!("KTransformers {method}"), &format!("kt_method of {source}"));
    }
    let ranks: Vec<_> = [("tp", "tp_size"), ("pp", "pp_size"), ("dp", "dp_size"), ("ep", "ep_size")]
        .into_iter()
        .filter_map(|(short, name)| Some((short, number(name)?)))
        .filter(|(short, size)| *short == "tp" || *size > 1)
        .map(|(short, size)| format!("{short}{size}"))
        .collect();
    facts.text(Field::EngineParallelism, &ranks.join(" "), source);
    if let Some(radix_off) = info.get("disable_radix_cache").and_then(Value::as_bool) {
        facts.prefix_caching(!radix_off, &format!("disable_radix_cache of {source}"));
    }
    if info.get("speculative_algorithm").is_some() {
        let speculative = text("speculative_algorithm").map_or("off".to_owned(), |algorithm| {
            let further =
                [("speculative_num_steps", "steps"), ("speculative_num_draft_tokens", "draft tokens")];
            let figures =
                further.into_iter().filter_map(|(name, unit)| Some(format!(", {} {unit}", number(name)?)));
            algorithm.to_owned() + &figures.collect::<String>()
        });
        facts.text(Field::EngineSpeculative, &speculative, source);
    }
    if let Some(length) = number("context_length") {
        facts.number(Field::ModelMaxLength, length, &format!("context_length of {source}"));
    }

    let dp = number("dp_size").unwrap_or(1).max(1);
    let states = info.get("internal_states").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let of_ranks =
        |path: &str| states.iter().filter_map(|state| state.pointer(path)?.as_u64()).collect::<Vec<u64>>();
    let over_ranks = |path: &str| of_ranks(path).iter().sum::<u64>();
    let usage = format!("internal_states[].memory_usage.token_capacity of {source}");
    facts.kv_tokens_of_ranks(&of_ranks("/memory_usage/token_capacity"), &usage);
    if let Some(tokens) = number("max_total_num_tokens") {
        let ranks = vec![tokens; usize::try_from(dp.min(MOST_RANKS)).unwrap_or(1)];
        facts.kv_tokens_of_ranks(&ranks, &format!("max_total_num_tokens of {source}"));
    }
    // Layers with a window have a pool of their own, which holds the last tokens of each request.
    let windows = over_ranks("/memory_usage/token_capacity_swa");
    if windows > 0 {
        let source = format!("internal_states[].memory_usage.token_capacity_swa of {source}");
        facts.beside("capacity.kv_tokens_of_windows", &windows.to_string(), &source);
    }
    // Recurrent layers have a pool of states, which bounds the requests; the effective figure below knows it.
    if let Some(states) = number("max_mamba_cache_size").filter(|states| *states > 0) {
        let source = format!("max_mamba_cache_size of {source}");
        facts.beside("capacity.recurrent_states_of_a_rank", &states.to_string(), &source);
    }
    read_command(info, source, facts);
    facts.number(
        Field::CapacityConcurrentRequests,
        over_ranks("/effective_max_running_requests_per_dp"),
        &format!("internal_states[].effective_max_running_requests_per_dp of {source}"),
    );
    if let Some(requests) = number("max_running_requests") {
        facts.number(
            Field::CapacityConcurrentRequests,
            requests,
            &format!("max_running_requests of {source}"),
        );
    }
}
