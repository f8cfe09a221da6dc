//! Problems with runs, and what is done about them.

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::runs::{needs_owner, shown_row};
use crate::account::Caller;
use crate::app::App;
use crate::clock;
use crate::domain::{Action, Deed, ModerationEntry, NewProblem, ProblemKind};
use crate::problem::Problem;
use crate::trust;
use crate::web::limits::{Doing, Whose};
use crate::web::{body, client};

/// Longest reason and report, characters.
const TEXT: usize = 4000;
/// Lines of the log in one answer.
const LINES: u32 = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    reason: String,
}

/// The public log.
pub(crate) async fn log(State(app): State<App>) -> Result<Json<Value>, Problem> {
    let entries: Vec<Value> = app
        .store
        .moderation_log(None, LINES)
        .await?
        .into_iter()
        .map(|entry| {
            json!({
                "at": clock::text(entry.at),
                "actor": entry.actor,
                "action": entry.action,
                "run": entry.run_id,
                "reason": entry.reason,
            })
        })
        .collect();
    Ok(Json(json!({ "log": entries })))
}

/// Takes a run down: who published it, or a moderator.
pub(crate) async fn withdraw(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Value>, Problem> {
    caller.may(Deed::Withdraw)?;
    let reason = reason(&app, request).await?;
    shown_row(&app, &id).await?;
    needs_owner(&app, &caller, &id).await?;
    let entry = entry(&caller, Action::Withdrawn, &id, &reason);
    if !app.store.withdraw(&id, &entry).await? {
        return Err(already("the run is withdrawn already"));
    }
    Ok(Json(json!({ "id": id, "shelf": "withdrawn", "reason": reason })))
}

/// Shows a run again: a moderator.
pub(crate) async fn restore(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<Value>, Problem> {
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
    Ok(Json(json!({ "id": id, "shelf": row.shelf })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    kind: ProblemKind,
    text: String,
    cell: Option<String>,
}

/// Takes a report of a problem, with a token or without.
pub(crate) async fn report(
    State(app): State<App>,
    Path(id): Path<String>,
    caller: Option<Caller>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), Problem> {
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
    Ok((StatusCode::CREATED, Json(json!({ "number": number }))))
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
pub(crate) async fn reports(State(app): State<App>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.may(Deed::CloseReports)?;
    Ok(Json(json!({ "reports": app.store.problems(None, true, LINES).await? })))
}

/// Closes a report: a moderator.
pub(crate) async fn close(
    State(app): State<App>,
    caller: Caller,
    Path(number): Path<i64>,
    request: Request,
) -> Result<Json<Value>, Problem> {
    caller.may(Deed::CloseReports)?;
    let reason = reason(&app, request).await?;
    let entry = ModerationEntry { run_id: None, ..entry(&caller, Action::ProblemClosed, "", &reason) };
    if !app.store.close_problem(number, &reason, &entry).await? {
        return Err(already("there is no open report of this number"));
    }
    Ok(Json(json!({ "number": number, "resolution": reason })))
}

async fn reason(app: &App, request: Request) -> Result<String, Problem> {
    let (parts, body) = request.into_parts();
    let Reason { reason } = body::json(&small(app, &parts.headers, body).await?)?;
    trust::text_of("reason", &reason, TEXT)?;
    if reason.trim().is_empty() {
        return Err(Problem::refused("no_reason", "the reason is empty", "say why; it is public"));
    }
    Ok(reason)
}

async fn small(app: &App, headers: &http::HeaderMap, body: Body) -> Result<bytes::Bytes, Problem> {
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

fn already(detail: &str) -> Problem {
    Problem::new(StatusCode::CONFLICT, "already", detail, "read it again; somebody may have been faster")
}
