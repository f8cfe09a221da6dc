//! vLLM: the Python and the Rust front end, which have the same routes and differ in their streams.

use serde_json::Value;
use tokometer_record::KvBlocks;
use tokometer_wire::Dialect;
use tokometer_wire::metrics::{self, MetricNames};

use super::{
    Confidence, Engine, LengthField, Manner, Probe, Sign, UsageOption, backend_of, fingerprint,
    local_version, metrics_prefix, number, owned_by, text,
};
use crate::answers::{Answers, METRICS};
use crate::facts::{Facts, Field};
use crate::handling::{Abort, CacheReset, CacheSalt, Handling};
use crate::models::ModelEntry;
use crate::tokenize::TokenizeRoute;

/// Owner of the models of the Rust front end.
const RUST_FRONT_END: &str = "vllm-frontend-rs";
/// The configuration, only in developer mode. It holds the environment too: only named fields are taken.
const SERVER_INFO: &str = "GET /server_info?config_format=json";
const VERSION: &str = "GET /version";
const CACHE_CONFIG: &str = "vllm:cache_config_info of GET /metrics";

/// Names of gauges and counters; older ones behind newer.
pub(super) const METRIC_NAMES: MetricNames = MetricNames {
    running: &["vllm:num_requests_running"],
    waiting: &["vllm:num_requests_waiting"],
    generated_tokens: &["vllm:generation_tokens_total", "vllm:generation_tokens"],
    prompt_tokens: &["vllm:prompt_tokens_total", "vllm:prompt_tokens"],
    cached_tokens: &[
        "vllm:prompt_tokens_cached_total",
        "vllm:prefix_cache_hits_total",
        "vllm:gpu_prefix_cache_hits_total",
    ],
    kv_used: &["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"],
    preemptions: &["vllm:num_preemptions_total", "vllm:num_preemptions"],
    drafts: &["vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_drafts"],
    draft_tokens: &["vllm:spec_decode_num_draft_tokens_total", "vllm:spec_decode_num_draft_tokens"],
    accepted_tokens: &["vllm:spec_decode_num_accepted_tokens_total", "vllm:spec_decode_num_accepted_tokens"],
    accepted_per_position: &["vllm:spec_decode_num_accepted_tokens_per_pos_total"],
    // Counters tell more.
    acceptance_length: &[],
};

/// How vLLM is spoken to; the simulated engine too.
pub(super) const MANNER: Manner = Manner {
    dialect: Dialect::Vllm,
    metrics: Some(&METRIC_NAMES),
    tokenize: &[TokenizeRoute::Messages, TokenizeRoute::Prompt],
    usage: UsageOption::Continuous,
    length: &[LengthField::IgnoreEos, LengthField::Least("min_tokens")],
    handling: Handling {
        abort: Abort::Disconnect { remark: None },
        cache_reset: CacheReset::Post {
            path: "/reset_prefix_cache",
            remark: "only in developer mode; the answer's success is false while blocks are held",
        },
        cache_salt: Some(CacheSalt { field: "cache_salt", completions: true }),
    },
    ..Manner::PLAIN
};

/// What vLLM is asked; the simulated engine too.
pub(super) const PROBES: &[Probe] = &[
    Probe::Get("/version"),
    Probe::Get("/metrics"),
    Probe::Tokenize(TokenizeRoute::Messages),
    Probe::TokenizeElse { route: TokenizeRoute::Prompt, better: TokenizeRoute::Messages },
    Probe::Further("/server_info?config_format=json"),
    Probe::ShortChat,
];

/// vLLM.
pub(super) struct Vllm;

impl Engine for Vllm {
    fn name(&self) -> Option<&'static str> {
        Some("vllm")
    }

    fn probes(&self) -> &'static [Probe] {
        PROBES
    }

    fn recognise(&self, model: &ModelEntry, answers: &Answers) -> Option<Sign> {
        owned_by(model, "vllm")
            .or_else(|| {
                // In developer mode it shows the configuration by SGLang's route.
                answers.object("GET /server_info")?.get("vllm_config")?;
                Some(Sign::new(Confidence::Certain, "vllm_config", "GET /server_info"))
            })
            .or_else(|| metrics_prefix(answers, "vllm:"))
    }

    fn read(&self, model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
        read_front_end(model, facts);
        read_facts(model, answers, facts);
    }

    fn manner(&self) -> Manner {
        MANNER
    }
}

fn read_front_end(model: &ModelEntry, facts: &mut Facts) {
    let Some(owner) = model.owned_by.as_deref() else { return };
    let front_end = if owner == RUST_FRONT_END { "rust" } else { "python" };
    facts.beside("engine.front_end", front_end, &format!("owned_by {owner} of GET /v1/models"));
}

/// Everything but the engine's name.
pub(super) fn read_facts(model: &ModelEntry, answers: &Answers, facts: &mut Facts) {
    if let Some(root) = &model.root {
        facts.text(Field::ModelId, root, "root of GET /v1/models");
    }
    if let Some(max) = model.max_model_len {
        facts.number(Field::ModelMaxLength, max, "max_model_len of GET /v1/models");
    }
    for route in [TokenizeRoute::Messages, TokenizeRoute::Prompt] {
        let told = answers.object(route.name());
        if let Some(max) = told.as_ref().and_then(|told| told.get("max_model_len")).and_then(Value::as_u64) {
            facts.number(Field::ModelMaxLength, max, "max_model_len of POST /tokenize");
        }
    }
    read_version(answers, facts);
    read_fingerprint(answers, facts);
    if let Some(info) = answers.object(SERVER_INFO) {
        read_config(&info, facts);
    }
    match answers.text(METRICS) {
        Some(text) => read_metrics(&text, facts),
        None => facts.missing(Field::CapacityKvTokens, answers.why_not(METRICS)),
    }
    facts.missing(
        Field::CapacityConcurrentRequests,
        "vLLM tells max_num_seqs only in developer mode and in its launch command; requests beyond it show as queued",
    );
    facts.missing(Field::ModelQuantization, "vLLM tells it only in developer mode and in its launch command");
}

/// Named fields of the configuration of developer mode.
fn read_config(info: &Value, facts: &mut Facts) {
    let source = |pointer: &str| format!("{} of {SERVER_INFO}", pointer[1..].replace('/', "."));
    for (pointer, field) in [
        ("/vllm_config/model_config/quantization", Field::ModelQuantization),
        ("/vllm_config/model_config/revision", Field::ModelRevision),
        ("/vllm_config/speculative_config/method", Field::EngineSpeculative),
    ] {
        if let Some(value) = text(info, pointer) {
            facts.text(field, value, &source(pointer));
        }
    }
    let requests = "/vllm_config/scheduler_config/max_num_seqs";
    if let Some(requests_at_once) = number(info, requests) {
        let ranks = number(info, "/vllm_config/parallel_config/data_parallel_size").unwrap_or(1);
        let source = format!("{} (each of {ranks} ranks)", source(requests));
        facts.number(Field::CapacityConcurrentRequests, requests_at_once.saturating_mul(ranks), &source);
    }
    let dtype = "/vllm_config/model_config/dtype";
    if let Some(value) = text(info, dtype) {
        facts.beside("model.dtype", value.trim_start_matches("torch."), &source(dtype));
    }
}

fn read_version(answers: &Answers, facts: &mut Facts) {
    let told = answers.object(VERSION);
    let Some(version) = told.as_ref().and_then(|told| told.get("version")).and_then(Value::as_str) else {
        facts.missing(Field::EngineVersion, answers.why_not(VERSION));
        return;
    };
    facts.text(Field::EngineVersion, version, VERSION);
    if version.starts_with("0.1.") && version.contains(".dev") {
        let source =
            "GET /version: built from a checkout without release tags, so only the commit tells the build";
        facts.beside("engine.version_is_meaningful", "false", source);
    }
    let (commit, build) = local_version(version);
    match commit {
        Some(commit) => facts.text(Field::EngineCommit, commit, "the version of GET /version"),
        None => facts.missing(Field::EngineCommit, "a release: its version names no commit"),
    }
    if let Some(build) = build {
        facts.text(Field::EngineBuild, build, "the version of GET /version");
        facts.text(Field::EngineBackend, backend_of(build), "the version of GET /version");
    }
}

/// `vllm-<version>[-tpN][-ppN][-dpN][-ep]-<hash>`.
fn read_fingerprint(answers: &Answers, facts: &mut Facts) {
    let Some(fingerprint) = fingerprint(answers) else {
        facts.missing(Field::EngineParallelism, "no system_fingerprint in the server's answers");
        return;
    };
    let source = format!("system_fingerprint {fingerprint}");
    let parts: Vec<&str> = fingerprint.split('-').collect();
    let [engine, version, ranks @ .., _hash] = parts.as_slice() else {
        facts.missing(Field::EngineParallelism, format!("the {source} does not tell it"));
        return;
    };
    if *engine != "vllm" || !version.starts_with(|first: char| first.is_ascii_digit()) {
        facts.missing(Field::EngineParallelism, format!("the {source} does not tell it"));
        return;
    }
    facts.text(Field::EngineVersion, version, &source);
    let ranks = if ranks.is_empty() { "tp1".to_owned() } else { ranks.join(" ") };
    facts.text(Field::EngineParallelism, &ranks, &source);
}

fn read_metrics(text: &str, facts: &mut Facts) {
    let drafts = ["vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_drafts"];
    let speculates = drafts.iter().any(|name| metrics::series(text, name).next().is_some());
    let speculative = if speculates { "on (the method is not told)" } else { "off" };
    facts.text(Field::EngineSpeculative, speculative, "vllm:spec_decode counters of GET /metrics");

    let label = |name: &str| -> Vec<String> {
        metrics::series(text, "vllm:cache_config_info").filter_map(|(labels, _)| labels.get(name)).collect()
    };
    let numbers = |name: &str| -> Vec<f64> {
        label(name).iter().filter_map(|value| value.parse().ok()).filter(|value: &f64| *value > 0.0).collect()
    };
    if let Some(caches) = label("enable_prefix_caching").first() {
        facts.prefix_caching(caches.eq_ignore_ascii_case("true"), CACHE_CONFIG);
    }
    if let Some(kind) = label("cache_dtype").into_iter().find(|kind| kind != "auto") {
        facts.beside("capacity.kv_dtype", &kind, &format!("cache_dtype of {CACHE_CONFIG}"));
    }
    // One series per data-parallel rank: the size is each rank's own, the number of blocks that of all.
    let sizes = numbers("kv_cache_size_tokens");
    let ranks = sizes.len().max(1) as f64;
    let blocks = numbers("num_gpu_blocks").into_iter().fold(0.0, f64::max);
    let block_tokens = numbers("block_size").into_iter().fold(0.0, f64::max);
    if sizes.is_empty() {
        let source = format!(
            "num_gpu_blocks × block_size of {CACHE_CONFIG}: overstates what models with recurrent or windowed \
             layers hold"
        );
        facts.number(Field::CapacityKvTokens, (blocks * block_tokens) as u64, &source);
    } else {
        let source = format!("kv_cache_size_tokens of {CACHE_CONFIG}");
        let sizes: Vec<u64> = sizes.iter().map(|size| *size as u64).collect();
        facts.kv_tokens_of_ranks(&sizes, &source);
    }
    facts.missing(Field::CapacityKvTokens, "GET /metrics has no vllm:cache_config_info with a size");

    let attention_block = numbers("effective_attention_block_size").first().copied().unwrap_or(block_tokens);
    let longest_at_once = numbers("kv_cache_max_concurrency").first().copied();
    if let (Some(longest_at_once), Some(max), true) =
        (longest_at_once, facts.model.max_length, blocks > 0.0 && attention_block >= 1.0)
    {
        // Of the blocks that a request of full length takes, those that do not grow with its length.
        let growing = max.div_ceil(attention_block as u64) as f64;
        let fixed = blocks / ranks / longest_at_once - growing;
        // Rounded labels leave a fraction; far below 0 the block size is not the attention layers'.
        if fixed > -0.02 * growing - 1.0 {
            let blocks = KvBlocks {
                blocks: blocks as u64,
                block_tokens: attention_block as u64,
                fixed_per_request: fixed.max(0.0),
            };
            facts.kv_blocks(blocks, CACHE_CONFIG);
        }
    }
}
