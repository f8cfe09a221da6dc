//! SGLang, started with metrics and without the report of cached tokens.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use serde_json::{Value, json};

use super::{Format, Manner, Rules};
use crate::engine::{Finish, Speculation};
use crate::server::answer::{Refusal, Why, json_answer, json_status};
use crate::server::body::{self, Fields};
use crate::server::frames::{
    Common, Continuous, FinishShape, Route, Shape, Told, UsageShape, head, nothing, open_usage,
};
use crate::server::prometheus::Page;
use crate::server::routes::{self, App};
use crate::tokenizer::BLOCK_TOKENS;

/// The version that this dialect was read from.
const VERSION: &str = "0.5.23";

/// SGLang.
pub(super) struct Sglang;

impl Manner for Sglang {
    fn routes(&self) -> Router<App> {
        let mut router = routes::openai()
            .route("/v1/models", get(models))
            .route("/metrics", get(metrics))
            .route("/ping", get(health));
        for path in ["/health", "/health_generate", "/ready"] {
            router = router.route(path, get(health));
        }
        for path in ["/tokenize", "/v1/tokenize"] {
            router = router.route(path, post(tokenize));
        }
        // Under the new names and the old ones.
        for path in ["/server_info", "/get_server_info"] {
            router = router.route(path, get(server_info));
        }
        for path in ["/model_info", "/get_model_info"] {
            router = router.route(path, get(model_info));
        }
        router
    }

    fn guards(&self, path: &str) -> bool {
        !["/health", "/ready", "/metrics"].iter().any(|prefix| path.starts_with(prefix))
    }

    fn unauthorized(&self) -> Response {
        json_status(StatusCode::UNAUTHORIZED, &json!({ "error": "Unauthorized" }))
    }

    fn refuse(&self, _path: &str, refusal: &Refusal) -> Response {
        let status = refusal.status();
        match refusal.why {
            Why::UnknownPath => json_status(status, &json!({ "detail": "Not Found" })),
            Why::Method => json_status(status, &json!({ "detail": "Method Not Allowed" })),
            _ => json_status(status, &error_object(&refusal.message, "BadRequestError", status.as_u16())),
        }
    }

    fn rules(&self) -> Rules {
        Rules { checks_model: false, token_ids: false, ..Rules::VLLM }
    }

    fn format(&self, route: Route) -> &'static dyn Format {
        match route {
            Route::Chat => &CHAT,
            Route::Completions => &TEXT,
        }
    }
}

/// Errors are flat.
fn error_object(message: &str, kind: &str, code: u16) -> Value {
    json!({ "object": "error", "message": message, "type": kind, "param": null, "code": code })
}

/// Within a stream the error is an object, and the end mark follows it.
fn fail(message: &str) -> String {
    let error = error_object(message, "InternalServerError", 500);
    format!("data: {}\n\ndata: [DONE]\n\n", json!({ "error": error }))
}

async fn models(State(app): State<App>) -> Response {
    json_answer(&json!({
        "object": "list",
        "data": [{
            "id": app.profile.served_name(),
            "object": "model",
            "created": app.started,
            "owned_by": "sglang",
            "root": app.profile.served_name(),
            "parent": null,
            "max_model_len": app.profile.max_model_length(),
        }],
    }))
}

async fn health() -> StatusCode {
    StatusCode::OK
}

async fn model_info(State(app): State<App>) -> Response {
    json_answer(&json!({
        "model_path": app.profile.model_id(),
        "served_model_name": app.profile.served_name(),
        "tokenizer_path": app.profile.model_id(),
        "is_generation": true,
        "weight_version": "default",
        "architectures": ["SimulatedForCausalLM"],
    }))
}

/// All arguments of the server, its key among them, as this engine gives them away.
async fn server_info(State(app): State<App>) -> Response {
    let (profile, kv_tokens) = (&app.profile, app.profile.kv_tokens());
    let key = app.api_key.as_ref().map(routes::ApiKey::reveal);
    let mut command = format!("python3 -m sglang.launch_server --model-path {}", profile.model_id());
    if let Some(key) = key {
        command.push_str(" --api-key ");
        command.push_str(key);
    }
    json_answer(&json!({
        "model_path": profile.model_id(),
        "tokenizer_path": profile.model_id(),
        "served_model_name": profile.served_name(),
        "context_length": profile.max_model_length(),
        "dtype": "auto",
        "quantization": null,
        "kv_cache_dtype": "auto",
        "tp_size": 1,
        "pp_size": 1,
        "dp_size": 1,
        "ep_size": 1,
        "disable_radix_cache": false,
        "speculative_algorithm": profile.speculation().map(|_| "EAGLE"),
        "speculative_num_steps": profile.speculation().map(Speculation::tokens),
        "speculative_eagle_topk": null,
        "speculative_num_draft_tokens": profile.speculation().map(|drafts| drafts.tokens() + 1),
        "max_running_requests": profile.max_concurrent_requests(),
        "page_size": BLOCK_TOKENS,
        "enable_metrics": true,
        "enable_cache_report": false,
        "api_key": key,
        "admin_api_key": null,
        "ssl_keyfile_password": null,
        "launch_command": command,
        "max_total_num_tokens": kv_tokens,
        "max_req_input_len": profile.max_model_length() - 1,
        "startup_time": app.started,
        "version": VERSION,
        "internal_states": [{
            "effective_max_running_requests_per_dp": profile.max_concurrent_requests(),
            "memory_usage": { "token_capacity": kv_tokens },
        }],
    }))
}

async fn tokenize(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    let bytes = body::read(request.into_body()).await?;
    let ids = body::work(bytes, |bytes| Fields::parse(bytes)?.token_ids()).await?;
    let max_length = app.profile.max_model_length();
    Ok(json_answer(&json!({ "tokens": ids, "count": ids.len(), "max_model_len": max_length })))
}

async fn metrics(State(app): State<App>) -> Response {
    let (profile, stats) = (&app.profile, app.inbox.stats());
    let kv_tokens = profile.kv_tokens();
    let usage = (stats.kv_used_tokens as f64 / kv_tokens as f64).min(1.0);
    let model = Page::model_label(profile.served_name());
    let mut page = Page::new("sglang:", format!("{model},tp_rank=\"0\",pp_rank=\"0\",moe_ep_rank=\"0\""));
    for (name, help, value) in [
        ("num_running_reqs", "Requests that run.", stats.running as f64),
        ("num_queue_reqs", "Requests that wait.", stats.waiting as f64),
        ("token_usage", "Share of the token pool in use.", usage),
        ("full_token_usage", "Share of the full-attention pool in use.", usage),
        ("num_used_tokens", "Tokens in use.", stats.kv_used_tokens as f64),
        ("num_retracted_reqs", "Requests put back; this engine never does.", 0.0),
        ("max_total_num_tokens", "Tokens that the pool holds.", kv_tokens as f64),
        ("page_size", "Tokens of a page.", BLOCK_TOKENS as f64),
        ("num_pages", "Pages of the pool.", (kv_tokens / BLOCK_TOKENS) as f64),
        ("context_len", "Longest prompt plus output.", profile.max_model_length() as f64),
    ] {
        page.gauge(name, help, value);
    }
    if let Some(speculation) = profile.speculation() {
        let length = stats.recent_acceptance_length();
        let rate = (length - 1.0).max(0.0) / f64::from(speculation.tokens());
        page.gauge("spec_accept_length", "Tokens of a verification step, lately.", length);
        page.gauge("spec_accept_rate", "Share of the drafted tokens that is accepted, lately.", rate);
    }
    for (name, help, value) in [
        ("prompt_tokens_total", "Prompt tokens.", stats.prompt_tokens),
        ("generation_tokens_total", "Output tokens.", stats.generated_tokens),
        ("cached_tokens_total", "Prompt tokens found in the cache.", stats.cached_tokens),
        ("num_requests_total", "Requests.", stats.ended_by_length + stats.ended_by_stop),
        ("num_aborted_requests_total", "Requests aborted.", stats.aborted),
    ] {
        page.counter(name, help, value);
    }
    page.answer()
}

fn envelope(common: &Common) -> (String, String) {
    (head(common), String::new())
}

fn usage(out: &mut Vec<u8>, told: &Told) {
    open_usage(out, told);
    out.extend_from_slice(b",\"prompt_tokens_details\":null,\"reasoning_tokens\":0}");
}

fn complete(answer: &mut Value, told: &Told) {
    answer["usage"]["prompt_tokens_details"] = Value::Null;
    answer["usage"]["reasoning_tokens"] = json!(0);
    answer["choices"][0]["matched_stop"] = match told.finish {
        Some(Finish::Stop) => json!(crate::tokenizer::END_TOKEN),
        _ => Value::Null,
    };
    answer["metadata"] = json!({ "weight_version": "default" });
}

const CHAT: Shape = Shape {
    event: ("data: ", "\n\n"),
    envelope,
    first: "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"reasoning_content\":null,\
            \"tool_calls\":null},\"logprobs\":null,\"finish_reason\":null,\"matched_stop\":null",
    text: (
        "{\"index\":0,\"delta\":{\"role\":null,\"content\":\"",
        "\",\"reasoning_content\":null,\"tool_calls\":null},\"logprobs\":null,\"finish_reason\":null,\
         \"matched_stop\":null",
    ),
    finish: FinishShape::Own {
        length: "{\"index\":0,\"delta\":{\"role\":null,\"content\":null,\"reasoning_content\":null,\
                 \"tool_calls\":null},\"logprobs\":null,\"finish_reason\":\"length\",\"matched_stop\":null",
        stop: "{\"index\":0,\"delta\":{\"role\":null,\"content\":null,\"reasoning_content\":null,\
               \"tool_calls\":null},\"logprobs\":null,\"finish_reason\":\"stop\",\"matched_stop\":2",
    },
    one_by_one: false,
    usage: UsageShape {
        continuous: Continuous::AskedWithText,
        running: usage,
        on_finish: false,
        complete: usage,
    },
    last: nothing,
    fail,
    done: "data: [DONE]\n\n",
    whole: complete,
};

const TEXT: Shape = Shape {
    first: "",
    text: ("{\"index\":0,\"text\":\"", "\",\"logprobs\":null,\"finish_reason\":null,\"matched_stop\":null"),
    finish: FinishShape::Own {
        length: "{\"index\":0,\"text\":\"\",\"logprobs\":null,\"finish_reason\":\"length\",\
                 \"matched_stop\":null",
        stop: "{\"index\":0,\"text\":\"\",\"logprobs\":null,\"finish_reason\":\"stop\",\"matched_stop\":2",
    },
    ..CHAT
};
