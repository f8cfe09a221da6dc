//! Lists of runs.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::header::{ACCEPT, CONTENT_TYPE, LINK, VARY};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::operation::{Content, List as Lists, Operation, Parameter};
use super::table;
use crate::address::{MOST_CHARACTERS, MOST_VALUES};
use crate::app::App;
use crate::domain::{EvidenceLevel, Facets, Goal, RunQuery, RunRow, Shelf};
use crate::problem::Problem;

/// Where the API begins.
#[derive(Serialize, JsonSchema)]
pub(crate) struct About {
    /// Its name and version.
    api: &'static str,
    /// Address of the site for readers.
    url: String,
    /// Address of the whole description (OpenAPI 3.1).
    openapi: &'static str,
    /// Address of a page about it.
    page: &'static str,
    /// What can be called, and what it does.
    addresses: BTreeMap<String, &'static str>,
}

/// A page of a list.
#[derive(Serialize, JsonSchema)]
pub(crate) struct List {
    /// The runs, in order; with `fields` only these of each.
    #[schemars(with = "Vec<RunRow>")]
    runs: Vec<Value>,
    /// The cursor for `after`, to go on behind the last one; null at the end.
    next: Option<String>,
}

pub(super) fn operations() -> Vec<Operation> {
    let fields = json!({"type": "array", "minItems": 1, "items": {"type": "string", "enum": table::NAMES}});
    vec![
        Operation::new(Method::GET, "/", get(about), "What the API can do").gives::<About>(200, "Its addresses."),
        Operation::new(Method::GET, "/runs", get(list), "Lists of runs")
            .text(
                "The address of a list of the site's own pages, behind the question mark, is the same as here. Values \
                 of one filter are joined by or, filters by and.",
            )
            .with_all(parameters())
            .with(
                Parameter::query("fields", "Only these fields, by commas.", fields, json!(["id", "model", "peak"]))
                    .commas(),
            )
            .gives_content(
                200,
                "A page of the list.",
                vec![
                    ("application/json", Content::of::<List>()),
                    ("text/csv", Content::Text),
                    ("application/x-ndjson", Content::Text),
                ],
            )
            .header("Link", "The next page, where there is one.")
            .refuses(406, "The list has none of the forms that Accept names."),
        Operation::new(Method::GET, "/facets", get(facets), "The counts of a list")
            .text("For each value of a filter: how many rows one would see with it, all other filters in force.")
            .with_all(parameters())
            .gives::<Facets>(200, "The counts."),
    ]
}

/// What a list can be asked: what [`RunQuery::parse`] reads.
pub(crate) fn parameters() -> Vec<Parameter> {
    let text =
        || json!({"type": "string", "minLength": 1, "maxLength": MOST_CHARACTERS, "pattern": "^[^\u{0}]*$"});
    let list = |of: Value| json!({"type": "array", "maxItems": MOST_VALUES, "items": of});
    let whole = |most: u64| json!({"type": "integer", "minimum": 0, "maximum": most});
    let hash = || json!({"type": "string", "pattern": "^[0-9a-f]{64}$"});
    let goals = Goal::ALL.map(Goal::code);
    let levels = EvidenceLevel::ALL.map(EvidenceLevel::code);
    let shelves = [Shelf::Ranked, Shelf::Reported, Shelf::Simulated].map(Shelf::code);
    let one = Parameter::query;
    let some = |name, words, of: Value, example: Value| {
        Parameter::query(name, words, list(of), json!([example])).repeated()
    };
    vec![
        one(
            "shelf",
            "Which list.",
            json!({"type": "string", "enum": shelves, "default": "ranked"}),
            json!("ranked"),
        ),
        one(
            "goal",
            "What it is sorted by; runs without the figure come last.",
            json!({"type": "string", "enum": goals, "default": "users"}),
            json!("peak"),
        ),
        one(
            "fold",
            "1: replicates (runs of the same set-up) are folded into one row; 0: every run.",
            json!({"type": "string", "enum": ["1", "true", "yes", "0", "false", "no"], "default": "1"}),
            json!("0"),
        ),
        one(
            "limit",
            "Most rows.",
            json!({"type": "integer", "minimum": 1, "maximum": RunQuery::MOST, "default": 50}),
            json!(20),
        ),
        one(
            "after",
            "The cursor `next` of the answer before.",
            json!({"type": "string", "pattern": "^([0-9a-f]{16}|none)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}),
            json!("none-01931d3a-7c00-7000-8000-000000000001"),
        ),
        some("model", "Full names of models.", text(), json!("example/Model-8B")),
        some("hardware", "Names of accelerators.", text(), json!("H200 SXM")),
        some("accelerators", "Numbers of accelerators.", whole(u64::from(u32::MAX)), json!(4)),
        some("engine", "Names of engines.", text(), json!("vllm")),
        some("engine_version", "Versions of engines.", text(), json!("0.33.0")),
        some("quantization", "Precisions of the weights.", text(), json!("FP8")),
        some("speculative", "Speculative decoding.", text(), json!("off")),
        some(
            "context",
            "Contexts of valid decode cells, tokens by label: 8K is 8192.",
            whole(u64::from(u32::MAX)),
            json!(8192),
        ),
        one("evidence", "Least level of evidence.", json!({"type": "string", "enum": levels}), json!("T1")),
        one(
            "since",
            "Published on this day, or at this time, or later (UTC).",
            json!({"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]}),
            json!("2026-11-30"),
        ),
        one("submitter", "The public name of who published.", text(), json!("admin")),
        one(
            "text",
            "Words in title, model, hardware, engine or submitter, in any case.",
            text(),
            json!("8B"),
        ),
        one("group", "Only runs of one set-up: their `group_hash`.", hash(), json!(HASH)),
        one(
            "series",
            "Only runs that differ in the engine's version alone: their `series_hash`.",
            hash(),
            json!(HASH),
        ),
    ]
}

/// A hash for examples.
const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// What the API can do, for whoever comes upon it.
async fn about(State(app): State<App>) -> Json<About> {
    let addresses = super::operations().into_iter();
    let address =
        |one: Operation| (format!("{} /api/v1{}", one.method, one.path.trim_end_matches('/')), one.summary);
    Json(About {
        api: "tokometer site, version 1",
        url: app.config.url(),
        openapi: "/openapi.json",
        page: "/api",
        addresses: addresses.map(address).collect(),
    })
}

async fn list(
    State(app): State<App>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let text = query.unwrap_or_default();
    let query = read_without(&text, &["fields"])?;
    let fields = fields(&text)?;
    let form = Form::of(&headers)?;
    let list = app.store.list(&query).await?;
    let next = list.next.as_ref().map(ToString::to_string);
    let mut response = match form {
        Form::Json => {
            let runs = list.rows.iter().map(|row| object(row, fields.as_deref())).collect();
            Json(List { runs, next }).into_response()
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
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
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
async fn facets(State(app): State<App>, RawQuery(query): RawQuery) -> Result<Json<Facets>, Problem> {
    let query = read(&query.unwrap_or_default())?;
    Ok(Json(app.store.facets(&query).await?))
}

/// The question of an address.
pub(crate) fn read(text: &str) -> Result<RunQuery, Problem> {
    read_without(text, &[])
}

/// The question of an address, with these names passed over.
fn read_without(text: &str, others: &[&str]) -> Result<RunQuery, Problem> {
    // Forms of pages send empty fields; a program that does means something else.
    if let Some((name, _)) = form_urlencoded::parse(text.as_bytes()).find(|(_, value)| value.is_empty()) {
        let why = format!("{name:?} has no value");
        return Err(Problem::bad("bad_query", why, "leave out what does not narrow the list"));
    }
    let twice =
        |name: &str| form_urlencoded::parse(text.as_bytes()).filter(|(key, _)| key == name).count() > 1;
    if let Some(one) = parameters().iter().find(|one| one.list != Lists::Repeated && twice(one.name)) {
        return Err(Problem::bad("bad_query", format!("{} is there twice", one.name), "name one value"));
    }
    let query = RunQuery::parse(text, others)
        .map_err(|why| Problem::bad("bad_query", why, "/openapi.json says what a list can be asked"))?;
    if query.shelf == Shelf::Withdrawn {
        return Err(Problem::bad(
            "bad_query",
            "what was taken down is in no list",
            "take shelf ranked, reported or simulated; /api/v1/moderation says what was taken down",
        ));
    }
    Ok(query)
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
    if let (Value::Object(map), Some(fields)) = (&mut object, fields) {
        map.retain(|name, _| fields.contains(&name.as_str()));
    }
    object
}
