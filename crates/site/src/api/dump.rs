//! Dumps of the public tables.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::{HeaderMap, Method};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::artefacts::{self, KIND};
use super::operation::{Content, List, Operation, Parameter};
use crate::app::App;
use crate::artefacts::Hash;
use crate::domain::Dump;
use crate::dump::{self, LICENCE, SCHEMA, TABLES, described};
use crate::problem::Problem;
use crate::web::path::InPath;

/// Files of the newest dump: name and table.
const NEWEST: [(&str, &str); 3] =
    [("latest.parquet", "runs"), ("runs.parquet", "runs"), ("cells.parquet", "cells")];

/// The dumps that there are.
#[derive(Serialize, JsonSchema)]
#[expect(clippy::struct_field_names, reason = "names of the answer")]
pub(crate) struct Dumps {
    /// Version of names and meanings of columns.
    schema: &'static str,
    /// The licence of the data (SPDX).
    licence: &'static str,
    /// Its text.
    licence_url: &'static str,
    /// Who is to be named.
    attribution: String,
    /// Columns by table.
    columns: BTreeMap<&'static str, Vec<dump::Described>>,
    /// Newest first, of at most 14 days.
    dumps: Vec<Of>,
}

/// A dump, and where its files are.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "DumpOfDay")]
struct Of {
    #[serde(flatten)]
    dump: Dump,
    /// Address of each file by its table.
    addresses: BTreeMap<String, String>,
}

pub(super) fn operations() -> Vec<Operation> {
    let file = |operation: Operation| {
        operation
            .gives_content(200, "The file.", vec![(KIND, Content::Bytes)])
            .header("ETag", "Its SHA-256.")
            .gives_content(304, "It is the one that If-None-Match names.", Vec::new())
            .refuses(404, "There is no such dump, or no longer.")
            .refuses(500, "The file that is kept is no longer what its name says, so it is not given.")
    };
    let day = Parameter {
        name: "day",
        place: "path",
        text: "Day of the dump, UTC.",
        schema: json!({"type": "string", "format": "date"}),
        list: List::No,
        required: true,
        example: json!("2026-12-01"),
    };
    vec![
        Operation::new(Method::GET, "/dump", get(list), "Dumps of the public tables")
            .text(
                "Every run that is listed and was measured, and its cells, as Parquet files; made every night. \
                 Simulated runs and what was taken down are in none.",
            )
            .gives::<Dumps>(200, "The dumps, their licence, and what their columns are."),
        file(Operation::new(Method::GET, "/dump/{file}", get(newest), "A file of the newest dump")).with(
            Parameter::word("file", "Which table; `latest.parquet` has the runs.", &NEWEST.map(|(name, _)| name)),
        ),
        file(Operation::new(Method::GET, "/dump/{day}/{file}", get(of_day), "A file of the dump of a day"))
            .with(day)
            .with(Parameter::word("file", "Which table.", &["runs.parquet", "cells.parquet"])),
    ]
}

async fn list(State(app): State<App>) -> Result<Json<Dumps>, Problem> {
    let address = |dump: &Dump, table: &str| format!("/api/v1/dump/{}/{table}.parquet", dump.day);
    let of = |dump: Dump| Of {
        addresses: dump.files.iter().map(|file| (file.table.clone(), address(&dump, &file.table))).collect(),
        dump,
    };
    Ok(Json(Dumps {
        schema: SCHEMA,
        licence: LICENCE.0,
        licence_url: LICENCE.1,
        attribution: format!("{} and the submitters that the column submitter names", app.config.url()),
        columns: TABLES.iter().map(|table| (*table, described(table))).collect(),
        dumps: app.store.dumps().await?.into_iter().map(of).collect(),
    }))
}

async fn newest(
    State(app): State<App>,
    InPath(file): InPath<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let table = NEWEST.iter().find(|(name, _)| *name == file).ok_or_else(nothing)?.1;
    let dump = app.store.dumps().await?.into_iter().next().ok_or_else(nothing)?;
    serve(&app, &headers, &dump, table, "public, max-age=300").await
}

async fn of_day(
    State(app): State<App>,
    InPath((day, file)): InPath<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let table = file.strip_suffix(".parquet").unwrap_or_default();
    let dump = app.store.dumps().await?.into_iter().find(|dump| dump.day == day).ok_or_else(nothing)?;
    // A run of it may be taken down, so it is not for ever.
    serve(&app, &headers, &dump, table, "public, max-age=3600").await
}

async fn serve(
    app: &App,
    headers: &HeaderMap,
    dump: &Dump,
    table: &str,
    cache: &'static str,
) -> Result<Response, Problem> {
    let file = dump.files.iter().find(|file| file.table == table).ok_or_else(nothing)?;
    let name = Hash::parse(&file.sha256).ok_or_else(nothing)?;
    artefacts::file(app, headers, &name, cache).await?.ok_or_else(nothing)
}

fn nothing() -> Problem {
    Problem::not_found("dump")
}
