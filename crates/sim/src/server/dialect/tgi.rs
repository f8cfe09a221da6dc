//! Text Generation Inference: its interface in the manner of OpenAI's. Length cannot be forced here.

use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::StatusCode;
use serde_json::{Value, json};

use super::{Format, Manner, Rules};
use crate::server::answer::{Refusal, Why, json_answer, json_status};
use crate::server::body::{self, Fields};
use crate::server::frames::{
    Common, Continuous, FinishShape, Route, Shape, Told, UsageShape, nothing, usage_counts,
};
use crate::server::prometheus::Page;
use crate::server::routes::{self, App};
use crate::tokenizer;

/// Version that the server says.
const VERSION: &str = "3.3.7";

/// The commit that this dialect was read from.
const COMMIT: &str = "db931fcf";

/// What each answer says of the version.
const FINGERPRINT: &str = "3.3.7-sha-db931fcf";

/// Text Generation Inference.
pub(super) struct Tgi;

impl Manner for Tgi {
    fn routes(&self) -> Router<App> {
        routes::openai()
            .route("/v1/models", get(models))
            .route("/info", get(info))
            .route("/tokenize", post(tokenize))
            .route("/chat_tokenize", post(chat_tokenize))
            .route("/metrics", get(metrics))
            .route("/", get(health))
            .route("/health", get(health))
            .route("/ping", get(health))
    }

    /// The routes that generate or tokenize.
    fn guards(&self, path: &str) -> bool {
        ["/v1/chat/completions", "/v1/completions", "/tokenize"].contains(&path)
    }

    fn unauthorized(&self) -> Response {
        StatusCode::UNAUTHORIZED.into_response()
    }

    fn refuse(&self, _path: &str, refusal: &Refusal) -> Response {
        let (status, kind) = match refusal.why {
            Why::Bad | Why::TooLong { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "validation"),
            Why::Busy { .. } => (refusal.status(), "overloaded"),
            _ => return refusal.status().into_response(),
        };
        let message = match kind {
            "validation" => format!("Input validation error: {}", refusal.message),
            _ => refusal.message.clone(),
        };
        json_status(status, &json!({ "error": message, "error_type": kind }))
    }

    fn rules(&self) -> Rules {
        Rules {
            checks_model: false,
            ignore_eos: false,
            min_tokens: false,
            token_ids: false,
            prompt_ids: false,
            continuous_usage: false,
            completion_tokens: None,
            ..Rules::VLLM
        }
    }

    fn format(&self, route: Route) -> &'static dyn Format {
        match route {
            Route::Chat => &CHAT,
            Route::Completions => &TEXT,
        }
    }

    fn keep_alive(&self) -> (&'static str, Option<Duration>) {
        (":\n\n", Some(Duration::from_secs(15)))
    }
}

fn fail(message: &str) -> String {
    let error = json!({ "error": message, "error_type": "generation" });
    format!("data:{error}\n\ndata: [DONE]\n\n")
}

async fn models(State(app): State<App>) -> Response {
    let id = app.profile.served_name();
    let model = json!({ "id": id, "object": "model", "created": 0, "owned_by": id });
    json_answer(&json!({ "object": "list", "data": [model] }))
}

async fn info(State(app): State<App>) -> Response {
    let length = app.profile.max_model_length();
    json_answer(&json!({
        "model_id": app.profile.served_name(),
        "model_sha": null,
        "model_pipeline_tag": "text-generation",
        "max_concurrent_requests": 128,
        "max_best_of": 2,
        "max_stop_sequences": 4,
        "max_input_tokens": length - 1,
        "max_total_tokens": length,
        "validation_workers": 2,
        "max_client_batch_size": 4,
        "router": "text-generation-router",
        "version": VERSION,
        "sha": COMMIT,
        "docker_label": format!("sha-{COMMIT}"),
    }))
}

async fn health() -> StatusCode {
    StatusCode::OK
}

async fn tokenize(request: Request) -> Result<Response, Refusal> {
    #[derive(serde::Deserialize)]
    struct Inputs {
        inputs: String,
    }
    let bytes = body::read(request.into_body()).await?;
    let tokens = body::work(bytes, |bytes| {
        let Inputs { inputs } = body::parse(bytes)?;
        let mut ids = Vec::new();
        tokenizer::tokenize(&inputs, |id| ids.push(id));
        Ok(Value::from(token_list(&ids)))
    });
    Ok(json_answer(&tokens.await?))
}

async fn chat_tokenize(request: Request) -> Result<Response, Refusal> {
    let bytes = body::read(request.into_body()).await?;
    let ids = body::work(bytes, |bytes| Fields::parse(bytes)?.token_ids()).await?;
    let response = json!({ "tokenize_response": token_list(&ids), "templated_text": "" });
    Ok(json_answer(&response))
}

/// Tokens without their texts and places.
fn token_list(ids: &[u32]) -> Vec<Value> {
    ids.iter().map(|id| json!({ "id": id, "text": "", "start": 0, "stop": 0 })).collect()
}

/// There are no counters of tokens. A histogram's sum counts a request when it has ended.
async fn metrics(State(app): State<App>) -> Response {
    let stats = app.inbox.stats();
    let ended = stats.ended_by_length + stats.ended_by_stop;
    let batch_tokens = if stats.running > 0 { app.profile.kv_tokens() } else { 0 };
    let mut page = Page::new("tgi_", String::new());
    page.gauge("queue_size", "Requests in the queue.", stats.waiting as f64);
    page.gauge("batch_current_size", "Requests in the running batch.", stats.running as f64);
    page.gauge("batch_current_max_tokens", "Tokens that the batch may have.", batch_tokens as f64);
    page.counter("request_success", "Requests that have ended well.", ended);
    for (name, sum) in [
        ("request_generated_tokens", stats.ended_generated_tokens),
        ("request_input_length", stats.ended_prompt_tokens),
    ] {
        page.histogram(name, "Tokens per request.", sum, ended);
    }
    page.answer()
}

fn envelope(common: &Common) -> (String, String) {
    let object = match common.route {
        Route::Chat => "chat.completion.chunk",
        Route::Completions => "text_completion",
    };
    let model = Value::from(common.model.as_str());
    let created = common.created;
    let head = format!(
        "{{\"object\":\"{object}\",\"id\":\"\",\"created\":{created},\"model\":{model},\
         \"system_fingerprint\":\"{FINGERPRINT}\",\"choices\":["
    );
    (head, String::new())
}

fn complete(answer: &mut Value, _told: &Told) {
    answer["id"] = json!("");
    answer["system_fingerprint"] = json!(FINGERPRINT);
}

const CHAT: Shape = Shape {
    // No space stands before the JSON.
    event: ("data:", "\n\n"),
    envelope,
    first: "",
    text: (
        "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"",
        "\"},\"logprobs\":null,\"finish_reason\":null",
    ),
    finish: FinishShape::WithText {
        length: "\"},\"logprobs\":null,\"finish_reason\":\"length\"",
        stop: "\"},\"logprobs\":null,\"finish_reason\":\"stop\"",
    },
    one_by_one: true,
    usage: UsageShape {
        continuous: Continuous::Asked,
        running: usage_counts,
        on_finish: false,
        complete: usage_counts,
    },
    last: nothing,
    fail,
    done: "data: [DONE]\n\n",
    whole: complete,
};

const TEXT: Shape = Shape {
    text: ("{\"index\":0,\"text\":\"", "\",\"logprobs\":null,\"finish_reason\":null"),
    finish: FinishShape::WithText {
        length: "\",\"logprobs\":null,\"finish_reason\":\"length\"",
        stop: "\",\"logprobs\":null,\"finish_reason\":\"stop\"",
    },
    ..CHAT
};
