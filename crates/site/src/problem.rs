//! Why a request was refused, as `application/problem+json` (RFC 9457): what is wrong, and what to do.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::secret::NoRandomness;
use crate::store::StoreError;

/// A refusal.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    /// HTTP status.
    pub(crate) status: StatusCode,
    /// A stable word for programs: `record_differs`.
    pub(crate) code: &'static str,
    /// One sentence: what is wrong.
    pub(crate) detail: String,
    /// One sentence: what to do.
    pub(crate) hint: String,
    /// When to come again.
    pub(crate) retry_after: Option<Duration>,
    /// More, by name: `findings`, `missing`.
    pub(crate) more: Vec<(&'static str, Value)>,
}

impl Problem {
    /// A refusal with what is wrong and what to do.
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        detail: impl Into<String>,
        hint: impl Into<String>,
    ) -> Problem {
        let (detail, hint) = (detail.into(), hint.into());
        Problem { status, code, detail, hint, retry_after: None, more: Vec::new() }
    }

    /// The request can't be understood.
    pub(crate) fn bad(code: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, code, detail, hint)
    }

    /// It was understood, and is refused for what it holds.
    pub(crate) fn refused(code: &'static str, detail: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail, hint)
    }

    /// Nothing is there.
    pub(crate) fn not_found(what: &str) -> Problem {
        Problem::new(
            StatusCode::NOT_FOUND,
            "not_found",
            format!("there is no {what} at this address"),
            "check the address; runs are listed at /",
        )
    }

    /// Somebody who is not known, or no longer.
    pub(crate) fn unknown_token() -> Problem {
        // The same words whatever is wrong with it: nothing is learnt by trying.
        Problem::new(
            StatusCode::UNAUTHORIZED,
            "unknown_token",
            "the token is missing, not known, or no longer holds",
            "send it as `Authorization: Bearer …`; TOKOMETER_TOKEN or --token-file gives it to `tokometer publish`",
        )
    }

    /// Known, but not allowed.
    pub(crate) fn forbidden(detail: impl Into<String>, hint: impl Into<String>) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, "forbidden", detail, hint)
    }

    /// Too many requests.
    pub(crate) fn too_many(what: &str, retry_after: Duration) -> Problem {
        let problem = Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_requests",
            format!("too many {what} in a short time"),
            format!("try again in {} s", seconds(retry_after)),
        );
        Problem { retry_after: Some(retry_after), ..problem }
    }

    /// Something of the site does not work at the moment; it is in the log, not here.
    pub(crate) fn unavailable() -> Problem {
        let problem = Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "the site can't do this at the moment; nothing was changed",
            "try again in a minute; if it stays so, tell the operator",
        );
        Problem { retry_after: Some(Duration::from_secs(60)), ..problem }
    }

    /// A fault of the site; it is in the log, not here.
    pub(crate) fn internal() -> Problem {
        Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the site failed; nothing was changed",
            "tell the operator the request's id, which is in the header x-request-id",
        )
    }

    /// Adds something by name.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: Value) -> Problem {
        self.more.push((name, value));
        self
    }

    /// The body.
    pub(crate) fn body(&self) -> Value {
        let body = ProblemBody {
            kind: format!("urn:tokometer:problem:{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: self.status.as_u16(),
            code: self.code.to_owned(),
            detail: self.detail.clone(),
            hint: self.hint.clone(),
            more: self.more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        };
        serde_json::to_value(body).unwrap_or_default()
    }
}

/// A refusal as it is sent (RFC 9457).
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Refusal")]
pub(crate) struct ProblemBody {
    /// The code as a URN: `urn:tokometer:problem:not_found`.
    #[serde(rename = "type")]
    kind: String,
    /// The status in words.
    title: String,
    /// The HTTP status.
    #[schemars(range(min = 400, max = 599))]
    status: u16,
    /// A stable word for programs.
    #[schemars(regex(pattern = "^[a-z0-9_]+$"))]
    code: String,
    /// What is wrong.
    detail: String,
    /// What to do.
    hint: String,
    /// More, by name: `missing`, `findings`, `reason`.
    #[serde(flatten)]
    more: serde_json::Map<String, Value>,
}

fn seconds(time: Duration) -> u64 {
    time.as_secs_f64().ceil().max(1.0) as u64
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.body().to_string()).into_response();
        // For the page that stands in its place where a reader asked.
        response.extensions_mut().insert(self.clone());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(time) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds(time)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        if let StoreError::Taken { what } = &error {
            return Problem::new(
                StatusCode::CONFLICT,
                "taken",
                format!("{what} is taken"),
                "choose another one",
            );
        }
        let passing = error.is_passing();
        tracing::error!(error = %error, passing, "the store failed");
        if passing { Problem::unavailable() } else { Problem::internal() }
    }
}

impl From<NoRandomness> for Problem {
    fn from(error: NoRandomness) -> Problem {
        tracing::error!(%error, "no secret could be made");
        Problem::internal()
    }
}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Problem {
        tracing::error!(error = %error, "the artefacts failed");
        if error.kind() == std::io::ErrorKind::InvalidData {
            return Problem::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "damaged_file",
                "a file of the site is no longer what its name says, so it is not used",
                "tell the operator, who can put it back from a backup",
            );
        }
        Problem::unavailable()
    }
}

impl From<tokometer_report::ReportError> for Problem {
    fn from(error: tokometer_report::ReportError) -> Problem {
        match error {
            tokometer_report::ReportError::NothingToDraw { .. } => Problem::not_found("picture"),
            error => {
                tracing::error!(error = %error, "a report failed");
                Problem::internal()
            }
        }
    }
}
