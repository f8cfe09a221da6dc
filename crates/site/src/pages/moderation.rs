//! Problems: to report one, what is done about it, and what stands where a run was taken down.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;

use super::frame::{About, Frame, Here};
use super::{links, words};
use crate::account::{Form, Visitor};
use crate::api;
use crate::app::App;
use crate::clock;
use crate::domain::{Action, Deed, ModerationEntry, NewProblem, RunRow, Session, Suspicion};
use crate::problem::Problem;
use crate::trust;
use crate::web::client::Client;

/// Lines of the log on its page.
const LINES: u32 = 300;
/// Longest reason, characters.
const TEXT: usize = 4000;

/// A line of the log.
struct Line {
    at: String,
    day: String,
    actor: String,
    action: &'static str,
    run: Option<(String, String)>,
    reason: String,
}

impl Line {
    fn of(entry: ModerationEntry) -> Line {
        Line {
            at: clock::text(entry.at),
            day: words::day(entry.at),
            actor: entry.actor,
            action: match entry.action {
                Action::Withdrawn => "took down",
                Action::Restored => "showed again",
                Action::ProblemClosed => "closed a report",
                Action::Implausible => "kept out of rankings",
                Action::UserDisabled => "closed an account",
                Action::RoleChanged => "changed a role",
            },
            run: entry.run_id.map(|id| (links::run(&id), id)),
            reason: entry.reason,
        }
    }
}

/// A run that is worth a look.
struct Odd {
    number: i64,
    day: String,
    kind: &'static str,
    run: (String, String),
    /// A run to compare it with, and the comparison.
    other: Option<(String, String)>,
    comparison: String,
    text: String,
}

impl Odd {
    fn of(one: Suspicion) -> Odd {
        let link = links::run(&one.run_id);
        Odd {
            number: one.id,
            day: words::day(one.found_at),
            kind: one.kind.words(),
            comparison: one
                .other_id
                .as_ref()
                .map(|other| {
                    format!("/compare?runs={},{}", links::segment(other), links::segment(&one.run_id))
                })
                .unwrap_or_default(),
            other: one.other_id.map(|id| (links::run(&id), id)),
            run: (link, one.run_id),
            text: one.text,
        }
    }
}

/// A report that waits for a moderator.
struct Open {
    number: i64,
    day: String,
    run: (String, String),
    cell: Option<String>,
    kind: &'static str,
    reporter: String,
    text: String,
}

#[derive(Template)]
#[template(path = "moderation.html")]
struct LogPage<'a> {
    lines: Vec<Line>,
    open: Vec<Open>,
    odd: Vec<Odd>,
    form_key: &'a str,
}

#[derive(Template)]
#[template(path = "tombstone.html")]
struct Tombstone<'a> {
    row: &'a RunRow,
    lines: Vec<Line>,
    reason: &'a str,
    link: String,
    may_restore: bool,
    form_key: &'a str,
}

/// The public log; for moderators with the reports that wait for them.
pub(super) async fn log(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    let lines = app.store.moderation_log(None, LINES).await?.into_iter().map(Line::of).collect();
    let (mut open, mut odd) = (Vec::new(), Vec::new());
    if moderates(&visitor) {
        odd = app.store.suspicions(LINES).await?.into_iter().map(Odd::of).collect();
        open = app
            .store
            .problems(None, true, LINES)
            .await?
            .into_iter()
            .map(|problem| Open {
                number: problem.id,
                day: words::day(problem.at),
                run: (links::run(&problem.run_id), problem.run_id),
                cell: problem.cell,
                kind: problem.kind.words(),
                reporter: problem.reporter.unwrap_or_else(|| "a reader".to_owned()),
                text: problem.text,
            })
            .collect();
    }
    let about = About {
        description: "What was taken down here, by whom, and why.".to_owned(),
        path: "/moderation".to_owned(),
        ..About::default()
    };
    let page = LogPage { lines, open, odd, form_key: visitor.form_key() };
    Frame::new(&app, &visitor, Here::Elsewhere, &about)?.page(StatusCode::OK, "Moderation log", &page)
}

/// What stands at the address of a run that was taken down.
pub(super) async fn tombstone(app: &App, visitor: &Visitor, row: &RunRow) -> Result<Response, Problem> {
    let lines = app.store.moderation_log(Some(&row.id), LINES).await?.into_iter().map(Line::of).collect();
    let page = Tombstone {
        lines,
        reason: row.withdrawn_reason.as_deref().unwrap_or_default(),
        link: links::run(&row.id),
        may_restore: moderates(visitor),
        form_key: visitor.form_key(),
        row,
    };
    Frame::new(app, visitor, Here::Runs, &About::default())?.page(StatusCode::GONE, "Taken down", &page)
}

/// Takes a report from the form of a run's page.
pub(super) async fn report(
    State(app): State<App>,
    Path(id): Path<String>,
    client: Client,
    form: Form,
) -> Result<Response, Problem> {
    let kind = form.field("kind").parse().map_err(|why: String| {
        Problem::bad("bad_kind", why, "open the run's page again, and send its form")
    })?;
    let cell = Some(form.field("cell")).filter(|cell| !cell.is_empty()).map(str::to_owned);
    let problem = NewProblem {
        run_id: id.clone(),
        cell,
        reporter: form.visitor.handle().map(str::to_owned),
        kind,
        // Browsers end lines of forms with two letters.
        text: form.field("text").replace("\r\n", "\n"),
    };
    let number = api::take_report(&app, client.whose(), problem).await?;
    Ok(Redirect::to(&format!("{}?reported={number}", links::run(&id))).into_response())
}

/// Takes a run down: who published it, or a moderator.
pub(super) async fn withdraw(
    State(app): State<App>,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Problem> {
    let session = form.visitor.may(Deed::Withdraw)?;
    let row = app.store.row(&id).await?.ok_or_else(|| Problem::not_found("run"))?;
    let owner = app.store.owner(&row.id).await?;
    if form.visitor.may(Deed::ModerateRuns).is_err() && owner.as_deref() != Some(session.user.id.as_str()) {
        return Err(not_yours());
    }
    let entry = entry(session, Action::Withdrawn, Some(&row.id), reason(&form)?);
    app.store.withdraw(&row.id, &entry).await?;
    Ok(Redirect::to(&links::run(&row.id)).into_response())
}

/// Shows a run again: a moderator.
pub(super) async fn restore(
    State(app): State<App>,
    Path(id): Path<String>,
    form: Form,
) -> Result<Response, Problem> {
    let session = form.visitor.may(Deed::ModerateRuns)?;
    let row = app.store.row(&id).await?.ok_or_else(|| Problem::not_found("run"))?;
    app.store.restore(&row.id, &entry(session, Action::Restored, Some(&row.id), reason(&form)?)).await?;
    Ok(Redirect::to(&links::run(&row.id)).into_response())
}

/// Closes a report: a moderator.
pub(super) async fn close(
    State(app): State<App>,
    Path(number): Path<String>,
    form: Form,
) -> Result<Response, Problem> {
    let session = form.visitor.may(Deed::CloseReports)?;
    let number = number.parse().map_err(|_| Problem::not_found("report of this number"))?;
    let reason = reason(&form)?;
    let entry = entry(session, Action::ProblemClosed, None, reason.clone());
    app.store.close_problem(number, &reason, &entry).await?;
    Ok(Redirect::to("/moderation").into_response())
}

/// Puts a suspicion aside: a moderator.
pub(super) async fn dismiss(
    State(app): State<App>,
    Path(number): Path<String>,
    form: Form,
) -> Result<Response, Problem> {
    let session = form.visitor.may(Deed::CloseReports)?;
    let number = number.parse().map_err(|_| Problem::not_found("suspicion of this number"))?;
    app.store.dismiss(number, &session.user.handle, &reason(&form)?, clock::now()).await?;
    Ok(Redirect::to("/moderation").into_response())
}

fn moderates(visitor: &Visitor) -> bool {
    visitor.may(Deed::CloseReports).is_ok()
}

fn not_yours() -> Problem {
    Problem::forbidden(
        "only who published the run, or a moderator, can do this",
        "report a problem with it instead",
    )
}

fn entry(session: &Session, action: Action, run_id: Option<&str>, reason: String) -> ModerationEntry {
    ModerationEntry {
        at: clock::now(),
        actor: session.user.handle.clone(),
        action,
        run_id: run_id.map(str::to_owned),
        reason,
    }
}

fn reason(form: &Form) -> Result<String, Problem> {
    let reason = form.field("reason");
    trust::text_of("reason", reason, TEXT)?;
    if reason.is_empty() {
        return Err(Problem::refused("no_reason", "the reason is empty", "say why; it is public"));
    }
    Ok(reason.to_owned())
}
