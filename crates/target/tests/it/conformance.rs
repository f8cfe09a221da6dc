//! The conformance report against small servers, one for each thing that clients stumble over.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokometer_target::{
    CachedTokens, Conformance, ConformanceOptions, ExactLength, LineEnds, QuirkCode, StreamForm,
    UnknownFields, UsageForm, conformance,
};

use crate::support::{Asked, Reply, Server};

/// Output tokens that are asked for.
const TOKENS: u64 = 4;

fn delta(delta: &Value) -> Value {
    json!({"id": "1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"id": "1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn usage(tokens: u64) -> Value {
    json!({"id": "1", "choices": [], "usage": {"prompt_tokens": 650, "completion_tokens": tokens}})
}

/// Four words, one an event.
fn words() -> Vec<Value> {
    ["Over ", "the ", "hills ", "far"].iter().map(|word| delta(&json!({"content": word}))).collect()
}

/// A stream without anything odd, as far as there is one.
fn ordinary() -> Vec<Value> {
    let mut events = words();
    events.extend([finish("length"), usage(TOKENS)]);
    events
}

/// Events as lines that end with `end`.
fn framed(events: &[Value], end: &str) -> String {
    let data = events.iter().map(Value::to_string).chain(["[DONE]".to_owned()]);
    data.flat_map(|data| ["data: ".to_owned(), data, end.to_owned(), end.to_owned()]).collect()
}

/// A server whose chat route streams `body`; it has no other route.
async fn report(body: String) -> Conformance {
    report_of(move |asked| {
        let streams = asked.request == "POST /v1/chat/completions" && asked.body["stream"] == true;
        streams.then(|| Reply::stream(&body))
    })
    .await
}

async fn report_of(answer: impl Fn(&Asked) -> Option<Reply> + Send + Sync + 'static) -> Conformance {
    let server = Server::with(move |asked| match asked.request.as_str() {
        "GET /v1/models" => Some(Reply::json(&json!({"data": [{"id": "m", "owned_by": "vllm"}]}))),
        "POST /v1/chat/completions" if asked.body["stream"] == false => {
            let plain = Reply::json(&json!({"choices": []}));
            answer(asked).or(Some(plain))
        }
        _ => answer(asked),
    })
    .await;
    let target = server.probe().await.unwrap();
    let options = ConformanceOptions { output_tokens: TOKENS, ..ConformanceOptions::new("Salt") };
    conformance(&server.connector(), &target, &options).await
}

/// Quirks of the chat route; that a body written at once comes at once is this server's own.
fn quirks(report: &Conformance) -> BTreeSet<String> {
    let own = [QuirkCode::WholeAtOnce, QuirkCode::Coalesced];
    let met = report.quirks.iter().filter(|quirk| !own.contains(&quirk.code));
    met.map(|quirk| format!("{:?}", quirk.code)).collect()
}

async fn expect(body: String, codes: &[QuirkCode]) -> Conformance {
    let report = report(body).await;
    let wanted: BTreeSet<String> = codes.iter().map(|code| format!("{code:?}")).collect();
    assert_eq!(quirks(&report), wanted, "{:#?}", report.quirks);
    for quirk in &report.quirks {
        assert!(!quirk.seen.is_empty() && quirk.path == "/v1/chat/completions");
    }
    report
}

#[tokio::test]
async fn an_ordinary_stream_has_no_quirk() {
    let report = expect(framed(&ordinary(), "\n"), &[]).await;
    let [chat, completions] = report.routes.as_slice() else { panic!("two routes") };
    assert_eq!((chat.path, chat.status, &chat.problem), ("/v1/chat/completions", Some(200), &None));
    let framing = chat.framing.as_ref().unwrap();
    assert_eq!(
        (framing.form, framing.line_ends, framing.done_marker),
        (StreamForm::Events, LineEnds::Lf, true)
    );
    assert_eq!((framing.events, framing.data_lines), (6, 7));
    let first = chat.first_payload.as_ref().unwrap();
    assert_eq!((first.event, first.field.as_str(), first.before.len()), (1, "content", 0));
    let usage = chat.usage.as_ref().unwrap();
    assert_eq!(usage.found, UsageForm::Final);
    assert!(usage.seen.contains("own"), "{}", usage.seen);
    let length = chat.exact_length.as_ref().unwrap();
    assert_eq!(
        (length.found, length.seen.as_str()),
        (ExactLength::Exact, "4 of 4 tokens, finish reason length")
    );
    assert_eq!(chat.cached_tokens.as_ref().unwrap().found, CachedTokens::Untold);
    let reading = chat.reading.as_ref().unwrap();
    assert_eq!((reading.outcome, reading.token_source), ("ended", "usage_final"));
    assert_eq!((reading.payload_events, reading.completion_tokens), (4, Some(4)));
    assert_eq!((reading.prompt_tokens, reading.first_channel), (Some(650), Some("content")));

    assert_eq!(completions.status, Some(404));
    assert!(completions.problem.as_deref().unwrap().contains("404") && completions.framing.is_none());
    assert_eq!(report.requests, 4, "two for chat, one for completions, one with an unknown field");
    let written = serde_json::to_value(&report).unwrap();
    assert_eq!(written["routes"][0]["usage"]["found"], "final");
    assert_eq!(written["unknown_fields"]["found"], "ignored");
}

#[tokio::test]
async fn every_way_to_cut_a_stream_is_told() {
    expect(framed(&ordinary(), "\r\n"), &[QuirkCode::CrLfLines]).await;
    expect(framed(&ordinary(), "\r"), &[QuirkCode::CrLines]).await;
    let plain = framed(&ordinary(), "\n");
    expect(plain.replacen("\n\n", "\r\n\r\n", 1), &[QuirkCode::MixedLines]).await;
    expect(plain.replace("data: ", "data:"), &[QuirkCode::NoSpaceAfterData]).await;
    expect(plain.replace("}\n\n", "} \n\n"), &[QuirkCode::TrailingSpace]).await;
    expect(format!("\u{feff}{plain}"), &[QuirkCode::ByteOrderMark]).await;
    let report = expect(format!(": keep-alive\n\n{plain}"), &[QuirkCode::Comments]).await;
    assert!(report.quirks[0].seen.contains(": keep-alive"));
    let report = expect(
        format!("event: metrics\ndata: {{}}\n\n{plain}"),
        &[QuirkCode::EventTypes, QuirkCode::EmptyFirstEvents],
    )
    .await;
    assert_eq!(report.routes[0].reading.as_ref().unwrap().unknown_events, 1);
    expect(plain.replace("data: [DONE]\n\n", ""), &[QuirkCode::NoDoneMarker]).await;
    let report = expect(
        plain.replace("data: [DONE]", r#"{"error": {"message": "out of memory"}}"#),
        &[QuirkCode::StrayLines, QuirkCode::NoDoneMarker],
    )
    .await;
    let reading = report.routes[0].reading.as_ref().unwrap();
    assert_eq!(reading.outcome, "failed");
    assert!(reading.failure.as_deref().unwrap().contains("out of memory"));
}

#[tokio::test]
async fn where_the_first_token_comes_is_told() {
    let mut events =
        vec![delta(&json!({"role": "assistant", "content": ""})), delta(&json!({"content": null}))];
    events.extend(ordinary());
    let report = expect(framed(&events, "\n"), &[QuirkCode::EmptyFirstEvents]).await;
    let first = report.routes[0].first_payload.as_ref().unwrap();
    assert_eq!(
        (first.event, first.before.as_slice()),
        (3, &["role, empty text".to_owned(), "null text".to_owned()][..])
    );

    let mut events: Vec<Value> = ["a", "b", "c", "d"]
        .iter()
        .map(|word| delta(&json!({"role": "assistant", "content": word})))
        .collect();
    events.extend([finish("length"), usage(TOKENS)]);
    expect(framed(&events, "\n"), &[QuirkCode::RoleOnEveryEvent]).await;

    for name in ["reasoning", "reasoning_content"] {
        let mut events = ordinary();
        events[0] = delta(&json!({name: "Hm. "}));
        let report = expect(framed(&events, "\n"), &[QuirkCode::ReasoningField]).await;
        assert_eq!(report.routes[0].first_payload.as_ref().unwrap().field, name);
        assert_eq!(report.routes[0].reading.as_ref().unwrap().first_channel, Some("reasoning"));
    }
    let mut events = ordinary();
    events[0] = delta(&json!({"content": "<think>Hm"}));
    expect(framed(&events, "\n"), &[QuirkCode::ThinkInContent]).await;

    let call = json!({"tool_calls": [{"index": 0, "function": {"name": "look_up", "arguments": ""}}]});
    let mut events = ordinary();
    events[0] = delta(&call);
    let report = expect(framed(&events, "\n"), &[]).await;
    assert_eq!(report.routes[0].first_payload.as_ref().unwrap().field, "tool_calls");
}

#[tokio::test]
async fn every_way_to_count_is_told() {
    // Cumulative, on each event.
    let mut events = ordinary();
    for (at, event) in events.iter_mut().take(4).enumerate() {
        event["usage"] = json!({"prompt_tokens": 650, "completion_tokens": at + 1});
    }
    let report = expect(framed(&events, "\n"), &[]).await;
    assert_eq!(report.routes[0].usage.as_ref().unwrap().found, UsageForm::Continuous);
    assert_eq!(report.routes[0].reading.as_ref().unwrap().token_source, "usage");

    // Several tokens an event.
    let mut events = ordinary();
    for (at, event) in events.iter_mut().take(2).enumerate() {
        event["usage"] = json!({"prompt_tokens": 650, "completion_tokens": 2 * (at + 1)});
    }
    events.drain(2..4);
    expect(framed(&events, "\n"), &[QuirkCode::MultiTokenEvents, QuirkCode::TokensAreNotEvents]).await;

    // On the event with the finish reason.
    let mut events = words();
    events.push(finish("length"));
    events[4]["usage"] = json!({"prompt_tokens": 650, "completion_tokens": 4});
    let report = expect(framed(&events, "\n"), &[QuirkCode::UsageOnFinish]).await;
    assert_eq!(report.routes[0].usage.as_ref().unwrap().found, UsageForm::Final);

    // Zero on each event, as Ollama's completions have it.
    let mut events = words();
    events.push(finish("length"));
    for event in &mut events {
        event["usage"] = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0});
    }
    let report = expect(framed(&events, "\n"), &[QuirkCode::UsageZero]).await;
    assert_eq!(report.routes[0].usage.as_ref().unwrap().found, UsageForm::Zero);
    assert_eq!(report.routes[0].exact_length.as_ref().unwrap().found, ExactLength::Untold);
    assert_eq!(report.routes[0].reading.as_ref().unwrap().token_source, "events");

    // None.
    let mut events = words();
    events.push(finish("length"));
    let report = expect(framed(&events, "\n"), &[QuirkCode::UsageMissing]).await;
    assert_eq!(report.routes[0].usage.as_ref().unwrap().found, UsageForm::None);

    // Fewer than asked, more than asked.
    for (tokens, found) in [(3, ExactLength::Fewer), (9, ExactLength::More)] {
        let mut events = words();
        events.extend([finish("stop"), usage(tokens)]);
        let report = expect(framed(&events, "\n"), &[QuirkCode::TokensAreNotEvents]).await;
        assert_eq!(report.routes[0].exact_length.as_ref().unwrap().found, found);
    }
}

#[tokio::test]
async fn odd_ends_and_odd_texts_are_told() {
    let mut events = ordinary();
    events.remove(4);
    events[3]["choices"][0]["finish_reason"] = json!("length");
    expect(framed(&events, "\n"), &[QuirkCode::FinishWithOutput]).await;

    let mut events = ordinary();
    events.remove(4);
    expect(framed(&events, "\n"), &[QuirkCode::NoFinishReason]).await;

    let mut events: Vec<Value> =
        ["a", "ab", "abc", "abcd"].iter().map(|text| delta(&json!({"content": text}))).collect();
    events.extend([finish("length"), usage(TOKENS)]);
    expect(framed(&events, "\n"), &[QuirkCode::CumulativeText]).await;

    let mut events = vec![delta(&json!({"role": "assistant"}))];
    events.extend(words());
    events.insert(3, delta(&json!({"content": ""})));
    events.extend([finish("length"), usage(TOKENS)]);
    expect(framed(&events, "\n"), &[QuirkCode::EmptyFirstEvents, QuirkCode::EmptyEvents]).await;

    let mut events = words();
    events.push(json!({"error": {"message": "CUDA error", "code": 500}}));
    let report = expect(
        framed(&events, "\n"),
        &[QuirkCode::ErrorInStream, QuirkCode::NoFinishReason, QuirkCode::UsageMissing],
    )
    .await;
    assert_eq!(report.routes[0].reading.as_ref().unwrap().outcome, "failed");
}

#[tokio::test]
async fn a_200_without_output_and_an_answer_that_is_no_stream_are_problems() {
    let report_of_nothing = report("data: [DONE]\n\n".to_owned()).await;
    assert!(report_of_nothing.routes[0].problem.as_deref().unwrap().contains("no output"));
    assert_eq!(report_of_nothing.routes[0].reading.as_ref().unwrap().outcome, "failed");

    let page = report("<html>welcome</html>".to_owned()).await;
    assert_eq!(page.routes[0].framing.as_ref().unwrap().form, StreamForm::Other);
    assert!(page.routes[0].problem.is_some());

    let lines: String = words().iter().flat_map(|event| [event.to_string(), "\n".to_owned()]).collect();
    let lines = report_of(move |asked| {
        let streams = asked.request.ends_with("chat/completions") && asked.body["stream"] == true;
        streams.then(|| Reply {
            headers: vec![("content-type".to_owned(), "application/x-ndjson".to_owned())],
            ..Reply::stream(&lines)
        })
    })
    .await;
    assert_eq!(lines.routes[0].framing.as_ref().unwrap().form, StreamForm::JsonLines);
    assert!(quirks(&lines).contains("JsonLines"));
}

#[tokio::test]
async fn both_routes_cached_tokens_and_refused_fields_are_told() {
    let report = report_of(|asked| {
        let text = |text: &str| json!({"choices": [{"index": 0, "text": text, "finish_reason": null}]});
        let stream = asked.body["stream"] == true;
        let usage = json!({"choices": [], "usage": {
            "prompt_tokens": 650, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 640},
        }});
        match asked.request.as_str() {
            "POST /v1/chat/completions" if asked.body.get("tokometer_unknown_field").is_some() => {
                Some(Reply::status(400, r#"{"error": "Extra inputs are not permitted"}"#))
            }
            "POST /v1/chat/completions" if stream => {
                let mut events = words();
                events.extend([finish("length"), usage]);
                Some(Reply::stream(&framed(&events, "\n")))
            }
            "POST /v1/completions" if stream => {
                let mut events: Vec<Value> = ["a", "b", "c", "d"].iter().map(|word| text(word)).collect();
                events.push(json!({"choices": [{"index": 0, "text": "", "finish_reason": "length"}]}));
                events.push(usage);
                Some(Reply::stream(&framed(&events, "\n")))
            }
            _ => None,
        }
    })
    .await;
    for route in &report.routes {
        assert_eq!(route.problem, None);
        let cached = route.cached_tokens.as_ref().unwrap();
        assert_eq!(cached.found, CachedTokens::Some);
        assert!(cached.seen.contains("640 of 650"), "{}", cached.seen);
    }
    assert_eq!(report.routes[1].first_payload.as_ref().unwrap().field, "text");
    assert_eq!(report.unknown_fields.found, UnknownFields::Rejected);
    assert!(report.unknown_fields.seen.contains("Extra inputs"));
    assert_eq!(report.requests, 5);
}

#[tokio::test]
async fn the_two_requests_of_a_route_are_the_same_and_those_of_another_are_not() {
    let server = Server::with(|asked| match asked.request.as_str() {
        "GET /v1/models" => {
            Some(Reply::json(&json!({"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 800}]})))
        }
        "POST /v1/chat/completions" if asked.body["stream"] == true => {
            Some(Reply::stream(&framed(&ordinary(), "\n")))
        }
        _ => None,
    })
    .await;
    let target = server.probe().await.unwrap();
    conformance(&server.connector(), &target, &ConformanceOptions::new("Amber")).await;
    let streamed: Vec<_> = server.asked().into_iter().filter(|asked| asked.body["stream"] == true).collect();
    assert_eq!(streamed.len(), 3);
    assert_eq!(streamed[0].body, streamed[1].body);
    assert_eq!(streamed[0].body["ignore_eos"], true);
    let chat = streamed[0].body["messages"][0]["content"].as_str().unwrap();
    let text = streamed[2].body["prompt"].as_str().unwrap();
    assert!(chat.starts_with("Amber chat:") && text.starts_with("Amber text:"));
    assert!(chat.split(' ').count() < 120, "it fits a model of 800 tokens");
}
