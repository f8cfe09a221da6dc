use serde_json::{Value, json};
use tokometer_sim::Dialect;

use super::{Look, PROMPT_TOKENS, check_key, check_stream, facts, long_chat, start};
use crate::client::{chat, get, metric, post, send, wait_for};

const LOOK: fn() -> Look = || Look {
    event: ("data: ", "\n\n"),
    first: Some(choice(&json!({ "role": "assistant", "content": null }), &Value::Null)),
    text: |text| choice(&json!({ "content": text }), &Value::Null),
    finish: |_| choice(&json!({}), &json!("length")),
    own_finish: true,
    fields: &["choices", "created", "id", "model", "system_fingerprint", "object"],
    one_by_one: true,
};

fn choice(delta: &Value, finish: &Value) -> Value {
    json!({ "finish_reason": finish, "index": 0, "delta": delta })
}

#[test]
fn it_tells_its_slots() {
    let running = start(Dialect::LlamaCpp);
    assert_eq!(get(running.addr(), "/v1/models").header("server"), Some("llama.cpp"));
    let models = facts(running.addr(), "/v1/models");
    assert_eq!(models["data"][0]["owned_by"], "llamacpp");
    assert_eq!(models["data"][0]["meta"]["n_ctx"], 16_384);
    assert_eq!(models["models"][0]["name"], "model");
    let props = facts(running.addr(), "/props");
    assert_eq!(props["build_info"], "b11549-0c1e57098");
    assert_eq!(props["total_slots"], 4);
    assert_eq!(props["default_generation_settings"]["n_ctx"], 16_384);
    let slots = facts(running.addr(), "/slots");
    assert_eq!(slots.as_array().unwrap().len(), 4);
    assert_eq!((&slots[0]["n_ctx"], &slots[0]["is_processing"]), (&json!(16_384), &json!(false)));
    let tokens = post(running.addr(), "/tokenize", &json!({ "content": "one two" })).json();
    assert_eq!(tokens["tokens"].as_array().unwrap().len(), 2);
    assert_eq!(facts(running.addr(), "/health"), json!({ "status": "ok" }));
}

#[test]
fn it_streams_as_documented() {
    let running = start(Dialect::LlamaCpp);
    let answer = post(running.addr(), "/v1/chat/completions", &chat("Hello", 30));
    let (usage, last) = check_stream(&answer, &LOOK(), 30);
    assert_eq!((last.get("usage"), last.get("timings")), (None, None));
    let usage = usage.unwrap();
    assert_eq!(
        usage["usage"],
        json!({
            "prompt_tokens": PROMPT_TOKENS, "total_tokens": PROMPT_TOKENS + 30, "completion_tokens": 30,
            "prompt_tokens_details": { "cached_tokens": 0 },
        })
    );
    assert_eq!(usage["timings"]["predicted_n"], 30);
    assert_eq!(usage["timings"]["prompt_n"], PROMPT_TOKENS);
    assert!(usage["timings"]["predicted_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(metric(running.addr(), "llamacpp:tokens_predicted_total"), 30.0);
    assert_eq!(metric(running.addr(), "llamacpp:prompt_tokens_total"), PROMPT_TOKENS as f64);

    // Usage that is not asked for is told with completions alone.
    let mut body = chat("Hello", 30);
    body["stream_options"] = Value::Null;
    let (usage, last) = check_stream(&post(running.addr(), "/v1/chat/completions", &body), &LOOK(), 30);
    assert_eq!((usage, last["timings"]["predicted_n"].as_u64()), (None, Some(30)));
    body["prompt"] = json!("one two three");
    let look = Look {
        first: None,
        text: |text| json!({ "text": text, "index": 0, "logprobs": null, "finish_reason": null }),
        finish: |_| json!({ "text": "", "index": 0, "logprobs": null, "finish_reason": "length" }),
        ..LOOK()
    };
    let (usage, last) = check_stream(&post(running.addr(), "/v1/completions", &body), &look, 30);
    assert_eq!((usage, &last["usage"]["prompt_tokens"]), (None, &json!(3)));
    assert_eq!(last["timings"]["predicted_n"], 30);
}

#[test]
fn the_prefill_tells_its_progress() {
    let running = start(Dialect::LlamaCpp);
    let mut body = chat("Hello", 5);
    body["return_progress"] = json!(true);
    let events = post(running.addr(), "/v1/chat/completions", &body).events();
    for (event, processed) in events.iter().zip([0, PROMPT_TOKENS]) {
        assert_eq!(event["choices"][0]["delta"], json!({ "role": "assistant", "content": null }));
        assert_eq!(event["prompt_progress"]["total"], PROMPT_TOKENS);
        assert_eq!(event["prompt_progress"]["processed"], processed);
    }
    assert_eq!(events[2]["choices"][0]["delta"], json!({ "role": "assistant", "content": null }));
    assert_eq!(events[2].get("prompt_progress"), None);
    assert!(events[3]["choices"][0]["delta"]["content"].is_string());
}

#[test]
fn requests_wait_for_a_slot() {
    let running = start(Dialect::LlamaCpp);
    let body = chat("Go", 16_000).to_string();
    let streams: Vec<_> =
        (0..6).map(|_| send(running.addr(), "POST", "/v1/chat/completions", "", &body)).collect();
    wait_for(running.addr(), "llamacpp:requests_deferred", 2.0);
    assert_eq!(metric(running.addr(), "llamacpp:requests_processing"), 4.0);
    let slots = facts(running.addr(), "/slots");
    assert!(slots.as_array().unwrap().iter().all(|slot| slot["is_processing"] == true));
    drop(streams);
}

#[test]
fn errors_tell_the_context() {
    let running = start(Dialect::LlamaCpp);
    let answer = post(running.addr(), "/v1/chat/completions", &long_chat());
    assert_eq!(answer.status, 400);
    let error = &answer.json()["error"];
    assert_eq!(error["type"], "exceed_context_size_error");
    assert_eq!((&error["code"], &error["n_ctx"]), (&json!(400), &json!(16_384)));
    assert!(error["n_prompt_tokens"].as_u64().unwrap() > 16_384);
    let unknown = get(running.addr(), "/version");
    assert_eq!((unknown.status, &unknown.json()["error"]["type"]), (404, &json!("not_found_error")));
    let body = r#"{"error":{"code":401,"message":"Invalid API Key","type":"authentication_error"}}"#;
    check_key(Dialect::LlamaCpp, &["/props", "/v1/chat/completions"], &["/v1/models", "/health"], body);
}
