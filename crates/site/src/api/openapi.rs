//! The description of the API (OpenAPI 3.1), made of its operations and of the types of its bodies.
//!
//! Documents that have a schema of their own (a run, a comparison, a verification) are not described again: the
//! description refers to `/api/v1/schemas/NAME`, which is what `tokometer schema NAME` prints.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{HeaderMap, Method};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use tokometer_record::schema;
use tokometer_record::store::sha256;

use super::operation::{Access, Answer, Body, Content, List, Operation, Parameter};
use crate::app::App;
use crate::problem::{Problem, ProblemBody};
use crate::web::cached::cached;
use crate::web::path::InPath;

/// Names of documents with a schema of their own.
pub(super) const DOCUMENTS: [&str; 5] = ["run", "comparison", "verification", "reanalysis", "sweep"];

/// What the API is, for whoever reads the description first.
const INTRODUCTION: &str = "Measured speeds of servers of language models. Everything can be read without a token. \
    Publishing needs one: `Authorization: Bearer tokometer_…`. A refusal is a document `application/problem+json` \
    (RFC 9457) with a stable `code`, what is wrong (`detail`) and what to do (`hint`). Times are UTC. Units stand in \
    names or descriptions; what is not known is null, never 0. Every answer has the header `x-request-id`. Reads are \
    limited by client address, uploads by user: `429` says in `Retry-After` how long to wait.";

/// The description, and its hash.
static DOCUMENT: LazyLock<(Value, String, String)> = LazyLock::new(|| {
    let document = describe(&super::operations());
    let text = document.to_string();
    let tag = sha256(text.as_bytes());
    (document, text, tag)
});

/// The description of the API as it is served at `/openapi.json`.
pub fn document() -> &'static Value {
    &DOCUMENT.0
}

/// `GET /openapi.json`.
pub(crate) async fn served(headers: HeaderMap) -> Response {
    cached(&headers, "application/json", "public, max-age=300", &DOCUMENT.2, None, || {
        DOCUMENT.1.clone().into()
    })
}

/// Its own part of the API.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::new(Method::GET, "/schemas/{name}", get(schema_of), "The JSON Schema of a document")
            .text("What `tokometer schema NAME` prints (draft 2020-12).")
            .with(Parameter::word("name", "Which document.", &DOCUMENTS))
            .gives_content(200, "The schema.", vec![("application/schema+json", Content::AnyJson)])
            .header("ETag", "SHA-256 of the schema.")
            .gives_content(304, "It is the one that If-None-Match names.", Vec::new())
            .refuses(404, "There is no schema of this name."),
    ]
}

async fn schema_of(
    State(_): State<App>,
    InPath(name): InPath<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let found = schema::ALL.iter().find(|(known, _)| *known == name);
    let (_, make) = found.ok_or_else(|| Problem::not_found("schema of this name"))?;
    let text = make().to_string();
    let tag = sha256(text.as_bytes());
    Ok(cached(&headers, "application/schema+json", "public, max-age=300", &tag, None, || text.into())
        .into_response())
}

/// Two makers of schemas: a body of a request says what is taken, an answer what is given.
struct Schemas {
    taken: SchemaGenerator,
    given: SchemaGenerator,
}

fn describe(operations: &[Operation]) -> Value {
    let settings = || {
        SchemaSettings::draft2020_12()
            .with(|settings| settings.definitions_path = "/components/schemas".into())
    };
    let mut schemas = Schemas {
        taken: settings().for_deserialize().into_generator(),
        given: settings().for_serialize().into_generator(),
    };
    let refusal = schemas.given.subschema_for::<ProblemBody>().to_value();
    let mut paths: Map<String, Value> = Map::new();
    for operation in operations {
        let path = format!("/api/v1{}", operation.path.trim_end_matches('/'));
        let described = described(operation, &mut schemas, &refusal);
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        entry[operation.method.as_str().to_lowercase()] = described;
    }
    let mut definitions = schemas.taken.take_definitions(true);
    definitions.extend(schemas.given.take_definitions(true));
    json!({
        "openapi": "3.1.1",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "tokometer site",
            "version": "1",
            "description": INTRODUCTION,
            "license": {"name": "CC BY 4.0 (the data)", "identifier": "CC-BY-4.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of the site, shown once when it is made. Scopes: read, publish, moderate, admin.",
                },
            },
            "schemas": definitions,
        },
    })
}

fn described(operation: &Operation, schemas: &mut Schemas, refusal: &Value) -> Value {
    let tag = operation.path.split(['/', ':']).nth(1).unwrap_or_default();
    let tag = if tag.is_empty() { "about" } else { tag };
    let scope = match operation.access {
        Access::Needs(scope) => format!("Needs a token with the scope `{}`.", scope.code()),
        Access::MayTell => "A token may come along.".to_owned(),
        Access::Anybody => String::new(),
    };
    let text = [operation.text, &scope].map(str::trim).join(" ").trim().to_owned();
    let mut out = json!({
        "operationId": operation.id(),
        "tags": [tag],
        "summary": operation.summary,
        "security": match operation.access {
            // A site may ask everybody to sign in, and then a token is needed to read.
            Access::Anybody | Access::MayTell => json!([{}, {"token": []}]),
            Access::Needs(_) => json!([{"token": []}]),
        },
        "responses": responses(operation, schemas, refusal),
    });
    if !text.is_empty() {
        out["description"] = text.into();
    }
    if !operation.parameters.is_empty() {
        out["parameters"] = operation.parameters.iter().map(parameter).collect();
    }
    if let Some(body) = &operation.body {
        out["requestBody"] = request_body(body, &mut schemas.taken);
    }
    out
}

fn parameter(parameter: &Parameter) -> Value {
    let mut out = json!({
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.text,
        "schema": parameter.schema,
        "example": parameter.example,
    });
    if parameter.list != List::No {
        out["style"] = "form".into();
        out["explode"] = (parameter.list == List::Repeated).into();
    }
    out
}

fn request_body(body: &Body, generator: &mut SchemaGenerator) -> Value {
    let mut content = Map::new();
    for kind in body.kinds {
        let mut media = json!({"schema": schema_for(body.content, generator)});
        if matches!(body.content, Content::Bytes) {
            media["schema"]["minLength"] = 1.into();
        }
        if let Some(example) = &body.example {
            media["example"] = example.clone();
        }
        content.insert((*kind).to_owned(), media);
    }
    json!({"description": body.text, "required": true, "content": content})
}

fn responses(operation: &Operation, schemas: &mut Schemas, refusal: &Value) -> Value {
    let mut out = Map::new();
    for answer in &operation.answers {
        out.insert(answer.status.to_string(), response(answer, &mut schemas.given));
    }
    let mut refusals: Vec<(u16, &str)> = operation.refusals.clone();
    if let Access::Needs(_) = operation.access {
        refusals.push((401, "The token is missing, not known, or no longer holds."));
        refusals.push((403, "The token, or its user, may not do this."));
    } else {
        refusals.push((401, "A token came along that does not hold, or the site asks everybody to sign in."));
        refusals.push((403, "The site asks everybody to sign in, and the token is not good for reading."));
    }
    if operation.body.is_some() {
        refusals.extend([
            (400, "The body, or the request, can't be read."),
            (408, "The body came too slowly."),
            (413, "The body is too long."),
            (415, "The body is of a kind, or packed in a way, that is not taken here."),
            (422, "It was understood, and is refused for what it holds."),
        ]);
    } else {
        refusals.push((400, "The address can't be read."));
    }
    refusals.push((429, "Too many requests in a short time."));
    refusals.push((503, "Not at the moment; nothing was changed."));
    let mut told: BTreeSet<u16> = operation.answers.iter().map(|answer| answer.status).collect();
    for (status, text) in refusals {
        if told.insert(status) {
            out.insert(status.to_string(), refused(status, text, refusal));
        }
    }
    Value::Object(out)
}

fn refused(status: u16, text: &str, refusal: &Value) -> Value {
    let mut out = json!({
        "description": text,
        "content": {"application/problem+json": {"schema": refusal}},
    });
    if matches!(status, 429 | 503) {
        out["headers"] = json!({
            "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}},
        });
    }
    if status == 401 {
        out["headers"] = json!({
            "WWW-Authenticate": {"description": "`Bearer`.", "schema": {"type": "string"}},
        });
    }
    out
}

fn response(answer: &Answer, generator: &mut SchemaGenerator) -> Value {
    let mut out = json!({"description": answer.text});
    let mut content = Map::new();
    for (kind, of) in &answer.contents {
        content.insert((*kind).to_owned(), json!({"schema": schema_for(*of, generator)}));
    }
    if !content.is_empty() {
        out["content"] = content.into();
    }
    if !answer.headers.is_empty() {
        let headers = answer.headers.iter().map(|(name, text)| {
            ((*name).to_owned(), json!({"description": text, "schema": {"type": "string"}}))
        });
        out["headers"] = headers.collect::<Map<String, Value>>().into();
    }
    out
}

fn schema_for(content: Content, generator: &mut SchemaGenerator) -> Value {
    match content {
        Content::Of(make) => make(generator).to_value(),
        Content::Document(name) => json!({"$ref": format!("/api/v1/schemas/{name}")}),
        Content::AnyJson => json!({}),
        Content::Text => json!({"type": "string"}),
        Content::Bytes => json!({"type": "string", "format": "binary"}),
    }
}
