use serde_json::json;
use tokometer_sim::Dialect;

use super::{Look, PROMPT_TOKENS, check_stream, facts, long_chat, start, start_as};
use crate::client::{chat, get, post};

const LOOK: fn() -> Look = || Look {
    event: ("data: ", " \n\n"),
    first: Some(json!({
        "index": 0, "delta": { "role": "assistant" }, "logprobs": null, "finish_reason": null,
    })),
    text: |text| json!({ "index": 0, "delta": { "content": text }, "logprobs": null, "finish_reason": null }),
    finish: |text| {
        json!({
            "index": 0, "delta": { "content": text }, "logprobs": null, "finish_reason": "length",
            "stop_reason": null, "avg_decoded_tokens_per_iter": 1.0,
        })
    },
    own_finish: false,
    fields: &["id", "object", "created", "model", "choices"],
    one_by_one: false,
};

#[test]
fn it_tells_its_blocks() {
    let running = start(Dialect::TensorRtLlm);
    let model = facts(running.addr(), "/v1/models")["data"][0].clone();
    assert_eq!(model["owned_by"], "tensorrt_llm");
    assert_eq!(model.get("max_model_len"), None);
    assert_eq!(facts(running.addr(), "/version"), json!({ "version": "1.3.0" }));
    // The statistics of iterations are emptied by reading.
    assert_eq!(facts(running.addr(), "/metrics"), json!([]));
    post(running.addr(), "/v1/chat/completions", &chat("Hello", 3));
    let stats = facts(running.addr(), "/metrics");
    assert_eq!(stats[0]["kvCacheStats"]["maxNumBlocks"], 2048);
    assert_eq!(stats[0]["kvCacheStats"]["tokensPerBlock"], 32);
    assert_eq!(stats[0]["maxNumActiveRequests"], 256);
    assert_eq!(facts(running.addr(), "/metrics"), json!([]));
    let page = get(running.addr(), "/prometheus/metrics").body;
    assert!(page.contains("trtllm_kv_cache_max_blocks{model_name=\"model\",engine_type=\"trtllm\"} 2048.0"));
    assert!(page.contains("enable_block_reuse=\"True\""));
}

#[test]
fn it_streams_as_documented() {
    let running = start(Dialect::TensorRtLlm);
    let mut body = chat("Hello", 30);
    // Options that say nothing ask for usage on all frames.
    body["stream_options"] = json!({});
    let answer = post(running.addr(), "/v1/chat/completions", &body);
    let frames = answer.body.matches("data: {").count();
    assert_eq!(answer.body.matches("\"usage\":{").count(), frames);
    let (usage, last) = check_stream(&answer, &LOOK(), 30);
    assert_eq!(last["usage"]["completion_tokens"], 30);
    assert_eq!(
        usage.unwrap()["usage"],
        json!({
            "prompt_tokens": PROMPT_TOKENS, "total_tokens": PROMPT_TOKENS + 30, "completion_tokens": 30,
            "prompt_tokens_details": { "cached_tokens": 0 },
        })
    );
    body.as_object_mut().unwrap().remove("stream_options");
    let answer = post(running.addr(), "/v1/chat/completions", &body);
    assert_eq!(answer.body.matches("\"usage\":{").count(), 0);
    assert_eq!(check_stream(&answer, &LOOK(), 30).0, None);
    let page = get(running.addr(), "/prometheus/metrics").body;
    assert!(
        page.contains("trtllm_generation_tokens_total{model_name=\"model\",engine_type=\"trtllm\"} 60.0")
    );
}

#[test]
fn unknown_fields_are_refused() {
    let running = start(Dialect::TensorRtLlm);
    let mut body = chat("Hello", 3);
    body["return_token_ids"] = json!(true);
    let answer = post(running.addr(), "/v1/chat/completions", &body);
    assert_eq!(answer.status, 400);
    assert!(answer.json()["error"].as_str().unwrap().contains("`return_token_ids`"), "{answer:?}");
    let answer = post(running.addr(), "/v1/chat/completions", &long_chat());
    assert!(answer.json()["error"].as_str().unwrap().contains("maximum context length"), "{answer:?}");
    let unknown = get(running.addr(), "/tokenize");
    assert_eq!((unknown.status, unknown.json()), (404, json!({ "detail": "Not Found" })));
}

#[test]
fn it_knows_no_keys() {
    let running = start_as(Dialect::TensorRtLlm, Some("secret-key"));
    assert_eq!(get(running.addr(), "/v1/models").status, 200);
    assert_eq!(metric_names(&get(running.addr(), "/prometheus/metrics").body), 0);
    assert_eq!(post(running.addr(), "/v1/chat/completions", &chat("Hello", 3)).status, 200);
}

/// Series of the page that are not the engine's own.
fn metric_names(page: &str) -> usize {
    page.lines().filter(|line| !line.starts_with('#') && !line.starts_with("trtllm_")).count()
}

#[test]
fn tokens_are_counted_when_a_request_has_ended() {
    let running = start(Dialect::TensorRtLlm);
    let stream = crate::client::send(
        running.addr(),
        "POST",
        "/v1/chat/completions",
        "",
        &chat("Go on", 16_000).to_string(),
    );
    let mut first = [0; 2000];
    std::io::Read::read_exact(&mut &stream, &mut first).unwrap();
    let page = get(running.addr(), "/prometheus/metrics").body;
    assert!(page.contains("trtllm_num_requests_running{model_name=\"model\",engine_type=\"trtllm\"} 1.0"));
    assert!(page.contains("trtllm_generation_tokens_total{model_name=\"model\",engine_type=\"trtllm\"} 0.0"));
    drop(stream);
}
