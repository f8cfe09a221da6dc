//! Each dialect against what is documented of its engine.

mod llamacpp;
mod ollama;
mod sglang;
mod tensorrt_llm;
mod tgi;
mod vllm;

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokometer_sim::tokenizer::{self, MESSAGE_TOKENS, REPLY_TOKENS};
use tokometer_sim::{Dialect, Running, Server, ServerOptions};

use crate::client::{Answer, get, post, receive, send};
use crate::runs::fast;

/// Prompt tokens of a chat of one word.
const PROMPT_TOKENS: u64 = 1 + MESSAGE_TOKENS + REPLY_TOKENS;

fn start(dialect: Dialect) -> Running {
    start_as(dialect, None)
}

fn start_as(dialect: Dialect, api_key: Option<&str>) -> Running {
    let api_key = api_key.map(str::to_owned);
    Server::start(fast(), ServerOptions { api_key, dialect, ..ServerOptions::default() }).unwrap()
}

/// The JSON of a path that must be there; it says that it is simulated.
fn facts(address: SocketAddr, path: &str) -> Value {
    let answer = get(address, path);
    assert_eq!(answer.status, 200, "{path}: {answer:?}");
    assert_eq!(answer.header("x-tokometer-simulated"), Some("fast"));
    answer.json()
}

/// What an engine's stream looks like.
struct Look {
    event: (&'static str, &'static str),
    /// The first choice, if it has no text.
    first: Option<Value>,
    /// A choice with this text.
    text: fn(&str) -> Value,
    /// The choice that ends the output: with this text, or its own.
    finish: fn(&str) -> Value,
    own_finish: bool,
    /// The fields of a frame in their order.
    fields: &'static [&'static str],
    /// True if each token has a frame.
    one_by_one: bool,
}

/// Compares a stream frame by frame; it ends by length with this many tokens. Returns its usage frame, if it has
/// one, and the frame that ends the output.
fn check_stream(answer: &Answer, look: &Look, tokens: u64) -> (Option<Value>, Value) {
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let events = answer.body.strip_suffix("data: [DONE]\n\n").expect("the end mark");
    let mut frames: Vec<Value> = events
        .split_inclusive("\n\n")
        .map(|event| {
            let event = event.strip_prefix(look.event.0).expect("the start of an event");
            let event = event.strip_suffix(look.event.1).expect("the end of an event");
            assert!(event.starts_with('{') && event.ends_with('}'), "{event:?}");
            serde_json::from_str(event).unwrap()
        })
        .collect();
    for frame in &frames {
        let fields: Vec<&str> = frame.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields[..look.fields.len()], *look.fields, "{frame}");
        assert_eq!(frame["id"], frames[0]["id"]);
    }
    let has_usage = frames.last().unwrap()["choices"] == json!([]);
    let usage = if has_usage { frames.pop() } else { None };
    let last = frames.pop().unwrap();
    let mut choices: Vec<Value> = frames.iter().map(|frame| frame["choices"][0].clone()).collect();
    if let Some(first) = &look.first {
        assert_eq!(choices.remove(0), *first);
    }
    let mut text = String::new();
    for choice in &choices {
        let piece = text_of(choice);
        assert_eq!(*choice, (look.text)(piece));
        assert!(!look.one_by_one || tokenizer::count(piece) == 1, "{piece:?}");
        text.push_str(piece);
    }
    let piece = if look.own_finish { "" } else { text_of(&last["choices"][0]) };
    assert_eq!(last["choices"][0], (look.finish)(piece));
    text.push_str(piece);
    assert_eq!(tokenizer::count(&text), tokens);
    (usage, last)
}

fn text_of(choice: &Value) -> &str {
    choice.get("text").unwrap_or(&choice["delta"]["content"]).as_str().unwrap()
}

/// Without the key all guarded paths answer 401, with it they do not; open ones answer in any case.
fn check_key(dialect: Dialect, guarded: &[&str], open: &[&str], body: &str) {
    let running = start_as(dialect, Some("secret-key"));
    for path in guarded {
        for header in ["", "authorization: Bearer other\r\n"] {
            let answer = receive(send(running.addr(), "GET", path, header, ""));
            assert_eq!((answer.status, answer.body.as_str()), (401, body), "{path}");
            assert_eq!(answer.header("x-tokometer-simulated"), Some("fast"));
        }
        let answer = receive(send(running.addr(), "GET", path, "authorization: Bearer secret-key\r\n", ""));
        assert_ne!(answer.status, 401, "{path}");
    }
    for path in open {
        assert_ne!(get(running.addr(), path).status, 401, "{path}");
    }
}

fn long_chat() -> Value {
    json!({ "messages": [{ "role": "user", "content": "word ".repeat(16_400) }], "max_tokens": 4 })
}

#[test]
fn dialects_go_by_their_names() {
    for dialect in Dialect::ALL {
        assert_eq!(dialect.to_string().parse::<Dialect>().unwrap(), dialect);
    }
    assert_eq!(Dialect::default(), Dialect::Native);
    let error = "vLLM".parse::<Dialect>().unwrap_err().to_string();
    assert!(error.contains("no dialect `vLLM`") && error.contains("vllm-rust, sglang"), "{error}");
}

#[test]
fn a_whole_answer_says_what_a_stream_does() {
    for dialect in Dialect::ALL {
        let running = start(dialect);
        let body = json!({
            "model": "model",
            "messages": [{ "role": "user", "content": "Hello" }],
            "max_tokens": 20,
        });
        let answer = post(running.addr(), "/v1/chat/completions", &body);
        assert_eq!(answer.status, 200, "{dialect}: {answer:?}");
        let answer = answer.json();
        assert_eq!(answer["object"], "chat.completion", "{dialect}");
        assert_eq!(answer["usage"]["prompt_tokens"], PROMPT_TOKENS, "{dialect}");
        assert_eq!(answer["usage"]["completion_tokens"], 20, "{dialect}");
        assert_eq!(answer["choices"][0]["finish_reason"], "length", "{dialect}");
        let text = answer["choices"][0]["message"]["content"].as_str().unwrap();
        assert_eq!(tokenizer::count(text), 20, "{dialect}");
    }
}
