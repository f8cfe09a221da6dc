//! Each engine by the answers in its folder: it is named, and every fact that it tells is taken.

use std::fs;

use tokometer_record::Endpoint;
use tokometer_target::{Abort, Busy, CacheReset, Drain, Target, TokenizeRoute};
use tokometer_wire::{Control, Dialect};

use crate::support::{Reply, Server, recorded, source};

/// A server with changed answers.
async fn changed(replies: Vec<(String, Reply)>) -> Server {
    Server::of(&replies.iter().map(|(request, reply)| (&**request, reply.clone())).collect::<Vec<_>>()).await
}

async fn target(folder: &str) -> (Server, Target) {
    let server = Server::recorded(folder).await;
    let target = server.probe().await.unwrap();
    assert_eq!(server.count("GET /health"), 0, "a health check may generate");
    (server, target)
}

fn value<'a>(target: &'a Target, field: &str) -> Option<&'a str> {
    target.evidence_of(field).map(|evidence| evidence.value.as_str())
}

fn engine(target: &Target) -> (Option<&str>, Option<&str>) {
    (target.engine.name.as_deref(), target.engine.version.as_deref())
}

async fn busy(server: &Server, target: &Target) -> Option<Busy> {
    target.busy(&Control::new(server.connector())).await
}

#[tokio::test]
async fn vllm_by_its_python_front_end_in_developer_mode() {
    let (server, target) = target("vllm-python").await;
    assert_eq!(engine(&target), (Some("vllm"), Some("0.33.0")));
    assert_eq!(value(&target, "engine.front_end"), Some("python"));
    assert_eq!(target.engine.parallelism.as_deref(), Some("tp4 dp2 ep"));
    assert_eq!(target.model.quantization.as_deref(), Some("fp8"));
    assert_eq!(target.model.revision.as_deref(), Some("abc123"));
    assert_eq!(value(&target, "model.dtype"), Some("bfloat16"));
    assert_eq!(value(&target, "capacity.kv_dtype"), Some("fp8"));
    assert_eq!(target.capacity.kv_tokens, Some(2 * 1_048_576), "both ranks, and not blocks × their size");
    assert_eq!(target.capacity.concurrent_requests, Some(2048), "both ranks");
    assert_eq!(target.engine.speculative.as_deref(), Some("mtp"));
    assert!(!format!("{target:?}").contains("never-store"), "the environment is not kept");
    assert_eq!(target.abort(), Abort::Disconnect { remark: None });
    assert!(matches!(target.cache_reset(), CacheReset::Post { path: "/reset_prefix_cache", .. }));
    assert_eq!(target.drain(), Drain::Gauges { path: "/metrics" });
    assert_eq!(busy(&server, &target).await, Some(Busy { running: 3.0, waiting: 4.0 }));
}

#[tokio::test]
async fn vllm_by_its_rust_front_end() {
    let (_, target) = target("vllm-rust").await;
    assert_eq!(engine(&target), (Some("vllm"), Some("0.33.1.dev12+g4ba787ec9.cu132")));
    assert_eq!(target.engine.commit.as_deref(), Some("4ba787ec9"));
    assert_eq!(value(&target, "engine.front_end"), Some("rust"));
    assert_eq!(target.model.max_length, Some(40_960), "from the tokenise route");
    assert!(target.unknown["engine.parallelism"].contains("system_fingerprint"));
    assert_eq!(target.engine.speculative.as_deref(), Some("on (the method is not told)"));
    assert_eq!(value(&target, "engine.version_is_meaningful"), None);
}

#[tokio::test]
async fn vllm_with_old_names() {
    let (_, target) = target("vllm-old").await;
    assert_eq!(engine(&target), (Some("vllm"), Some("0.8.5")));
    let names = target.metrics.unwrap();
    assert!(names.kv_used.contains(&"vllm:gpu_cache_usage_perc"));
    assert!(names.cached_tokens.contains(&"vllm:gpu_prefix_cache_hits_total"));
    assert_eq!(target.capacity.kv_tokens, Some(16_000));
    assert!(target.capacity.kv_source.as_deref().unwrap().contains("overstates"));
    assert_eq!(target.engine.prefix_caching, Some(false));
    assert_eq!(value(&target, "capacity.kv_dtype"), None, "auto is a wish");
}

#[tokio::test]
async fn an_engine_is_found_at_the_end_of_very_long_metrics() {
    let mut replies = recorded("vllm-python");
    for (request, reply) in &mut replies {
        reply.body = reply.body.replace(r#""owned_by": "vllm""#, r#""owned_by": "me""#);
        if request == "GET /metrics" {
            let line = "python_gc_objects_collected_total{generation=\"0\"} 9841.0\n";
            reply.body = line.repeat(50_000) + &reply.body;
        }
    }
    replies.retain(|(request, _)| request != "GET /server_info");
    let target = changed(replies).await.probe().await.unwrap();
    assert_eq!(target.engine.name.as_deref(), Some("vllm"));
    assert_eq!(target.capacity.kv_tokens, Some(2 * 1_048_576));
}

#[tokio::test]
async fn sglang_is_not_taken_for_ollama_and_its_keys_are_not_kept() {
    let (server, target) = target("sglang").await;
    assert_eq!(engine(&target), (Some("sglang"), Some("0.5.23")));
    assert_eq!(target.engine.parallelism.as_deref(), Some("tp4 dp2 ep4"));
    assert_eq!(target.engine.speculative.as_deref(), Some("EAGLE, 3 steps, 4 draft tokens"));
    assert_eq!(target.model.quantization.as_deref(), Some("fp8"));
    assert_eq!(value(&target, "model.dtype"), Some("bfloat16"));
    assert_eq!(value(&target, "capacity.kv_dtype"), Some("fp8_e4m3"));
    assert_eq!((target.capacity.kv_tokens, target.capacity.concurrent_requests), (Some(129_000), Some(15)));
    assert!(!format!("{target:?}").contains("never-store"));
    assert_eq!(target.capacity.kv_tokens_per_rank, [65_000, 64_000]);
    assert_eq!(value(&target, "capacity.kv_tokens_of_windows"), Some("18000"));
    let command = "python -m sglang.launch_server --model lab/tiny --api-key <redacted>";
    assert_eq!(target.launch_command.as_deref(), Some(command));
    assert_eq!(target.abort(), Abort::Request { path: "/abort_request", id_field: "rid" });
    assert!(matches!(target.cache_reset(), CacheReset::Post { path: "/flush_cache", .. }));
    assert_eq!(target.cache_salt(Endpoint::Completions).unwrap().field, "cache_salt");
    assert_eq!(busy(&server, &target).await, Some(Busy { running: 5.0, waiting: 1.0 }));
    assert_eq!(server.count("GET /server_info"), 1, "it asks the scheduler");
}

#[tokio::test]
async fn sglang_behind_another_owner_is_still_not_ollama() {
    let mut replies = recorded("sglang");
    for (_, reply) in &mut replies {
        reply.body = reply.body.replace(r#""owned_by": "sglang""#, r#""owned_by": "library""#);
    }
    let target = changed(replies).await.probe().await.unwrap();
    assert_eq!(target.engine.name.as_deref(), Some("sglang"));
}

#[tokio::test]
async fn llama_cpp() {
    let (server, target) = target("llama-cpp").await;
    assert_eq!(engine(&target), (Some("llama.cpp"), Some("b9432-0c1e57098")));
    assert_eq!(target.engine.commit.as_deref(), Some("0c1e57098"));
    assert_eq!(target.model.quantization.as_deref(), Some("Q4_1"));
    assert_eq!((target.model.max_length, target.capacity.concurrent_requests), (Some(4096), Some(8)));
    assert_eq!(target.dialect, Dialect::LlamaCpp);
    assert_eq!(busy(&server, &target).await, Some(Busy { running: 2.0, waiting: 1.0 }));
    let names = target.metrics.unwrap();
    let all =
        [names.running, names.waiting, names.generated_tokens, names.prompt_tokens, names.cached_tokens];
    assert!(
        all.iter().flat_map(|names| names.iter()).all(|name| !name.ends_with("_seconds")),
        "reset by reading"
    );
}

#[tokio::test]
async fn vllm_as_it_answered() {
    let (server, target) = target("vllm-recorded").await;
    assert_eq!(engine(&target), (Some("vllm"), Some("0.32.0")));
    assert_eq!(value(&target, "engine.front_end"), Some("python"));
    assert_eq!(target.model.max_length, Some(8192));
    assert_eq!(target.capacity.kv_tokens, Some(1_048_576));
    assert_eq!(target.engine.prefix_caching, Some(true));
    assert_eq!(target.engine.speculative.as_deref(), Some("off"));
    assert_eq!(busy(&server, &target).await, Some(Busy { running: 0.0, waiting: 0.0 }));
}

#[tokio::test]
async fn sglang_as_it_answered() {
    let (server, target) = target("sglang-recorded").await;
    assert_eq!(engine(&target), (Some("sglang"), Some("0.5.23")));
    assert_eq!(target.model.max_length, Some(8192));
    assert_eq!((target.capacity.kv_tokens, target.capacity.concurrent_requests), (Some(65_536), Some(8)));
    assert_eq!(target.engine.backend.as_deref(), Some("cpu"));
    // `kt_method` has a value by default; nothing is offloaded without weights for it.
    assert_eq!(value(&target, "engine.offload"), None);
    assert_eq!(busy(&server, &target).await, Some(Busy { running: 0.0, waiting: 0.0 }));
}

#[tokio::test]
async fn llama_cpp_as_it_answered() {
    let (server, target) = target("llama-cpp-recorded").await;
    assert_eq!(engine(&target), (Some("llama.cpp"), Some("b0-unknown")));
    assert_eq!(target.model.quantization.as_deref(), Some("all F32"));
    assert_eq!(target.model.id.as_deref(), Some("tiny.gguf"));
    assert_eq!((target.model.max_length, target.capacity.concurrent_requests), (Some(4096), Some(4)));
    assert_eq!(target.engine.speculative.as_deref(), Some("off"));
    assert_eq!(value(&target, "sampling.temperature"), Some("0.8"));
    assert_eq!(target.tokenize, Some(TokenizeRoute::Content));
    assert_eq!(busy(&server, &target).await, Some(Busy { running: 0.0, waiting: 0.0 }));
}

#[tokio::test]
async fn llama_cpp_as_a_router_tells_of_one_model() {
    let (server, target) = target("llama-cpp-router").await;
    assert_eq!(target.engine.name.as_deref(), Some("llama.cpp"));
    assert_eq!(target.model.quantization.as_deref(), Some("Q4_1"));
    assert_eq!((target.model.max_length, target.capacity.concurrent_requests), (Some(2048), Some(4)));
    assert_eq!(target.tokenize, Some(TokenizeRoute::Content));
    assert_eq!(target.drain(), Drain::Slots { path: "/slots" });
    assert_eq!(server.count("GET /props"), 2);
}

#[tokio::test]
async fn tensorrt_llm_by_its_gauges() {
    let (server, target) = target("tensorrt-llm").await;
    assert_eq!(engine(&target), (Some("tensorrt-llm"), Some("1.2.0rc4")), "its /version is vLLM's too");
    assert_eq!(target.model.id.as_deref(), Some("nvidia/Nemotron-3-Nano"));
    assert_eq!(target.model.quantization.as_deref(), Some("FP8"));
    assert_eq!(target.model.max_length, Some(32_768));
    assert_eq!(target.engine.parallelism.as_deref(), Some("tp4 ep4"));
    assert_eq!(target.engine.speculative.as_deref(), Some("MTP, 1 draft tokens"));
    assert_eq!(target.engine.prefix_caching, Some(true));
    assert_eq!(value(&target, "capacity.kv_dtype"), Some("fp8"));
    assert_eq!(
        (target.capacity.kv_tokens, target.capacity.concurrent_requests),
        (Some(4096 * 32), Some(256))
    );
    assert_eq!(target.metrics_path, "/prometheus/metrics");
    assert_eq!(busy(&server, &target).await, Some(Busy { running: 3.0, waiting: 1.0 }));
    assert_eq!(server.count("GET /metrics"), 0, "reading empties it");
    assert!(
        target.cache_salt(Endpoint::Chat).is_some() && target.cache_salt(Endpoint::Completions).is_none()
    );
}

#[tokio::test]
async fn tensorrt_llm_by_its_queue_of_iterations() {
    let (server, target) = target("tensorrt-llm-queue").await;
    assert_eq!(engine(&target), (Some("tensorrt-llm"), Some("1.0.0")));
    assert_eq!((target.capacity.kv_tokens, target.capacity.concurrent_requests), (Some(3200), Some(64)));
    assert_eq!((target.metrics, target.drain()), (None, Drain::Unseen));
    assert_eq!(server.count("GET /metrics"), 1);
    assert_eq!(busy(&server, &target).await, None);
    assert_eq!(server.count("GET /metrics"), 1, "never while anything is measured");
}

#[tokio::test]
async fn tgi() {
    let (server, target) = target("tgi").await;
    assert_eq!(engine(&target), (Some("tgi"), Some("3.3.6")));
    assert_eq!(target.engine.commit.as_deref(), Some("db931fcf1c9d0b8d0e5f5f3f7d6c4b9a8e7d6c5b"));
    assert_eq!(target.engine.build.as_deref(), Some("sha-db931fc"));
    assert_eq!(target.model.id.as_deref(), Some("HuggingFaceH4/zephyr-7b-beta"));
    assert_eq!(target.model.max_length, Some(4096));
    assert_eq!(target.capacity.concurrent_requests, None, "the router's limit is not the batch");
    assert_eq!(target.capacity.kv_tokens, None, "the present batch is not the budget");
    assert_eq!(target.tokenize, Some(TokenizeRoute::Inputs));
    assert_eq!(busy(&server, &target).await, Some(Busy { running: 8.0, waiting: 2.0 }));
}

#[tokio::test]
async fn ollama_tells_the_context_of_the_loaded_model_and_not_the_trained_one() {
    let (_, target) = target("ollama").await;
    assert_eq!(engine(&target), (Some("ollama"), Some("0.30.2")));
    assert_eq!(target.model.quantization.as_deref(), Some("Q4_K_M"));
    assert_eq!(target.model.max_length, Some(4096));
    assert!(source(&target, "model.max_length").unwrap().contains("cut without a word"));
    assert_eq!(value(&target, "model.trained_length"), Some("40960"));
    assert!(target.unknown["capacity.concurrent_requests"].contains("OLLAMA_NUM_PARALLEL"));
    assert_eq!(target.drain(), Drain::Unseen);
}

#[tokio::test]
async fn lm_studio_by_newer_and_older_routes() {
    let (_, newer) = target("lm-studio").await;
    assert_eq!(newer.engine.name.as_deref(), Some("lm-studio"));
    assert_eq!(newer.model.quantization.as_deref(), Some("Q4_K_M"));
    assert_eq!((newer.model.max_length, newer.capacity.concurrent_requests), (Some(8192), Some(4)));
    assert_eq!(value(&newer, "model.trained_length"), Some("262144"));
    let (_, older) = target("lm-studio-v0").await;
    assert_eq!(older.engine.name.as_deref(), Some("lm-studio"));
    assert_eq!((older.model.max_length, older.model.quantization.as_deref()), (Some(4096), Some("4bit")));
    assert_eq!(value(&older, "model.format"), Some("mlx"));
}

#[tokio::test]
async fn mistral_rs() {
    let (server, target) = target("mistral-rs").await;
    assert_eq!(engine(&target), (Some("mistral.rs"), Some("0.9.5")));
    assert_eq!(target.engine.commit.as_deref(), Some("9e922623"));
    assert_eq!((target.model.max_length, target.capacity.concurrent_requests), (Some(40_960), Some(32)));
    assert_eq!(target.capacity.kv_tokens, None, "blocks of unknown size");
    assert_eq!(value(&target, "capacity.kv_blocks"), Some("1024"));
    assert_eq!(busy(&server, &target).await, Some(Busy { running: 4.0, waiting: 2.0 }));
}

#[tokio::test]
async fn tabby_api_is_not_taken_for_llama_cpp() {
    for renamed in [false, true] {
        let mut replies = recorded("tabbyapi");
        if renamed {
            for (_, reply) in &mut replies {
                reply.body = reply.body.replace(r#""owned_by": "tabbyAPI""#, r#""owned_by": "me""#);
            }
        }
        let target = changed(replies).await.probe().await.unwrap();
        assert_eq!(target.engine.name.as_deref(), Some("tabbyapi"));
        assert!(target.unknown.contains_key("engine.version"), "0.1 is the format's");
        assert_eq!(target.model.max_length, Some(32_768));
        assert_eq!(
            (target.capacity.kv_tokens, target.capacity.concurrent_requests),
            (Some(65_536), Some(16))
        );
        assert_eq!(target.engine.speculative.as_deref(), Some("draft model llama3-1b-exl3"));
        assert_eq!(value(&target, "capacity.kv_dtype"), Some("8,8"));
        assert_eq!(target.tokenize, Some(TokenizeRoute::TokenEncode));
    }
}

#[tokio::test]
async fn mlx_lm_by_its_fingerprint() {
    let (server, target) = target("mlx-lm").await;
    assert_eq!(engine(&target), (Some("mlx-lm"), Some("0.31.2")));
    assert_eq!(target.engine.build.as_deref(), Some("mlx 0.31.0"));
    assert_eq!(target.engine.backend.as_deref(), Some("metal"));
    assert_eq!(server.count("POST /v1/chat/completions"), 1, "not asked twice");
}

#[tokio::test]
async fn lmdeploy_counts_its_tokens_twice_so_they_are_not_compared() {
    let (server, target) = target("lmdeploy").await;
    assert_eq!(target.engine.name.as_deref(), Some("lmdeploy"));
    assert!(target.metrics.unwrap().generated_tokens.is_empty());
    assert_eq!(target.tokenize, Some(TokenizeRoute::Encode));
    assert_eq!(busy(&server, &target).await, Some(Busy { running: 1.0, waiting: 0.0 }));
}

#[tokio::test]
async fn dynamo_speaks_for_workers() {
    let (server, target) = target("dynamo").await;
    assert_eq!(target.engine.name.as_deref(), Some("dynamo"));
    assert!(target.unknown["engine.version"].contains("workers"));
    assert_eq!(target.model.max_length, Some(2048));
    assert_eq!(target.capacity.kv_tokens, None, "one worker's is not all");
    assert_eq!(value(&target, "capacity.kv_tokens_of_a_worker"), Some("65536"));
    assert_eq!(busy(&server, &target).await, Some(Busy { running: 3.0, waiting: 0.0 }));
}

#[tokio::test]
async fn transformers_serve_loads_the_model_that_is_named() {
    let server = Server::recorded("transformers").await;
    assert!(server.probe().await.unwrap_err().to_string().contains("--model"));
    let target = server.probe_model("/srv/tiny").await.unwrap();
    assert_eq!(target.engine.name.as_deref(), Some("transformers"));
    assert_eq!(target.served_name(), "/srv/tiny");
}

#[tokio::test]
async fn gateways_are_named_and_what_is_behind_them_is_not_guessed() {
    for (folder, name) in [
        ("litellm", "LiteLLM 1.110.2"),
        ("openrouter", "OpenRouter"),
        ("nginx", "nginx/1.29.1"),
        ("envoy", "istio-envoy"),
    ] {
        let (server, target) = target(folder).await;
        assert_eq!(target.proxy.as_deref(), Some(name));
        assert_eq!(target.engine.name, None, "{folder}");
        let reason = &target.unknown["engine.name"];
        assert!(reason.contains(name) && reason.contains("behind"), "{reason}");
        assert_eq!((target.metrics, target.drain()), (None, Drain::Unseen));
        if ["litellm", "openrouter"].contains(&folder) {
            assert_eq!(
                server.count("POST /v1/chat/completions"),
                0,
                "a request would cost, and tell nothing"
            );
        }
    }
    // LiteLLM's headers are not on every answer.
    let mut replies = recorded("litellm");
    for (_, reply) in &mut replies {
        reply.headers.retain(|(name, _)| !name.starts_with("x-litellm"));
    }
    assert_eq!(changed(replies).await.probe().await.unwrap().proxy.as_deref(), Some("LiteLLM 1.110.2"));

    let (_, target) = target("openrouter").await;
    assert_eq!(target.model.max_length, Some(40_960), "the provider's, not the model's");
}

#[tokio::test]
async fn a_simulated_engine_that_passes_for_another_is_that_one_and_simulated() {
    for (folder, name) in [("sglang", "sglang"), ("ollama", "ollama"), ("tgi", "tgi"), ("vllm-rust", "vllm")]
    {
        let mut replies = recorded(folder);
        for (_, reply) in &mut replies {
            *reply = reply.clone().with("x-tokometer-simulated", "h200-x4");
        }
        let target = changed(replies).await.probe().await.unwrap();
        assert_eq!((target.engine.name.as_deref(), target.simulated), (Some(name), true));
    }
}

#[tokio::test]
async fn a_plain_server_keeps_its_fingerprint() {
    let (_, target) = target("plain").await;
    assert_eq!((target.engine.name.as_deref(), target.proxy.as_deref()), (None, None));
    assert_eq!(value(&target, "engine.system_fingerprint"), Some("fp_44709d6fcb"));
}

#[tokio::test]
async fn a_description_holds_all_of_it_and_no_secret() {
    let (_, target) = target("sglang").await;
    let told = target.description();
    assert_eq!(told["engine"]["name"], "sglang");
    assert_eq!(told["capacity"]["kv_tokens"], 129_000);
    assert_eq!(told["use"]["request_fields"]["stream_options"]["continuous_usage_stats"], true);
    assert_eq!(told["use"]["metrics"]["running"][0], "sglang:num_running_reqs");
    assert_eq!(told["use"]["tokenize"]["request"], "POST /tokenize {prompt}");
    assert_eq!(told["use"]["drain"]["how"], "gauges");
    assert_eq!(
        told["use"]["abort"],
        serde_json::json!({"how": "request", "path": "/abort_request", "id_field": "rid"})
    );
    assert_eq!(told["use"]["cache_reset"]["path"], "/flush_cache");
    assert_eq!(told["use"]["cache_salt"]["completions"], "cache_salt");
    assert!(
        told["evidence"].as_array().unwrap().iter().all(|fact| !fact["source"].as_str().unwrap().is_empty())
    );
    assert!(!told.to_string().contains("never-store"));

    let (_, target) = self::target("vllm-python").await;
    assert!(target.description()["capacity"]["kv_blocks"]["blocks"].as_u64() == Some(2800));
}

#[tokio::test]
async fn every_engine_gives_a_source_or_a_reason_for_every_fact() {
    let folders = fs::read_dir(format!("{}/tests/it/answers", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut seen = 0;
    for folder in folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        if folder == "README.md" {
            continue;
        }
        seen += 1;
        let server = Server::recorded(&folder).await;
        let target = match folder.as_str() {
            "transformers" => server.probe_model("m").await.unwrap(),
            _ => server.probe().await.unwrap(),
        };
        let told = target.description();
        for group in ["engine", "model"] {
            for (name, value) in told[group].as_object().unwrap() {
                let field = format!("{group}.{name}");
                assert_eq!(value.is_null(), target.unknown.contains_key(&field), "{folder}: {field}");
                assert_eq!(value.is_null(), target.evidence_of(&field).is_none(), "{folder}: {field}");
            }
        }
        for field in ["kv_tokens", "concurrent_requests"] {
            let path = format!("capacity.{field}");
            assert_eq!(
                told["capacity"][field].is_null(),
                target.unknown.contains_key(&path),
                "{folder}: {path}"
            );
        }
        let health: Vec<_> =
            server.requests().into_iter().filter(|request| request.contains("health")).collect();
        assert!(health.iter().all(|request| request == "GET /health/readiness"), "{folder}: {health:?}");
    }
    assert_eq!(seen, 26);
}
