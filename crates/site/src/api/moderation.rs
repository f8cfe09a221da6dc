//! Problems with runs, and what is done about them.

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::operation::{Operation, Parameter};
use super::runs::{needs_owner, shown_row};
use crate::account::Caller;
use crate::app::App;
use crate::clock;
use crate::domain::{self, Action, Deed, ModerationEntry, NewProblem, ProblemKind, Shelf};
use crate::problem::Problem;
use crate::trust;
use crate::web::limits::{Doing, Whose};
use crate::web::path::InPath;
use crate::web::{body, client};

/// Longest reason and report, characters.
const TEXT: usize = 4000;
/// Lines of the log in one answer.
const LINES: u32 = 500;

/// Why something is done.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reason {
    /// It is public.
    #[schemars(length(min = 1, max = 4000), regex(pattern = trust::SAID_SOMETHING))]
    reason: String,
}

pub(super) fn operations() -> Vec<Operation> {
    let because = || json!({"reason": "the GPU was shared with another job"});
    let gone = "There is no such run.";
    vec![
        Operation::new(Method::DELETE, "/runs/{id}", delete(withdraw), "Take a run down")
            .text("Whoever published it, or a moderator. A tombstone with the reason stays at its address.")
            .needs(Deed::Withdraw)
            .with(Parameter::run())
            .takes::<Reason>("Why; it is public.", because())
            .gives::<Withdrawn>(200, "It is down.")
            .refuses(404, gone)
            .refuses(409, "Somebody took it down at the same moment.")
            .refuses(410, "It was taken down before."),
        Operation::new(Method::POST, "/runs/{id}/restore", post(restore), "Show a run again")
            .needs(Deed::ModerateRuns)
            .with(Parameter::run())
            .takes::<Reason>("Why; it is public.", because())
            .gives::<Restored>(200, "It is shown.")
            .refuses(404, gone)
            .refuses(409, "It is shown already."),
        Operation::new(Method::POST, "/runs/{id}/reports", post(report), "Report a problem with a run")
            .text("Anybody may, five at once. Moderators read it; it is not shown.")
            .may_tell()
            .with(Parameter::run())
            .takes::<Report>(
                "What is wrong, and how you know.",
                json!({"kind": "wrong_number", "text": "more than the memory can deliver", "cell": "decode-8192-4"}),
            )
            .gives::<Numbered>(201, "It is kept.")
            .refuses(404, "There is no such run, or no such cell of it.")
            .refuses(410, "The run was taken down."),
        Operation::new(Method::GET, "/moderation", get(log), "What was done about runs, and why")
            .gives::<Log>(200, "Newest first, at most 500 lines."),
        Operation::new(Method::GET, "/reports", get(reports), "Reports that wait for a moderator")
            .needs(Deed::CloseReports)
            .gives::<Reports>(200, "Newest first, at most 500."),
        Operation::new(Method::POST, "/reports/{number}/close", post(close), "Close a report")
            .needs(Deed::CloseReports)
            .with(Parameter::number("number", "Number of the report."))
            .takes::<Reason>("What came of it; it is public.", because())
            .gives::<Closed>(200, "It is closed.")
            .refuses(409, "There is no open report of this number."),
    ]
}

/// The public log.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Log {
    /// Newest first.
    log: Vec<ModerationEntry>,
}

/// A run that was taken down.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Withdrawn {
    /// The run's id.
    id: String,
    /// Where it is now.
    shelf: Shelf,
    /// Why.
    reason: String,
}

/// A run that is shown again.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Restored {
    /// The run's id.
    id: String,
    /// Where it is now.
    shelf: Shelf,
}

/// A report that was kept.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Numbered {
    /// Its number.
    number: i64,
}

/// Reports that wait.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Reports {
    /// Newest first.
    reports: Vec<domain::Problem>,
}

/// A report that was closed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Closed {
    /// Its number.
    number: i64,
    /// What came of it.
    resolution: String,
}

/// The public log.
async fn log(State(app): State<App>) -> Result<Json<Log>, Problem> {
    Ok(Json(Log { log: app.store.moderation_log(None, LINES).await? }))
}

/// Takes a run down: who published it, or a moderator.
async fn withdraw(
    State(app): State<App>,
    caller: Caller,
    InPath(id): InPath<String>,
    request: Request,
) -> Result<Json<Withdrawn>, Problem> {
    caller.may(Deed::Withdraw)?;
    let reason = reason(&app, request).await?;
    shown_row(&app, &id).await?;
    needs_owner(&app, &caller, &id).await?;
    let entry = entry(&caller, Action::Withdrawn, &id, &reason);
    if !app.store.withdraw(&id, &entry).await? {
        return Err(already("the run is withdrawn already"));
    }
    Ok(Json(Withdrawn { id, shelf: Shelf::Withdrawn, reason }))
}

/// Shows a run again: a moderator.
async fn restore(
    State(app): State<App>,
    caller: Caller,
    InPath(id): InPath<String>,
    request: Request,
) -> Result<Json<Restored>, Problem> {
    caller.may(Deed::ModerateRuns)?;
    let reason = reason(&app, request).await?;
    if app.store.row(&id).await?.is_none() {
        return Err(Problem::not_found("run"));
    }
    let entry = entry(&caller, Action::Restored, &id, &reason);
    if !app.store.restore(&id, &entry).await? {
        return Err(already("the run is not withdrawn"));
    }
    let row = app.store.row(&id).await?.ok_or_else(Problem::internal)?;
    Ok(Json(Restored { id, shelf: row.shelf }))
}

/// A problem with a run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Report {
    /// What it is about.
    kind: ProblemKind,
    /// What is wrong, and how you know.
    #[schemars(length(min = 1, max = 4000), regex(pattern = trust::SAID_SOMETHING))]
    text: String,
    /// Name of the cell, if it is about one.
    cell: Option<String>,
}

/// Takes a report of a problem, with a token or without.
async fn report(
    State(app): State<App>,
    InPath(id): InPath<String>,
    caller: Option<Caller>,
    request: Request,
) -> Result<(StatusCode, Json<Numbered>), Problem> {
    let (parts, body) = request.into_parts();
    let address = client::address(&app.config, &parts.extensions, &parts.headers);
    let bytes = small(&app, &parts.headers, body).await?;
    let report: Report = body::json(&bytes)?;
    let problem = NewProblem {
        run_id: id,
        cell: report.cell,
        reporter: caller.map(|caller| caller.user.handle),
        kind: report.kind,
        text: report.text,
    };
    let number = take_report(&app, Whose::Address(address), problem).await?;
    Ok((StatusCode::CREATED, Json(Numbered { number })))
}

/// Keeps a report, from the API or from a page.
pub(crate) async fn take_report(app: &App, whose: Whose, problem: NewProblem) -> Result<i64, Problem> {
    app.limiter
        .take(Doing::Reporting, whose, app.config.limits.reports)
        .map_err(|wait| Problem::too_many("reports", wait))?;
    trust::text_of("text", &problem.text, TEXT)?;
    if problem.text.trim().is_empty() {
        return Err(Problem::refused(
            "no_text",
            "the report says nothing",
            "say what is wrong, and how you know",
        ));
    }
    shown_row(app, &problem.run_id).await?;
    if let Some(cell) = &problem.cell {
        let cells = app.store.cells(&problem.run_id).await?;
        if !cells.iter().any(|known| known.name == *cell) {
            return Err(Problem::not_found("cell of this name"));
        }
    }
    Ok(app.store.add_problem(&problem, clock::now()).await?)
}

/// Open reports: for moderators.
async fn reports(State(app): State<App>, caller: Caller) -> Result<Json<Reports>, Problem> {
    caller.may(Deed::CloseReports)?;
    Ok(Json(Reports { reports: app.store.problems(None, true, LINES).await? }))
}

/// Closes a report: a moderator.
async fn close(
    State(app): State<App>,
    caller: Caller,
    InPath(number): InPath<i64>,
    request: Request,
) -> Result<Json<Closed>, Problem> {
    caller.may(Deed::CloseReports)?;
    let reason = reason(&app, request).await?;
    let entry = ModerationEntry { run_id: None, ..entry(&caller, Action::ProblemClosed, "", &reason) };
    if !app.store.close_problem(number, &reason, &entry).await? {
        return Err(already("there is no open report of this number"));
    }
    Ok(Json(Closed { number, resolution: reason }))
}

pub(super) async fn reason(app: &App, request: Request) -> Result<String, Problem> {
    let (parts, body) = request.into_parts();
    let Reason { reason } = body::json(&small(app, &parts.headers, body).await?)?;
    trust::text_of("reason", &reason, TEXT)?;
    if reason.trim().is_empty() {
        return Err(Problem::refused("no_reason", "the reason is empty", "say why; it is public"));
    }
    Ok(reason)
}

async fn small(app: &App, headers: &http::HeaderMap, body: Body) -> Result<bytes::Bytes, Problem> {
    body::is_json(headers)?;
    let limits = &app.config.limits;
    body::unpack(headers, body, limits.form_bytes, limits.form_bytes, limits).await
}

fn entry(caller: &Caller, action: Action, run_id: &str, reason: &str) -> ModerationEntry {
    ModerationEntry {
        at: clock::now(),
        actor: caller.user.handle.clone(),
        action,
        run_id: Some(run_id.to_owned()),
        reason: reason.to_owned(),
    }
}

pub(super) fn already(detail: &str) -> Problem {
    Problem::new(StatusCode::CONFLICT, "already", detail, "read it again; somebody may have been faster")
}
