use serde_json::{Value, json};
use tokometer_sim::Dialect;

use super::{Look, PROMPT_TOKENS, check_key, check_stream, facts, long_chat, start};
use crate::client::{chat, get, metric, post};

fn python() -> Look {
    Look {
        event: ("data: ", "\n\n"),
        first: Some(json!({
            "index": 0, "delta": { "role": "assistant", "content": "" }, "logprobs": null, "finish_reason": null,
        })),
        text: |text| json!({ "index": 0, "delta": { "content": text }, "logprobs": null, "finish_reason": null }),
        finish: |text| {
            json!({
                "index": 0, "delta": { "content": text }, "logprobs": null, "finish_reason": "length",
                "stop_reason": null,
            })
        },
        own_finish: false,
        fields: &["id", "object", "created", "model", "choices"],
        one_by_one: false,
    }
}

#[test]
fn vllm_says_who_it_is() {
    let running = start(Dialect::Vllm);
    let model = facts(running.addr(), "/v1/models")["data"][0].clone();
    assert_eq!(model["owned_by"], "vllm");
    assert_eq!(model["max_model_len"], 16_384);
    assert_eq!(model["root"], "Example/Model-7B");
    assert_eq!(facts(running.addr(), "/version"), json!({ "version": "0.33.0" }));
    assert_eq!(facts(running.addr(), "/load"), json!({ "server_load": 0 }));
    assert_eq!(get(running.addr(), "/server_info").status, 404);
    assert!(get(running.addr(), "/metrics").body.contains("kv_cache_size_tokens=\"65536\""));
}

#[test]
fn vllm_streams_as_documented() {
    let running = start(Dialect::Vllm);
    let mut body = chat("Hello", 30);
    body["stream_options"]["continuous_usage_stats"] = json!(false);
    let answer = post(running.addr(), "/v1/chat/completions", &body);
    let (usage, last) = check_stream(&answer, &python(), 30);
    assert_eq!(last.get("usage"), None);
    let usage = usage.unwrap();
    // Cached tokens are told only with a start option.
    let counts = json!({
        "prompt_tokens": PROMPT_TOKENS, "total_tokens": PROMPT_TOKENS + 30, "completion_tokens": 30,
    });
    assert_eq!(usage["usage"], counts);
    assert_eq!(usage["system_fingerprint"], "vllm-0.33.0-51a17e0d");
    assert_eq!(metric(running.addr(), "vllm:generation_tokens_total"), 30.0);

    // Without usage the fingerprint rides on the last choice.
    body["stream_options"] = Value::Null;
    let (usage, last) = check_stream(&post(running.addr(), "/v1/chat/completions", &body), &python(), 30);
    assert_eq!(usage, None);
    assert_eq!(last["system_fingerprint"], "vllm-0.33.0-51a17e0d");
}

#[test]
fn vllm_refuses_with_an_object() {
    let running = start(Dialect::Vllm);
    let answer = post(running.addr(), "/v1/chat/completions", &long_chat());
    assert_eq!(answer.status, 400);
    let error = &answer.json()["error"];
    assert_eq!((&error["type"], &error["code"]), (&json!("BadRequestError"), &json!(400)));
    let mut body = chat("Hello", 3);
    body["model"] = json!("other");
    assert_eq!(post(running.addr(), "/v1/chat/completions", &body).status, 404);
    let body = r#"{"error":"Unauthorized"}"#;
    for dialect in [Dialect::Vllm, Dialect::VllmRust] {
        check_key(
            dialect,
            &["/v1/models", "/v1/chat/completions"],
            &["/metrics", "/version", "/health"],
            body,
        );
    }
}

#[test]
fn the_rust_front_end_has_a_role_alone_and_an_end_alone() {
    let running = start(Dialect::VllmRust);
    let model = facts(running.addr(), "/v1/models")["data"][0].clone();
    assert_eq!(model["owned_by"], "vllm-frontend-rs");
    assert_eq!(model["created"], 0);
    assert_eq!(model.get("max_model_len"), None);
    let tokens = post(running.addr(), "/tokenize", &json!({ "prompt": "one two" })).json();
    assert_eq!((&tokens["count"], &tokens["max_model_len"]), (&json!(2), &json!(16_384)));

    let look = Look {
        first: Some(json!({
            "index": 0, "delta": { "role": "assistant" }, "logprobs": null, "finish_reason": null,
        })),
        finish: |_| json!({ "index": 0, "delta": {}, "logprobs": null, "finish_reason": "length" }),
        own_finish: true,
        ..python()
    };
    let answer = post(running.addr(), "/v1/chat/completions", &chat("Hello", 30));
    let (usage, last) = check_stream(&answer, &look, 30);
    // Usage on all frames was asked for.
    assert_eq!(last["usage"]["completion_tokens"], 30);
    let usage = usage.unwrap();
    assert_eq!(usage["usage"]["total_tokens"], PROMPT_TOKENS + 30);
    assert_eq!(usage.get("system_fingerprint"), None);
    assert_eq!(metric(running.addr(), "vllm:generation_tokens_total"), 30.0);
}
