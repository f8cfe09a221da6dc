//! Files by hash: traces, and the series of the machine.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::account::Caller;
use crate::app::App;
use crate::artefacts::Hash;
use crate::clock;
use crate::domain::Deed;
use crate::problem::Problem;
use crate::web::body;
use crate::web::limits::Doing;

/// Hashes that one question may name.
const MOST: usize = 4000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    sha256: Vec<String>,
}

/// Which of these files have to be sent.
pub(crate) async fn missing(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    caller.may(Deed::Publish)?;
    let limits = &app.config.limits;
    let bytes = body::unpack(&headers, body, limits.document_bytes, MOST * 70, limits).await?;
    let wanted: Wanted = body::json(&bytes)?;
    if wanted.sha256.len() > MOST || wanted.sha256.iter().any(|text| Hash::parse(text).is_none()) {
        return Err(Problem::bad("bad_hash", "not a list of SHA-256 in hex", "send {\"sha256\": [\"…\"]}"));
    }
    Ok(Json(json!({ "missing": app.store.missing_artefacts(&wanted.sha256).await? })))
}

/// Takes a file. Sending it again does no harm.
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    Path(sha256): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, Problem> {
    caller.may(Deed::Publish)?;
    let name = Hash::parse(&sha256).ok_or_else(|| {
        Problem::bad(
            "bad_hash",
            "the name of a file is its SHA-256 in hex",
            "send PUT /api/v1/artefacts/SHA256",
        )
    })?;
    let limits = &app.config.limits;
    app.limiter
        .take(Doing::Uploading, caller.whose(), limits.uploads)
        .map_err(|wait| Problem::too_many("uploads", wait))?;
    if app.store.loose_bytes(&caller.user.id).await? > limits.loose_bytes {
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_many_files",
            "too many files wait for a run that names them",
            "publish the runs that they belong to; what no run names is cleared away after a day",
        ));
    }
    let Ok(_room) = app.receiving.acquire().await else { return Err(Problem::unavailable()) };
    let content = body::read(&headers, body, limits.artefact_bytes, limits).await?;
    if Hash::of(&content) != name {
        return Err(Problem::refused(
            "hash_differs",
            "the file is not the one that its name says",
            "it was changed or damaged; `tokometer verify RUN` tells which",
        ));
    }
    let size = content.len() as u64;
    let _held = app.store.hold_files().await?;
    app.artefacts.put(&name, content).await?;
    app.store.add_artefact(name.as_str(), size, &caller.user.id, clock::now()).await?;
    Ok(StatusCode::CREATED)
}

/// A file of a published run.
pub(crate) async fn get(State(app): State<App>, Path(sha256): Path<String>) -> Result<Response, Problem> {
    let nothing = || Problem::not_found("file of a published run");
    let name = Hash::parse(&sha256).ok_or_else(nothing)?;
    if !app.store.is_published_artefact(name.as_str()).await? {
        return Err(nothing());
    }
    let found = app.artefacts.open(&name).await?.ok_or_else(nothing)?;
    let headers = [
        (CONTENT_TYPE, "application/vnd.apache.parquet".to_owned()),
        (CONTENT_LENGTH, found.bytes.to_string()),
        (CACHE_CONTROL, "public, max-age=31536000, immutable".to_owned()),
        (ETAG, format!("\"{}\"", name.as_str())),
    ];
    Ok((headers, found.body).into_response())
}
