//! Publishing: a dry run, and the real thing.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use tokometer_record::store::sha256;
use tokometer_record::verification::Level;

use super::operation::{Content, Operation, Parameter};
use crate::account::Caller;
use crate::app::App;
use crate::clock;
use crate::domain::{Action, Deed, Evidence, NewRun, Publication, RunRow, Shelf};
use crate::facts;
use crate::problem::Problem;
use crate::trust::{self, Checked};
use crate::web::body;
use crate::web::limits::Doing;

/// Header with a key of the client's own, which a retry brings again.
const KEY_HEADER: &str = "idempotency-key";
/// Longest key, characters.
const KEY_LENGTH: usize = 100;
/// Warnings that an answer names.
const NAMED: usize = 50;

/// What became of an upload.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Published {
    /// What was done.
    outcome: Outcome,
    /// The run's id.
    id: String,
    /// Address of its page.
    url: String,
    /// Where it is listed.
    shelf: Shelf,
    /// What stands behind its numbers.
    evidence: Standing,
    /// SHA-256 of the document (RFC 8785).
    content_sha256: String,
    /// What looks odd in it, at most 50.
    warnings: Vec<Warning>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// It would be taken; nothing was kept.
    Valid,
    /// It is published.
    Created,
    /// It was there already.
    Replayed,
}

#[derive(Serialize, JsonSchema)]
struct Standing {
    /// The level: T0 to T3.
    #[schemars(regex(pattern = "^T[0-3]$"))]
    level: &'static str,
    /// The level in words.
    words: &'static str,
    /// One sentence for each thing that was found.
    reasons: Vec<String>,
}

impl Standing {
    fn of(evidence: &Evidence) -> Standing {
        Standing {
            level: evidence.level.code(),
            words: evidence.level.words(),
            reasons: evidence.reasons.clone(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct Warning {
    /// The cell; null for the whole run.
    cell: Option<String>,
    /// What looks odd.
    text: String,
}

/// What of uploads is the same with both.
fn upload(operation: Operation) -> Operation {
    operation
        .needs(Deed::Publish)
        .takes_content(
            &["application/json"],
            Content::Document("run"),
            "A run.json, plain or with Content-Encoding zstd or gzip. The files that it names must be here.",
        )
        .refuses(409, "Files are missing (`missing_files`), or the run is there in another form.")
        .refuses(500, "A file that it names was damaged where it is kept: send that file again.")
}

pub(super) fn operations() -> Vec<Operation> {
    let key = json!({"type": "string", "minLength": 1, "maxLength": KEY_LENGTH, "pattern": "^[!-~]+$"});
    let example = json!("6f1c1c5e-0b0e-4f3c-9a52-1f8f3a6f7d10");
    vec![
        upload(Operation::new(
            Method::POST,
            "/runs:validate",
            post(validate),
            "Try a run without publishing it",
        ))
        .text("Does all that publishing does, and keeps nothing.")
        .gives::<Published>(200, "It would be taken."),
        upload(Operation::new(Method::POST, "/runs", post(publish), "Publish a run"))
            .text("Every number is computed again from the traces; a record that differs is refused (422).")
            .with(Parameter::header(
                "Idempotency-Key",
                "A key of your own: a retry with the same key and body leads to the same run.",
                key,
                example,
            ))
            .gives::<Published>(200, "It was there already: the same run, or the same key.")
            .gives::<Published>(201, "It is published.")
            .header("Location", "Address of its page."),
    ]
}

/// Does all that publishing does, and keeps nothing.
async fn validate(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Published>, Problem> {
    let bytes = receive(&app, &caller, &headers, body).await?;
    let (row, checked) = check(&app, &caller, bytes).await?;
    Ok(Json(answer(&app, &row, &checked, Outcome::Valid)))
}

/// Publishes a run whose files are there.
async fn publish(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let result = take(&app, &caller, &headers, body).await;
    match &result {
        Ok((_, outcome)) => app.metrics.uploaded(outcome),
        Err(problem) => app.metrics.uploaded(problem.code),
    }
    result.map(|(response, _)| response)
}

async fn take(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    body: Body,
) -> Result<(Response, &'static str), Problem> {
    let key = key(headers)?;
    let bytes = receive(app, caller, headers, body).await?;
    let body_sha256 = sha256(&bytes);
    // A retry is answered without checking all of it again.
    if let Some(key) = &key
        && let Some((run_id, before)) = app.store.idempotent(&caller.user.id, key).await?
    {
        return if before == body_sha256 { replayed(app, &run_id).await } else { Err(key_reused()) };
    }
    let (row, checked) = check(app, caller, bytes).await?;
    let answer = answer(app, &row, &checked, Outcome::Created);
    let id = row.id.clone();
    let new = NewRun {
        user_id: caller.user.id.clone(),
        cells: facts::cells(&checked.run),
        document: serde_json::to_vec(&checked.run).map_err(|_| Problem::internal())?,
        verification: serde_json::to_vec(&checked.verification).map_err(|_| Problem::internal())?,
        artefacts: trust::files(&checked.run),
        prints: checked.prints,
        idempotency: key.map(|key| (key, body_sha256)),
        log: checked.implausible.map(|why| (Action::Implausible, why)).into_iter().collect(),
        row,
    };
    match app.store.publish(new).await? {
        Publication::Created => {
            tracing::info!(run = id, user = caller.user.handle, "published");
            let location = [("location", format!("{}/runs/{id}", app.config.url()))];
            Ok(((StatusCode::CREATED, location, Json(answer)).into_response(), "created"))
        }
        Publication::Replayed { run_id } => replayed(app, &run_id).await,
        Publication::KeyReused => Err(key_reused()),
        Publication::Taken => Err(Problem::new(
            StatusCode::CONFLICT,
            "id_taken",
            "a run with this id is published with another content, or by somebody else",
            "change title and note with PATCH /api/v1/runs/ID; for other numbers measure again",
        )),
        Publication::SameEvents { run_id } => Err(Problem::new(
            StatusCode::CONFLICT,
            "same_events",
            format!("a trace of this run has the same events as one of run {run_id}"),
            "a measurement is published once; to confirm a run, measure again",
        )),
        Publication::Missing { sha256 } => Err(missing(&sha256)),
    }
}

async fn receive(app: &App, caller: &Caller, headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    caller.may(Deed::Publish)?;
    let limits = &app.config.limits;
    app.limiter
        .take(Doing::Uploading, caller.whose(), limits.uploads)
        .map_err(|wait| Problem::too_many("uploads", wait))?;
    body::is_json(headers)?;
    body::unpack(headers, body, limits.run_bytes, limits.document_bytes, limits).await
}

/// The row and all that was found, of an upload that holds.
async fn check(app: &App, caller: &Caller, bytes: Bytes) -> Result<(RunRow, Checked), Problem> {
    let (run, _) = trust::document(&bytes)?;
    let names: Vec<String> = trust::files(&run).into_iter().map(|(_, sha256)| sha256).collect();
    let absent = app.store.missing_artefacts(&names).await?;
    if !absent.is_empty() {
        return Err(missing(&absent));
    }
    let checked = trust::check(app, bytes).await?;
    let row = facts::row(&checked.run, &caller.user.handle, checked.evidence.clone(), clock::now());
    Ok((row, checked))
}

fn answer(app: &App, row: &RunRow, checked: &Checked, outcome: Outcome) -> Published {
    let findings = &checked.verification;
    let warnings = findings
        .of_level(Level::Warning)
        .take(NAMED)
        .map(|finding| Warning { cell: finding.cell.clone(), text: finding.text.clone() })
        .collect();
    Published { warnings, ..of_row(app, row, outcome) }
}

fn of_row(app: &App, row: &RunRow, outcome: Outcome) -> Published {
    Published {
        outcome,
        id: row.id.clone(),
        url: format!("{}/runs/{}", app.config.url(), row.id),
        shelf: row.shelf,
        evidence: Standing::of(&row.evidence),
        content_sha256: row.content_sha256.clone(),
        warnings: Vec::new(),
    }
}

async fn replayed(app: &App, run_id: &str) -> Result<(Response, &'static str), Problem> {
    let row = app.store.row(run_id).await?.ok_or_else(Problem::internal)?;
    let answer = of_row(app, &row, Outcome::Replayed);
    Ok(((StatusCode::OK, Json(answer)).into_response(), "replayed"))
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(KEY_HEADER) else { return Ok(None) };
    let plain = |text: &&str| {
        !text.is_empty() && text.len() <= KEY_LENGTH && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    value.to_str().ok().filter(plain).map(|text| Some(text.to_owned())).ok_or_else(|| {
        Problem::bad("bad_key", "the Idempotency-Key is empty, too long, or no plain text", "send a UUID")
    })
}

fn key_reused() -> Problem {
    Problem::new(
        StatusCode::CONFLICT,
        "key_reused",
        "this Idempotency-Key came before with another body",
        "take a new key for a new upload",
    )
}

fn missing(sha256: &[String]) -> Problem {
    Problem::new(
        StatusCode::CONFLICT,
        "missing_files",
        format!("{} files that the record names are not here", sha256.len()),
        "send each with PUT /api/v1/artefacts/SHA256, then this request again",
    )
    .with("missing", json!(sha256))
}
