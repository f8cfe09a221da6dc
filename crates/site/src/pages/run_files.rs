//! A run as files: its record, its cells, its page in one file, its card.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use tokometer_report::Picture;

use crate::api::shown;
use crate::app::App;
use crate::problem::Problem;

pub(super) async fn record(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    let stored = shown(&app, &id, None).await?;
    let text = tokometer_report::json(&stored.run)?;
    Ok(file(&format!("{}.json", stored.row.id), "application/json", text))
}

pub(super) async fn cells(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    let stored = shown(&app, &id, None).await?;
    let text = tokometer_report::csv(&stored.run);
    Ok(file(&format!("{}.csv", stored.row.id), "text/csv; charset=utf-8", text))
}

/// The page that needs no site. It brings its own style and script, which this site's policy would not let run: it is
/// to be kept, not to be opened here.
pub(super) async fn page(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    let stored = shown(&app, &id, None).await?;
    let text = tokometer_report::html(&stored.run)?;
    Ok(file(&format!("{}.html", stored.row.id), "text/html; charset=utf-8", text))
}

/// To be kept under a name; an id has no letters that a header could take amiss.
fn file(name: &str, kind: &'static str, text: String) -> Response {
    let headers = [
        (CONTENT_TYPE, kind.to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
        (CACHE_CONTROL, "no-cache".to_owned()),
    ];
    (headers, text).into_response()
}

pub(super) async fn card_svg(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let stored = shown(&app, &id, None).await?;
    let tag = stored.revision.content_sha256.clone();
    let Some(tag) = fresh(&headers, tag) else { return Ok(StatusCode::NOT_MODIFIED.into_response()) };
    let svg = tokometer_report::svg(&stored.run, Picture::Card)?;
    // Its style is inside; as an image it runs nothing anyway.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";
    let mut response = picture("image/svg+xml", &tag, svg.into());
    response.headers_mut().insert("content-security-policy", http::HeaderValue::from_static(policy));
    Ok(response)
}

pub(super) async fn card_png(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let stored = shown(&app, &id, None).await?;
    let tag = stored.revision.content_sha256.clone();
    let Some(tag) = fresh(&headers, tag) else { return Ok(StatusCode::NOT_MODIFIED.into_response()) };
    let run = stored.run;
    let png =
        app.kept.card(&tag, move || Ok(Bytes::from(tokometer_report::png(&run, Picture::Card)?))).await?;
    Ok(picture("image/png", &tag, png))
}

/// The tag, unless the reader has this picture already.
fn fresh(headers: &HeaderMap, tag: String) -> Option<String> {
    let has =
        headers.get(IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == format!("\"{tag}\"").as_bytes());
    (!has).then_some(tag)
}

fn picture(kind: &'static str, tag: &str, content: Bytes) -> Response {
    let headers = [
        (CONTENT_TYPE, kind.to_owned()),
        (CACHE_CONTROL, "public, max-age=300".to_owned()),
        (ETAG, format!("\"{tag}\"")),
        // Cards are there to be shown elsewhere.
        (http::HeaderName::from_static("cross-origin-resource-policy"), "cross-origin".to_owned()),
    ];
    (headers, content).into_response()
}
