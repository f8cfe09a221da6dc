//! Lists of runs.

use axum::Json;
use axum::extract::{RawQuery, State};
use serde_json::{Value, json};

use crate::app::App;
use crate::domain::RunQuery;
use crate::problem::Problem;

pub(crate) async fn list(State(app): State<App>, RawQuery(query): RawQuery) -> Result<Json<Value>, Problem> {
    let query = RunQuery::parse(&query.unwrap_or_default(), &[])
        .map_err(|why| Problem::bad("bad_query", why, "see /api/v1 for what a list can be asked"))?;
    let list = app.store.list(&query).await?;
    Ok(Json(json!({ "runs": list.rows, "next": list.next.map(|cursor| cursor.to_string()) })))
}
