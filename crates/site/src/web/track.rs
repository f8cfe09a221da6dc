//! One line of the log for each request, and its count.

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;
use tokio::time::Instant;
use uuid::Uuid;

use super::client;
use crate::app::App;

/// Who a request turned out to be from; handlers that look at a token leave it in the answer.
#[derive(Debug, Clone)]
pub(crate) struct Known(pub(crate) String);

/// Logs and counts. The log has no query, header or body: secrets may be in them.
pub(crate) async fn track(State(app): State<App>, request: Request, next: Next) -> Response {
    let id = Uuid::now_v7().to_string();
    let method = request.method().as_str().to_owned();
    let path = request.uri().path().to_owned();
    let address = client::address(&app.config, request.extensions(), request.headers());
    let matched = request.extensions().get::<MatchedPath>();
    let route = matched.map_or_else(|| "none".to_owned(), |matched| matched.as_str().to_owned());
    let begin = Instant::now();
    let mut response = next.run(request).await;
    let time = begin.elapsed();
    let status = response.status().as_u16();
    let known_method = if matches!(method.as_str(), "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE") {
        method.as_str()
    } else {
        "other"
    };
    app.metrics.answered(known_method, &route, status, time);
    let user = response.extensions().get::<Known>().map(|known| known.0.clone());
    let milliseconds = time.as_secs_f64() * 1e3;
    // A path with an invitation's code is as good as the code.
    let path = if route.contains("{code}") { route.as_str() } else { path.as_str() };
    tracing::info!(id, method, path, status, milliseconds, %address, user, "request");
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("x-request-id", value);
    }
    response
}
