//! Files of a run for readers: its record, its cells, its card.

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG};
use tokometer_record::Run;
use tokometer_report::{Picture, ReportError};

use crate::api::runs::shown;
use crate::app::App;
use crate::problem::Problem;
use crate::web::headers::Shared;

/// Their addresses.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/runs/{id}/run.json", get(json))
        .route("/runs/{id}/cells.csv", get(csv))
        .route("/runs/{id}/run.md", get(markdown))
        .route("/runs/{id}/report.html", get(page))
        .route("/runs/{id}/card.svg", get(svg))
        .route("/runs/{id}/card.png", get(png))
}

async fn json(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    file(&app, &id, "application/json", "json", |run| Ok(tokometer_report::json(run)?.into_bytes())).await
}

async fn csv(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    file(&app, &id, "text/csv; charset=utf-8", "csv", |run| Ok(tokometer_report::csv(run).into_bytes())).await
}

async fn markdown(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    let make = |run: &Run| Ok(tokometer_report::markdown(run).into_bytes());
    file(&app, &id, "text/markdown; charset=utf-8", "md", make).await
}

/// The page that needs no site. It brings its own style and script, which this site's policy would not let run: it is
/// for saving.
async fn page(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    let make = |run: &Run| Ok(tokometer_report::html(run)?.into_bytes());
    file(&app, &id, "text/html; charset=utf-8", "html", make).await
}

async fn svg(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    let make = |run: &Run| Ok(tokometer_report::svg(run, Picture::Card)?.into_bytes());
    file(&app, &id, "image/svg+xml", "", make).await
}

async fn png(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    file(&app, &id, "image/png", "", |run| tokometer_report::png(run, Picture::Card)).await
}

/// Makes a file of a run; with an extension it is for saving, without for showing.
async fn file(
    app: &App,
    id: &str,
    kind: &'static str,
    extension: &'static str,
    make: fn(&Run) -> Result<Vec<u8>, ReportError>,
) -> Result<Response, Problem> {
    let stored = shown(app, id, None).await?;
    let tag = format!("\"{}\"", stored.revision.content_sha256);
    let name = stored.row.id;
    let Ok(_room) = app.kept.room().acquire().await else { return Err(Problem::unavailable()) };
    let work = tokio::task::spawn_blocking(move || make(&stored.run));
    let content = work.await.map_err(|_| Problem::internal())??;
    let mut response = content.into_response();
    let headers = response.headers_mut();
    let mut set = |name, value: String| {
        if let Ok(value) = value.parse() {
            headers.insert(name, value);
        }
    };
    set(CONTENT_TYPE, kind.to_owned());
    set(CACHE_CONTROL, "public, max-age=300".to_owned());
    set(ETAG, tag);
    if extension.is_empty() {
        response.extensions_mut().insert(Shared);
        return Ok(response);
    }
    // The id is a UUID, so no name of a user's stands in the header.
    set(CONTENT_DISPOSITION, format!("attachment; filename=\"{name}.{extension}\""));
    Ok(response)
}
