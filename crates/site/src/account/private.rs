//! A site that asks everybody to sign in.

use axum::extract::{FromRequestParts, OptionalFromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use http::header::{ACCEPT, CACHE_CONTROL};
use http::{HeaderValue, Method};

use super::{Caller, Visitor};
use crate::app::App;
use crate::domain::Deed;

/// What is open all the same: to sign in, and what machines ask that run the site.
const OPEN: [&str; 11] = [
    "/sign-in",
    "/sign-out",
    "/signed-out",
    "/invitation/",
    "/device",
    "/assets/",
    "/robots.txt",
    "/health/",
    "/metrics",
    "/api/v1/device/",
    "/.well-known/",
];

/// Refuses who is not known, where the site asks for that.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let open = OPEN.iter().any(|start| path.starts_with(start)) || path == "/api/v1/invitations";
    if !app.config.require_sign_in || open {
        return next.run(request).await;
    }
    let is_api = path.starts_with("/api/");
    let place = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let (mut parts, body) = request.into_parts();
    let allowed = match <Caller as OptionalFromRequestParts<App>>::from_request_parts(&mut parts, &app).await
    {
        Ok(Some(caller)) => caller.may(Deed::Read),
        Ok(None) => match Visitor::from_request_parts(&mut parts, &app).await {
            Ok(visitor) => visitor.may(Deed::Read).map(|_| ()),
            Err(problem) => Err(problem),
        },
        Err(problem) => Err(problem),
    };
    match allowed {
        Ok(()) => {
            let mut response = next.run(Request::from_parts(parts, body)).await;
            // What is for some alone is kept by no one between.
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
            response
        }
        Err(problem) if problem.code == "not_signed_in" && !is_api && reads_pages(&parts) => {
            let next: String = form_urlencoded::byte_serialize(place.as_bytes()).collect();
            Redirect::to(&format!("/sign-in?next={next}")).into_response()
        }
        Err(problem) => problem.into_response(),
    }
}

fn reads_pages(parts: &http::request::Parts) -> bool {
    let accepts = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    parts.method == Method::GET && accepts.contains("text/html")
}
