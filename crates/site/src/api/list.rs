//! Lists of runs.

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, CONTENT_TYPE, LINK};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::table;
use crate::app::App;
use crate::clock;
use crate::domain::{Goal, RunQuery, RunRow};
use crate::problem::Problem;

/// What the API can do, for whoever comes upon it.
pub(crate) async fn about(State(app): State<App>) -> Json<Value> {
    let goals: Vec<Value> =
        Goal::ALL.map(|goal| json!({"goal": goal.code(), "of": goal.words(), "unit": goal.unit()})).to_vec();
    Json(json!({
        "api": "tokometer site, version 1",
        "url": app.config.url(),
        "list": {
            "address": "/api/v1/runs",
            "accept": ["application/json", "text/csv", "application/x-ndjson"],
            "fields": table::NAMES,
            "goals": goals,
            "filters": ["model", "hardware", "accelerators", "engine", "engine_version", "quantization",
                "speculative", "context", "evidence", "since", "submitter", "text", "group", "series"],
            "others": {"shelf": ["ranked", "reported", "simulated"], "fold": [1, 0], "limit": RunQuery::MOST,
                "after": "the cursor `next` of the answer before", "fields": "a,b,c"},
        },
        "addresses": {
            "GET /api/v1/whoami": "whose token it is",
            "POST /api/v1/runs:validate": "all that publishing does, without keeping anything",
            "POST /api/v1/artefacts:missing": "{\"sha256\": [...]}: which files have to be sent",
            "PUT /api/v1/artefacts/{sha256}": "a trace, or the machine's series",
            "POST /api/v1/runs": "publish a run.json; Content-Encoding zstd or gzip, Idempotency-Key",
            "GET /api/v1/runs/{id}": "the record; with Accept text/csv its cells",
            "PATCH /api/v1/runs/{id}": "{\"title\", \"note\", \"why\"}: a new revision",
            "DELETE /api/v1/runs/{id}": "{\"reason\"}: take it down; the reason is public",
            "POST /api/v1/runs/{id}/reports": "{\"kind\", \"text\", \"cell\"}: tell of a problem",
            "GET /api/v1/compare?base=ID&to=ID,ID": "up to six runs, cell by cell",
            "GET /api/v1/moderation": "what was done about runs, and why",
        },
    }))
}

pub(crate) async fn list(
    State(app): State<App>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let text = query.unwrap_or_default();
    let query = read(&text)?;
    let fields = fields(&text)?;
    let form = Form::of(&headers)?;
    let list = app.store.list(&query).await?;
    let next = list.next.as_ref().map(ToString::to_string);
    let mut response = match form {
        Form::Json => {
            let rows: Vec<Value> = list.rows.iter().map(|row| object(row, fields.as_deref())).collect();
            Json(json!({ "runs": rows, "next": next })).into_response()
        }
        Form::Lines => {
            let mut lines = String::new();
            for row in &list.rows {
                lines.push_str(&object(row, fields.as_deref()).to_string());
                lines.push('\n');
            }
            ([(CONTENT_TYPE, "application/x-ndjson")], lines).into_response()
        }
        Form::Table => {
            let text = table::csv(&list.rows, fields.as_deref());
            ([(CONTENT_TYPE, "text/csv; charset=utf-8")], text).into_response()
        }
    };
    if let Some(cursor) = list.next {
        let next = RunQuery { after: Some(cursor), ..query };
        let link = format!("<{}/api/v1/runs?{}>; rel=\"next\"", app.config.url(), next.address());
        if let Ok(value) = link.parse() {
            response.headers_mut().insert(LINK, value);
        }
    }
    Ok(response)
}

/// The counts of a list.
pub(crate) async fn facets(
    State(app): State<App>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    let query = read(&query.unwrap_or_default())?;
    let facets = app.store.facets(&query).await?;
    Ok(Json(serde_json::to_value(facets).unwrap_or_default()))
}

fn read(text: &str) -> Result<RunQuery, Problem> {
    RunQuery::parse(text, &["fields"])
        .map_err(|why| Problem::bad("bad_query", why, "GET /api/v1 says what a list can be asked"))
}

fn fields(text: &str) -> Result<Option<Vec<&'static str>>, Problem> {
    let asked = form_urlencoded::parse(text.as_bytes()).find(|(name, _)| name == "fields");
    let Some((_, list)) = asked else { return Ok(None) };
    let known = |name: &str| {
        table::NAMES.into_iter().find(|known| *known == name.trim()).ok_or_else(|| {
            Problem::bad(
                "bad_fields",
                format!("no field {name:?}"),
                format!("use some of {}", table::NAMES.join(",")),
            )
        })
    };
    list.split(',').map(known).collect::<Result<Vec<_>, _>>().map(Some)
}

enum Form {
    Json,
    Lines,
    Table,
}

impl Form {
    fn of(headers: &HeaderMap) -> Result<Form, Problem> {
        let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or("*/*");
        for kind in accept.split(',').filter_map(|part| part.split(';').next()) {
            match kind.trim() {
                "text/csv" => return Ok(Form::Table),
                "application/x-ndjson" | "application/jsonl" => return Ok(Form::Lines),
                "application/json" | "application/*" | "*/*" => return Ok(Form::Json),
                _ => {}
            }
        }
        Err(Problem::new(
            StatusCode::NOT_ACCEPTABLE,
            "not_acceptable",
            "the list has none of the forms that Accept names",
            "use application/json, text/csv or application/x-ndjson",
        ))
    }
}

fn object(row: &RunRow, fields: Option<&[&'static str]>) -> Value {
    let mut object = serde_json::to_value(row).unwrap_or_default();
    if let Value::Object(map) = &mut object {
        for name in ["measured_at", "published_at", "revised_at"] {
            let time = map.get(name).and_then(Value::as_i64).map(clock::text);
            map.insert(name.to_owned(), time.into());
        }
        if let Some(fields) = fields {
            map.retain(|name, _| fields.contains(&name.as_str()));
        }
    }
    object
}
