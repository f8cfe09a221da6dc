//! What goes wrong on purpose.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use tokometer_sim::text::LOOP_CHARACTERS;
use tokometer_sim::{Dialect, Fault, FaultKind, Running, Server, ServerOptions};

use crate::client::{Answer, chat, metric, post, send, wait_for};
use crate::runs::fast;

fn start(dialect: Dialect, fault: &str) -> Running {
    let faults = vec![fault.parse().unwrap()];
    Server::start(fast(), ServerOptions { dialect, faults, ..ServerOptions::default() }).unwrap()
}

fn ask(running: &Running) -> Answer {
    post(running.addr(), "/v1/chat/completions", &chat("Hello", 50))
}

/// The text of the frames that have come whole.
fn texts(body: &str) -> String {
    let frames = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let frames = frames.filter_map(|frame| serde_json::from_str::<Value>(frame.trim()).ok());
    frames.filter_map(|frame| Some(frame["choices"][0]["delta"]["content"].as_str()?.to_owned())).collect()
}

fn tokens(body: &str) -> u64 {
    tokometer_sim::tokenizer::count(&texts(body))
}

#[test]
fn faults_go_by_their_names() {
    assert_eq!("stall".parse::<Fault>().unwrap(), FaultKind::Stall.into());
    let fault: Fault = "reset@5/4".parse().unwrap();
    assert_eq!(fault, Fault { kind: FaultKind::Reset, after_tokens: 5, every: 4 });
    assert_eq!(fault.to_string().parse::<Fault>().unwrap(), fault);
    assert_eq!("rate-limit/3".parse::<Fault>().unwrap().every, 3);
    for kind in FaultKind::ALL {
        assert_eq!(kind.name().parse::<Fault>().unwrap(), kind.into());
    }
    for text in ["", "no", "stall@", "stall@x", "stall/0", "stall/-1"] {
        let error = text.parse::<Fault>().unwrap_err().to_string();
        assert!(error.contains("error, truncated, tokenless, reset, stall, rate-limit"), "{error}");
    }
}

#[test]
fn an_error_comes_within_the_stream() {
    let ends = [
        (Dialect::Vllm, "\"code\":500}}\n\ndata: [DONE]\n\n"),
        (Dialect::VllmRust, "\"code\":500}}\n\ndata: [DONE]\n\n"),
        (Dialect::Sglang, "\"code\":500}}\n\ndata: [DONE]\n\n"),
        (Dialect::LlamaCpp, "\"type\":\"server_error\"}}\n\n"),
        (Dialect::TensorRtLlm, "\"code\":500} \n\ndata: [DONE]\n\n"),
        (Dialect::Tgi, "\"error_type\":\"generation\"}\n\ndata: [DONE]\n\n"),
        (Dialect::Ollama, "\"param\":null,\"code\":null}}\n"),
    ];
    for (dialect, end) in ends {
        let answer = ask(&start(dialect, "error@4"));
        assert_eq!(answer.status, 200, "{dialect}");
        assert_eq!(tokens(&answer.body), 4, "{dialect}");
        assert!(answer.body.contains("the engine has failed"), "{dialect}: {answer:?}");
        assert!(answer.body.ends_with(end), "{dialect}: {}", answer.body);
        let has_prefix = answer.body.lines().any(|line| line.starts_with("data:{\"error\":"))
            || answer.body.lines().any(|line| line.starts_with("data: {\"error\":"))
            || answer.body.lines().any(|line| line.starts_with("data: {\"object\":\"error\""));
        assert_eq!(has_prefix, dialect != Dialect::Ollama, "{dialect}: {}", answer.body);
    }
}

#[test]
fn a_stream_is_truncated() {
    let answer = ask(&start(Dialect::Native, "truncated"));
    assert_eq!(tokens(&answer.body), 3);
    assert!(!answer.body.contains("[DONE]") && !answer.body.contains("\"length\""));
    // It comes to its own end, unlike one that is reset.
    assert!(answer.head.contains("transfer-encoding: chunked"));
}

#[test]
fn a_stream_has_no_token() {
    for dialect in [Dialect::Native, Dialect::Sglang, Dialect::LlamaCpp] {
        let answer = ask(&start(dialect, "tokenless"));
        assert_eq!((answer.status, answer.body.as_str()), (200, "data: [DONE]\n\n"), "{dialect}");
    }
    let running = start(Dialect::Ollama, "tokenless");
    let messages = json!([{ "role": "user", "content": "Hello" }]);
    let answer = post(running.addr(), "/api/chat", &json!({ "messages": messages }));
    assert_eq!((&answer.json()["done"], &answer.json()["eval_count"]), (&json!(true), &json!(0)));
}

#[test]
fn a_connection_is_reset() {
    let running = start(Dialect::Native, "reset@5");
    let mut stream = send(running.addr(), "POST", "/v1/chat/completions", "", &chat("Hello", 50).to_string());
    let mut body = Vec::new();
    let error = read_until(&mut stream, &mut body, |_| false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    assert_eq!(tokens(&String::from_utf8(body).unwrap()), 5);
}

/// Reads until what has come will do; false if the connection is closed before.
fn read_until(
    stream: &mut TcpStream,
    body: &mut Vec<u8>,
    will_do: impl Fn(&str) -> bool,
) -> std::io::Result<bool> {
    let mut part = [0; 4096];
    while !will_do(&String::from_utf8_lossy(body)) {
        match stream.read(&mut part)? {
            0 => return Ok(false),
            length => body.extend_from_slice(&part[..length]),
        }
    }
    Ok(true)
}

#[test]
fn a_stream_stalls() {
    let running = start(Dialect::Native, "stall@2");
    let mut stream = send(running.addr(), "POST", "/v1/chat/completions", "", &chat("Hello", 50).to_string());
    let mut body = Vec::new();
    assert!(read_until(&mut stream, &mut body, |body| tokens(body) == 2).unwrap());
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let error = read_until(&mut stream, &mut body, |_| false).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error:?}");
    assert_eq!(tokens(&String::from_utf8(body).unwrap()), 2);
}

#[test]
fn a_silent_stream_is_kept_alive() {
    for (dialect, comment) in [(Dialect::LlamaCpp, ":"), (Dialect::Tgi, ":"), (Dialect::Vllm, ": keep-alive")]
    {
        let faults = vec![Fault { after_tokens: 2, ..FaultKind::Stall.into() }];
        let keep_alive = Some(Duration::from_millis(10));
        let options = ServerOptions { dialect, faults, keep_alive, ..ServerOptions::default() };
        let running = Server::start(fast(), options).unwrap();
        let mut stream =
            send(running.addr(), "POST", "/v1/chat/completions", "", &chat("Hello", 50).to_string());
        let comments = |body: &str| body.lines().filter(|line| *line == comment).count();
        let will_do = |body: &str| tokens(body) == 2 && comments(body) >= 3;
        assert!(read_until(&mut stream, &mut Vec::new(), will_do).unwrap(), "{dialect}");
    }
}

#[test]
fn too_many_requests_are_refused() {
    type HasShape = fn(&Value) -> bool;
    let shapes: [(Dialect, HasShape); 6] = [
        (Dialect::Vllm, |answer| answer["error"]["code"] == 429),
        (Dialect::Sglang, |answer| answer["object"] == "error"),
        (Dialect::LlamaCpp, |answer| answer["error"]["type"] == "unavailable_error"),
        (Dialect::TensorRtLlm, |answer| answer["object"] == "error"),
        (Dialect::Tgi, |answer| answer["error_type"] == "overloaded"),
        (Dialect::Ollama, |answer| answer["error"]["type"] == "api_error"),
    ];
    for (dialect, has_shape) in shapes {
        // Every third request.
        let running = start(dialect, "rate-limit/3");
        assert_eq!([ask(&running).status, ask(&running).status], [200, 200], "{dialect}");
        let answer = ask(&running);
        assert_eq!(answer.status, 429, "{dialect}");
        assert_eq!(answer.header("retry-after"), Some("2"), "{dialect}");
        assert!(has_shape(&answer.json()), "{dialect}: {answer:?}");
    }
}

#[test]
fn an_output_that_ends_earlier_ends_well() {
    let running = start(Dialect::Native, "reset@50");
    let answer = ask(&running);
    assert_eq!(answer.events().last().unwrap()["usage"]["completion_tokens"], 50);
}

/// Where the text begins to repeat itself, to its end.
fn loop_start(text: &str) -> usize {
    let text = text.as_bytes();
    let repeats = |at: &usize| text[*at] == text[at + LOOP_CHARACTERS];
    let whole = text.len().saturating_sub(LOOP_CHARACTERS);
    whole - (0..whole).rev().take_while(repeats).count()
}

#[test]
fn a_text_repeats_itself() {
    let running = start(Dialect::Native, "loop@10/2");
    let ask = || texts(&post(running.addr(), "/v1/chat/completions", &chat("Hello", 500)).body);
    let (sound, looping) = (ask(), ask());
    assert!(sound.len() - loop_start(&sound) < 2 * LOOP_CHARACTERS, "{sound}");
    let start = loop_start(&looping);
    assert_eq!(tokometer_sim::tokenizer::count(&looping[..start]), 10, "{looping}");
    // The rule of tokometer: four exact cycles and 4096 characters.
    assert!(looping.len() - start >= 4096.max(4 * LOOP_CHARACTERS), "{looping}");
    assert_eq!(tokometer_sim::tokenizer::count(&looping), 500);
}

#[test]
fn an_answer_ends_early_although_it_must_not() {
    let running = start(Dialect::Native, "early-end@20");
    let answer = post(running.addr(), "/v1/chat/completions", &chat("Hello", 500));
    assert_eq!(tokens(&answer.body), 20);
    let events = answer.events();
    // The end token has no text.
    assert_eq!(events.last().unwrap()["usage"]["completion_tokens"], 21);
    let finish = events.iter().find_map(|event| event["choices"][0]["finish_reason"].as_str());
    assert_eq!(finish, Some("stop"));
    // An answer that has no more tokens ends by its length.
    let answer = post(running.addr(), "/v1/chat/completions", &chat("Hello", 20));
    assert!(tokens(&answer.body) == 20 && answer.body.contains("\"length\""), "{answer:?}");
}

#[test]
fn somebody_else_uses_the_engine() {
    let generated = |running: &Running| metric(running.addr(), "vllm:generation_tokens_total");
    let running = start(Dialect::Native, "other-traffic/2");
    ask(&running);
    assert_eq!(generated(&running), 50.0);
    assert_eq!(tokens(&ask(&running).body), 50);
    let both = generated(&running) - 50.0;
    assert!(both > 50.0 && both <= 100.0, "{both}");

    let running = start(Dialect::Native, "other-traffic");
    let body = chat("Hello", 10_000).to_string();
    let stream = send(running.addr(), "POST", "/v1/chat/completions", "", &body);
    wait_for(running.addr(), "vllm:num_requests_running", 2.0);
    drop(stream);
    wait_for(running.addr(), "vllm:num_requests_running", 0.0);
}

#[test]
fn half_of_the_requests_wait_though_there_is_room() {
    let running = start(Dialect::Native, "fewer-running");
    let four = |tokens: u64| {
        let body = chat("Hello", tokens).to_string();
        [(); 4].map(|()| send(running.addr(), "POST", "/v1/chat/completions", "", &body))
    };
    let streams = four(10_000);
    wait_for(running.addr(), "vllm:num_requests_waiting", 2.0);
    wait_for(running.addr(), "vllm:num_requests_running", 2.0);
    drop(streams);
    wait_for(running.addr(), "vllm:num_requests_running", 0.0);
    wait_for(running.addr(), "vllm:num_requests_waiting", 0.0);
    // They all get their turn.
    for stream in four(30) {
        assert_eq!(tokens(&crate::client::receive(stream).body), 30);
    }
}
