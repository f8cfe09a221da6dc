//! Runs side by side.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::routing::get;
use http::Method;
use serde_json::{Value, json};
use tokometer_analysis::{CompareOptions, compare as analyse};
use tokometer_record::{Comparison, Run};

use super::operation::{Content, Operation, Parameter};
use super::runs::shown;
use crate::app::App;
use crate::problem::Problem;

pub(super) fn operations() -> Vec<Operation> {
    let ids = |most: usize| json!({"type": "array", "minItems": 1, "maxItems": most, "items": {"type": "string", "format": "uuid"}});
    let example = |last: u8| json!([format!("01931d3a-7c00-7000-8000-0000000000{last:02}")]);
    vec![
        Operation::new(Method::GET, "/compare", get(compare), "Runs side by side, cell by cell")
            .text("Two to six runs; the first named is the base. What `tokometer compare --json` prints.")
            .with(Parameter::query("base", "Id of the base.", ids(1), example(1)).commas().required())
            .with(
                Parameter::query("to", "Ids of the others, by commas.", ids(5), example(2))
                    .commas()
                    .required(),
            )
            .gives_content(
                200,
                "The comparison.",
                vec![("application/json", Content::Document("comparison"))],
            )
            .refuses(404, "There is no run of one of these ids.")
            .refuses(410, "One of them was taken down."),
    ]
}

async fn compare(State(app): State<App>, RawQuery(query): RawQuery) -> Result<Json<Value>, Problem> {
    let (comparison, _) = of_query(&app, &query.unwrap_or_default()).await?;
    Ok(Json(serde_json::to_value(comparison).unwrap_or_default()))
}

/// The comparison that an address asks for (`base=ID&to=ID,ID`), and the runs that it is of.
async fn of_query(app: &App, query: &str) -> Result<(Comparison, Vec<Run>), Problem> {
    let named = |name: &str| -> Vec<String> {
        let values = form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
        values.flat_map(|(_, value)| value.split(',').map(str::to_owned).collect::<Vec<_>>()).collect()
    };
    let (mut ids, others) = (named("base"), named("to"));
    if ids.len() != 1 || others.is_empty() {
        return Err(bad("it has no base, several, or nothing to compare it with".to_owned()));
    }
    ids.extend(others);
    of_runs(app, &ids).await
}

fn bad(detail: String) -> Problem {
    Problem::bad("bad_comparison", detail, "name two to six runs: ?base=ID&to=ID,ID")
}

/// The comparison of these runs, the first as its base.
pub(crate) async fn of_runs(app: &App, ids: &[String]) -> Result<(Comparison, Vec<Run>), Problem> {
    if ids.len() > Comparison::MOST_RUNS {
        return Err(bad(format!("more than {} runs", Comparison::MOST_RUNS)));
    }
    let mut runs = Vec::new();
    for id in ids {
        runs.push(shown(app, id, None).await?.run);
    }
    let work = tokio::task::spawn_blocking(move || {
        analyse(&runs, &CompareOptions::default()).map(|comparison| (comparison, runs))
    });
    work.await.map_err(|_| Problem::internal())?.map_err(|error| bad(error.to_string()))
}
