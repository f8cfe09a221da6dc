//! Answers other than streams, and errors in the shapes of vLLM.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

/// An answer of status 200 with this JSON.
pub(super) fn json_answer(value: &Value) -> Response {
    with_type(StatusCode::OK, "application/json", value.to_string())
}

/// An answer of this media type.
pub(super) fn with_type(status: StatusCode, media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// A request that is turned away.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    kind: &'static str,
    message: String,
}

impl Refusal {
    /// The request cannot be served as it is.
    pub(super) fn bad_request(message: impl Into<String>) -> Refusal {
        Refusal { status: StatusCode::BAD_REQUEST, kind: "BadRequestError", message: message.into() }
    }

    /// There is nothing of this name.
    pub(super) fn not_found(message: impl Into<String>) -> Refusal {
        Refusal { status: StatusCode::NOT_FOUND, kind: "NotFoundError", message: message.into() }
    }

    /// The path does not know this method.
    pub(super) fn method_not_allowed() -> Refusal {
        Refusal {
            status: StatusCode::METHOD_NOT_ALLOWED,
            kind: "MethodNotAllowedError",
            message: "this path does not take this method".to_owned(),
        }
    }

    /// The body is larger than is read.
    pub(super) fn too_large() -> Refusal {
        Refusal {
            status: StatusCode::PAYLOAD_TOO_LARGE,
            kind: "RequestTooLargeError",
            message: "the request's body is too large, or its connection broke".to_owned(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let error = json!({
            "message": self.message,
            "type": self.kind,
            "param": null,
            "code": self.status.as_u16(),
        });
        with_type(self.status, "application/json", json!({ "error": error }).to_string())
    }
}

/// The answer to a request without the right key: here the error is a plain string.
pub(super) fn unauthorized() -> Response {
    with_type(StatusCode::UNAUTHORIZED, "application/json", json!({ "error": "Unauthorized" }).to_string())
}
