//! Answers other than streams, and why a request is turned away.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde_json::Value;

/// An answer of status 200 with this JSON.
pub(super) fn json_answer(value: &Value) -> Response {
    with_type(StatusCode::OK, "application/json", value.to_string())
}

/// An answer of this status with this JSON.
pub(super) fn json_status(status: StatusCode, value: &Value) -> Response {
    with_type(status, "application/json", value.to_string())
}

/// An answer of this media type.
pub(super) fn with_type(status: StatusCode, media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// Why a request is turned away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Why {
    /// The request cannot be served as it is.
    Bad,
    /// The prompt leaves no room for output.
    TooLong { prompt_tokens: u64, max_length: u64 },
    /// Another model is served.
    UnknownModel { name: String },
    /// There is no such path.
    UnknownPath,
    /// The path does not know this method.
    Method,
    /// The body is larger than is read.
    TooLarge,
    /// The server wants no more requests now.
    Busy { retry_after_seconds: u32 },
}

/// A request that is turned away. The dialect gives the answer its shape, before it is sent.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) why: Why,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(why: Why, message: impl Into<String>) -> Refusal {
        Refusal { why, message: message.into() }
    }

    /// The request cannot be served as it is.
    pub(super) fn bad_request(message: impl Into<String>) -> Refusal {
        Refusal::new(Why::Bad, message)
    }

    /// The body is larger than is read.
    pub(super) fn too_large() -> Refusal {
        Refusal::new(Why::TooLarge, "the request's body is too large, or its connection broke")
    }

    /// The status that most engines give it.
    pub(super) fn status(&self) -> StatusCode {
        match self.why {
            Why::Bad | Why::TooLong { .. } => StatusCode::BAD_REQUEST,
            Why::UnknownModel { .. } | Why::UnknownPath => StatusCode::NOT_FOUND,
            Why::Method => StatusCode::METHOD_NOT_ALLOWED,
            Why::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Why::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// Puts the header that tells when to come back.
    pub(super) fn mark(&self, response: &mut Response) {
        if let Why::Busy { retry_after_seconds } = self.why {
            response.headers_mut().insert(RETRY_AFTER, retry_after_seconds.into());
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(self);
        response
    }
}
