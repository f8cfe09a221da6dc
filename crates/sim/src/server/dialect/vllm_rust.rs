//! vLLM with its Rust front end: the same paths, and other frames.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use serde_json::{Value, json};

use super::{Format, Manner, Rules, vllm};
use crate::server::answer::{Refusal, json_answer};
use crate::server::frames::{
    Common, Continuous, FinishShape, Route, Shape, Told, UsageShape, head, nothing, usage_counts,
};
use crate::server::routes::App;

/// The Rust front end of vLLM.
pub(super) struct VllmRust;

impl Manner for VllmRust {
    fn routes(&self) -> Router<App> {
        vllm::shared_routes()
            .route("/v1/models", get(models))
            .route("/version", get(vllm::version))
            .route("/load", get(vllm::load))
    }

    fn guards(&self, path: &str) -> bool {
        vllm::guards(path)
    }

    fn unauthorized(&self) -> Response {
        vllm::unauthorized()
    }

    fn refuse(&self, _path: &str, refusal: &Refusal) -> Response {
        vllm::refuse(refusal)
    }

    fn rules(&self) -> Rules {
        Rules::VLLM
    }

    fn format(&self, route: Route) -> &'static dyn Format {
        match route {
            Route::Chat => &CHAT,
            Route::Completions => &TEXT,
        }
    }
}

/// Without the longest length, and without a date.
async fn models(State(app): State<App>) -> Response {
    json_answer(&json!({
        "object": "list",
        "data": [{
            "id": app.profile.served_name(),
            "object": "model",
            "created": 0,
            "owned_by": "vllm-frontend-rs",
            "root": app.profile.model_id(),
            "parent": null,
        }],
    }))
}

fn envelope(common: &Common) -> (String, String) {
    (head(common), String::new())
}

fn complete(answer: &mut Value, _told: &Told) {
    answer["system_fingerprint"] = Value::Null;
}

const CHAT: Shape = Shape {
    event: ("data: ", "\n\n"),
    envelope,
    first: "{\"index\":0,\"delta\":{\"role\":\"assistant\"},\"logprobs\":null,\"finish_reason\":null",
    text: ("{\"index\":0,\"delta\":{\"content\":\"", "\"},\"logprobs\":null,\"finish_reason\":null"),
    finish: FinishShape::Own {
        length: "{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"length\"",
        stop: "{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"",
    },
    one_by_one: false,
    usage: UsageShape {
        continuous: Continuous::Asked,
        running: usage_counts,
        on_finish: false,
        complete: usage_counts,
    },
    last: nothing,
    fail: vllm::fail,
    done: "data: [DONE]\n\n",
    whole: complete,
};

const TEXT: Shape = Shape {
    first: "",
    text: ("{\"index\":0,\"text\":\"", "\",\"logprobs\":null,\"finish_reason\":null"),
    finish: FinishShape::Own {
        length: "{\"index\":0,\"text\":\"\",\"logprobs\":null,\"finish_reason\":\"length\"",
        stop: "{\"index\":0,\"text\":\"\",\"logprobs\":null,\"finish_reason\":\"stop\"",
    },
    ..CHAT
};
