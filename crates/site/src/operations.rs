//! What operators ask: does it live, can it work, what did it count.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use uuid::Uuid;

use crate::app::App;
use crate::problem::Problem;

/// The process answers.
pub(crate) async fn live() -> &'static str {
    "live\n"
}

/// Database and files can be written.
pub(crate) async fn ready(State(app): State<App>) -> Result<&'static str, Problem> {
    app.store.ready().await?;
    app.artefacts.ready().await?;
    Ok("ready\n")
}

/// The short address of a run.
pub(crate) async fn short(Path(id): Path<String>) -> Result<Redirect, Problem> {
    // Only an id leads on: what else stands there must not become a header.
    let id: Uuid = id.parse().map_err(|_| Problem::not_found("run"))?;
    Ok(Redirect::permanent(&format!("/runs/{id}")))
}

/// Where the API begins, with a slash too many.
pub(crate) async fn api() -> Redirect {
    Redirect::permanent("/api/v1")
}

/// Counters for Prometheus. They tell nothing of users, so anybody may read them.
pub(crate) async fn metrics(State(app): State<App>) -> Response {
    let text = app.metrics.text();
    (StatusCode::OK, [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}
