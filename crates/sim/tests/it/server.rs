//! The server over real sockets.

use std::io::Read;
use std::net::TcpStream;
use std::thread;

use serde_json::{Value, json};
use tokometer_sim::tokenizer::{self, MESSAGE_TOKENS, REPLY_TOKENS};
use tokometer_sim::{Profile, Running, Server, ServerOptions, SimError};

use crate::client::{Answer, chat, get, metric, post, receive, send, wait_for};
use crate::runs::{fast, numbered_words};

fn start() -> Running {
    start_with(fast(), None)
}

fn start_with(profile: Profile, api_key: Option<&str>) -> Running {
    let options = ServerOptions { api_key: api_key.map(str::to_owned), ..ServerOptions::default() };
    Server::start(profile, options).unwrap()
}

fn check_error(answer: &Answer, status: u16, part: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    let error = &answer.json()["error"];
    assert_eq!(error["code"], status);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(part), "{message}");
    assert_eq!(answer.header("x-tokometer-simulated"), Some("fast"));
}

#[test]
fn it_says_that_it_is_simulated() {
    let running = start();
    let models = get(running.addr(), "/v1/models");
    assert_eq!(models.header("x-tokometer-simulated"), Some("fast"));
    let model = &models.json()["data"][0];
    assert_eq!(model["owned_by"], "tokometer-sim");
    assert_eq!(model["id"], "model");
    assert_eq!(model["root"], "Example/Model-7B");
    assert_eq!(model["max_model_len"], 16_384);
    let version = get(running.addr(), "/version");
    assert_eq!(version.json()["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(version.header("x-tokometer-simulated"), Some("fast"));
    assert_eq!(get(running.addr(), "/health").status, 200);
    assert_eq!(get(running.addr(), "/ping").status, 200);
}

#[test]
fn a_chat_streams_as_vllm_does() {
    let running = start();
    let answer = post(running.addr(), "/v1/chat/completions", &chat("Tell me about the harbour.", 40));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert_eq!(answer.header("x-tokometer-simulated"), Some("fast"));
    let events = answer.events();
    let (usage, frames) = events.split_last().unwrap();

    let prompt_tokens = 6 + MESSAGE_TOKENS + REPLY_TOKENS;
    assert_eq!(frames[0]["choices"][0]["delta"], json!({ "role": "assistant", "content": "" }));
    assert_eq!(frames[0]["usage"]["completion_tokens"], 0);
    let (mut text, mut tokens) = (String::new(), 0);
    for (index, frame) in frames[1..].iter().enumerate() {
        assert_eq!(frame["object"], "chat.completion.chunk");
        assert_eq!(frame["model"], "model");
        assert_eq!(frame["id"], frames[0]["id"]);
        let piece = frame["choices"][0]["delta"]["content"].as_str().unwrap();
        text.push_str(piece);
        tokens += tokenizer::count(piece);
        assert_eq!(frame["usage"]["completion_tokens"], tokens);
        assert_eq!(frame["usage"]["total_tokens"], tokens + prompt_tokens);
        let last = index + 2 == frames.len();
        assert_eq!(frame["choices"][0]["finish_reason"], if last { json!("length") } else { Value::Null });
    }
    assert_eq!(tokens, 40);
    assert_eq!(tokenizer::count(&text), 40);
    assert_eq!(usage["choices"], json!([]));
    assert_eq!(
        usage["usage"],
        json!({
            "prompt_tokens": prompt_tokens,
            "total_tokens": prompt_tokens + 40,
            "completion_tokens": 40,
            "prompt_tokens_details": { "cached_tokens": 0 },
        })
    );
}

#[test]
fn usage_comes_only_when_asked_for() {
    let running = start();
    let mut body = chat("Hello", 5);
    body["stream_options"]["continuous_usage_stats"] = json!(false);
    let events = post(running.addr(), "/v1/chat/completions", &body).events();
    let with_usage: Vec<bool> = events.iter().map(|event| event.get("usage").is_some()).collect();
    assert!(with_usage[with_usage.len() - 1]);
    assert!(!with_usage[..with_usage.len() - 1].contains(&true));
    body.as_object_mut().unwrap().remove("stream_options");
    let events = post(running.addr(), "/v1/chat/completions", &body).events();
    assert!(events.iter().all(|event| event.get("usage").is_none()));
}

#[test]
fn a_chat_can_come_in_one_piece() {
    let running = start();
    let mut body = chat("Hello", 30);
    body["stream"] = json!(false);
    body["messages"][0]["content"] = json!([{ "type": "text", "text": "Hello" }]);
    let answer = post(running.addr(), "/v1/chat/completions", &body).json();
    assert_eq!(answer["object"], "chat.completion");
    assert_eq!(answer["usage"]["completion_tokens"], 30);
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "length");
    assert_eq!(choice["message"]["role"], "assistant");
    assert_eq!(tokenizer::count(choice["message"]["content"].as_str().unwrap()), 30);
}

#[test]
fn completions_take_text_and_token_ids() {
    let running = start();
    let mut body = json!({ "prompt": "one two three", "max_tokens": 6, "ignore_eos": true, "stream": true });
    body["stream_options"] = json!({ "include_usage": true });
    let events = post(running.addr(), "/v1/completions", &body).events();
    let text: String = events.iter().filter_map(|event| event["choices"][0]["text"].as_str()).collect();
    assert_eq!(tokenizer::count(&text), 6);
    assert_eq!(events[0]["object"], "text_completion");
    assert_eq!(events.last().unwrap()["usage"]["prompt_tokens"], 3);

    for prompt in [json!([5, 6, 7, 8]), json!([[5, 6, 7, 8]]), json!(["it is four tokens"])] {
        let answer =
            post(running.addr(), "/v1/completions", &json!({ "prompt": prompt, "ignore_eos": true }));
        let answer = answer.json();
        assert_eq!(answer["usage"]["prompt_tokens"], 4);
        assert_eq!(answer["usage"]["completion_tokens"], 16);
    }
}

#[test]
fn token_ids_are_those_of_the_tokenizer() {
    let running = start();
    let mut body = chat("Hello there", 20);
    body["return_token_ids"] = json!(true);
    let events = post(running.addr(), "/v1/chat/completions", &body).events();
    let asked = json!({ "messages": body["messages"] });
    let prompt_ids = post(running.addr(), "/tokenize", &asked).json()["tokens"].clone();
    assert_eq!(events[0]["prompt_token_ids"], prompt_ids);
    let choices = || events.iter().map(|event| &event["choices"][0]);
    let text: String = choices().filter_map(|choice| choice["delta"]["content"].as_str()).collect();
    let ids: Vec<Value> =
        choices().filter_map(|choice| choice["token_ids"].as_array()).flatten().cloned().collect();
    let expected = post(running.addr(), "/tokenize", &json!({ "prompt": text })).json();
    assert_eq!(json!(ids), expected["tokens"]);
}

#[test]
fn without_ignore_eos_the_model_ends_by_itself() {
    let running = start();
    let body = json!({ "model": "model", "messages": [{ "role": "user", "content": "Hi" }], "seed": 3 });
    let first = post(running.addr(), "/v1/chat/completions", &body).json();
    assert_eq!(first["choices"][0]["finish_reason"], "stop");
    let tokens = first["usage"]["completion_tokens"].as_u64().unwrap();
    assert!((200..=1500).contains(&tokens), "{tokens}");
    // The end token has no text.
    let text = first["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!(tokenizer::count(text), tokens - 1);
    // The same seed gives the same answer.
    let second = post(running.addr(), "/v1/chat/completions", &body).json();
    assert_eq!(second["choices"], first["choices"]);
}

#[test]
fn the_prefix_cache_is_told() {
    let running = start();
    let words = numbered_words(100);
    let cached = || {
        let events = post(running.addr(), "/v1/chat/completions", &chat(&words, 2)).events();
        let usage = events.last().unwrap()["usage"].clone();
        (usage["prompt_tokens"].as_u64().unwrap(), usage["prompt_tokens_details"]["cached_tokens"].clone())
    };
    let (tokens, first) = cached();
    assert_eq!(first, 0);
    assert_eq!(cached().1, (tokens - 1) / 16 * 16);
    assert_eq!(metric(running.addr(), "vllm:prefix_cache_queries_total"), 2.0 * tokens as f64);
    assert_eq!(metric(running.addr(), "vllm:prefix_cache_hits_total"), ((tokens - 1) / 16 * 16) as f64);
    assert_eq!(metric(running.addr(), "vllm:prompt_tokens_cached_total"), ((tokens - 1) / 16 * 16) as f64);
}

#[test]
fn counters_equal_what_was_sent() {
    let running = start();
    let address = running.addr();
    let readers: Vec<_> = (0..8)
        .map(|number| {
            thread::spawn(move || {
                let events = post(address, "/v1/chat/completions", &chat("Count", 50 + number)).events();
                events.last().unwrap()["usage"]["completion_tokens"].as_f64().unwrap()
            })
        })
        .collect();
    let sent: f64 = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
    assert_eq!(sent, f64::from(8 * 50 + 28));
    assert_eq!(metric(address, "vllm:generation_tokens_total"), sent);
    assert_eq!(metric(address, "vllm:prompt_tokens_total"), 8.0 * (1 + MESSAGE_TOKENS + REPLY_TOKENS) as f64);
    assert_eq!(metric(address, "vllm:num_requests_running"), 0.0);
    assert_eq!(metric(address, "vllm:num_requests_waiting"), 0.0);
    assert_eq!(metric(address, "vllm:kv_cache_usage_perc"), 0.0);
    assert_eq!(metric(address, "vllm:num_preemptions_total"), 0.0);
    let page = get(address, "/metrics").body;
    assert!(page.contains("finished_reason=\"length\"} 8.0"), "{page}");
    assert!(page.contains("kv_cache_size_tokens=\"65536\""), "{page}");
    assert!(page.contains("block_size=\"16\""), "{page}");
    assert!(page.contains("vllm:num_requests_running{engine=\"0\",model_name=\"model\"} 0.0"), "{page}");
}

#[test]
fn a_client_that_goes_away_aborts_its_request() {
    let running = start();
    let address = running.addr();
    let mut stream = send(address, "POST", "/v1/chat/completions", "", &chat("Go on", 10_000).to_string());
    stream.read_exact(&mut [0; 2000]).unwrap();
    assert_eq!(metric(address, "vllm:num_requests_running"), 1.0);
    drop(stream);
    wait_for(address, "vllm:num_requests_running", 0.0);
    assert!(metric(address, "vllm:generation_tokens_total") < 10_000.0);

    // Also one that waits for its answer in one piece.
    let mut body = chat("Go on", 10_000);
    body["stream"] = json!(false);
    let stream = send(address, "POST", "/v1/chat/completions", "", &body.to_string());
    wait_for(address, "vllm:num_requests_running", 1.0);
    drop(stream);
    wait_for(address, "vllm:num_requests_running", 0.0);
    let page = get(address, "/metrics").body;
    assert!(page.contains("finished_reason=\"abort\"} 2.0"), "{page}");
}

#[test]
fn requests_wait_when_the_cache_is_full() {
    let running = start();
    let address = running.addr();
    let body = chat("Long", 16_000).to_string();
    let streams: Vec<TcpStream> =
        (0..6).map(|_| send(address, "POST", "/v1/chat/completions", "", &body)).collect();
    wait_for(address, "vllm:num_requests_waiting", 2.0);
    assert_eq!(metric(address, "vllm:num_requests_running"), 4.0);
    drop(streams);
    wait_for(address, "vllm:num_requests_waiting", 0.0);
    wait_for(address, "vllm:num_requests_running", 0.0);
}

#[test]
fn a_slow_reader_gets_every_token() {
    let running = start();
    let address = running.addr();
    let stream = send(address, "POST", "/v1/chat/completions", "", &chat("Slow", 3000).to_string());
    // Everything is generated before the first read.
    wait_for(address, "vllm:generation_tokens_total", 3000.0);
    let events = receive(stream).events();
    assert_eq!(events.last().unwrap()["usage"]["completion_tokens"], 3000);
    let text: String =
        events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(tokenizer::count(&text), 3000);
}

#[test]
fn the_key_guards_v1_alone() {
    let running = start_with(fast(), Some("secret-key"));
    let address = running.addr();
    for headers in ["", "authorization: Bearer secret-kez\r\n", "authorization: Bearer secret-key2\r\n"] {
        let answer = receive(send(address, "GET", "/v1/models", headers, ""));
        assert_eq!(answer.status, 401);
        assert_eq!(answer.json(), json!({ "error": "Unauthorized" }));
        assert_eq!(answer.header("x-tokometer-simulated"), Some("fast"));
    }
    let answer = receive(send(address, "GET", "/v1/models", "authorization: Bearer secret-key\r\n", ""));
    assert_eq!(answer.status, 200);
    for path in ["/metrics", "/version", "/health"] {
        assert_eq!(get(address, path).status, 200);
    }
    assert_eq!(post(address, "/tokenize", &json!({ "prompt": "open" })).status, 200);
    let options = ServerOptions { api_key: Some("secret-key".to_owned()), ..ServerOptions::default() };
    assert!(!format!("{options:?} {running:?}").contains("secret"));
}

#[test]
fn bad_requests_get_the_reason() {
    let running = start();
    let address = running.addr();
    let path = "/v1/chat/completions";
    let mut unknown = chat("Hi", 5);
    unknown["model"] = json!("other");
    check_error(&post(address, path, &unknown), 404, "The model `other` does not exist");
    check_error(&get(address, "/v2/models"), 404, "Not Found");
    check_error(&get(address, path), 405, "method");

    let long = "word ".repeat(16_384);
    check_error(&post(address, path, &chat(&long, 5)), 400, "maximum context length is 16384 tokens");
    check_error(&receive(send(address, "POST", path, "", "{ not JSON")), 400, "the body is not");
    check_error(&post(address, path, &json!({ "messages": [] })), 400, "`messages`");
    check_error(&post(address, path, &chat("Hi", 0)), 400, "at least 1");
    let mut two = chat("Hi", 5);
    two["n"] = json!(2);
    check_error(&post(address, path, &two), 400, "`n`");
    check_error(&post(address, "/v1/completions", &json!({ "model": "model" })), 400, "`prompt`");
    check_error(&post(address, "/v1/completions", &json!({ "prompt": ["a", "b"] })), 400, "only one prompt");
}

#[test]
fn output_is_clipped_to_the_models_length() {
    let running = start();
    let mut body = chat(&"word ".repeat(16_366), 500);
    body["stream"] = json!(false);
    let answer = post(running.addr(), "/v1/chat/completions", &body).json();
    let prompt_tokens = answer["usage"]["prompt_tokens"].as_u64().unwrap();
    assert_eq!(prompt_tokens + answer["usage"]["completion_tokens"].as_u64().unwrap(), 16_384);
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
}

#[test]
fn tokenize_counts_the_template_with_messages_only() {
    let running = start();
    let text = "The harbour, in 1984: quiet.";
    let plain = post(running.addr(), "/tokenize", &json!({ "model": "model", "prompt": text })).json();
    assert_eq!(plain["count"], tokenizer::count(text));
    assert_eq!(plain["tokens"].as_array().unwrap().len() as u64, tokenizer::count(text));
    assert_eq!(plain["max_model_len"], 16_384);
    let messages = json!({ "messages": [{ "role": "user", "content": text }] });
    let templated = post(running.addr(), "/tokenize", &messages).json();
    assert_eq!(templated["count"], tokenizer::count(text) + MESSAGE_TOKENS + REPLY_TOKENS);
    check_error(&post(running.addr(), "/tokenize", &json!({ "model": "x", "prompt": "" })), 404, "`x`");
}

#[test]
fn a_large_prompt_is_counted_as_the_tokenizer_does() {
    let running = start_with(Profile::builtin("h200-x4").unwrap(), None);
    let text = numbered_words(200_000);
    let answer = post(running.addr(), "/tokenize", &json!({ "prompt": text })).json();
    assert_eq!(answer["count"], tokenizer::count(&text));
}

#[test]
fn where_the_record_looped_the_text_does() {
    let running = start();
    let address = running.addr();
    let body = chat(&"word ".repeat(4000), 600);
    let streams: Vec<TcpStream> =
        (0..8).map(|_| send(address, "POST", "/v1/chat/completions", "", &body.to_string())).collect();
    for stream in streams {
        let events = receive(stream).events();
        let text: String =
            events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str()).collect();
        let text = text.as_bytes();
        let repeated = (400..text.len()).rev().take_while(|&at| text[at] == text[at - 400]).count();
        assert!(repeated >= 4096, "{repeated}");
    }
}

#[test]
fn a_taken_port_is_said() {
    let running = start();
    let options = ServerOptions { listen: running.addr(), ..ServerOptions::default() };
    // Also where it is started, and given up, on somebody's event loop.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let error = runtime.block_on(async { Server::start(fast(), options).unwrap_err() });
    assert!(matches!(error, SimError::Listen { .. }));
    assert!(error.to_string().contains("choose another port"), "{error}");
}

#[test]
fn stopping_ends_it() {
    let running = start();
    let address = running.addr();
    let mut stream = send(address, "POST", "/v1/chat/completions", "", &chat("Go on", 16_000).to_string());
    wait_for(address, "vllm:num_requests_running", 1.0);
    running.stop();
    // The stream is cut, not ended; how the system tells that is its affair.
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(!String::from_utf8_lossy(&rest).contains("[DONE]"));
}
