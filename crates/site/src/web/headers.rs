//! Headers that bind browsers.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY,
    STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};

use crate::app::App;

/// Nothing from elsewhere, nothing inline. A page that needs otherwise sets its own.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Says of an answer that other sites may put it in a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Framed;

/// Says of an answer that other sites may show it as a picture.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shared;

/// Adds them where the answer does not have them.
pub(crate) async fn secure(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    // What tells programs of the data, pages of other sites may read too; a token never comes by itself as a cookie does.
    let is_open = path.starts_with("/api/v1") || ["/openapi.json", "/feed.atom", "/oembed"].contains(&path);
    let mut response = next.run(request).await;
    let is_framed = response.extensions().get::<Framed>().is_some();
    let is_shared = is_framed || response.extensions().get::<Shared>().is_some();
    let headers = response.headers_mut();
    let mut add = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    add(CONTENT_SECURITY_POLICY, POLICY);
    add(X_CONTENT_TYPE_OPTIONS, "nosniff");
    if !is_framed {
        add(X_FRAME_OPTIONS, "DENY");
    }
    if is_open {
        add(ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    }
    // Not `no-referrer`: browsers would then hide the origin of our own forms from us.
    add(REFERRER_POLICY, "same-origin");
    add(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    let reach = if is_shared { "cross-origin" } else { "same-origin" };
    add(HeaderName::from_static("cross-origin-resource-policy"), reach);
    add(HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()");
    if app.config.is_secure() {
        add(STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    response
}
