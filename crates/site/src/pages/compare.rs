//! Two to six runs side by side: the page of the report, in the site's frame.

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use tokometer_record::Comparison;
use tokometer_report::Shell;

use super::frame::{About, Frame, Here, render};
use super::links;
use super::rows::{self, Row};
use crate::account::Visitor;
use crate::api;
use crate::app::App;
use crate::domain::{Goal, RunQuery};
use crate::problem::Problem;

/// Runs that are offered to be chosen from.
const OFFERED: u32 = 20;

#[derive(Template)]
#[template(path = "compare.html")]
struct ChoosePage {
    has: Option<(String, String)>,
    /// The id of that run.
    id: String,
    table: Option<String>,
}

#[derive(Template)]
#[template(path = "compare_actions.html")]
struct Actions {
    api: String,
    swapped: Option<String>,
}

/// `/compare?runs=ID,ID`, or `runs` several times, as a form sends it; `base` and `to` as in the API.
pub(super) async fn compare(
    State(app): State<App>,
    visitor: Visitor,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let ids = ids(&query.unwrap_or_default());
    if ids.len() < 2 {
        return choose(&app, &visitor, ids.first()).await;
    }
    let (comparison, runs) = api::compare_runs(&app, &ids).await?;
    let addresses: Vec<String> = ids.iter().map(|id| links::run(id)).collect();
    let addresses: Vec<&str> = addresses.iter().map(String::as_str).collect();
    let named = |ids: &[String]| ids.iter().map(|id| links::segment(id)).collect::<Vec<_>>().join(",");
    let mut turned = ids.clone();
    turned.rotate_left(1);
    let actions = render(&Actions {
        api: format!("/api/v1/compare?base={}&to={}", links::segment(&ids[0]), named(&ids[1..])),
        swapped: Some(format!("/compare?runs={}", named(&turned))),
    })?;
    let about = About {
        description: "Runs side by side: what differs in their set-up first, then the ratios of their rates."
            .to_owned(),
        path: format!("/compare?runs={}", named(&ids)),
        ..About::default()
    };
    let frame = Frame::new(&app, &visitor, Here::Compare, &about)?;
    let shell = Shell { actions: &actions, runs: &addresses, ..frame.shell() };
    let page = tokometer_report::comparison_page(&comparison, &runs, &shell)?;
    Ok(frame.answer(StatusCode::OK, page))
}

/// What can be compared.
async fn choose(app: &App, visitor: &Visitor, first: Option<&String>) -> Result<Response, Problem> {
    let has = match first {
        Some(id) => app.store.row(id).await?,
        None => None,
    };
    let query = RunQuery { goal: Goal::Newest, limit: OFFERED, fold: false, ..RunQuery::default() };
    let shelf = has.as_ref().map_or(query.shelf, |row| row.shelf);
    let list = app.store.list(&RunQuery { shelf, ..query }).await?;
    let rows: Vec<Row> = list
        .rows
        .iter()
        .filter(|row| Some(&row.id) != first)
        .map(|row| Row::of(row, &rows::FIGURES, false))
        .collect();
    let beside = has.as_ref().map_or("", |row| row.id.as_str());
    let table = match rows.as_slice() {
        [] => None,
        rows => Some(rows::table_beside("Newest runs", rows, &rows::FIGURES, None, beside)?),
    };
    let page = ChoosePage {
        id: has.as_ref().map(|row| row.id.clone()).unwrap_or_default(),
        has: has.map(|row| (rows::label(&row), links::run(&row.id))),
        table,
    };
    let about = About {
        description: "Two to six runs side by side.".to_owned(),
        path: "/compare".to_owned(),
        ..About::default()
    };
    Frame::new(app, visitor, Here::Compare, &about)?.page(StatusCode::OK, "Compare", &page)
}

/// The runs that an address names, each once, in its order. An id may stand there as the address of its page.
fn ids(query: &str) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if !matches!(name.as_ref(), "runs" | "base" | "to") {
            continue;
        }
        for id in value.split([',', ' ']).filter_map(|text| text.rsplit('/').next()).map(str::trim) {
            if !id.is_empty() && !ids.iter().any(|known| known == id) && ids.len() <= Comparison::MOST_RUNS {
                ids.push(id.to_owned());
            }
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::ids;

    #[test]
    fn runs_are_named_in_several_ways() {
        assert_eq!(ids("runs=a,b&runs=c&runs=a&x=d"), ["a", "b", "c"]);
        assert_eq!(ids("base=a&to=b,c"), ["a", "b", "c"]);
        assert_eq!(ids("runs=http%3A%2F%2Fsite%2Fruns%2Fa&runs="), ["a"]);
    }
}
