//! Ollama: the interface below `/v1`. Its own one is in [`native`]. It knows no keys, no metrics and no way to
//! count tokens beforehand, and it cuts prompts that are too long.

mod native;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use serde_json::{Value, json};

use super::{Format, Manner, Rules};
use crate::Profile;
use crate::server::answer::{Refusal, Why, json_answer, json_status, with_type};
use crate::server::body;
use crate::server::frames::{
    Common, Continuous, FinishShape, Route, Shape, Told, UsageShape, nothing, usage_counts,
};
use crate::server::routes::{self, App};

/// Version that the server says.
const VERSION: &str = "0.30.2";

/// What each answer says of the server.
const FINGERPRINT: &str = "fp_ollama";

/// Digest of the model.
const DIGEST: &str = "51a17e0d51a17e0d51a17e0d51a17e0d51a17e0d51a17e0d51a17e0d51a17e0d";

/// Ollama.
pub(super) struct Ollama;

impl Manner for Ollama {
    fn routes(&self) -> Router<App> {
        routes::openai()
            .route("/v1/models", get(models))
            .route("/", get(root))
            .route("/api/version", get(version))
            .route("/api/tags", get(tags))
            .route("/api/show", post(show))
            .route("/api/ps", get(loaded))
            .route("/api/chat", post(native::chat))
            .route("/api/generate", post(native::generate))
    }

    fn guards(&self, _path: &str) -> bool {
        false
    }

    fn unauthorized(&self) -> Response {
        json_status(StatusCode::UNAUTHORIZED, &json!({ "error": "unauthorized" }))
    }

    fn refuse(&self, path: &str, refusal: &Refusal) -> Response {
        let status = refusal.status();
        let message = match &refusal.why {
            Why::UnknownPath => return with_type(status, "text/plain", "404 page not found"),
            Why::Method => return with_type(status, "text/plain", "405 method not allowed"),
            Why::UnknownModel { name } => format!("model '{name}' not found"),
            _ => refusal.message.clone(),
        };
        if !path.starts_with("/v1") {
            return json_status(status, &json!({ "error": message }));
        }
        let kind = match refusal.why {
            Why::Bad | Why::TooLong { .. } => "invalid_request_error",
            Why::UnknownModel { .. } => "not_found_error",
            _ => "api_error",
        };
        let error = json!({ "message": message, "type": kind, "param": null, "code": null });
        json_status(status, &json!({ "error": error }))
    }

    fn rules(&self) -> Rules {
        Rules {
            ignore_eos: false,
            min_tokens: false,
            token_ids: false,
            prompt_ids: false,
            continuous_usage: false,
            cuts_prompts: true,
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

    fn limit(&self, profile: Profile) -> Profile {
        profile.in_slots()
    }
}

/// The error stands without `data:` in the stream, and nothing follows it.
fn fail(message: &str) -> String {
    let error = json!({ "message": message, "type": "api_error", "param": null, "code": null });
    format!("{}\n", json!({ "error": error }))
}

async fn root() -> Response {
    with_type(StatusCode::OK, "text/plain; charset=utf-8", "Ollama is running")
}

async fn version() -> Response {
    json_answer(&json!({ "version": VERSION }))
}

async fn models(State(app): State<App>) -> Response {
    let model = json!({
        "id": app.profile.served_name(),
        "object": "model",
        "created": app.started,
        "owned_by": "library",
    });
    json_answer(&json!({ "object": "list", "data": [model] }))
}

fn details() -> Value {
    json!({
        "parent_model": "",
        "format": "gguf",
        "family": "simulated",
        "families": ["simulated"],
        "parameter_size": "7B",
        "quantization_level": "Q4_K_M",
    })
}

async fn tags(State(app): State<App>) -> Response {
    let name = app.profile.served_name();
    json_answer(&json!({ "models": [{
        "name": name,
        "model": name,
        "modified_at": native::date(app.started),
        "size": 0,
        "digest": DIGEST,
        "details": details(),
    }]}))
}

async fn show(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    #[derive(serde::Deserialize)]
    struct Name {
        model: Option<String>,
        name: Option<String>,
    }
    let bytes = body::read(request.into_body()).await?;
    let Name { model, name } = body::parse(&bytes)?;
    app.check_model(model.or(name).as_deref())?;
    Ok(json_answer(&json!({
        "parameters": "",
        "template": "",
        "details": details(),
        "model_info": {
            "general.architecture": "simulated",
            "simulated.context_length": app.profile.max_model_length(),
        },
        "capabilities": ["completion"],
        "modified_at": native::date(app.started),
    })))
}

/// The model is loaded with the first request.
async fn loaded(State(app): State<App>) -> Response {
    let name = app.profile.served_name();
    let stats = app.inbox.stats();
    let models = if stats.prompt_tokens + stats.running > 0 {
        json!([{
            "name": name,
            "model": name,
            "size": 0,
            "digest": DIGEST,
            "details": details(),
            "expires_at": native::date(crate::clock::unix_seconds() + 300),
            "size_vram": 0,
            "context_length": app.profile.max_model_length(),
        }])
    } else {
        json!([])
    };
    json_answer(&json!({ "models": models }))
}

fn envelope(common: &Common) -> (String, String) {
    let object = match common.route {
        Route::Chat => "chat.completion.chunk",
        Route::Completions => "text_completion",
    };
    let model = Value::from(common.model.as_str());
    let Common { id, created, .. } = common;
    let head = format!(
        "{{\"id\":\"{id}\",\"object\":\"{object}\",\"created\":{created},\"model\":{model},\
         \"system_fingerprint\":\"{FINGERPRINT}\",\"choices\":["
    );
    (head, String::new())
}

/// Frames of completions have usage before there is any.
fn no_usage(out: &mut Vec<u8>, _told: &Told) {
    usage_counts(out, &Told::default());
}

fn complete(answer: &mut Value, _told: &Told) {
    answer["system_fingerprint"] = json!(FINGERPRINT);
}

const CHAT: Shape = Shape {
    event: ("data: ", "\n\n"),
    envelope,
    first: "",
    text: ("{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"", "\"},\"finish_reason\":null"),
    finish: FinishShape::Own {
        length: "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":\"length\"",
        stop: "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":\"stop\"",
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
    text: ("{\"text\":\"", "\",\"index\":0,\"finish_reason\":null"),
    finish: FinishShape::Own {
        length: "{\"text\":\"\",\"index\":0,\"finish_reason\":\"length\"",
        stop: "{\"text\":\"\",\"index\":0,\"finish_reason\":\"stop\"",
    },
    usage: UsageShape { continuous: Continuous::Always, running: no_usage, ..CHAT.usage },
    ..CHAT
};
