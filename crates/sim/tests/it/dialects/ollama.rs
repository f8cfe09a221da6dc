use serde_json::{Value, json};
use tokometer_sim::{Dialect, tokenizer};

use super::{Look, PROMPT_TOKENS, check_stream, facts, long_chat, start, start_as};
use crate::client::{Answer, chat, get, post};

const LOOK: fn() -> Look = || Look {
    event: ("data: ", "\n\n"),
    first: None,
    text: |text| choice(text, &Value::Null),
    finish: |_| choice("", &json!("length")),
    own_finish: true,
    fields: &["id", "object", "created", "model", "system_fingerprint", "choices"],
    one_by_one: true,
};

fn choice(text: &str, finish: &Value) -> Value {
    json!({ "index": 0, "delta": { "role": "assistant", "content": text }, "finish_reason": finish })
}

fn lines(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn it_tells_its_models() {
    let running = start(Dialect::Ollama);
    assert_eq!(get(running.addr(), "/").body, "Ollama is running");
    assert_eq!(facts(running.addr(), "/api/version"), json!({ "version": "0.30.2" }));
    assert_eq!(facts(running.addr(), "/v1/models")["data"][0]["owned_by"], "library");
    assert_eq!(facts(running.addr(), "/api/tags")["models"][0]["name"], "model");
    let show = post(running.addr(), "/api/show", &json!({ "model": "model" })).json();
    assert_eq!(show["details"]["quantization_level"], "Q4_K_M");
    assert_eq!(show["model_info"]["simulated.context_length"], 16_384);
    // It is loaded with the first request.
    assert_eq!(facts(running.addr(), "/api/ps"), json!({ "models": [] }));
    post(running.addr(), "/v1/chat/completions", &chat("Hello", 3));
    assert_eq!(facts(running.addr(), "/api/ps")["models"][0]["context_length"], 16_384);
    for path in ["/metrics", "/tokenize", "/version"] {
        let unknown = get(running.addr(), path);
        assert_eq!((unknown.status, unknown.body.as_str()), (404, "404 page not found"));
    }
}

#[test]
fn it_streams_as_documented() {
    let running = start(Dialect::Ollama);
    let answer = post(running.addr(), "/v1/chat/completions", &chat("Hello", 30));
    let (usage, last) = check_stream(&answer, &LOOK(), 30);
    assert_eq!(last["system_fingerprint"], "fp_ollama");
    assert_eq!(last.get("usage"), None);
    let counts = json!({
        "prompt_tokens": PROMPT_TOKENS, "total_tokens": PROMPT_TOKENS + 30, "completion_tokens": 30,
    });
    assert_eq!(usage.unwrap()["usage"], counts);

    // Frames of completions have zeros for usage.
    let body = json!({ "prompt": "one two", "max_tokens": 5, "stream": true,
        "stream_options": { "include_usage": true } });
    let events = post(running.addr(), "/v1/completions", &body).events();
    let (usage, frames) = events.split_last().unwrap();
    for frame in frames {
        assert_eq!(frame["usage"]["completion_tokens"], 0);
        assert_eq!(frame["usage"]["prompt_tokens"], 0);
    }
    assert_eq!(
        (&usage["usage"]["prompt_tokens"], &usage["usage"]["completion_tokens"]),
        (&json!(2), &json!(5))
    );
}

#[test]
fn its_own_interface_is_a_line_per_token() {
    let running = start(Dialect::Ollama);
    let options = json!({ "num_predict": 20, "seed": 7 });
    let messages = json!([{ "role": "user", "content": "Hello" }]);
    let body = json!({ "model": "model", "messages": messages, "options": options });
    let lines_of_chat = lines(&post(running.addr(), "/api/chat", &body));
    let (last, rest) = lines_of_chat.split_last().unwrap();
    assert_eq!(rest.len(), 20);
    for line in rest {
        assert_eq!((&line["done"], &line["message"]["role"]), (&json!(false), &json!("assistant")));
        assert_eq!(tokenizer::count(line["message"]["content"].as_str().unwrap()), 1);
        assert_eq!(line.get("eval_count"), None);
    }
    assert_eq!((&last["done"], &last["done_reason"]), (&json!(true), &json!("length")));
    assert_eq!((&last["prompt_eval_count"], &last["eval_count"]), (&json!(PROMPT_TOKENS), &json!(20)));
    let nanoseconds = |name: &str| last[name].as_u64().unwrap();
    assert!(
        nanoseconds("total_duration") >= nanoseconds("prompt_eval_duration") + nanoseconds("eval_duration")
    );

    let body = json!({ "prompt": "one two", "options": options, "stream": false });
    let whole = post(running.addr(), "/api/generate", &body).json();
    assert_eq!((&whole["prompt_eval_count"], &whole["eval_count"]), (&json!(2), &json!(20)));
    assert_eq!(tokenizer::count(whole["response"].as_str().unwrap()), 20);
}

#[test]
fn long_prompts_are_cut() {
    let running = start(Dialect::Ollama);
    let answer = post(running.addr(), "/v1/chat/completions", &long_chat()).json();
    assert_eq!(answer["usage"]["prompt_tokens"], 16_384 - 4);
    assert_eq!(answer["usage"]["completion_tokens"], 4);
}

#[test]
fn errors_have_two_shapes_and_keys_are_not_known() {
    let running = start_as(Dialect::Ollama, Some("secret-key"));
    let mut body = chat("Hello", 3);
    body["model"] = json!("other");
    let answer = post(running.addr(), "/v1/chat/completions", &body);
    assert_eq!(answer.status, 404);
    let error = json!({
        "message": "model 'other' not found", "type": "not_found_error", "param": null, "code": null,
    });
    assert_eq!(answer.json(), json!({ "error": error }));
    let answer = post(running.addr(), "/api/chat", &body);
    assert_eq!((answer.status, answer.json()), (404, json!({ "error": "model 'other' not found" })));
}
