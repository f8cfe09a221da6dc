//! New runs as a feed (Atom, RFC 4287), narrowed as a list is.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use tokometer_record::store::sha256;

use super::frame::render;
use super::{links, rows, words};
use crate::api;
use crate::app::App;
use crate::clock;
use crate::domain::{Goal, RunQuery, RunRow};
use crate::problem::Problem;
use crate::web::cached::cached;

/// Entries of a feed.
const ENTRIES: u32 = 50;

#[derive(Template)]
#[template(path = "feed.xml")]
struct Feed {
    url: String,
    /// Behind the question mark; empty: everything.
    query: String,
    title: String,
    updated: String,
    entries: Vec<Entry>,
}

struct Entry {
    id: String,
    link: String,
    title: String,
    published: String,
    updated: String,
    submitter: String,
    summary: String,
    categories: Vec<String>,
}

/// `/feed.atom`, with the filters of a list.
pub(super) async fn feed(
    State(app): State<App>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let asked = api::read_query(&query.unwrap_or_default())?;
    let asked = RunQuery { goal: Goal::Newest, fold: false, after: None, limit: ENTRIES, ..asked };
    let list = app.store.list(&asked).await?;
    // A feed without entries is as old as time: its reader has nothing to fetch again.
    let updated = list.rows.iter().map(|row| row.revised_at).max().unwrap_or(0);
    let feed = Feed {
        url: app.config.url(),
        query: address(&asked),
        title: title(&asked),
        updated: clock::text(updated),
        entries: list.rows.iter().map(entry).collect(),
    };
    let text = render(&feed)?;
    let tag = sha256(text.as_bytes());
    let kind = "application/atom+xml; charset=utf-8";
    Ok(cached(&headers, kind, "public, max-age=300", &tag, Some(updated), || text.into()))
}

/// The query of a feed's address: what narrows it, and nothing of order and pages.
pub(super) fn address(query: &RunQuery) -> String {
    let default = RunQuery::default();
    RunQuery { goal: default.goal, fold: default.fold, limit: default.limit, after: None, ..query.clone() }
        .address()
}

fn title(query: &RunQuery) -> String {
    let filters = &query.filters;
    let named: Vec<&str> = [&filters.model, &filters.hardware, &filters.engine]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .chain(filters.submitter.as_deref())
        .collect();
    let shelf = words::shelf(query.shelf).to_lowercase();
    if named.is_empty() {
        format!("New {shelf} runs · tokometer")
    } else {
        format!("New {shelf} runs of {} · tokometer", plain(&named.join(", ")))
    }
}

fn entry(row: &RunRow) -> Entry {
    let figures = rows::FIGURES.into_iter().filter_map(|goal| {
        let (name, unit) = words::column(goal);
        row.figure(goal).map(|value| format!("{name}: {} {unit}", words::value(goal, value)))
    });
    let summary: Vec<String> = std::iter::once(rows::label(row)).chain(figures).collect();
    Entry {
        id: format!("urn:uuid:{}", row.id),
        link: links::run(&row.id),
        title: plain(&row.title),
        published: clock::text(row.published_at),
        updated: clock::text(row.revised_at),
        submitter: row.submitter.clone(),
        summary: plain(&format!("{}. Evidence: {}.", summary.join("; "), row.evidence.level.words())),
        categories: [&row.model, &row.hardware, &row.engine].map(|name| plain(name)).to_vec(),
    }
}

/// Text without what no XML document may hold, even escaped.
fn plain(text: &str) -> String {
    let is_fine = |letter: &char| !letter.is_control() && !matches!(letter, '\u{fffe}' | '\u{ffff}');
    text.chars().filter(is_fine).collect()
}
