//! vLLM with its Python front end, and the simulator under its own name.

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use serde_json::{Value, json};

use super::{Format, Manner, Rules};
use crate::Profile;
use crate::engine::Stats;
use crate::server::answer::{Refusal, Why, json_answer, json_status, with_type};
use crate::server::body::{self, Fields};
use crate::server::frames::{
    Common, Continuous, FinishShape, Route, Shape, Told, UsageShape, head, nothing, put_list, usage_counts,
    usage_with_cached,
};
use crate::server::prometheus::Page;
use crate::server::routes::{self, App};
use crate::tokenizer::BLOCK_TOKENS;

/// The simulator under its own name.
pub(super) const NATIVE: Vllm = Vllm { native: true };

/// vLLM.
pub(super) const VLLM: Vllm = Vllm { native: false };

/// What `owned_by` says where the simulator does not pass for vLLM.
const OWNER: &str = "tokometer-sim";

/// The version that this dialect was read from.
pub(super) const VERSION: &str = "0.33.0";

/// Says how the engine runs; the digits stand for its configuration.
const FINGERPRINT: &str = "vllm-0.33.0-51a17e0d";

/// The Python front end of vLLM.
pub(super) struct Vllm {
    native: bool,
}

impl Manner for Vllm {
    fn routes(&self) -> Router<App> {
        if self.native {
            shared_routes().route("/v1/models", get(native_models)).route("/version", get(native_version))
        } else {
            shared_routes()
                .route("/v1/models", get(models))
                .route("/version", get(version))
                .route("/load", get(load))
        }
    }

    fn guards(&self, path: &str) -> bool {
        guards(path)
    }

    fn unauthorized(&self) -> Response {
        unauthorized()
    }

    fn refuse(&self, _path: &str, refusal: &Refusal) -> Response {
        refuse(refusal)
    }

    fn rules(&self) -> Rules {
        Rules::VLLM
    }

    fn format(&self, route: Route) -> &'static dyn Format {
        match (route, self.native) {
            (Route::Chat, true) => &NATIVE_CHAT,
            (Route::Completions, true) => &NATIVE_TEXT,
            (Route::Chat, false) => &CHAT,
            (Route::Completions, false) => &TEXT,
        }
    }
}

/// Paths that need the key.
pub(super) fn guards(path: &str) -> bool {
    ["/v1", "/v2", "/inference", "/cohere"].iter().any(|prefix| path.starts_with(prefix))
}

/// The answer to a request without the right key: here the error is a plain string.
pub(super) fn unauthorized() -> Response {
    json_status(StatusCode::UNAUTHORIZED, &json!({ "error": "Unauthorized" }))
}

/// An error as an object.
pub(super) fn refuse(refusal: &Refusal) -> Response {
    let kind = match refusal.why {
        Why::Bad | Why::TooLong { .. } => "BadRequestError",
        Why::UnknownModel { .. } | Why::UnknownPath => "NotFoundError",
        Why::Method => "MethodNotAllowedError",
        Why::TooLarge => "RequestTooLargeError",
        Why::Busy { .. } => "TooManyRequestsError",
    };
    let error =
        json!({ "message": refusal.message, "type": kind, "param": null, "code": refusal.status().as_u16() });
    json_status(refusal.status(), &json!({ "error": error }))
}

/// An error within a stream; the end mark follows it.
pub(super) fn fail(message: &str) -> String {
    let error = json!({ "message": message, "type": "InternalServerError", "param": null, "code": 500 });
    format!("data: {}\n\ndata: [DONE]\n\n", json!({ "error": error }))
}

/// Paths that both front ends have.
pub(super) fn shared_routes() -> Router<App> {
    routes::openai()
        .route("/tokenize", post(tokenize))
        .route("/metrics", get(metrics))
        .route("/health", get(health))
        .route("/ping", get(health).post(health))
}

async fn native_models(State(app): State<App>) -> Response {
    json_answer(&model_list(&app, OWNER))
}

async fn models(State(app): State<App>) -> Response {
    json_answer(&model_list(&app, "vllm"))
}

fn model_list(app: &App, owner: &str) -> Value {
    json!({
        "object": "list",
        "data": [{
            "id": app.profile.served_name(),
            "object": "model",
            "created": app.started,
            "owned_by": owner,
            "root": app.profile.model_id(),
            "parent": null,
            "max_model_len": app.profile.max_model_length(),
        }],
    })
}

async fn native_version(State(app): State<App>) -> Response {
    json_answer(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "engine": OWNER,
        "profile": app.profile.name(),
    }))
}

pub(super) async fn version() -> Response {
    json_answer(&json!({ "version": VERSION }))
}

/// Requests in the server.
pub(super) async fn load(State(app): State<App>) -> Response {
    let stats = app.inbox.stats();
    json_answer(&json!({ "server_load": stats.running + stats.waiting }))
}

async fn health() -> StatusCode {
    StatusCode::OK
}

async fn tokenize(State(app): State<App>, request: Request) -> Result<Response, Refusal> {
    let bytes = body::read(request.into_body()).await?;
    let max_length = app.profile.max_model_length();
    let (model, answer) = body::work(bytes, move |bytes| {
        let fields = Fields::parse(bytes)?;
        let ids = fields.token_ids()?;
        let mut answer =
            format!("{{\"count\":{},\"max_model_len\":{max_length},\"tokens\":", ids.len()).into_bytes();
        put_list(&mut answer, &ids);
        answer.extend_from_slice(b",\"token_strs\":null}");
        Ok((fields.model, answer))
    })
    .await?;
    app.check_model(model.as_deref())?;
    Ok(with_type(StatusCode::OK, "application/json", answer))
}

async fn metrics(State(app): State<App>) -> Response {
    let (profile, stats) = (&app.profile, app.inbox.stats());
    let kv_tokens = profile.kv_tokens();
    let used = (stats.kv_used_tokens as f64 / kv_tokens as f64).min(1.0);
    let labels = format!("engine=\"0\",{}", Page::model_label(profile.served_name()));
    let mut page = Page::new("vllm:", labels);

    page.gauge("num_requests_running", "Requests in the running batch.", stats.running as f64);
    page.gauge("num_requests_waiting", "Requests that wait for room.", stats.waiting as f64);
    page.gauge("kv_cache_usage_perc", "Share of the KV cache in use, 0 to 1.", used);

    for (name, help, value) in [
        ("num_preemptions_total", "Requests put back; this engine never does.", 0),
        ("prompt_tokens_total", "Prompt tokens, cached ones included.", stats.prompt_tokens),
        ("prompt_tokens_cached_total", "Prompt tokens from the prefix cache.", stats.cached_tokens),
        ("generation_tokens_total", "Output tokens.", stats.generated_tokens),
        ("prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", stats.prompt_tokens),
        ("prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", stats.cached_tokens),
    ] {
        page.counter(name, help, value);
    }

    page.head("request_success_total", "Ended requests by reason.", "counter");
    for (reason, count) in
        [("stop", stats.ended_by_stop), ("length", stats.ended_by_length), ("abort", stats.aborted)]
    {
        page.sample("request_success_total", &format!("finished_reason=\"{reason}\""), count as f64);
    }

    if profile.speculation().is_some() {
        put_speculation(&mut page, profile, &stats);
    }

    let at_once = kv_tokens as f64 / profile.max_model_length() as f64;
    let labels = format!(
        "block_size=\"{BLOCK_TOKENS}\",enable_prefix_caching=\"True\",num_gpu_blocks=\"{}\",\
         kv_cache_size_tokens=\"{kv_tokens}\",kv_cache_max_concurrency=\"{at_once}\"",
        kv_tokens / BLOCK_TOKENS,
    );
    page.info("cache_config_info", "The KV cache's configuration.", &labels);
    page.answer()
}

/// Counters that are there only where the engine speculates.
fn put_speculation(page: &mut Page, profile: &Profile, stats: &Stats) {
    for (name, help, value) in [
        ("spec_decode_num_drafts_total", "Drafts that were verified.", stats.drafts),
        ("spec_decode_num_draft_tokens_total", "Tokens that were drafted.", stats.draft_tokens),
        (
            "spec_decode_num_accepted_tokens_total",
            "Drafted tokens that were accepted.",
            stats.accepted_tokens,
        ),
    ] {
        page.counter(name, help, value);
    }
    let name = "spec_decode_num_accepted_tokens_per_pos_total";
    page.head(name, "Drafted tokens that were accepted, by position.", "counter");
    let positions = profile.speculation().map_or(0, |speculation| speculation.tokens() as usize);
    for (position, count) in stats.accepted_per_position.iter().take(positions).enumerate() {
        page.sample(name, &format!("position=\"{position}\""), *count as f64);
    }
}

fn envelope(common: &Common) -> (String, String) {
    (head(common), String::new())
}

fn put_fingerprint(out: &mut Vec<u8>, _told: &Told) {
    out.extend_from_slice(b",\"system_fingerprint\":\"");
    out.extend_from_slice(FINGERPRINT.as_bytes());
    out.push(b'"');
}

fn complete_native(answer: &mut Value, told: &Told) {
    answer["usage"]["prompt_tokens_details"] = json!({ "cached_tokens": told.cached_tokens });
    answer["choices"][0]["stop_reason"] = Value::Null;
}

fn complete(answer: &mut Value, _told: &Told) {
    answer["usage"]["prompt_tokens_details"] = Value::Null;
    answer["choices"][0]["stop_reason"] = Value::Null;
    answer["system_fingerprint"] = json!(FINGERPRINT);
}

const NATIVE_CHAT: Shape = Shape {
    event: ("data: ", "\n\n"),
    envelope,
    first: "{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,\
            \"finish_reason\":null",
    text: ("{\"index\":0,\"delta\":{\"content\":\"", "\"},\"logprobs\":null,\"finish_reason\":null"),
    finish: FinishShape::WithText {
        length: "\"},\"logprobs\":null,\"finish_reason\":\"length\",\"stop_reason\":null",
        stop: "\"},\"logprobs\":null,\"finish_reason\":\"stop\",\"stop_reason\":null",
    },
    one_by_one: false,
    usage: UsageShape {
        continuous: Continuous::Asked,
        running: usage_counts,
        on_finish: false,
        complete: usage_with_cached,
    },
    last: nothing,
    fail,
    done: "data: [DONE]\n\n",
    whole: complete_native,
};

const NATIVE_TEXT: Shape = Shape {
    first: "",
    text: ("{\"index\":0,\"text\":\"", "\",\"logprobs\":null,\"finish_reason\":null"),
    finish: FinishShape::WithText {
        length: "\",\"logprobs\":null,\"finish_reason\":\"length\",\"stop_reason\":null",
        stop: "\",\"logprobs\":null,\"finish_reason\":\"stop\",\"stop_reason\":null",
    },
    ..NATIVE_CHAT
};

/// Without the start options that tell cached tokens.
const CHAT: Shape = Shape {
    usage: UsageShape { complete: usage_counts, ..NATIVE_CHAT.usage },
    last: put_fingerprint,
    whole: complete,
    ..NATIVE_CHAT
};

const TEXT: Shape = Shape {
    usage: UsageShape { complete: usage_counts, ..NATIVE_CHAT.usage },
    last: put_fingerprint,
    whole: complete,
    ..NATIVE_TEXT
};
