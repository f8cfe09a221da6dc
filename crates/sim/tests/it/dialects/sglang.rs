use serde_json::{Value, json};
use tokometer_sim::Dialect;

use super::{Look, PROMPT_TOKENS, check_key, check_stream, facts, long_chat, start, start_as};
use crate::client::{chat, get, metric, post, receive, send};

const LOOK: fn() -> Look = || Look {
    event: ("data: ", "\n\n"),
    first: Some(choice(&json!("assistant"), &json!(""), &Value::Null)),
    text: |text| choice(&Value::Null, &json!(text), &Value::Null),
    finish: |_| choice(&Value::Null, &Value::Null, &json!("length")),
    own_finish: true,
    fields: &["id", "object", "created", "model", "choices"],
    one_by_one: false,
};

fn choice(role: &Value, content: &Value, finish: &Value) -> Value {
    let delta = json!({ "role": role, "content": content, "reasoning_content": null, "tool_calls": null });
    json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish, "matched_stop": null })
}

#[test]
fn it_tells_what_it_runs_with() {
    let running = start(Dialect::Sglang);
    let model = facts(running.addr(), "/v1/models")["data"][0].clone();
    assert_eq!((&model["owned_by"], &model["max_model_len"]), (&json!("sglang"), &json!(16_384)));
    for path in ["/server_info", "/get_server_info"] {
        let info = facts(running.addr(), path);
        assert_eq!(info["version"], "0.5.23");
        assert_eq!(info["max_total_num_tokens"], 65_536);
        assert_eq!(info["internal_states"][0]["memory_usage"]["token_capacity"], 65_536);
        assert_eq!(info["max_running_requests"], 256);
        assert_eq!((&info["tp_size"], &info["disable_radix_cache"]), (&json!(1), &json!(false)));
    }
    assert_eq!(facts(running.addr(), "/model_info")["model_path"], "Example/Model-7B");
    assert_eq!(metric(running.addr(), "sglang:max_total_num_tokens"), 65_536.0);
    for path in ["/tokenize", "/v1/tokenize"] {
        assert_eq!(post(running.addr(), path, &json!({ "prompt": "one two" })).json()["count"], 2);
    }
    let unknown = get(running.addr(), "/version");
    assert_eq!((unknown.status, unknown.json()), (404, json!({ "detail": "Not Found" })));
}

#[test]
fn it_streams_as_documented() {
    let running = start(Dialect::Sglang);
    let mut body = chat("Hello", 30);
    body["model"] = json!("any name");
    let answer = post(running.addr(), "/v1/chat/completions", &body);
    let (usage, last) = check_stream(&answer, &LOOK(), 30);
    // Usage on all frames was asked for: the first and the last one have none.
    let with_usage = answer.body.matches("\"usage\":{").count();
    let frames = answer.body.matches("data: {").count();
    assert_eq!(with_usage, frames - 2);
    assert_eq!(last.get("usage"), None);
    let usage = usage.unwrap();
    assert_eq!(usage["model"], "any name");
    assert_eq!(
        usage["usage"],
        json!({
            "prompt_tokens": PROMPT_TOKENS, "total_tokens": PROMPT_TOKENS + 30, "completion_tokens": 30,
            "prompt_tokens_details": null, "reasoning_tokens": 0,
        })
    );
    assert_eq!(metric(running.addr(), "sglang:generation_tokens_total"), 30.0);
    assert_eq!(metric(running.addr(), "sglang:prompt_tokens_total"), PROMPT_TOKENS as f64);
    assert_eq!(metric(running.addr(), "sglang:num_running_reqs"), 0.0);
}

#[test]
fn errors_are_flat_and_the_key_is_given_away() {
    let running = start(Dialect::Sglang);
    let answer = post(running.addr(), "/v1/chat/completions", &long_chat());
    assert_eq!((answer.status, &answer.json()["object"]), (400, &json!("error")));
    assert_eq!(answer.json()["code"], 400);
    let (guarded, open) = (["/v1/models", "/server_info", "/tokenize"], ["/health", "/metrics", "/ready"]);
    check_key(Dialect::Sglang, &guarded, &open, r#"{"error":"Unauthorized"}"#);

    let running = start_as(Dialect::Sglang, Some("secret-key"));
    let header = "authorization: Bearer secret-key\r\n";
    let info = receive(send(running.addr(), "GET", "/server_info", header, "")).json();
    assert_eq!(info["api_key"], "secret-key");
    assert!(info["launch_command"].as_str().unwrap().ends_with("--api-key secret-key"));
}
