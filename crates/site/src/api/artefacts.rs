//! Files by hash: traces, and the series of the machine.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get as getting, post, put as putting};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use http::{HeaderMap, Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::operation::{Content, Operation, Parameter};
use crate::account::Caller;
use crate::app::App;
use crate::artefacts::Hash;
use crate::clock;
use crate::domain::Deed;
use crate::problem::Problem;
use crate::web::body;
use crate::web::cached::{cached, is_known};
use crate::web::limits::Doing;
use crate::web::path::InPath;

/// Hashes that one question may name.
const MOST: usize = 4000;

/// Kind of the files.
pub(super) const KIND: &str = "application/vnd.apache.parquet";

/// Files that a run names.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Their SHA-256.
    #[schemars(length(max = 4000), inner(regex(pattern = "^[0-9a-f]{64}$")))]
    sha256: Vec<String>,
}

/// Those of them that have to be sent.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Missing {
    /// Their SHA-256.
    missing: Vec<String>,
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new(Method::POST, "/artefacts:missing", post(missing), "Which files have to be sent")
            .needs(Deed::Publish)
            .takes::<Wanted>("Hashes, at most 4000.", json!({"sha256": [EXAMPLE]}))
            .gives::<Missing>(200, "Those that are not here."),
        Operation::new(Method::PUT, "/artefacts/{sha256}", putting(put), "Send a file")
            .text("A trace, or the series of the machine, before the run that names it. Sending it again does no harm.")
            .needs(Deed::Publish)
            .with(Parameter::sha256())
            .takes_content(&[KIND, "application/octet-stream"], Content::Bytes, "The file as it is.")
            .gives_content(201, "It is here.", Vec::new()),
        Operation::new(Method::GET, "/artefacts/{sha256}", getting(get), "A file of a published run")
            .with(Parameter::sha256())
            .gives_content(200, "The file.", vec![(KIND, Content::Bytes)])
            .header("ETag", "Its SHA-256.")
            .gives_content(304, "It is the one that If-None-Match names.", Vec::new())
            .refuses(404, "No run that is shown names such a file.")
            .refuses(500, "The file that is kept is no longer what its name says, so it is not given."),
    ]
}

/// A hash for examples: that of nothing.
const EXAMPLE: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Which of these files have to be sent.
pub(crate) async fn missing(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Missing>, Problem> {
    caller.may(Deed::Publish)?;
    let limits = &app.config.limits;
    body::is_json(&headers)?;
    let bytes = body::unpack(&headers, body, limits.document_bytes, MOST * 70, limits).await?;
    let wanted: Wanted = body::json(&bytes)?;
    if wanted.sha256.len() > MOST || wanted.sha256.iter().any(|text| Hash::parse(text).is_none()) {
        return Err(Problem::bad("bad_hash", "not a list of SHA-256 in hex", "send {\"sha256\": [\"…\"]}"));
    }
    Ok(Json(Missing { missing: app.store.missing_artefacts(&wanted.sha256).await? }))
}

/// Takes a file. Sending it again does no harm.
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    InPath(sha256): InPath<String>,
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
    body::is_of(&headers, &[KIND, "application/octet-stream"])?;
    let Ok(_room) = app.receiving.acquire().await else { return Err(Problem::unavailable()) };
    let content = body::read(&headers, body, limits.artefact_bytes, limits).await?;
    if content.is_empty() {
        return Err(Problem::bad("no_body", "there is no file in the request", "send its bytes as the body"));
    }
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
pub(crate) async fn get(
    State(app): State<App>,
    InPath(sha256): InPath<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let nothing = || Problem::not_found("file of a published run");
    let name = Hash::parse(&sha256).ok_or_else(nothing)?;
    if !app.store.is_published_artefact(name.as_str()).await? {
        return Err(nothing());
    }
    file(&app, &headers, &name, "public, max-age=31536000, immutable").await?.ok_or_else(nothing)
}

/// A file by its hash, piece by piece, unless the reader has it; none if it is not there.
pub(super) async fn file(
    app: &App,
    headers: &HeaderMap,
    name: &Hash,
    cache: &'static str,
) -> Result<Option<Response>, Problem> {
    let tag = format!("\"{}\"", name.as_str());
    if is_known(headers, &tag, None) {
        return Ok(Some(cached(headers, KIND, cache, name.as_str(), None, Bytes::new)));
    }
    let Some(found) = app.artefacts.open(name).await? else { return Ok(None) };
    let headers = [
        (CONTENT_TYPE, KIND.to_owned()),
        (CONTENT_LENGTH, found.bytes.to_string()),
        (CACHE_CONTROL, cache.to_owned()),
        (ETAG, tag),
    ];
    Ok(Some((headers, found.body).into_response()))
}
