//! The page of a run: that of the report, with what the site knows of it around.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use tokio::runtime::Handle;
use tokometer_record::{Cell, CellDetail, TraceFile};
use tokometer_report::{Assets, Shell};

use super::assets::ASSETS;
use super::frame::{About, Frame, Here, render};
use super::rows::{self, Row};
use super::{embed, links, moderation, words};
use crate::account::Visitor;
use crate::app::App;
use crate::artefacts::Hash;
use crate::clock;
use crate::domain::{
    Deed, EvidenceLevel, Filters, ProblemKind, Revision, RunQuery, RunRow, Shelf, StoredRun,
};
use crate::problem::Problem;

/// Replicates that a run's page lists.
const REPLICATES: u32 = 20;

/// A rung of the ladder of evidence.
struct Rung {
    code: &'static str,
    words: &'static str,
    meaning: &'static str,
    reached: bool,
}

#[derive(Template)]
#[template(path = "run/notice.html")]
struct Notice<'a> {
    row: &'a RunRow,
    revision: &'a Revision,
    link: String,
    rungs: Vec<Rung>,
    tone: &'static str,
    published: String,
    published_at: String,
    measured_by: String,
    open_problems: usize,
    reported: Option<i64>,
    shelf_note: &'static str,
}

#[derive(Template)]
#[template(path = "run/actions.html")]
struct Actions<'a> {
    link: &'a str,
    id: &'a str,
}

/// A file of a run.
struct File {
    name: String,
    address: String,
    sha256: String,
}

/// A revision in a list.
struct Past {
    number: u32,
    address: String,
    at: String,
    author: String,
    note: String,
    sha256: String,
    here: bool,
}

#[derive(Template)]
#[template(path = "run/after.html")]
struct After<'a> {
    link: &'a str,
    title: &'a str,
    url: String,
    frame: String,
    replicates: Option<String>,
    replicates_note: String,
    series: String,
    past: Vec<Past>,
    files: Vec<File>,
    verification: String,
    kinds: [ProblemKind; 4],
    cells: Vec<String>,
    form_key: &'a str,
    may_withdraw: bool,
}

/// The newest revision.
pub(super) async fn run(
    State(app): State<App>,
    visitor: Visitor,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let query = query.unwrap_or_default();
    let reported = form_urlencoded::parse(query.as_bytes())
        .find(|(name, _)| name == "reported")
        .and_then(|(_, number)| number.parse().ok());
    page(&app, &visitor, &id, None, reported).await
}

/// An older one.
pub(super) async fn revision(
    State(app): State<App>,
    visitor: Visitor,
    Path((id, revision)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let revision = revision.parse().map_err(|_| Problem::not_found("revision of this run"))?;
    page(&app, &visitor, &id, Some(revision), None).await
}

async fn page(
    app: &App,
    visitor: &Visitor,
    id: &str,
    revision: Option<u32>,
    reported: Option<i64>,
) -> Result<Response, Problem> {
    let row = app.store.row(id).await?.ok_or_else(|| Problem::not_found("run"))?;
    if row.shelf == Shelf::Withdrawn {
        return moderation::tombstone(app, visitor, &row).await;
    }
    let stored =
        app.store.run(&row.id, revision).await?.ok_or_else(|| Problem::not_found("revision of this run"))?;
    let link = links::run(&row.id);
    let frame = Frame::new(app, visitor, Here::Runs, &about(&stored))?;
    let notice = notice(app, &stored, reported).await?;
    let actions = render(&Actions { link: &link, id: &row.id })?;
    let after = after(app, visitor, &stored, &link).await?;
    let cells = format!("{link}/cells/");
    let method = links::method(&stored.run.method.name, &stored.run.method.version);
    let shell = Shell {
        actions: &actions,
        notice: &notice,
        after: &after,
        method: method.as_deref(),
        cells: Some(&cells),
        assets: Assets::Linked { style: &ASSETS.style, early: &ASSETS.early, script: &ASSETS.run },
        ..frame.shell()
    };
    let page = tokometer_report::run_page(&stored.run, &[], &shell)?;
    Ok(frame.answer(StatusCode::OK, page))
}

fn about(stored: &StoredRun) -> About {
    let row = &stored.row;
    let mut said = vec![rows::label(row)];
    for goal in rows::FIGURES {
        if let Some(value) = row.figure(goal) {
            let (name, unit) = words::column(goal);
            said.push(format!("{name}: {} {unit}", words::value(goal, value)));
        }
    }
    let link = links::run(&row.id);
    About {
        description: said.join("; "),
        title: row.title.clone(),
        image: Some(format!("{link}/card.png")),
        embed: link.clone(),
        path: link,
        ..About::default()
    }
}

async fn notice(app: &App, stored: &StoredRun, reported: Option<i64>) -> Result<String, Problem> {
    let row = &stored.row;
    let rungs = EvidenceLevel::ALL
        .into_iter()
        .map(|level| Rung {
            code: level.code(),
            words: level.words(),
            meaning: words::meaning(level),
            reached: level <= row.evidence.level,
        })
        .collect();
    render(&Notice {
        link: links::run(&row.id),
        rungs,
        tone: words::tone(row.evidence.level),
        published: words::day(row.published_at),
        published_at: clock::text(row.published_at),
        measured_by: format!("{} {}", stored.run.tool.name, stored.run.tool.version),
        open_problems: app.store.problems(Some(&row.id), true, 100).await?.len(),
        reported,
        shelf_note: match row.shelf {
            Shelf::Reported => "In no ranking: the numbers are as they were given.",
            Shelf::Simulated => "In no ranking: the engine is simulated.",
            Shelf::Ranked | Shelf::Withdrawn => "",
        },
        revision: &stored.revision,
        row,
    })
}

async fn after(app: &App, visitor: &Visitor, stored: &StoredRun, link: &str) -> Result<String, Problem> {
    let row = &stored.row;
    let past = app
        .store
        .revisions(&row.id)
        .await?
        .into_iter()
        .map(|one| Past {
            number: one.revision,
            address: if one.revision == row.revision {
                link.to_owned()
            } else {
                format!("{link}/revisions/{}", one.revision)
            },
            at: clock::text(one.created_at),
            author: one.author,
            note: one.note.unwrap_or_default(),
            sha256: one.content_sha256,
            here: one.revision == stored.revision.revision,
        })
        .collect();
    let files = app
        .store
        .artefacts(&row.id)
        .await?
        .into_iter()
        .map(|(name, sha256)| File { name, address: format!("/api/v1/artefacts/{sha256}"), sha256 })
        .collect();
    let owner = app.store.owner(&row.id).await?;
    let may_withdraw = visitor.session.as_ref().is_some_and(|session| {
        visitor.may(Deed::ModerateRuns).is_ok() || owner.as_deref() == Some(session.user.id.as_str())
    });
    render(&After {
        link,
        title: &row.title,
        url: app.config.url(),
        frame: embed::snippet(&app.config.url(), row, embed::WIDTH, embed::HEIGHT),
        replicates: replicates(app, row).await?,
        replicates_note: match (row.replicates, row.submitters) {
            (0 | 1, _) => String::new(),
            (runs, 1) => format!("{runs} runs of one set-up, all by the same submitter."),
            (runs, users) => format!("{runs} runs of one set-up, by {users} submitters."),
        },
        series: format!("/series/{}", row.series_hash),
        past,
        files,
        verification: format!("/api/v1/runs/{}/verification", links::segment(&row.id)),
        kinds: ProblemKind::ALL,
        cells: stored.run.cells.iter().map(Cell::name).collect(),
        form_key: visitor.form_key(),
        may_withdraw,
    })
}

/// The runs of the same set-up as a table, this one among them.
async fn replicates(app: &App, row: &RunRow) -> Result<Option<String>, Problem> {
    if row.replicates < 2 {
        return Ok(None);
    }
    let query = RunQuery {
        shelf: row.shelf,
        fold: false,
        limit: REPLICATES,
        filters: Filters { group: Some(row.group_hash.clone()), ..Filters::default() },
        ..RunQuery::default()
    };
    let list = app.store.list(&query).await?;
    let rows: Vec<Row> = list.rows.iter().map(|row| Row::of(row, &rows::FIGURES, false)).collect();
    rows::table("Runs of the same set-up", &rows, &rows::FIGURES, None).map(Some)
}

#[derive(Template)]
#[template(path = "run/cell_actions.html")]
struct CellActions<'a> {
    link: &'a str,
    before: Option<String>,
    next: Option<String>,
    name: &'a str,
}

/// The page of one cell, with the charts of its trace.
pub(super) async fn cell(
    State(app): State<App>,
    visitor: Visitor,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let row = app.store.row(&id).await?.ok_or_else(|| Problem::not_found("run"))?;
    if row.shelf == Shelf::Withdrawn {
        return moderation::tombstone(&app, &visitor, &row).await;
    }
    let stored = app.store.run(&row.id, None).await?.ok_or_else(|| Problem::not_found("run"))?;
    let nothing = || Problem::not_found("cell of this run");
    let place = stored.run.cells.iter().position(|cell| cell.name() == name).ok_or_else(nothing)?;
    let detail = detail(&app, &stored.run.cells[place]).await?;
    let link = links::run(&row.id);
    let other = |place: Option<usize>| {
        place.and_then(|place| stored.run.cells.get(place)).map(|cell| links::cell(&row.id, &cell.name()))
    };
    let actions = render(&CellActions {
        link: &link,
        before: other(place.checked_sub(1)),
        next: other(Some(place + 1)),
        name: &name,
    })?;
    let about = About {
        path: links::cell(&row.id, &name),
        image: Some(format!("{link}/card.png")),
        description: format!("{name} of {}", rows::label(&row)),
        title: format!("{name} · {}", row.title),
        ..About::default()
    };
    let frame = Frame::new(&app, &visitor, Here::Runs, &about)?;
    let shell = Shell { actions: &actions, ..frame.shell() };
    let page =
        tokometer_report::cell_page(&stored.run, &name, detail.as_deref(), &shell)?.ok_or_else(nothing)?;
    Ok(frame.answer(StatusCode::OK, page))
}

/// What the charts of a cell show, from its trace; none where it has none.
async fn detail(app: &App, cell: &Cell) -> Result<Option<Arc<CellDetail>>, Problem> {
    let Some(trace) = trace_of(cell) else { return Ok(None) };
    let Some(hash) = Hash::parse(&trace.sha256) else { return Ok(None) };
    let (file, handle, artefacts) = (trace.file.clone(), Handle::current(), Arc::clone(&app.artefacts));
    let make = move || {
        let Some(bytes) = handle.block_on(artefacts.get(&hash))? else { return Ok(None) };
        let trace = tokometer_record::trace::parquet::read(bytes, file.as_ref()).map_err(|error| {
            tracing::warn!(%error, "a stored trace can't be read");
            Problem::internal()
        })?;
        Ok(Some(tokometer_analysis::detail(&trace)))
    };
    app.kept.detail(&trace.sha256, make).await
}

/// The cell's trace, or that of the repeat whose figures stand for it.
fn trace_of(cell: &Cell) -> Option<&TraceFile> {
    let represents = || cell.repeats.iter().find(|repeat| repeat.represents)?.trace.as_ref();
    cell.trace.as_ref().or_else(represents)
}
