//! The list of runs: filters, goal, chart, table.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use tokometer_report::number;

use super::facets::{self, Chosen, Facet};
use super::frame::{About, Frame, Here};
use super::rows::{self, Row};
use super::scatter::{self, Scatter};
use super::{links, words};
use crate::account::Visitor;
use crate::app::App;
use crate::clock;
use crate::domain::{Cursor, Filters, Goal, ListCounts, RunList, RunQuery, Shelf};
use crate::problem::Problem;

/// Most runs in the chart.
const CHARTED: u32 = 300;

#[derive(Template)]
#[template(path = "index.html")]
struct IndexPage<'a> {
    query: &'a RunQuery,
    total: String,
    /// True if nothing was published yet, on any shelf.
    is_empty_site: bool,
    shelves: Vec<Link>,
    shelf_meaning: &'static str,
    goals: Vec<Link>,
    goal_meaning: &'static str,
    facets: Vec<Facet>,
    chosen: Vec<Chosen>,
    /// The rest of the question, for the search form.
    hidden: Vec<(String, String)>,
    text: &'a str,
    unfold: Option<Link>,
    scatter: Option<Scatter>,
    table: String,
    is_empty: bool,
    first: Option<String>,
    next: Option<String>,
    api: String,
    url: String,
}

/// A link of a row of links.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) text: String,
    /// A number beside it.
    pub(super) count: Option<String>,
    pub(super) address: String,
    pub(super) here: bool,
}

/// `/`: the question stands in the address.
pub(super) async fn index(
    State(app): State<App>,
    visitor: Visitor,
    RawQuery(text): RawQuery,
) -> Result<Response, Problem> {
    let query = asked(text.as_deref().unwrap_or_default())?;
    let since = facets::since(clock::now());
    let list = found(&app, &query).await?;
    let facets = app.store.facets(&query).await?;
    let counts = app.store.counts(&query, &since).await?;
    let is_ranked = query.shelf == Shelf::Ranked;
    let shown = list.rows.len().min(query.limit as usize);
    let rows: Vec<Row> =
        list.rows[..shown].iter().map(|row| Row::of(row, &rows::FIGURES, query.fold)).collect();
    let sorted = Some(query.goal);
    let page = IndexPage {
        total: words::counted(facets.total, if query.fold { "set-up" } else { "run" }),
        is_empty_site: counts.shelves.is_empty() && query.filters == Filters::default(),
        shelves: shelves(&query, &counts),
        shelf_meaning: shelf_meaning(query.shelf),
        goals: if is_ranked { goals(&query) } else { Vec::new() },
        goal_meaning: words::goal_meaning(query.goal),
        facets: facets::of(&query, &facets, std::array::from_fn(|place| (since[place], counts.since[place]))),
        chosen: facets::chosen(&query),
        hidden: hidden(&query),
        text: query.filters.text.as_deref().unwrap_or_default(),
        unfold: (facets.total > 0).then(|| unfold(&query)),
        scatter: if is_ranked && query.after.is_none() { scatter::draw(&list.rows) } else { None },
        table: rows::table(&caption(&query), &rows, &rows::FIGURES, sorted)?,
        is_empty: rows.is_empty(),
        first: query.after.is_some().then(|| links::list(&RunQuery { after: None, ..query.clone() })),
        next: next(&query, &list, shown)
            .map(|after| links::list(&RunQuery { after: Some(after), ..query.clone() })),
        api: format!("/api/v1/runs?{}", query.address()),
        url: app.config.url(),
        query: &query,
    };
    let is_front = query == RunQuery::default();
    let about = About {
        description: "Measured speeds of servers of large language models, computed again from their traces."
            .to_owned(),
        path: if is_front { "/".to_owned() } else { String::new() },
        title: if is_front {
            "How fast servers of language models really are".to_owned()
        } else {
            String::new()
        },
        feed: super::feed::address(&query),
        ..About::default()
    };
    Frame::new(&app, &visitor, Here::Runs, &about)?.page(StatusCode::OK, &title(&query), &page)
}

/// The question of an address; lists that are not ranked come newest first.
fn asked(text: &str) -> Result<RunQuery, Problem> {
    let mut query = RunQuery::parse(text, &[]).map_err(|why| {
        Problem::bad(
            "bad_query",
            format!("the address asks for something unknown: {why}"),
            "start again at /",
        )
    })?;
    if query.shelf == Shelf::Withdrawn {
        return Err(Problem::not_found("list"));
    }
    if query.shelf != Shelf::Ranked {
        query.goal = Goal::Newest;
    }
    Ok(query)
}

/// The rows of the table, and on the first page more of them for the chart.
async fn found(app: &App, query: &RunQuery) -> Result<RunList, Problem> {
    let limit = if query.after.is_none() && query.shelf == Shelf::Ranked {
        query.limit.max(CHARTED)
    } else {
        query.limit
    };
    Ok(app.store.list(&RunQuery { limit, ..query.clone() }).await?)
}

/// Where the table goes on.
fn next(query: &RunQuery, list: &RunList, shown: usize) -> Option<Cursor> {
    if shown == list.rows.len() {
        return list.next.clone();
    }
    let last = list.rows.get(shown.checked_sub(1)?)?;
    Some(Cursor { figure: last.figure(query.goal), id: last.id.clone() })
}

fn shelves(query: &RunQuery, counts: &ListCounts) -> Vec<Link> {
    [Shelf::Ranked, Shelf::Reported, Shelf::Simulated]
        .into_iter()
        .map(|shelf| {
            let count = counts.shelves.iter().find(|one| one.0 == shelf).map_or(0, |one| one.1);
            let goal = if shelf == Shelf::Ranked { Goal::default() } else { Goal::Newest };
            let to = RunQuery { shelf, goal, after: None, ..query.clone() };
            Link {
                text: words::shelf(shelf).to_owned(),
                count: Some(number::count(count)),
                address: links::list(&to),
                here: shelf == query.shelf,
            }
        })
        .collect()
}

fn shelf_meaning(shelf: Shelf) -> &'static str {
    match shelf {
        Shelf::Ranked | Shelf::Withdrawn => "",
        Shelf::Reported => {
            "As they were given: imports, and runs whose traces do not prove every row. They are in no ranking."
        }
        Shelf::Simulated => {
            "Of a simulated engine that replays a profile. They say nothing about real hardware, and are in no ranking."
        }
    }
}

fn goals(query: &RunQuery) -> Vec<Link> {
    Goal::ALL
        .into_iter()
        .map(|goal| Link {
            text: words::goal(goal).to_owned(),
            count: None,
            address: links::list(&RunQuery { goal, after: None, ..query.clone() }),
            here: goal == query.goal,
        })
        .collect()
}

fn unfold(query: &RunQuery) -> Link {
    let fold = !query.fold;
    let text = if fold { "Fold replicates into one row" } else { "Show every replicate" };
    Link {
        text: text.to_owned(),
        count: None,
        address: links::list(&RunQuery { fold, after: None, ..query.clone() }),
        here: false,
    }
}

/// The question without its text and place.
fn hidden(query: &RunQuery) -> Vec<(String, String)> {
    let filters = Filters { text: None, ..query.filters.clone() };
    let rest = RunQuery { filters, after: None, ..query.clone() }.address();
    form_urlencoded::parse(rest.as_bytes()).into_owned().collect()
}

fn title(query: &RunQuery) -> String {
    match query.shelf {
        Shelf::Ranked | Shelf::Withdrawn => "Runs".to_owned(),
        shelf => format!("{} runs", words::shelf(shelf)),
    }
}

fn caption(query: &RunQuery) -> String {
    match query.shelf {
        Shelf::Ranked => format!("Runs, by {}", query.goal.words()),
        shelf => format!("{} runs, newest first", words::shelf(shelf)),
    }
}
