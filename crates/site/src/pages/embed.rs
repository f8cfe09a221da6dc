//! A run in somebody else's page: a small page for a frame, and what it takes to put it there (oEmbed 1.0).

use askama::Template;
use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;
use tokometer_record::{Phase, Run, Status, context_label};
use tokometer_report::number;
use tokometer_report::svg::escape;

use super::assets::ASSETS;
use super::frame::render;
use super::rows::{self, Row};
use super::{links, words};
use crate::api::runs::shown;
use crate::app::App;
use crate::domain::RunRow;
use crate::problem::Problem;
use crate::web::headers::Framed;
use crate::web::path::InPath;

/// Size of a frame, CSS pixels.
pub(super) const WIDTH: u32 = 640;
pub(super) const HEIGHT: u32 = 400;
/// Anybody may frame it; it has no script and no form.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; \
    form-action 'none'; frame-ancestors *";

/// A context, and the total rate at each number of requests at once.
type Line = (String, Vec<Option<String>>);

#[derive(Template)]
#[template(path = "embed.html")]
struct Embed {
    style: String,
    url: String,
    row: Row,
    title: String,
    figures: Vec<(&'static str, String, &'static str)>,
    concurrency: Vec<u32>,
    /// Context, and the total rate at each concurrency; none: no valid cell.
    lines: Vec<Line>,
}

/// `/embed/r/{id}`.
pub(super) async fn embed(State(app): State<App>, InPath(id): InPath<String>) -> Result<Response, Problem> {
    let stored = shown(&app, &id, None).await?;
    let (concurrency, lines) = matrix(&stored.run);
    let page = Embed {
        style: ASSETS.style.clone(),
        url: app.config.url(),
        row: Row::of(&stored.row, &rows::FIGURES, false),
        figures: figures(&stored.row),
        title: stored.row.title,
        concurrency,
        lines,
    };
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CACHE_CONTROL, "public, max-age=300")];
    let mut response = (headers, render(&page)?).into_response();
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response.extensions_mut().insert(Framed);
    Ok(response)
}

fn figures(row: &RunRow) -> Vec<(&'static str, String, &'static str)> {
    let figure = |goal| {
        let (name, unit) = words::column(goal);
        row.figure(goal).map(|value| (name, words::value(goal, value), unit))
    };
    rows::FIGURES.into_iter().filter_map(figure).collect()
}

/// Total rates of valid decode cells, contexts down, requests at once across.
fn matrix(run: &Run) -> (Vec<u32>, Vec<Line>) {
    let cells: Vec<_> = run.cells.iter().filter(|cell| cell.phase == Phase::Decode).collect();
    let mut contexts: Vec<u64> = cells.iter().map(|cell| cell.context_nominal).collect();
    let mut concurrency: Vec<u32> = cells.iter().map(|cell| cell.concurrency).collect();
    contexts.sort_unstable();
    contexts.dedup();
    concurrency.sort_unstable();
    concurrency.dedup();
    let rate = |context: u64, concurrency: u32| {
        let cell = cells.iter().find(|cell| {
            cell.context_nominal == context && cell.concurrency == concurrency && cell.status == Status::Valid
        });
        Some(number::rate(cell?.throughput.as_ref()?.total))
    };
    let lines = contexts
        .into_iter()
        .map(|context| (context_label(context), concurrency.iter().map(|one| rate(context, *one)).collect()))
        .collect();
    (concurrency, lines)
}

/// The frame as HTML, for pages of others.
pub(super) fn snippet(url: &str, row: &RunRow, width: u32, height: u32) -> String {
    let title = escape(&row.title);
    format!(
        "<iframe src=\"{url}/embed/r/{}\" width=\"{width}\" height=\"{height}\" title=\"{title}\" loading=\"lazy\" \
         sandbox=\"allow-popups allow-popups-to-escape-sandbox\"></iframe>",
        links::segment(&row.id)
    )
}

/// What oEmbed answers.
#[derive(Serialize)]
struct Answer {
    version: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    provider_name: &'static str,
    provider_url: String,
    title: String,
    author_name: String,
    author_url: String,
    cache_age: u32,
    html: String,
    width: u32,
    height: u32,
    thumbnail_url: String,
    thumbnail_width: u32,
    thumbnail_height: u32,
}

/// `/oembed?url=…&maxwidth=…&maxheight=…&format=json`.
pub(super) async fn oembed(State(app): State<App>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let query = query.unwrap_or_default();
    let value = |name: &str| {
        form_urlencoded::parse(query.as_bytes())
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
    };
    if value("format").is_some_and(|format| format != "json") {
        return Err(Problem::new(
            StatusCode::NOT_IMPLEMENTED,
            "no_such_format",
            "the answer is given as JSON alone",
            "leave format out, or say format=json",
        ));
    }
    let bound = |name: &str, size: u32| match value(name) {
        None => Ok(size),
        Some(text) => text
            .parse::<u32>()
            .map(|most| size.min(most))
            .map_err(|_| Problem::bad("bad_query", format!("{name} is a whole number"), "leave it out")),
    };
    let (width, height) = (bound("maxwidth", WIDTH)?, bound("maxheight", HEIGHT)?);
    let address = value("url").unwrap_or_default();
    let url = app.config.url();
    let id = run_of(&url, &address).ok_or_else(|| Problem::not_found("run that `url` is the page of"))?;
    let row = shown(&app, &id, None).await?.row;
    let answer = Answer {
        version: "1.0",
        kind: "rich",
        provider_name: "tokometer",
        author_url: format!("{url}/?submitter={}&goal=newest", row.submitter),
        html: snippet(&url, &row, width, height),
        thumbnail_url: format!("{url}{}/card.png", links::run(&row.id)),
        thumbnail_width: 1200,
        thumbnail_height: 630,
        cache_age: 3600,
        title: row.title,
        author_name: row.submitter,
        provider_url: url,
        width,
        height,
    };
    Ok(([(CACHE_CONTROL, "public, max-age=300")], Json(answer)).into_response())
}

/// The run that an address of this site is the page of.
fn run_of(url: &str, address: &str) -> Option<String> {
    let path = address.strip_prefix(url)?.split(['?', '#']).next()?;
    let rest = ["/runs/", "/r/", "/embed/r/"].iter().find_map(|start| path.strip_prefix(start))?;
    let id: uuid::Uuid = rest.split('/').next()?.parse().ok()?;
    Some(id.to_string())
}
