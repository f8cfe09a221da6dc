//! One run: its record, its cells, its revisions.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::account::Caller;
use crate::app::App;
use crate::clock;
use crate::domain::{Deed, RunRow, Shelf, StoredRun};
use crate::facts;
use crate::problem::Problem;
use crate::trust;
use crate::web::body;

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

pub(crate) async fn run(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let stored = shown(&app, &id, None).await?;
    Ok(record(&stored, &headers, "public, max-age=60"))
}

pub(crate) async fn revision(
    State(app): State<App>,
    Path((id, revision)): Path<(String, u32)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let stored = shown(&app, &id, Some(revision)).await?;
    // A revision never changes, but its run may be taken down.
    Ok(record(&stored, &headers, "public, max-age=3600"))
}

/// The record as JSON, or its cells as CSV.
fn record(stored: &StoredRun, headers: &HeaderMap, cache: &'static str) -> Response {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let tag = format!("\"{}\"", stored.revision.content_sha256);
    if headers.get(IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == tag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response();
    }
    let (kind, text) = if accept.contains("text/csv") {
        ("text/csv; charset=utf-8", tokometer_report::csv(&stored.run))
    } else {
        ("application/json", serde_json::to_string(&stored.run).unwrap_or_default())
    };
    let headers = [
        (CONTENT_TYPE, kind.to_owned()),
        (CACHE_CONTROL, cache.to_owned()),
        (ETAG, tag),
        (http::header::VARY, "Accept".to_owned()),
    ];
    (headers, text).into_response()
}

pub(crate) async fn cells(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    let row = shown_row(&app, &id).await?;
    Ok(Json(json!({ "run": row.id, "cells": app.store.cells(&row.id).await? })))
}

/// What the check at upload found.
pub(crate) async fn verification(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let stored = shown(&app, &id, None).await?;
    Ok(Json(serde_json::to_value(stored.verification).unwrap_or_default()))
}

pub(crate) async fn revisions(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let row = shown_row(&app, &id).await?;
    let list: Vec<Value> = app
        .store
        .revisions(&row.id)
        .await?
        .into_iter()
        .map(|one| {
            json!({
                "revision": one.revision,
                "created_at": clock::text(one.created_at),
                "author": one.author,
                "why": one.note,
                "content_sha256": one.content_sha256,
            })
        })
        .collect();
    Ok(Json(json!({ "run": row.id, "revisions": list })))
}

/// The files of a run, where they are.
pub(crate) async fn artefacts(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let row = shown_row(&app, &id).await?;
    let list: Vec<Value> = app
        .store
        .artefacts(&row.id)
        .await?
        .into_iter()
        .map(|(name, sha256)| json!({"name": name, "sha256": sha256, "address": format!("/api/v1/artefacts/{sha256}")}))
        .collect();
    Ok(Json(json!({ "run": row.id, "artefacts": list })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(
    clippy::option_option,
    reason = "a field that is null takes a text away; one that is not there leaves it"
)]
pub(crate) struct Change {
    /// The new title; left out: as it is; null: none.
    #[serde(default, deserialize_with = "given")]
    title: Option<Option<String>>,
    /// The new note.
    #[serde(default, deserialize_with = "given")]
    note: Option<Option<String>>,
    /// Why, for the list of revisions.
    why: Option<String>,
}

/// Tells a field that is null from one that is not there.
#[expect(clippy::option_option, reason = "as above")]
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

/// Adds a revision. Only words can be changed: other numbers are another measurement.
pub(crate) async fn revise(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    caller.may(Deed::Revise)?;
    let limits = &app.config.limits;
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
    Ok(Json(json!({ "id": row.id, "revision": row.revision, "content_sha256": row.content_sha256 })))
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
