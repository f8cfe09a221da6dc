//! Bodies of requests, by engine.

use serde_json::{Map, Value, json};
use tokometer_record::Endpoint;
use tokometer_target::{RequestSpec, Target};

use crate::support::{Reply, Server};

async fn target(owner: &str) -> Target {
    let models = json!({"data": [{"id": "m", "owned_by": owner}]});
    Server::of(&[("GET /v1/models", Reply::json(&models))]).await.probe().await.unwrap()
}

fn spec(prompt: &str) -> RequestSpec<'_> {
    RequestSpec {
        endpoint: Endpoint::Chat,
        prompt,
        max_output_tokens: 4096,
        respect_eos: false,
        temperature: None,
        top_p: None,
        seed: None,
        request_json: None,
    }
}

fn body(target: &Target, spec: &RequestSpec<'_>) -> Value {
    serde_json::from_slice(&target.request(spec)).unwrap()
}

#[tokio::test]
async fn each_engine_gets_the_fields_that_it_takes() {
    let chat = json!([{"role": "user", "content": "hi"}]);
    let exact = json!({
        "model": "m", "messages": chat, "max_tokens": 4096, "stream": true,
        "stream_options": {"include_usage": true, "continuous_usage_stats": true},
        "ignore_eos": true, "min_tokens": 4096,
    });
    for owner in ["vllm", "sglang", "tokometer-sim"] {
        assert_eq!(body(&target(owner).await, &spec("hi")), exact, "{owner}");
    }
    assert_eq!(
        body(&target("llamacpp").await, &spec("hi")),
        json!({
            "model": "m", "messages": chat, "max_tokens": 4096, "stream": true,
            "stream_options": {"include_usage": true},
            "ignore_eos": true, "timings_per_token": true, "cache_prompt": true,
        })
    );
    assert_eq!(
        body(&target("library").await, &spec("hi")),
        json!({
            "model": "m", "messages": chat, "max_tokens": 4096, "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
}

#[tokio::test]
async fn no_engine_gets_a_field_that_it_does_not_know() {
    let usage = json!({"include_usage": true});
    let continuous = json!({"include_usage": true, "continuous_usage_stats": true});
    let cases = [
        ("vllm-rust", json!({"stream_options": continuous, "ignore_eos": true, "min_tokens": 4096})),
        ("tensorrt-llm", json!({"stream_options": continuous, "ignore_eos": true, "min_tokens": 4096})),
        ("tgi", json!({"stream_options": usage})),
        ("ollama", json!({"stream_options": usage})),
        ("lm-studio", json!({"stream_options": usage})),
        ("mistral-rs", json!({"stream_options": usage, "ignore_eos": true})),
        ("tabbyapi", json!({"stream_options": usage, "ignore_eos": true, "min_tokens": 4096})),
        ("mlx-lm", json!({"stream_options": usage})),
        ("lmdeploy", json!({"stream_options": usage, "ignore_eos": true, "min_new_tokens": 4096})),
        ("dynamo", json!({"stream_options": usage, "nvext": {"ignore_eos": true}})),
        ("litellm", json!({"stream_options": usage})),
        ("openrouter", json!({"stream_options": usage})),
        ("plain", json!({"stream_options": usage})),
    ];
    for (folder, extras) in cases {
        let target = Server::recorded(folder).await.probe().await.unwrap();
        let mut fields = json!({"max_tokens": 4096, "stream": true});
        fields.as_object_mut().unwrap().extend(extras.as_object().unwrap().clone());
        assert_eq!(target.request_fields(&spec("")), fields, "{folder}");
        let ending = RequestSpec { respect_eos: true, ..spec("") };
        let plain = json!({"max_tokens": 4096, "stream": true, "stream_options": extras["stream_options"]});
        assert_eq!(target.request_fields(&ending), plain, "{folder}");
    }
    let target = Server::recorded("transformers").await.probe_model("/srv/tiny").await.unwrap();
    assert_eq!(target.request_fields(&spec("")), json!({"max_tokens": 4096, "stream": true}));
}

#[tokio::test]
async fn what_the_user_sets_is_sent() {
    let target = target("vllm").await;
    let extra: Map<String, Value> = serde_json::from_value(
        json!({"top_k": 20, "max_tokens": 7, "chat_template_kwargs": {"enable_thinking": false}}),
    )
    .unwrap();
    let spec = RequestSpec {
        endpoint: Endpoint::Completions,
        respect_eos: true,
        temperature: Some(0.0),
        top_p: Some(0.9),
        seed: Some(5),
        request_json: Some(&extra),
        ..spec("hi")
    };
    let fields = json!({
        "max_tokens": 7, "stream": true,
        "stream_options": {"include_usage": true, "continuous_usage_stats": true},
        "temperature": 0.0, "top_p": 0.9, "seed": 5,
        "top_k": 20, "chat_template_kwargs": {"enable_thinking": false},
    });
    assert_eq!(target.request_fields(&spec), fields);
    let mut whole = fields;
    whole["model"] = json!("m");
    whole["prompt"] = json!("hi");
    assert_eq!(body(&target, &spec), whole);
}

#[tokio::test]
async fn a_prompt_with_quotes_and_control_characters_survives() {
    let target = target("vllm").await;
    let prompt = "\"quoted\" \\ \n\t ünïcode \u{1}";
    assert_eq!(body(&target, &spec(prompt))["messages"][0]["content"], prompt);
}
