//! Prompts of exact length, against a tokenizer whose tokens are no words.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokometer_record::Endpoint;
use tokometer_target::{PromptSpec, Sizer, SizerOptions, Sizing, TargetError, Words};

use crate::support::{Asked, Reply, Server};

/// Tokens that the chat template of the test servers adds.
const TEMPLATE: u64 = 11;
const CLOSING: &str = "\n\nNow go on.";

/// A tokenizer with tokens of uneven size: a word is cut after each vowel that follows three letters or more.
fn tokens(text: &str) -> u64 {
    let mut count = 0;
    let mut length = 0;
    for letter in text.chars() {
        if letter.is_whitespace() {
            count += u64::from(length > 0) + u64::from(letter == '\n');
            length = 0;
            continue;
        }
        length += 1;
        if length > 3 && "aeiou".contains(letter) {
            count += 1;
            length = 0;
        }
    }
    count + u64::from(length > 0)
}

/// Words without end, different by seed.
fn words(seed: u64) -> Words {
    const PARTS: [&str; 12] =
        ["ka", "lor", "min", "estra", "vu", "tep", "oni", "gral", "sho", "berate", "ix", "dun"];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text: Vec<String> = Vec::new();
    Box::new(move |count| {
        while text.len() < count {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let picks = [state >> 33, state >> 41, state >> 49].map(|bits| PARTS[(bits % 12) as usize]);
            text.push(picks[..=(state >> 60) as usize % 3].concat());
        }
        text[..count].join(" ")
    })
}

/// The prompt text of a request on any route.
fn prompt(body: &Value) -> &str {
    body.pointer("/messages/0/content")
        .or(body.get("prompt"))
        .or(body.get("content"))
        .unwrap()
        .as_str()
        .unwrap()
}

fn usage(asked: &Asked) -> Reply {
    let template = if asked.request.contains("chat") { TEMPLATE } else { 0 };
    let prompt_tokens = tokens(prompt(&asked.body)) + template;
    Reply::json(&json!({"usage": {"prompt_tokens": prompt_tokens, "completion_tokens": 1}}))
}

fn models(owner: &str) -> Reply {
    Reply::json(&json!({"data": [{"id": "m", "owned_by": owner}]}))
}

/// Tokenises messages with the template, as vLLM does.
async fn vllm() -> Server {
    Server::with(|asked| match asked.request.as_str() {
        "GET /v1/models" => Some(models("vllm")),
        "POST /tokenize" => {
            let template = if asked.body.get("messages").is_some() { TEMPLATE } else { 0 };
            Some(Reply::json(&json!({"count": tokens(prompt(&asked.body)) + template})))
        }
        _ if asked.request.ends_with("completions") => Some(usage(asked)),
        _ => None,
    })
    .await
}

/// Tokenises plain text only, as llama.cpp does, and gives ids without a count.
async fn llama_cpp() -> Server {
    Server::with(|asked| match asked.request.as_str() {
        "GET /v1/models" => Some(models("llamacpp")),
        "POST /tokenize" => {
            Some(Reply::json(&json!({"tokens": vec![7; tokens(prompt(&asked.body)) as usize]})))
        }
        _ if asked.request.ends_with("completions") => Some(usage(asked)),
        _ => None,
    })
    .await
}

/// Only tells usage, and refuses prompts above `limit`.
async fn plain(limit: u64) -> Server {
    Server::with(move |asked| match asked.request.as_str() {
        "GET /v1/models" => Some(models("library")),
        _ if asked.request.ends_with("completions") && tokens(prompt(&asked.body)) + TEMPLATE > limit => {
            Some(Reply::status(400, r#"{"error":{"message":"maximum context length"}}"#))
        }
        _ if asked.request.ends_with("completions") => Some(usage(asked)),
        _ => None,
    })
    .await
}

fn options(endpoint: Endpoint) -> SizerOptions {
    SizerOptions {
        timeout: std::time::Duration::from_secs(60),
        endpoint,
        parallel: 4,
        request_json: None,
        salt: "Sizing salt.".to_owned(),
        closing: CLOSING.to_owned(),
    }
}

async fn sizer(server: &Server, endpoint: Endpoint) -> Sizer {
    let target = server.probe().await.unwrap();
    Sizer::start(&target, &server.connector(), options(endpoint), words(1)).await.unwrap()
}

fn spec(tokens: u64, salt: &str) -> PromptSpec {
    PromptSpec { tokens, salt: salt.to_owned(), throwaway_salt: format!("Throw {salt}"), known_words: None }
}

#[tokio::test]
async fn a_tokenise_route_makes_prompts_exact_in_a_few_calls() {
    for (server, endpoint, template) in [
        (vllm().await, Endpoint::Chat, TEMPLATE),
        (vllm().await, Endpoint::Completions, 0),
        (llama_cpp().await, Endpoint::Chat, TEMPLATE),
    ] {
        let sizer = sizer(&server, endpoint).await;
        assert_eq!(sizer.sizing(), Sizing::TokenizeRoute);
        for want in [500, 8192, 65_536] {
            let built = sizer.build(spec(want, "Amber lantern."), words(want)).await.unwrap();
            let actual = tokens(&built.text) + template;
            assert_eq!(built.expected_tokens, actual);
            assert!(actual.abs_diff(want) <= 2, "{actual} for {want}");
            assert!(built.calls <= 6, "{} calls for {want}", built.calls);
            assert!(built.text.starts_with("Amber lantern. ") && built.text.ends_with(CLOSING));
        }
    }
}

#[tokio::test]
async fn a_256k_prompt_takes_a_few_calls() {
    let server = vllm().await;
    let sizer = sizer(&server, Endpoint::Chat).await;
    let built = sizer.build(spec(262_080, "Amber."), words(9)).await.unwrap();
    assert!((tokens(&built.text) + TEMPLATE).abs_diff(262_080) <= 2);
    assert!(built.calls <= 6, "{} calls", built.calls);
}

#[tokio::test]
async fn another_salt_on_a_known_text_takes_one_call_or_two() {
    let server = vllm().await;
    let sizer = sizer(&server, Endpoint::Chat).await;
    let first = sizer.build(spec(32_768, "Amber lantern copper."), words(3)).await.unwrap();
    let calls = server.count("POST /tokenize");
    let known =
        PromptSpec { known_words: Some(first.words), ..spec(32_768, "Velvet harbor quiet mountainous.") };
    let second = sizer.build(known, words(3)).await.unwrap();
    assert!((tokens(&second.text) + TEMPLATE).abs_diff(32_768) <= 2);
    assert!(server.count("POST /tokenize") - calls <= 2);
    assert!(second.text.starts_with("Velvet"));
}

#[tokio::test]
async fn many_prompts_are_built_at_once_and_in_order() {
    let server = vllm().await;
    let sizer = sizer(&server, Endpoint::Chat).await;
    let jobs = (0..24_u64).map(|at| (spec(1000 + 100 * at, &format!("Salt{at}.")), words(at))).collect();
    let ready = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&ready);
    let built = sizer.build_all(jobs, move |count| counter.store(count, Ordering::Relaxed)).await.unwrap();
    assert_eq!(ready.load(Ordering::Relaxed), 24);
    for (at, prompt) in built.iter().enumerate() {
        assert!((tokens(&prompt.text) + TEMPLATE).abs_diff(1000 + 100 * at as u64) <= 2);
        assert!(prompt.text.starts_with(&format!("Salt{at}. ")));
    }
}

#[tokio::test]
async fn without_a_tokenise_route_usage_sizes_prompts_and_their_salt_stays_cold() {
    let server = plain(u64::MAX).await;
    let sizer = sizer(&server, Endpoint::Chat).await;
    assert_eq!(sizer.sizing(), Sizing::MeasuredUsage);
    assert_eq!(server.count("POST /v1/chat/completions"), 3, "one probe, two to calibrate");
    for want in [1000, 8192, 65_536] {
        let built = sizer.build(spec(want, "Amber."), words(want)).await.unwrap();
        let allowed = 16.max(want / 1000);
        assert!((tokens(&built.text) + TEMPLATE).abs_diff(want) <= allowed, "{want}");
        assert!(built.expected_tokens.abs_diff(want) <= 2);
        assert!(built.calls <= 2, "{} calls for {want}", built.calls);
    }
    let again = PromptSpec { known_words: Some(5000), ..spec(8192, "Velvet.") };
    assert_eq!(sizer.build(again, words(8192)).await.unwrap().calls, 0);
    for asked in server.asked().iter().filter(|asked| asked.request.ends_with("completions")) {
        assert_eq!((&asked.body["max_tokens"], &asked.body["stream"]), (&json!(1), &json!(false)));
        assert!(!prompt(&asked.body).starts_with("Amber"), "a measured prompt was sent");
    }
}

#[tokio::test]
async fn a_prompt_that_is_refused_as_too_long_is_shortened() {
    let server = plain(16_384).await;
    let sizer = sizer(&server, Endpoint::Chat).await;
    let built = sizer.build(spec(16_320, "Amber."), words(4)).await.unwrap();
    assert!((tokens(&built.text) + TEMPLATE).abs_diff(16_320) <= 16);

    let error = sizer.build(spec(100_000, "Amber."), words(4)).await.unwrap_err();
    assert!(error.to_string().contains("maximum context length"), "{error}");
}

#[tokio::test]
async fn servers_that_cannot_be_sized_for_say_why() {
    let server = Server::with(|asked| match asked.request.as_str() {
        "GET /v1/models" => Some(models("library")),
        "POST /v1/chat/completions" => Some(Reply::json(&json!({"choices": []}))),
        _ => None,
    })
    .await;
    let target = server.probe().await.unwrap();
    let started = Sizer::start(&target, &server.connector(), options(Endpoint::Chat), words(1)).await;
    let error = started.err().unwrap();
    assert!(matches!(error, TargetError::NoUsage { .. }) && error.to_string().contains("usage"), "{error}");

    let server = vllm().await;
    let error = sizer(&server, Endpoint::Chat).await.build(spec(10, "Amber."), words(1)).await.unwrap_err();
    assert!(matches!(error, TargetError::ShortPrompt { tokens: 10, .. }), "{error}");
}

#[tokio::test]
async fn every_engines_tokenise_route_is_read() {
    for (folder, path) in
        [("tgi", "POST /tokenize"), ("tabbyapi", "POST /v1/token/encode"), ("lmdeploy", "POST /v1/encode")]
    {
        let target = Server::recorded(folder).await.probe().await.unwrap();
        let route = target.tokenize.unwrap();
        assert_eq!(format!("POST {}", route.path()), path);
        let server = Server::with(move |asked| {
            let list = |text: &Value| (0..tokens(text.as_str().unwrap())).collect::<Vec<_>>();
            match asked.request.as_str() {
                "POST /tokenize" => Some(Reply::json(&json!(
                    list(&asked.body["inputs"]).iter().map(|id| json!({"id": id})).collect::<Vec<_>>()
                ))),
                "POST /v1/token/encode" => {
                    Some(Reply::json(&json!({"length": list(&asked.body["text"]).len()})))
                }
                "POST /v1/encode" => Some(Reply::json(&json!({"input_ids": list(&asked.body["input"])}))),
                "POST /v1/chat/completions" => {
                    let prompt_tokens = tokens(prompt(&asked.body)) + TEMPLATE;
                    Some(Reply::json(&json!({"usage": {"prompt_tokens": prompt_tokens}})))
                }
                _ => None,
            }
        })
        .await;
        let sizer =
            Sizer::start(&target, &server.connector(), options(Endpoint::Chat), words(1)).await.unwrap();
        let built = sizer.build(spec(2000, "Amber."), words(7)).await.unwrap();
        assert!((tokens(&built.text) + TEMPLATE).abs_diff(2000) <= 2, "{folder}");
    }
}
