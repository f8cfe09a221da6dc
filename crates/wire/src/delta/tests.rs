use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Counted, Delta, Rare, Scanner, json as tree};
use crate::Dialect;
use crate::dialect::Count;
use crate::exchange::Channel;
use crate::repetition::Texts;

/// What a scanner makes of an event, and what it takes for the text so far.
fn scan(scanner: &mut Scanner, dialect: Dialect, texts: &mut Texts, event: &str) -> Delta {
    scanner.read(event.as_bytes(), dialect.rules(), texts).unwrap().clone()
}

fn by_tree(event: &str, dialect: Dialect, texts: &mut Texts) -> Delta {
    tree::read(&serde_json::from_str(event).unwrap(), dialect.rules(), texts).unwrap()
}

/// The same but for what is told once.
fn ordinary(delta: Delta) -> Delta {
    let rare =
        delta.rare.filter(|rare| **rare != Rare { fingerprint: rare.fingerprint.clone(), ..Rare::default() });
    Delta { rare, ..delta }
}

/// Scans events one after another, and compares each with the tree's reading.
fn check(events: &[String]) {
    check_as(Dialect::OpenAi, events);
}

fn check_as(dialect: Dialect, events: &[String]) {
    let mut scanner = Scanner::default();
    let (mut scanned, mut read) = (Texts::default(), Texts::default());
    for event in events {
        let delta = scan(&mut scanner, dialect, &mut scanned, event);
        assert_eq!(ordinary(delta), ordinary(by_tree(event, dialect, &mut read)), "{event}");
    }
    for channel in Channel::ALL {
        assert_eq!(scanned.whole_text(channel), read.whole_text(channel), "{channel:?}");
    }
}

fn event(delta: &Value, rest: &Value) -> Value {
    let mut event = json!({
        "id": "c", "created": 1, "system_fingerprint": "f",
        "choices": [{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": null }],
    });
    let fields = rest.as_object().cloned().unwrap_or_default();
    event.as_object_mut().unwrap().extend(fields);
    event
}

#[test]
fn shapes_that_change_in_midstream() {
    let events = [
        event(&json!({"role": "assistant", "content": ""}), &json!({})),
        event(&json!({"reasoning": "a", "reasoning_content": "a"}), &json!({})),
        event(&json!({"reasoning": "b", "reasoning_content": "b"}), &json!({})),
        event(&json!({"content": "c"}), &json!({"usage": null})),
        event(&json!({"content": "d"}), &json!({"usage": null})),
        event(&json!({"content": "e"}), &json!({"usage": {"completion_tokens": 3, "prompt_tokens": 1}})),
        event(&json!({"content": "f"}), &json!({"usage": {"completion_tokens": 5, "prompt_tokens": 1}})),
        event(&json!({"content": "g"}), &json!({"usage": {"completion_tokens": 5.5, "prompt_tokens": 1}})),
        event(&json!({"content": ""}), &json!({"usage": {"completion_tokens": 6, "prompt_tokens": 1}})),
        event(&json!({"content": "h", "refusal": "i"}), &json!({})),
        event(&json!({"content": "j", "refusal": "k"}), &json!({})),
        event(&json!({"tool_calls": [{"index": 0, "function": {"name": "n", "arguments": ""}}]}), &json!({})),
        event(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"x"}}]}), &json!({})),
        event(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "\": 1"}}]}), &json!({})),
        event(
            &json!({"tool_calls": [{"index": 1, "function": {"name": "m", "arguments": "x"}}]}),
            &json!({}),
        ),
        event(
            &json!({"tool_calls": [{"index": 1, "function": {"name": "m", "arguments": "y"}}]}),
            &json!({}),
        ),
        event(&json!({"content": ["a", "list"]}), &json!({})),
        event(&json!({"content": 7}), &json!({})),
    ];
    check(&events.map(|event| event.to_string()));
}

#[test]
fn text_that_looks_like_structure_stays_text() {
    let texts = [
        r#"","finish_reason":"stop"}"#,
        "\"usage\":{\"completion_tokens\":9}",
        "\\",
        "\\\"",
        "]}}\n\n",
        "é\u{1F30A}",
    ];
    let events = texts.map(|text| event(&json!({"content": text}), &json!({})).to_string());
    check(&events);
}

#[test]
fn an_event_of_another_choice_is_no_output() {
    let mut other =
        event(&json!({"content": "x"}), &json!({"usage": {"completion_tokens": 3, "prompt_tokens": 1}}));
    other["choices"][0]["index"] = json!(1);
    let first =
        event(&json!({"content": "x"}), &json!({"usage": {"completion_tokens": 4, "prompt_tokens": 1}}));
    let events = [&first, &other, &first, &other].map(Value::to_string);
    check(&events);
    let delta = by_tree(&other.to_string(), Dialect::OpenAi, &mut Texts::default());
    assert_eq!(
        (delta.payload, delta.counted, delta.counts.get(Count::Completion)),
        (None, Counted::Other(1), Some(3))
    );
}

#[test]
fn lines_of_ollama() {
    let line = |message: &Value, at: u32, rest: &Value| {
        let mut line = json!({"model": "m", "created_at": format!("2026-01-01T00:00:0{at}Z"), "message": message, "done": false});
        line.as_object_mut().unwrap().extend(rest.as_object().cloned().unwrap_or_default());
        line.to_string()
    };
    let events = [
        line(&json!({"role": "assistant", "content": "", "thinking": "a"}), 1, &json!({})),
        line(&json!({"role": "assistant", "content": "", "thinking": "b"}), 2, &json!({})),
        line(&json!({"role": "assistant", "content": "c"}), 3, &json!({})),
        line(&json!({"role": "assistant", "content": "d"}), 4, &json!({})),
        line(
            &json!({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}),
            5,
            &json!({}),
        ),
        line(
            &json!({"role": "assistant", "content": ""}),
            6,
            &json!({"done": true, "done_reason": "stop", "eval_count": 7, "prompt_eval_count": 3}),
        ),
    ];
    check_as(Dialect::OllamaNative, &events);
    let last = by_tree(&events[5], Dialect::OllamaNative, &mut Texts::default());
    let rare = last.rare.unwrap();
    assert_eq!((rare.finish_reason.as_deref(), rare.done), (Some("stop"), true));
    assert_eq!(
        (last.counts.get(Count::EngineGenerated), last.counts.get(Count::EnginePrompt)),
        (Some(7), Some(3))
    );
}

#[test]
fn a_first_event_with_thousands_of_prompt_ids_is_not_learnt() {
    let ids: Vec<u32> = (0..5000).collect();
    let events = [
        json!({"prompt_token_ids": ids, "choices": [{"index": 0, "text": "a", "token_ids": [1]}]}),
        json!({"choices": [{"index": 0, "text": "b", "token_ids": [2, 3]}]}),
        json!({"choices": [{"index": 0, "text": "c", "token_ids": [4, 5, 6]}]}),
        json!({"choices": [{"index": 0, "text": "", "token_ids": [7]}]}),
    ];
    check(&events.map(|event| event.to_string()));
}

#[test]
fn what_is_no_json_object_is_unreadable() {
    let rules = Dialect::OpenAi.rules();
    let mut scanner = Scanner::default();
    for event in ["", "[1]", "7", "{\"a\":", "{\"a\":1}x", "\u{feff}{}"] {
        assert!(scanner.read(event.as_bytes(), rules, &mut Texts::default()).is_err(), "{event}");
    }
}

proptest! {
    /// Streams of like and unlike events, with Python's spacing or without.
    #[test]
    fn agrees_with_the_tree(
        parts in proptest::collection::vec((0..6u8, ".{0,12}", 0..2000u64, proptest::collection::vec(0..99u32, 0..4)), 1..30),
        spaced: bool,
    ) {
        let events: Vec<String> = parts.iter().map(|(kind, text, count, ids)| {
            let usage = json!({"usage": {
                "prompt_tokens": 7, "completion_tokens": count, "reasoning_tokens": count,
                "completion_tokens_details": if count % 3 == 0 { Value::Null } else { json!({"reasoning_tokens": 1}) },
            }});
            let timings = json!({"timings": {"predicted_n": count, "prompt_n": 4, "cache_n": 1, "predicted_ms": *count as f64 / 3.0}});
            let value = match kind {
                0 => event(&json!({"content": text}), &usage),
                1 => event(&json!({"reasoning_content": text, "content": null}), &usage),
                2 => event(&json!({"content": text}), &timings),
                3 => json!({"choices": [{"index": 0, "text": text, "token_ids": ids, "finish_reason": null}]}),
                4 => event(&json!({"content": text}), &json!({"obfuscation": text})),
                _ => json!({"choices": [], "usage": usage["usage"]}),
            };
            let text = value.to_string();
            if spaced { text.replace("\":", "\": ").replace(",\"", ", \"") } else { text }
        }).collect();
        // Spacing may have changed the text itself, but then for both.
        check(&events);
    }
}
