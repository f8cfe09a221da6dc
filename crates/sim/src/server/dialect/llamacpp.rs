//! The server of llama.cpp, started with metrics: slots of the longest length each, one token per frame.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use http::header::SERVER;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;

use super::{Format, Frames, Manner, Output, Rules};
use crate::Profile;
use crate::engine::Stats;
use crate::server::answer::{Refusal, Why, json_answer, json_status};
use crate::server::body;
use crate::server::frames::{
    Common, Continuous, FinishShape, Route, Shape, ShapedFrames, Told, UsageShape, usage_counts,
    usage_with_cached,
};
use crate::server::prometheus::Page;
use crate::server::routes::{self, App};
use crate::server::stream::Delivery;
use crate::tokenizer;

/// Number and commit of the build that this dialect was read from.
const BUILD: &str = "b11549-0c1e57098";

/// The server of llama.cpp.
pub(super) struct LlamaCpp;

impl Manner for LlamaCpp {
    fn routes(&self) -> Router<App> {
        routes::openai()
            .route("/v1/models", get(models))
            .route("/models", get(models))
            .route("/props", get(props))
            .route("/slots", get(slots))
            .route("/tokenize", post(tokenize))
            .route("/apply-template", post(apply_template))
            .route("/metrics", get(metrics))
            .route("/health", get(health))
            .route("/v1/health", get(health))
    }

    fn guards(&self, path: &str) -> bool {
        !["/health", "/v1/health", "/models", "/v1/models"].contains(&path)
    }

    fn unauthorized(&self) -> Response {
        error(StatusCode::UNAUTHORIZED, "Invalid API Key", "authentication_error")
    }

    fn refuse(&self, _path: &str, refusal: &Refusal) -> Response {
        let (status, message) = (refusal.status(), refusal.message.as_str());
        match refusal.why {
            Why::TooLong { prompt_tokens, max_length } => {
                let mut body = error_object(status, message, "exceed_context_size_error");
                body["error"]["n_prompt_tokens"] = json!(prompt_tokens);
                body["error"]["n_ctx"] = json!(max_length);
                json_status(status, &body)
            }
            Why::UnknownPath => error(status, "File Not Found", "not_found_error"),
            Why::Busy { .. } => error(status, message, "unavailable_error"),
            _ => error(status, message, "invalid_request_error"),
        }
    }

    fn rules(&self) -> Rules {
        Rules {
            checks_model: false,
            min_tokens: false,
            token_ids: false,
            continuous_usage: false,
            completion_tokens: None,
            ..Rules::VLLM
        }
    }

    fn format(&self, route: Route) -> &'static dyn Format {
        match route {
            Route::Chat => &Chat,
            Route::Completions => &TEXT,
        }
    }

    fn limit(&self, profile: Profile) -> Profile {
        profile.in_slots()
    }

    fn mark(&self, headers: &mut HeaderMap) {
        headers.insert(SERVER, HeaderValue::from_static("llama.cpp"));
    }

    fn keep_alive(&self) -> (&'static str, Option<Duration>) {
        (":\n\n", Some(Duration::from_secs(30)))
    }
}

fn error_object(status: StatusCode, message: &str, kind: &str) -> Value {
    json!({ "error": { "code": status.as_u16(), "message": message, "type": kind } })
}

fn error(status: StatusCode, message: &str, kind: &str) -> Response {
    json_status(status, &error_object(status, message, kind))
}

/// No end mark follows an error.
fn fail(message: &str) -> String {
    format!("data: {}\n\n", error_object(StatusCode::INTERNAL_SERVER_ERROR, message, "server_error"))
}

async fn models(State(app): State<App>) -> Response {
    let name = app.profile.served_name();
    let length = app.profile.max_model_length();
    json_answer(&json!({
        "models": [{
            "name": name,
            "model": name,
            "modified_at": "",
            "size": "",
            "digest": "",
            "type": "model",
            "capabilities": ["completion"],
            "details": { "format": "gguf", "family": "", "parameter_size": "", "quantization_level": "" },
        }],
        "object": "list",
        "data": [{
            "id": name,
            "object": "model",
            "created": app.started,
            "owned_by": "llamacpp",
            "meta": {
                "vocab_type": 2,
                "n_vocab": tokenizer::VOCABULARY,
                "n_ctx": length,
                "n_ctx_train": length,
                "ftype": "Q8_0",
            },
        }],
    }))
}

async fn props(State(app): State<App>) -> Response {
    json_answer(&json!({
        "default_generation_settings": {
            "n_ctx": app.profile.max_model_length(),
            "params": { "temperature": 0.8, "n_predict": -1, "stream": true },
        },
        "total_slots": app.profile.max_concurrent_requests(),
        "model_alias": app.profile.served_name(),
        "model_path": format!("{}.gguf", app.profile.model_id()),
        "model_ftype": "Q8_0",
        "modalities": { "vision": false, "audio": false },
        "chat_template": "",
        "is_sleeping": false,
        "build_info": BUILD,
    }))
}

async fn slots(State(app): State<App>) -> Response {
    let running = app.inbox.stats().running;
    let slots: Vec<Value> = (0..u64::from(app.profile.max_concurrent_requests()))
        .map(|id| {
            json!({
                "id": id,
                "n_ctx": app.profile.max_model_length(),
                "speculative": false,
                "is_processing": id < running,
            })
        })
        .collect();
    json_answer(&Value::from(slots))
}

async fn health() -> Response {
    json_answer(&json!({ "status": "ok" }))
}

async fn tokenize(request: Request) -> Result<Response, Refusal> {
    #[derive(serde::Deserialize)]
    struct Content {
        content: String,
    }
    let bytes = body::read(request.into_body()).await?;
    let ids = body::work(bytes, |bytes| {
        let Content { content } = body::parse(bytes)?;
        let mut ids = Vec::new();
        tokenizer::tokenize(&content, |id| ids.push(id));
        Ok(ids)
    });
    Ok(json_answer(&json!({ "tokens": ids.await? })))
}

/// The prompt that messages become, in the words of this simulator's template.
async fn apply_template(request: Request) -> Result<Response, Refusal> {
    #[derive(serde::Deserialize)]
    struct Messages {
        messages: Vec<Value>,
    }
    let bytes = body::read(request.into_body()).await?;
    let Messages { messages } = body::parse(&bytes)?;
    let texts = messages.iter().filter_map(|message| message["content"].as_str());
    let prompt: Vec<&str> = texts.collect();
    Ok(json_answer(&json!({ "prompt": prompt.join("\n") })))
}

async fn metrics(State(app): State<App>) -> Response {
    let stats: Stats = app.inbox.stats();
    let mut page = Page::new("llamacpp:", String::new());
    for (name, help, value) in [
        ("prompt_tokens_total", "Prompt tokens computed.", stats.prompt_tokens - stats.cached_tokens),
        ("prompt_tokens_cached_total", "Prompt tokens from the cache.", stats.cached_tokens),
        ("tokens_predicted_total", "Output tokens.", stats.generated_tokens),
    ] {
        page.counter(name, help, value);
    }
    page.gauge("requests_processing", "Requests in slots.", stats.running as f64);
    page.gauge("requests_deferred", "Requests that wait for a slot.", stats.waiting as f64);
    page.answer()
}

/// Choices come first here, and what is the same in all frames behind them.
fn envelope(common: &Common) -> (String, String) {
    let object = match common.route {
        Route::Chat => "chat.completion.chunk",
        Route::Completions => "text_completion",
    };
    let model = Value::from(common.model.as_str());
    let Common { id, created, .. } = common;
    let tail = format!(
        ",\"created\":{created},\"id\":\"{id}\",\"model\":{model},\"system_fingerprint\":\"{BUILD}\",\
         \"object\":\"{object}\""
    );
    ("{\"choices\":[".to_owned(), tail)
}

fn timings(told: &Told) -> Value {
    let prompt_tokens = told.prompt_tokens - told.cached_tokens;
    let prompt_ms = told.first_ns.saturating_sub(told.arrival_ns) as f64 / 1e6;
    let predicted_ms = told.last_ns.saturating_sub(told.first_ns) as f64 / 1e6;
    let rate = |tokens: u64, ms: f64| if ms > 0.0 { tokens as f64 / ms * 1e3 } else { 0.0 };
    let each = |tokens: u64, ms: f64| if tokens > 0 { ms / tokens as f64 } else { 0.0 };
    json!({
        "cache_n": told.cached_tokens,
        "prompt_n": prompt_tokens,
        "prompt_ms": prompt_ms,
        "prompt_per_token_ms": each(prompt_tokens, prompt_ms),
        "prompt_per_second": rate(prompt_tokens, prompt_ms),
        "predicted_n": told.completion_tokens,
        "predicted_ms": predicted_ms,
        "predicted_per_token_ms": each(told.completion_tokens, predicted_ms),
        "predicted_per_second": rate(told.completion_tokens, predicted_ms),
    })
}

fn put_timings(out: &mut Vec<u8>, told: &Told) {
    out.extend_from_slice(b",\"timings\":");
    out.extend_from_slice(timings(told).to_string().as_bytes());
}

fn complete(answer: &mut Value, told: &Told) {
    answer["usage"]["prompt_tokens_details"] = json!({ "cached_tokens": told.cached_tokens });
    answer["system_fingerprint"] = json!(BUILD);
    answer["timings"] = timings(told);
}

/// The shape of chats, and the progress of the prefill for those that ask for it.
struct Chat;

impl Format for Chat {
    fn frames(&'static self, common: Common, seed: u64) -> Box<dyn Frames> {
        let progress = common.progress.then_some((common.prompt_tokens, common.arrival_ns, common.clock));
        let frames = ShapedFrames::new(&CHAT, common, seed);
        match progress {
            None => Box::new(frames),
            Some((total, arrival_ns, clock)) => {
                Box::new(Progressing { frames, total, arrival_ns, clock, done: false })
            }
        }
    }

    fn whole(&self, common: Common, output: Output) -> Value {
        CHAT.whole(common, output)
    }
}

/// Tells the start of the prefill when the request has come, and its end before the first token.
struct Progressing {
    frames: ShapedFrames,
    total: u64,
    arrival_ns: u64,
    clock: crate::clock::Clock,
    done: bool,
}

impl Progressing {
    fn progress(&mut self, cached: u64, processed: u64) -> Bytes {
        let time_ms = self.clock.now_ns().saturating_sub(self.arrival_ns) / 1_000_000;
        let total = self.total;
        let progress = json!({ "total": total, "cache": cached, "processed": processed, "time_ms": time_ms });
        self.frames.bare_frame(CHAT.first, &format!(",\"prompt_progress\":{progress}"));
        self.frames.take()
    }
}

impl Frames for Progressing {
    fn open(&mut self) -> Bytes {
        self.progress(0, 0)
    }

    fn write(&mut self, delivery: &Delivery, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.done, true) {
            out.extend_from_slice(&self.progress(delivery.cached_tokens, self.total));
        }
        self.frames.write(delivery, out);
    }

    fn fail(&mut self, message: &str) -> Bytes {
        self.frames.fail(message)
    }

    fn end(&mut self) -> Bytes {
        self.frames.end()
    }
}

const CHAT: Shape = Shape {
    event: ("data: ", "\n\n"),
    envelope,
    first: "{\"finish_reason\":null,\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null}",
    text: ("{\"finish_reason\":null,\"index\":0,\"delta\":{\"content\":\"", "\"}"),
    finish: FinishShape::Own {
        length: "{\"finish_reason\":\"length\",\"index\":0,\"delta\":{}",
        stop: "{\"finish_reason\":\"stop\",\"index\":0,\"delta\":{}",
    },
    one_by_one: true,
    usage: UsageShape {
        continuous: Continuous::Asked,
        running: usage_counts,
        on_finish: false,
        complete: usage_with_cached,
    },
    last: put_timings,
    fail,
    done: "data: [DONE]\n\n",
    whole: complete,
};

const TEXT: Shape = Shape {
    first: "",
    text: ("{\"text\":\"", "\",\"index\":0,\"logprobs\":null,\"finish_reason\":null"),
    finish: FinishShape::Own {
        length: "{\"text\":\"\",\"index\":0,\"logprobs\":null,\"finish_reason\":\"length\"",
        stop: "{\"text\":\"\",\"index\":0,\"logprobs\":null,\"finish_reason\":\"stop\"",
    },
    usage: UsageShape { on_finish: true, ..CHAT.usage },
    ..CHAT
};
