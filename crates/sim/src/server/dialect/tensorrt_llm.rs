//! TensorRT-LLM, started with iteration and request statistics. It takes no field that it does not know.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use serde_json::{Value, json};

use super::{Format, Manner, Rules};
use crate::Profile;
use crate::engine::Stats;
use crate::server::answer::{Refusal, Why, json_answer, json_status};
use crate::server::driver::lock;
use crate::server::frames::{
    Common, Continuous, FinishShape, Route, Shape, Told, UsageShape, head, nothing, usage_with_cached,
};
use crate::server::prometheus::Page;
use crate::server::routes::{self, App};

/// Version that the server says.
const VERSION: &str = "1.3.0";

/// Tokens of a block.
const BLOCK_TOKENS: u64 = 32;

/// Fields of both requests. Others are refused.
const FIELDS: &[&str] = &[
    "add_generation_prompt",
    "add_special_tokens",
    "best_of",
    "cache_salt",
    "chat_template",
    "chat_template_kwargs",
    "detokenize",
    "disaggregated_params",
    "documents",
    "early_stopping",
    "echo",
    "frequency_penalty",
    "ignore_eos",
    "include_stop_str_in_output",
    "length_penalty",
    "logit_bias",
    "logprobs",
    "lora_request",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "min_p",
    "min_tokens",
    "model",
    "n",
    "presence_penalty",
    "prompt",
    "reasoning_effort",
    "repetition_penalty",
    "response_format",
    "seed",
    "skip_special_tokens",
    "spaces_between_special_tokens",
    "stop",
    "stop_token_ids",
    "stream",
    "stream_options",
    "suffix",
    "temperature",
    "tool_choice",
    "tools",
    "top_k",
    "top_logprobs",
    "top_p",
    "top_p_min",
    "truncate_prompt_tokens",
    "use_beam_search",
    "user",
];

/// TensorRT-LLM.
#[derive(Default)]
pub(super) struct TensorRtLlm {
    /// What the iteration statistics told last; reading empties them.
    told: Arc<Mutex<Stats>>,
}

impl Manner for TensorRtLlm {
    fn routes(&self) -> Router<App> {
        let told = Arc::clone(&self.told);
        routes::openai()
            .route("/v1/models", get(models))
            .route("/version", get(version))
            .route("/health", get(health))
            .route("/server_info", get(server_info))
            .route("/metrics", get(async move |State(app): State<App>| iterations(&app, &told)))
            .route("/prometheus/metrics", get(metrics))
    }

    /// It knows no keys.
    fn guards(&self, _path: &str) -> bool {
        false
    }

    fn unauthorized(&self) -> Response {
        json_status(StatusCode::UNAUTHORIZED, &json!({ "error": "Unauthorized" }))
    }

    fn refuse(&self, _path: &str, refusal: &Refusal) -> Response {
        let (status, message) = (refusal.status(), &refusal.message);
        match refusal.why {
            Why::UnknownPath => json_status(status, &json!({ "detail": "Not Found" })),
            Why::Method => json_status(status, &json!({ "detail": "Method Not Allowed" })),
            Why::Bad | Why::TooLong { .. } => json_status(status, &json!({ "error": message })),
            _ => json_status(status, &error_object(message, status.as_u16())),
        }
    }

    fn rules(&self) -> Rules {
        Rules {
            checks_model: false,
            token_ids: false,
            usage_unless_declined: true,
            known_fields: Some(FIELDS),
            ..Rules::VLLM
        }
    }

    fn format(&self, route: Route) -> &'static dyn Format {
        match route {
            Route::Chat => &CHAT,
            Route::Completions => &TEXT,
        }
    }
}

/// Errors are flat.
fn error_object(message: &str, code: u16) -> Value {
    json!({ "object": "error", "message": message, "type": "internal_error", "param": null, "code": code })
}

fn fail(message: &str) -> String {
    format!("data: {} \n\ndata: [DONE]\n\n", error_object(message, 500))
}

async fn models(State(app): State<App>) -> Response {
    json_answer(&json!({
        "object": "list",
        "data": [{
            "id": app.profile.served_name(),
            "object": "model",
            "created": app.started,
            "owned_by": "tensorrt_llm",
        }],
    }))
}

async fn version() -> Response {
    json_answer(&json!({ "version": VERSION }))
}

async fn health() -> StatusCode {
    StatusCode::OK
}

async fn server_info() -> Response {
    json_answer(&json!({ "disaggregated_params": {} }))
}

struct Blocks {
    max: u64,
    used: u64,
}

impl Blocks {
    fn new(profile: &Profile, stats: &Stats) -> Blocks {
        let max = profile.kv_tokens() / BLOCK_TOKENS;
        Blocks { max, used: stats.kv_used_tokens.div_ceil(BLOCK_TOKENS).min(max) }
    }
}

/// The statistics since the last look: a list, empty if nothing has happened.
fn iterations(app: &App, told: &Mutex<Stats>) -> Response {
    let stats = app.inbox.stats();
    if std::mem::replace(&mut *lock(told), stats) == stats {
        return json_answer(&json!([]));
    }
    let blocks = Blocks::new(&app.profile, &stats);
    let at_once = app.profile.max_concurrent_requests();
    json_answer(&json!([{
        "iter": stats.generated_tokens,
        "iterLatencyMS": 0.0,
        "numActiveRequests": stats.running,
        "numQueuedRequests": stats.waiting,
        "numCompletedRequests": stats.ended_by_length + stats.ended_by_stop,
        "maxNumActiveRequests": at_once,
        "maxBatchSizeStatic": at_once,
        "kvCacheStats": {
            "maxNumBlocks": blocks.max,
            "freeNumBlocks": blocks.max - blocks.used,
            "usedNumBlocks": blocks.used,
            "tokensPerBlock": BLOCK_TOKENS,
            "reusedBlocks": stats.cached_tokens / BLOCK_TOKENS,
        },
    }]))
}

/// Token counters count a request when it has ended.
async fn metrics(State(app): State<App>) -> Response {
    let (profile, stats) = (&app.profile, app.inbox.stats());
    let blocks = Blocks::new(profile, &stats);
    let model = Page::model_label(profile.served_name());
    let mut page = Page::new("trtllm_", format!("{model},engine_type=\"trtllm\""));
    let at_once = f64::from(profile.max_concurrent_requests());
    for (name, help, value) in [
        ("num_requests_running", "Active requests.", stats.running as f64),
        ("num_requests_waiting", "Queued requests.", stats.waiting as f64),
        ("max_num_active_requests", "Most active requests.", at_once),
        ("kv_cache_utilization", "Share of the blocks in use.", blocks.used as f64 / blocks.max as f64),
        ("kv_cache_max_blocks", "Blocks.", blocks.max as f64),
        ("kv_cache_used_blocks", "Blocks in use.", blocks.used as f64),
        ("kv_cache_tokens_per_block", "Tokens of a block.", BLOCK_TOKENS as f64),
    ] {
        page.gauge(name, help, value);
    }
    page.counter("prompt_tokens_total", "Prompt tokens.", stats.ended_prompt_tokens);
    page.counter("generation_tokens_total", "Output tokens.", stats.ended_generated_tokens);
    page.head("request_success_total", "Ended requests by reason.", "counter");
    for (reason, count) in [("stop", stats.ended_by_stop), ("length", stats.ended_by_length)] {
        page.sample("request_success_total", &format!("finished_reason=\"{reason}\""), count as f64);
    }
    let id = Value::from(profile.model_id());
    for (name, labels) in [
        ("model_config_info", format!("model={id},dtype=\"bfloat16\",quantization=\"None\"")),
        ("parallel_config_info", "tensor_parallel_size=\"1\",pipeline_parallel_size=\"1\"".to_owned()),
        ("kv_cache_config_info", format!("enable_block_reuse=\"True\",tokens_per_block=\"{BLOCK_TOKENS}\"")),
    ] {
        page.info(name, "The configuration.", &labels);
    }
    page.answer()
}

fn envelope(common: &Common) -> (String, String) {
    (head(common), String::new())
}

fn complete(answer: &mut Value, told: &Told) {
    answer["usage"]["prompt_tokens_details"] = json!({ "cached_tokens": told.cached_tokens });
    answer["choices"][0]["stop_reason"] = Value::Null;
    answer["choices"][0]["avg_decoded_tokens_per_iter"] = json!(1.0);
}

const CHAT: Shape = Shape {
    // A space stands behind the JSON.
    event: ("data: ", " \n\n"),
    envelope,
    first: "{\"index\":0,\"delta\":{\"role\":\"assistant\"},\"logprobs\":null,\"finish_reason\":null",
    text: ("{\"index\":0,\"delta\":{\"content\":\"", "\"},\"logprobs\":null,\"finish_reason\":null"),
    finish: FinishShape::WithText {
        length: "\"},\"logprobs\":null,\"finish_reason\":\"length\",\"stop_reason\":null,\
                 \"avg_decoded_tokens_per_iter\":1.0",
        stop: "\"},\"logprobs\":null,\"finish_reason\":\"stop\",\"stop_reason\":null,\
               \"avg_decoded_tokens_per_iter\":1.0",
    },
    one_by_one: false,
    usage: UsageShape {
        continuous: Continuous::Asked,
        running: usage_with_cached,
        on_finish: false,
        complete: usage_with_cached,
    },
    last: nothing,
    fail,
    done: "data: [DONE]\n\n",
    whole: complete,
};

const TEXT: Shape = Shape {
    first: "",
    text: ("{\"index\":0,\"text\":\"", "\",\"logprobs\":null,\"finish_reason\":null"),
    finish: FinishShape::WithText {
        length: "\",\"logprobs\":null,\"finish_reason\":\"length\",\"stop_reason\":null,\
                 \"avg_decoded_tokens_per_iter\":1.0",
        stop: "\",\"logprobs\":null,\"finish_reason\":\"stop\",\"stop_reason\":null,\
               \"avg_decoded_tokens_per_iter\":1.0",
    },
    ..CHAT
};
