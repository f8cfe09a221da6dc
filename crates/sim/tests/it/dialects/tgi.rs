use serde_json::{Value, json};
use tokometer_sim::Dialect;

use super::{Look, PROMPT_TOKENS, check_key, check_stream, facts, long_chat, start};
use crate::client::{chat, get, metric, post};

const LOOK: fn() -> Look = || Look {
    event: ("data:", "\n\n"),
    first: None,
    text: |text| choice(text, &Value::Null),
    finish: |text| choice(text, &json!("length")),
    own_finish: false,
    fields: &["object", "id", "created", "model", "system_fingerprint", "choices"],
    one_by_one: true,
};

fn choice(text: &str, finish: &Value) -> Value {
    json!({
        "index": 0, "delta": { "role": "assistant", "content": text }, "logprobs": null,
        "finish_reason": finish,
    })
}

#[test]
fn it_tells_its_limits() {
    let running = start(Dialect::Tgi);
    let info = facts(running.addr(), "/info");
    assert_eq!((&info["version"], &info["sha"]), (&json!("3.3.7"), &json!("db931fcf")));
    assert_eq!((&info["max_total_tokens"], &info["model_sha"]), (&json!(16_384), &Value::Null));
    assert_eq!(facts(running.addr(), "/v1/models")["data"][0]["owned_by"], "model");
    let tokens = post(running.addr(), "/tokenize", &json!({ "inputs": "one two" })).json();
    assert_eq!(tokens.as_array().unwrap().len(), 2);
    let tokens = post(running.addr(), "/chat_tokenize", &chat("Hello", 3)).json();
    assert_eq!(tokens["tokenize_response"].as_array().unwrap().len() as u64, PROMPT_TOKENS);
}

#[test]
fn it_streams_as_documented() {
    let running = start(Dialect::Tgi);
    let answer = post(running.addr(), "/v1/chat/completions", &chat("Hello", 30));
    let body = answer.body.strip_suffix("data: [DONE]\n\n").unwrap();
    assert!(!body.contains("data: "), "{body}");
    let (usage, last) = check_stream(&answer, &LOOK(), 30);
    assert_eq!(last.get("usage"), None);
    assert_eq!(
        usage.unwrap()["usage"],
        json!({
            "prompt_tokens": PROMPT_TOKENS, "total_tokens": PROMPT_TOKENS + 30, "completion_tokens": 30,
        })
    );
    assert_eq!(metric(running.addr(), "tgi_request_generated_tokens_sum"), 30.0);
    assert_eq!(metric(running.addr(), "tgi_request_generated_tokens_count"), 1.0);
    assert_eq!(metric(running.addr(), "tgi_queue_size"), 0.0);
}

#[test]
fn length_cannot_be_forced() {
    let running = start(Dialect::Tgi);
    let answer = post(running.addr(), "/v1/chat/completions", &chat("Hello", 5000));
    assert!(answer.body.contains("\"finish_reason\":\"stop\""));
}

#[test]
fn errors_have_a_type_beside_them() {
    let running = start(Dialect::Tgi);
    let answer = post(running.addr(), "/v1/chat/completions", &long_chat());
    assert_eq!((answer.status, &answer.json()["error_type"]), (422, &json!("validation")));
    assert!(answer.json()["error"].as_str().unwrap().starts_with("Input validation error: "));
    assert_eq!((get(running.addr(), "/version").status, get(running.addr(), "/props").status), (404, 404));
    let (guarded, open) = (["/v1/chat/completions", "/tokenize"], ["/info", "/v1/models", "/metrics"]);
    check_key(Dialect::Tgi, &guarded, &open, "");
}
