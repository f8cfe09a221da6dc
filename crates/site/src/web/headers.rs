//! Headers that bind browsers.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;
use http::header::{
    CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};

use crate::app::App;

/// Nothing from elsewhere, nothing inline. A page that needs otherwise sets its own.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Adds them where the answer does not have them.
pub(crate) async fn secure(State(app): State<App>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let mut add = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    add(CONTENT_SECURITY_POLICY, POLICY);
    add(X_CONTENT_TYPE_OPTIONS, "nosniff");
    add(X_FRAME_OPTIONS, "DENY");
    // Not `no-referrer`: browsers would then hide the origin of our own forms from us.
    add(REFERRER_POLICY, "same-origin");
    add(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    add(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    add(HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()");
    if app.config.is_secure() {
        add(STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    response
}
