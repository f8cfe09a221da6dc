//! The API for readers: a page made of its description.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde_json::Value;

use super::frame::{About, Frame, Here};
use crate::account::Visitor;
use crate::api::openapi;
use crate::app::App;
use crate::problem::Problem;

/// A way to call.
struct Call {
    method: String,
    path: String,
    id: String,
    summary: String,
    text: String,
    parameters: Vec<Parameter>,
    body: String,
    answers: Vec<(String, String)>,
}

struct Parameter {
    name: String,
    place: String,
    text: String,
    /// What it may be, in a few words.
    bounds: String,
}

#[derive(Template)]
#[template(path = "api.html")]
struct ApiPage {
    introduction: String,
    url: String,
    calls: Vec<Call>,
}

pub(super) async fn api(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    let document = openapi::document();
    let about = About {
        description: "What programs can ask this site: lists, records, files, and how to publish.".to_owned(),
        path: "/api".to_owned(),
        ..About::default()
    };
    let calls = document["paths"].as_object().into_iter().flatten().flat_map(|(path, entry)| {
        entry.as_object().into_iter().flatten().map(|(method, operation)| call(path, method, operation))
    });
    let page = ApiPage {
        introduction: text(&document["info"]["description"]),
        url: app.config.url(),
        calls: calls.collect(),
    };
    Frame::new(&app, &visitor, Here::Elsewhere, &about)?.page(StatusCode::OK, "API", &page)
}

fn call(path: &str, method: &str, operation: &Value) -> Call {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let answers = operation["responses"].as_object().into_iter().flatten();
    Call {
        method: method.to_uppercase(),
        path: path.to_owned(),
        id: text(&operation["operationId"]),
        summary: text(&operation["summary"]),
        text: text(&operation["description"]),
        parameters: list(&operation["parameters"]).iter().map(parameter).collect(),
        body: text(&operation["requestBody"]["description"]),
        answers: answers.map(|(status, answer)| (status.clone(), text(&answer["description"]))).collect(),
    }
}

fn parameter(parameter: &Value) -> Parameter {
    let schema = &parameter["schema"];
    let of = if schema["type"] == "array" { &schema["items"] } else { schema };
    let mut bounds = Vec::new();
    if let Some(words) = of["enum"].as_array() {
        bounds.push(words.iter().map(text).collect::<Vec<_>>().join(", "));
    } else if !of["format"].is_null() {
        bounds.push(text(&of["format"]));
    } else {
        bounds.push(text(&of["type"]));
    }
    match (of["minimum"].as_u64(), of["maximum"].as_u64()) {
        // The largest numbers that are read at all say nothing to a reader.
        (Some(least), Some(most)) if most < u64::from(u32::MAX) => bounds.push(format!("{least} to {most}")),
        _ => {}
    }
    if let Some(most) = of["maxLength"].as_u64() {
        bounds.push(format!("at most {most} characters"));
    }
    if let Some(most) = schema["maxItems"].as_u64() {
        bounds.push(format!("up to {most} of them"));
    }
    if !schema["default"].is_null() {
        bounds.push(format!("{} where it is left out", text(&schema["default"])));
    }
    Parameter {
        name: text(&parameter["name"]),
        place: text(&parameter["in"]),
        text: text(&parameter["description"]),
        bounds: bounds.join("; "),
    }
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned)
}
