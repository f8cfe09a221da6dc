//! Each engine's answers, written after what it is known to send, and what is made of them.

use serde_json::{Value, json};
use tokometer_record::KvBlocks;
use tokometer_target::{Busy, Target, TokenizeRoute};
use tokometer_wire::{Control, Dialect};

use crate::support::{Reply, Server, source};

fn models(entry: &Value) -> (&'static str, Reply) {
    ("GET /v1/models", Reply::json(&json!({"object": "list", "data": [entry]})))
}

const VLLM_METRICS: &str = r#"# HELP python_gc_objects_collected_total Objects collected during gc
# TYPE python_gc_objects_collected_total counter
python_gc_objects_collected_total{generation="0"} 9841.0
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="qwen"} 2.0
vllm:num_requests_running{engine="1",model_name="qwen"} 1.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="qwen"} 0.0
vllm:num_requests_waiting{engine="1",model_name="qwen"} 4.0
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="qwen"} 77.0
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="qwen"} 12.0
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="784",cache_dtype="auto",enable_prefix_caching="True",engine="0",kv_cache_max_concurrency="4.0",kv_cache_size_tokens="1048576",num_gpu_blocks="2800"} 1.0
vllm:cache_config_info{block_size="784",cache_dtype="auto",enable_prefix_caching="True",engine="1",kv_cache_max_concurrency="4.0",kv_cache_size_tokens="1048576",num_gpu_blocks="2800"} 1.0
"#;

fn vllm() -> Vec<(&'static str, Reply)> {
    vec![
        models(&json!({
            "id": "qwen", "object": "model", "created": 1, "owned_by": "vllm",
            "root": "Qwen/Qwen3.8-Flash-Next", "parent": null, "max_model_len": 262_144, "permission": [],
        })),
        ("GET /version", Reply::json(&json!({"version": "0.1.1.dev5+ge77daef89e18.cu132"}))),
        ("GET /metrics", Reply::text(VLLM_METRICS)),
        ("POST /tokenize", Reply::json(&json!({"count": 3, "max_model_len": 262_144, "tokens": [1, 2, 3]}))),
        (
            "POST /v1/chat/completions",
            Reply::json(&json!({
                "id": "chatcmpl-1", "object": "chat.completion", "model": "qwen",
                "system_fingerprint": "vllm-0.1.1.dev5+ge77daef89e18-tp4-ep-1a2b3c4d",
                "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes"}, "finish_reason": "length"}],
                "usage": {"prompt_tokens": 12, "completion_tokens": 1, "total_tokens": 13},
            })),
        ),
    ]
}

#[tokio::test]
async fn vllm_tells_most() {
    let server = Server::of(&vllm()).await;
    let target = server.probe().await.unwrap();
    assert_eq!(target.dialect, Dialect::Vllm);
    assert!(!target.simulated);
    assert_eq!(target.url, server.url());
    assert_eq!(target.served_name(), "qwen");

    let engine = &target.engine;
    assert_eq!(engine.name.as_deref(), Some("vllm"));
    assert_eq!(engine.version.as_deref(), Some("0.1.1.dev5+ge77daef89e18.cu132"));
    assert_eq!(engine.commit.as_deref(), Some("e77daef89e18"));
    assert_eq!(engine.build.as_deref(), Some("cu132"));
    assert_eq!(engine.backend.as_deref(), Some("cuda"));
    assert_eq!(engine.parallelism.as_deref(), Some("tp4 ep"));
    assert!(engine.speculative.as_deref().unwrap().starts_with("on"));
    assert_eq!(engine.prefix_caching, Some(true));
    assert_eq!(target.model.id.as_deref(), Some("Qwen/Qwen3.8-Flash-Next"));
    assert_eq!(target.model.max_length, Some(262_144));

    // Two data-parallel ranks hold twice what one does; the number of blocks is that of both.
    assert_eq!(target.capacity.kv_tokens, Some(2 * 1_048_576));
    assert!(target.capacity.kv_source.as_deref().unwrap().contains("kv_cache_size_tokens"));
    assert_eq!(target.capacity.kv_tokens_per_rank, [1_048_576; 2]);
    assert!(target.capacity.kv_source.as_deref().unwrap().contains("over 2 data-parallel ranks"));
    let KvBlocks { blocks, block_tokens, fixed_per_request } = target.capacity.kv_blocks.unwrap();
    assert_eq!((blocks, block_tokens), (2800, 784));
    assert!((fixed_per_request - (1400.0 / 4.0 - 335.0)).abs() < 1e-9);

    assert_eq!(target.tokenize, Some(TokenizeRoute::Messages));
    let control = Control::new(server.connector());
    assert_eq!(target.busy(&control).await, Some(Busy { running: 3.0, waiting: 4.0 }));
    assert_eq!(server.count("GET /props"), 0, "no probe of other engines");
}

#[tokio::test]
async fn every_fact_has_a_source_or_a_reason() {
    for replies in [vllm(), sglang(), llama_cpp(), plain()] {
        let target = Server::of(&replies).await.probe().await.unwrap();
        let engine = serde_json::to_value(&target.engine).unwrap();
        let model = serde_json::to_value(&target.model).unwrap();
        for (group, value) in [("engine", &engine), ("model", &model)] {
            for (name, value) in value.as_object().unwrap() {
                let field = format!("{group}.{name}");
                let known = source(&target, &field).is_some() && !value.is_null();
                assert!(known || target.unknown.contains_key(&field), "{field} of {engine}");
                assert!(value.is_null() == target.unknown.contains_key(&field), "{field}: {value}");
            }
        }
        assert!(target.unknown.contains_key("hardware"));
        assert_eq!(target.launch_command.is_none(), target.unknown.contains_key("launch_command"));
        assert_eq!(target.capacity.kv_tokens.is_none(), target.unknown.contains_key("capacity.kv_tokens"));
    }
}

#[tokio::test]
async fn an_older_vllm_has_only_blocks() {
    let metrics = "vllm:num_requests_running{engine=\"0\"} 0\n\
        vllm:cache_config_info{block_size=\"16\",enable_prefix_caching=\"False\",num_gpu_blocks=\"1000\"} 1\n";
    let mut replies = vllm();
    replies.retain(|(request, _)| {
        !["GET /metrics", "GET /version", "POST /v1/chat/completions"].contains(request)
    });
    replies.push(("GET /metrics", Reply::text(metrics)));
    replies.push(("GET /version", Reply::json(&json!({"version": "0.9.2"}))));
    let target = Server::of(&replies).await.probe().await.unwrap();
    assert_eq!(target.capacity.kv_tokens, Some(16_000));
    assert!(target.capacity.kv_source.as_deref().unwrap().contains("overstates"));
    assert_eq!(target.capacity.kv_blocks, None);
    assert_eq!(target.engine.prefix_caching, Some(false));
    assert_eq!(target.engine.speculative.as_deref(), Some("off"));
    assert_eq!(target.engine.commit, None);
    assert!(target.unknown["engine.commit"].contains("release"));
    assert!(target.unknown["engine.parallelism"].contains("system_fingerprint"));
}

#[tokio::test]
async fn the_rust_front_end_tells_its_length_by_the_tokenise_route() {
    let server = Server::with(|asked| match asked.request.as_str() {
        "GET /v1/models" => {
            Some(models(&json!({"id": "qwen", "created": 0, "owned_by": "vllm-frontend-rs"})).1)
        }
        "POST /tokenize" if asked.body.get("prompt").is_some() => {
            Some(Reply::json(&json!({"count": 3, "max_model_len": 40_960, "tokens": [1, 2, 3]})))
        }
        _ => None,
    })
    .await;
    let target = server.probe().await.unwrap();
    assert_eq!(target.dialect, Dialect::Vllm);
    assert_eq!(target.model.max_length, Some(40_960));
    assert_eq!(target.tokenize, Some(TokenizeRoute::Prompt));
    assert_eq!(target.metrics, None);
    assert!(target.unknown["capacity.kv_tokens"].contains("404"), "{:?}", target.unknown);
    assert_eq!(target.busy(&Control::new(server.connector())).await, None);
}

#[tokio::test]
async fn a_simulated_engine_says_so() {
    let mut replies = vllm();
    replies[0] = models(&json!({"id": "qwen", "owned_by": "tokometer-sim", "max_model_len": 262_144}));
    let target = Server::of(&replies).await.probe().await.unwrap();
    assert!(target.simulated);
    assert_eq!(target.engine.name.as_deref(), Some("tokometer-sim"));
    assert_eq!((target.dialect, target.capacity.kv_tokens), (Dialect::Vllm, Some(2 * 1_048_576)));

    replies[0] = models(&json!({"id": "qwen", "owned_by": "vllm"}));
    replies[0].1 = replies[0].1.clone().with("x-tokometer-simulated", "h200-x4");
    assert!(Server::of(&replies).await.probe().await.unwrap().simulated);
}

fn sglang() -> Vec<(&'static str, Reply)> {
    let metrics =
        "sglang:num_running_reqs{model_name=\"m\"} 5.0\nsglang:num_queue_reqs{model_name=\"m\"} 1.0\n";
    vec![
        models(&json!({"id": "m", "owned_by": "sglang", "root": "m", "max_model_len": 8192})),
        (
            "GET /server_info",
            Reply::json(&json!({
                "version": "0.5.23", "model_path": "lab/tiny", "served_model_name": "m", "revision": null,
                "quantization": "fp8", "dtype": "auto", "device": "cuda", "context_length": 8192,
                "tp_size": 4, "pp_size": 1, "dp_size": 2, "ep_size": 4,
                "speculative_algorithm": "EAGLE", "speculative_num_steps": 3, "speculative_num_draft_tokens": 4,
                "disable_radix_cache": false, "max_total_num_tokens": 65_536, "max_running_requests": 16,
                "api_key": "sk-never-store-me", "admin_api_key": "never-store-me-either",
                "ssl_keyfile_password": "never-store-that",
                "launch_command": "python -m sglang.launch_server --api-key sk-never-store-me",
                "internal_states": [
                    {"effective_max_running_requests_per_dp": 8, "memory_usage": {"token_capacity": 65_000}},
                    {"effective_max_running_requests_per_dp": 7, "memory_usage": {"token_capacity": 64_000}},
                ],
            })),
        ),
        ("GET /metrics", Reply::text(metrics)),
        ("POST /tokenize", Reply::json(&json!({"tokens": [1, 2, 3], "count": 3, "max_model_len": 8192}))),
    ]
}

/// The labels of two servers of one hybrid model that differ in the length they allow (public figures: block 1,600,
/// one rank): what a request takes whatever its length comes out the same, and so does what fits.
#[tokio::test]
async fn vllm_tells_what_hybrid_models_take() {
    let mut most = Vec::new();
    for (max, at_once, tokens) in [(8192_u64, "31.74", "260006"), (262_144, "4.11", "1077542")] {
        let metrics = format!(
            "vllm:cache_config_info{{block_size=\"1600\",effective_attention_block_size=\"1600\",engine=\"0\",\
             kv_cache_max_concurrency=\"{at_once}\",kv_cache_size_tokens=\"{tokens}\",num_gpu_blocks=\"746\"}} 1.0\n"
        );
        let models = models(&json!({"id": "q", "owned_by": "vllm", "root": "q", "max_model_len": max}));
        let server = Server::of(&[models, ("GET /metrics", Reply::text(&metrics))]).await;
        let target = server.probe().await.unwrap();
        assert_eq!(target.capacity.kv_tokens, Some(tokens.parse().unwrap()));
        assert_eq!(target.capacity.kv_tokens_per_rank, [0_u64; 0]);
        let blocks = target.capacity.kv_blocks.unwrap();
        assert!((blocks.fixed_per_request - 17.5).abs() < 0.1, "{blocks:?}");
        most.push((1..1000).take_while(|requests| blocks.needed(*requests, 8192) <= blocks.blocks).count());
    }
    assert_eq!(most, [31, 31], "at 8K, where the figure in tokens alone says 131 for the second");
}

#[tokio::test]
async fn sglang_tells_its_arguments_and_no_secret_is_kept() {
    let server = Server::of(&sglang()).await;
    let target = server.probe().await.unwrap();
    assert_eq!(target.dialect, Dialect::Sglang);
    let engine = &target.engine;
    assert_eq!(engine.name.as_deref(), Some("sglang"));
    assert_eq!(engine.version.as_deref(), Some("0.5.23"));
    assert_eq!(engine.parallelism.as_deref(), Some("tp4 dp2 ep4"));
    assert_eq!(engine.speculative.as_deref(), Some("EAGLE, 3 steps, 4 draft tokens"));
    assert_eq!(engine.prefix_caching, Some(true));
    assert_eq!(engine.backend.as_deref(), Some("cuda"));
    assert_eq!(target.model.id.as_deref(), Some("lab/tiny"));
    assert_eq!(target.model.quantization.as_deref(), Some("fp8"));
    assert_eq!(target.capacity.kv_tokens, Some(129_000));
    assert_eq!(target.capacity.kv_tokens_per_rank, [65_000, 64_000]);
    assert_eq!(target.capacity.concurrent_requests, Some(15));
    let command = "python -m sglang.launch_server --api-key <redacted>";
    assert_eq!(target.launch_command.as_deref(), Some(command));
    assert_eq!(target.evidence_of("launch_command").unwrap().source, "launch_command of GET /server_info");
    assert_eq!(target.tokenize, Some(TokenizeRoute::Prompt));
    let everything = format!("{target:?}");
    assert!(!everything.contains("never-store"), "{everything}");
    let control = Control::new(server.connector());
    assert_eq!(target.busy(&control).await, Some(Busy { running: 5.0, waiting: 1.0 }));
    assert_eq!(server.count("GET /server_info"), 1);
    assert_eq!(server.count("GET /get_server_info"), 0);
}

#[tokio::test]
async fn an_older_sglang_answers_by_the_old_name() {
    let info =
        json!({"version": "0.4.1", "max_total_num_tokens": 1000, "dp_size": 2, "max_running_requests": 8});
    let replies =
        [models(&json!({"id": "m", "owned_by": "somebody"})), ("GET /get_server_info", Reply::json(&info))];
    let target = Server::of(&replies).await.probe().await.unwrap();
    assert_eq!(target.engine.name.as_deref(), Some("sglang"));
    assert_eq!(target.engine.version.as_deref(), Some("0.4.1"));
    assert_eq!((target.capacity.kv_tokens, target.capacity.concurrent_requests), (Some(2000), Some(8)));
}

#[tokio::test]
async fn a_refused_server_info_leaves_reasons_and_metrics() {
    let metrics = "sglang:max_total_num_tokens{dp_rank=\"0\",tp_rank=\"0\"} 100\n\
        sglang:max_total_num_tokens{dp_rank=\"0\",tp_rank=\"1\"} 100\n\
        sglang:max_total_num_tokens{dp_rank=\"1\",tp_rank=\"0\"} 100\n";
    let replies = [
        models(&json!({"id": "m", "owned_by": "sglang", "max_model_len": 8192})),
        ("GET /server_info", Reply::status(401, r#"{"error":"Unauthorized"}"#)),
        ("GET /metrics", Reply::text(metrics)),
    ];
    let target = Server::of(&replies).await.probe().await.unwrap();
    assert_eq!(target.capacity.kv_tokens, Some(200));
    assert!(target.unknown["engine.version"].contains("401"));
}

fn llama_cpp() -> Vec<(&'static str, Reply)> {
    vec![
        models(&json!({
            "id": "tiny", "owned_by": "llamacpp",
            "meta": {"n_ctx": 4096, "n_ctx_train": 32_768, "n_params": 819_000},
        })),
        (
            "GET /props",
            Reply::json(&json!({
                "build_info": "b6543-0a1b2c3d", "total_slots": 8, "model_path": "/home/me/models/tiny.gguf",
                "model_alias": "tiny", "model_ftype": "Q4_1", "chat_template": "…",
                "default_generation_settings": {"n_ctx": 4096, "params": {"temperature": 0.8}},
            })),
        ),
        ("POST /tokenize", Reply::json(&json!({"tokens": [1, 2, 3]}))),
        (
            "GET /slots",
            Reply::json(&json!([{"id": 0, "is_processing": true}, {"id": 1, "is_processing": false}])),
        ),
    ]
}

#[tokio::test]
async fn llama_cpp_tells_its_slots() {
    let server = Server::of(&llama_cpp()).await;
    let target = server.probe().await.unwrap();
    assert_eq!(target.dialect, Dialect::LlamaCpp);
    assert_eq!(target.engine.name.as_deref(), Some("llama.cpp"));
    assert_eq!(target.engine.version.as_deref(), Some("b6543-0a1b2c3d"));
    assert_eq!(target.engine.commit.as_deref(), Some("0a1b2c3d"));
    assert_eq!(target.model.id.as_deref(), Some("tiny.gguf"), "without the folder, which names a user");
    assert_eq!(target.model.quantization.as_deref(), Some("Q4_1"));
    assert_eq!(target.model.max_length, Some(4096));
    assert_eq!(target.capacity.concurrent_requests, Some(8));
    assert_eq!(target.capacity.kv_tokens, Some(8 * 4096));
    assert_eq!(target.tokenize, Some(TokenizeRoute::Content));
    assert_eq!(target.metrics, None, "started without --metrics");
    let control = Control::new(server.connector());
    assert_eq!(target.busy(&control).await, Some(Busy { running: 1.0, waiting: 0.0 }));
}

#[tokio::test]
async fn a_build_of_unknown_source_names_no_commit() {
    let mut replies = llama_cpp();
    replies[1].1 = Reply::json(&json!({"build_info": "b0-unknown", "total_slots": 4}));
    let target = Server::of(&replies).await.probe().await.unwrap();
    assert_eq!(target.engine.version.as_deref(), Some("b0-unknown"));
    assert_eq!(target.engine.commit, None);
    assert_eq!(target.model.max_length, Some(4096), "from the list of models");
    assert_eq!(target.capacity.kv_tokens, None);
}

#[tokio::test]
async fn llama_cpp_shows_itself_by_its_header_too() {
    let mut replies = llama_cpp();
    replies[0] = models(&json!({"id": "tiny", "owned_by": "somebody"}));
    replies[0].1 = replies[0].1.clone().with("server", "llama.cpp");
    let target = Server::of(&replies).await.probe().await.unwrap();
    assert_eq!(target.engine.name.as_deref(), Some("llama.cpp"));
}

fn plain() -> Vec<(&'static str, Reply)> {
    vec![models(&json!({"id": "gpt", "object": "model", "owned_by": "library"}))]
}

#[tokio::test]
async fn an_unknown_server_is_plain_openai_and_is_asked_for_one_token() {
    let server = Server::of(&plain()).await;
    let target = server.probe().await.unwrap();
    assert_eq!((target.dialect, target.metrics, target.tokenize), (Dialect::OpenAi, None, None));
    assert_eq!(target.engine.name, None);
    assert!(target.unknown["engine.name"].contains("library"));
    assert!(target.unknown.contains_key("model.max_length"));
    let costly: Vec<_> =
        server.asked().into_iter().filter(|asked| asked.request.starts_with("POST")).collect();
    assert_eq!(costly.len(), 1, "{costly:?}");
    assert_eq!(costly[0].body["max_tokens"], 1, "only the fingerprint may tell more");
    assert!(server.count("GET /version") == 1 && server.count("GET /props") == 1);
}

#[tokio::test]
async fn a_proxy_that_answers_everything_with_a_page_is_no_engine() {
    let server = Server::with(|asked| {
        Some(match asked.request.as_str() {
            "GET /v1/models" => plain().remove(0).1.with("server", "nginx/1.29"),
            _ => Reply {
                headers: vec![("content-type".to_owned(), "text/html".to_owned())],
                ..Reply::text("<html>vllm: sglang: llamacpp:</html>")
            },
        })
    })
    .await;
    let target = server.probe().await.unwrap();
    assert_eq!(target.dialect, Dialect::OpenAi);
    assert_eq!(target.proxy.as_deref(), Some("nginx/1.29"));
    assert_eq!(target.address().proxy.as_deref(), Some("nginx/1.29"));
    assert_eq!(target.metrics, None);
}

#[tokio::test]
async fn an_engine_behind_another_name_is_known_by_its_metrics() {
    let mut replies = vllm();
    replies[0] = models(&json!({"id": "qwen", "owned_by": "acme"}));
    replies[0].1 = replies[0].1.clone().with("x-litellm-version", "1.80.0");
    let target: Target = Server::of(&replies).await.probe().await.unwrap();
    assert_eq!(target.engine.name.as_deref(), Some("vllm"));
    assert_eq!(target.proxy.as_deref(), Some("LiteLLM 1.80.0"));
    assert!(target.evidence.iter().any(|fact| fact.field == "engine.name" && fact.source.contains("vllm:")));
}
