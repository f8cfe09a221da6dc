//! A refusal as a page, where a reader with a browser asked.

use askama::Template;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};

use super::frame::{About, Frame, Here};
use crate::account::Visitor;
use crate::app::App;
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "fault.html")]
struct FaultPage<'a> {
    status: u16,
    title: &'a str,
    detail: String,
    hint: String,
    wait: Option<u64>,
    request: &'a str,
}

/// Any other address.
pub(crate) async fn nothing_here() -> Problem {
    Problem::not_found("page")
}

/// An address that is there, called in a way that it does not know; the header `Allow` says which it does.
pub(crate) async fn not_so() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this address can't be called in this way",
        "the header Allow says how; /openapi.json describes each",
    )
}

/// Puts a page in the place of a refusal that a reader would get.
pub(crate) async fn for_readers(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_for_programs = ["/api/", "/health/", "/metrics"].iter().any(|start| path.starts_with(start));
    let reads = !is_for_programs && takes_pages(request.headers());
    let response = next.run(request).await;
    let Some(problem) = response.extensions().get::<Problem>().filter(|_| reads).cloned() else {
        return response;
    };
    match page(&app, &problem) {
        Ok(page) => {
            // Retry-After and the like are the refusal's own.
            let (mut parts, _) = response.into_parts();
            let (page_parts, body) = page.into_parts();
            parts.headers.remove(CONTENT_LENGTH);
            if let Some(kind) = page_parts.headers.get(CONTENT_TYPE) {
                parts.headers.insert(CONTENT_TYPE, kind.clone());
            }
            Response::from_parts(parts, body)
        }
        Err(_) => response,
    }
}

fn page(app: &App, problem: &Problem) -> Result<Response, Problem> {
    let title = match problem.status {
        StatusCode::NOT_FOUND => "Nothing is here",
        StatusCode::GONE => "It is gone",
        StatusCode::TOO_MANY_REQUESTS => "Too fast",
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => "Not for you",
        StatusCode::INTERNAL_SERVER_ERROR => "The site failed",
        StatusCode::SERVICE_UNAVAILABLE => "Not at the moment",
        _ => "That did not work",
    };
    let page = FaultPage {
        status: problem.status.as_u16(),
        title,
        detail: sentence(&problem.detail),
        hint: sentence(&problem.hint),
        wait: problem.retry_after.map(|wait| wait.as_secs().max(1)),
        request: "x-request-id",
    };
    // Whoever it is: the page of a refusal asks the store for nothing.
    let frame = Frame::new(app, &Visitor::default(), Here::Elsewhere, &About::default())?;
    frame.page(problem.status, title, &page)
}

fn takes_pages(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("text/html"))
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) || text.is_empty() { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}
