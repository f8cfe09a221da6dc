//! One run: its record, its cells, its revisions.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, patch};
use http::header::{ACCEPT, VARY};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokometer_record::Verification;

use super::operation::{Content, Operation, Parameter};
use crate::account::Caller;
use crate::app::App;
use crate::clock;
use crate::domain::{CellRow, Deed, RunRow, Shelf, StoredRun};
use crate::facts;
use crate::problem::Problem;
use crate::trust;
use crate::web::body;
use crate::web::cached::cached;
use crate::web::path::InPath;

/// Of a run, the operation with what it may be refused for.
fn of_run(
    method: Method,
    path: &'static str,
    handler: axum::routing::MethodRouter<App>,
    summary: &'static str,
) -> Operation {
    Operation::new(method, path, handler, summary)
        .with(Parameter::run())
        .refuses(404, "There is no such run, or no such part of it.")
        .refuses(410, "The run was taken down; `reason` says why.")
}

pub(super) fn operations() -> Vec<Operation> {
    let forms = || vec![("application/json", Content::Document("run")), ("text/csv", Content::Text)];
    let record = |operation: Operation| {
        operation
            .gives_content(200, "The record; with Accept text/csv its cells.", forms())
            .header("ETag", "SHA-256 of the record (RFC 8785), and of which form it is.")
            .gives_content(304, "It is the one that If-None-Match names.", Vec::new())
    };
    vec![
        record(of_run(Method::GET, "/runs/{id}", get(run), "The record of a run")),
        of_run(Method::PATCH, "/runs/{id}", patch(revise), "Change title and note")
            .text("Adds a revision. Numbers can't be changed: other numbers are another measurement.")
            .needs(Deed::Revise)
            .takes::<Change>(
                "What is left out stays; null takes it away.",
                json!({"note": "on PCIe 4", "why": "said more"}),
            )
            .gives::<Revised>(200, "The new revision.")
            .refuses(409, "Somebody else revised or withdrew it at the same moment."),
        of_run(Method::GET, "/runs/{id}/cells", get(cells), "The cells of a run with their figures")
            .gives::<Cells>(200, "The cells, by phase, context and concurrency."),
        of_run(Method::GET, "/runs/{id}/verification", get(verification), "What the check at upload found")
            .gives_content(200, "The check.", vec![("application/json", Content::Document("verification"))]),
        of_run(Method::GET, "/runs/{id}/revisions", get(revisions), "The revisions of a run")
            .gives::<Revisions>(200, "Oldest first."),
        record(of_run(
            Method::GET,
            "/runs/{id}/revisions/{revision}",
            get(revision),
            "One revision of a record",
        ))
        .with(Parameter::number("revision", "From 1 on.")),
        of_run(Method::GET, "/runs/{id}/artefacts", get(artefacts), "The files of a run")
            .gives::<Files>(200, "Where each is."),
    ]
}

/// A run that is shown; a tombstone for one that was taken down.
pub(crate) async fn shown(app: &App, id: &str, revision: Option<u32>) -> Result<StoredRun, Problem> {
    let row = shown_row(app, id).await?;
    app.store.run(&row.id, revision).await?.ok_or_else(|| Problem::not_found("revision of this run"))
}

/// The row of a run that is shown.
pub(crate) async fn shown_row(app: &App, id: &str) -> Result<RunRow, Problem> {
    let row = app.store.row(id).await?.ok_or_else(|| Problem::not_found("run"))?;
    if row.shelf == Shelf::Withdrawn {
        let reason = row.withdrawn_reason.clone().unwrap_or_default();
        return Err(Problem::new(
            StatusCode::GONE,
            "withdrawn",
            format!("this run was taken down: {reason}"),
            "the moderation log says by whom and when: /api/v1/moderation",
        )
        .with("reason", reason.into()));
    }
    Ok(row)
}

async fn run(
    State(app): State<App>,
    InPath(id): InPath<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let stored = shown(&app, &id, None).await?;
    Ok(record(&stored, &headers, "public, max-age=60"))
}

async fn revision(
    State(app): State<App>,
    InPath((id, revision)): InPath<(String, u32)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    if revision == 0 || i32::try_from(revision).is_err() {
        return Err(Problem::bad("bad_address", "revisions are counted from 1 on", "/revisions lists them"));
    }
    let stored = shown(&app, &id, Some(revision)).await?;
    // A revision never changes, but its run may be taken down.
    Ok(record(&stored, &headers, "public, max-age=3600"))
}

/// The record as JSON, or its cells as CSV.
fn record(stored: &StoredRun, headers: &HeaderMap, cache: &'static str) -> Response {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let hash = &stored.revision.content_sha256;
    let mut response = if accept.contains("text/csv") {
        let text = || tokometer_report::csv(&stored.run).into();
        cached(headers, "text/csv; charset=utf-8", cache, &format!("{hash}-csv"), None, text)
    } else {
        let text = || serde_json::to_vec(&stored.run).unwrap_or_default().into();
        cached(headers, "application/json", cache, hash, None, text)
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    response
}

/// The cells of a run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Cells {
    /// The run's id.
    run: String,
    /// By phase, context and concurrency.
    cells: Vec<CellRow>,
}

async fn cells(State(app): State<App>, InPath(id): InPath<String>) -> Result<Json<Cells>, Problem> {
    let row = shown_row(&app, &id).await?;
    Ok(Json(Cells { cells: app.store.cells(&row.id).await?, run: row.id }))
}

/// What the check at upload found.
async fn verification(
    State(app): State<App>,
    InPath(id): InPath<String>,
) -> Result<Json<Verification>, Problem> {
    Ok(Json(shown(&app, &id, None).await?.verification))
}

/// The revisions of a run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Revisions {
    /// The run's id.
    run: String,
    /// Oldest first.
    revisions: Vec<Past>,
}

/// A revision of a run.
#[derive(Serialize, JsonSchema)]
struct Past {
    /// From 1 on.
    revision: u32,
    /// When it came.
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    /// Handle of who made it.
    author: String,
    /// What was changed, in the author's words.
    why: Option<String>,
    /// SHA-256 of the document (RFC 8785).
    content_sha256: String,
}

async fn revisions(State(app): State<App>, InPath(id): InPath<String>) -> Result<Json<Revisions>, Problem> {
    let row = shown_row(&app, &id).await?;
    let past = |one: crate::domain::Revision| Past {
        revision: one.revision,
        created_at: clock::text(one.created_at),
        author: one.author,
        why: one.note,
        content_sha256: one.content_sha256,
    };
    let revisions = app.store.revisions(&row.id).await?.into_iter().map(past).collect();
    Ok(Json(Revisions { run: row.id, revisions }))
}

/// The files of a run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Files {
    /// The run's id.
    run: String,
    /// Traces, and the series of the machine.
    artefacts: Vec<FileOf>,
}

/// A file of a run.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "File")]
struct FileOf {
    /// Its name in the record.
    name: String,
    /// SHA-256 of its content.
    sha256: String,
    /// Where it is.
    address: String,
}

/// The files of a run, where they are.
async fn artefacts(State(app): State<App>, InPath(id): InPath<String>) -> Result<Json<Files>, Problem> {
    let row = shown_row(&app, &id).await?;
    let file = |(name, sha256): (String, String)| FileOf {
        name,
        address: format!("/api/v1/artefacts/{sha256}"),
        sha256,
    };
    let artefacts = app.store.artefacts(&row.id).await?.into_iter().map(file).collect();
    Ok(Json(Files { run: row.id, artefacts }))
}

/// Other words for a run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::option_option,
    reason = "a field that is null takes a text away; one that is not there leaves it"
)]
struct Change {
    /// The new title; left out: as it is; null: none.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<String>", length(max = 200), regex(pattern = trust::SAID))]
    title: Option<Option<String>>,
    /// The new note.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "Option<String>", length(max = 4000), regex(pattern = trust::SAID))]
    note: Option<Option<String>>,
    /// Why, for the list of revisions.
    #[schemars(length(max = 4000), regex(pattern = trust::SAID))]
    why: Option<String>,
}

/// A revision that was added.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Revised {
    /// The run's id.
    id: String,
    /// Its number.
    revision: u32,
    /// SHA-256 of the document (RFC 8785).
    content_sha256: String,
}

/// Tells a field that is null from one that is not there.
#[expect(clippy::option_option, reason = "as above")]
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

/// Adds a revision. Only words can be changed: other numbers are another measurement.
async fn revise(
    State(app): State<App>,
    caller: Caller,
    InPath(id): InPath<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Revised>, Problem> {
    caller.may(Deed::Revise)?;
    let limits = &app.config.limits;
    body::is_json(&headers)?;
    let bytes = body::unpack(&headers, body, limits.form_bytes, limits.form_bytes, limits).await?;
    let change: Change = body::json(&bytes)?;
    let stored = shown(&app, &id, None).await?;
    needs_owner(&app, &caller, &id).await?;
    let mut run = stored.run;
    run.title = change.title.unwrap_or(run.title);
    run.note = change.note.unwrap_or(run.note);
    trust::words(&run, change.why.as_deref())?;
    let row = RunRow {
        revision: stored.row.revision + 1,
        revised_at: clock::now(),
        title: run.display_title(),
        content_sha256: facts::content_sha256(&run),
        ..stored.row
    };
    let document = serde_json::to_vec(&run).map_err(|_| Problem::internal())?;
    if !app.store.revise(&caller.user.id, &row, &document, change.why.as_deref()).await? {
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "revised_meanwhile",
            "somebody else revised or withdrew the run at the same moment",
            "read it again, then send the change once more",
        ));
    }
    Ok(Json(Revised { id: row.id, revision: row.revision, content_sha256: row.content_sha256 }))
}

/// Refuses who neither published the run nor moderates.
pub(crate) async fn needs_owner(app: &App, caller: &Caller, id: &str) -> Result<(), Problem> {
    let is_moderator = caller.may(Deed::ModerateRuns).is_ok();
    let owner = app.store.owner(id).await?;
    if is_moderator || owner.as_deref() == Some(caller.user.id.as_str()) {
        return Ok(());
    }
    Err(Problem::forbidden(
        "the run is somebody else's",
        "only who published it, or a moderator, can do this",
    ))
}
