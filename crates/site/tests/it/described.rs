//! Answers of the API held against its description. [`crate::site::Site`] has every answer of every test looked at.

use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, Mutex};

use http::Method;
use jsonschema::{Retrieve, Uri, Validator};
use serde_json::{Value, json};

use crate::client::Answer;

/// Validators by operation, status and kind.
static VALIDATORS: LazyLock<Mutex<HashMap<String, &'static Validator>>> = LazyLock::new(Mutex::default);
/// Operations that answered without a refusal: `GET /api/v1/runs`.
pub(crate) static SEEN: LazyLock<Mutex<BTreeSet<String>>> = LazyLock::new(Mutex::default);

/// Panics where an answer is not what the description says.
#[track_caller]
pub(crate) fn check(method: &Method, path: &str, answer: &Answer) {
    let path = path.split('?').next().unwrap();
    let document = tokometer_site::openapi();
    let Some(template) = template_of(path) else { return };
    let name = format!("{method} {template}");
    let operation = &document["paths"][&template][method.as_str().to_lowercase()];
    if method == Method::HEAD {
        return;
    }
    if operation.is_null() {
        assert_eq!(answer.status, 405, "{name} is not described: {answer:?}");
        return;
    }
    let status = answer.status.as_u16().to_string();
    let response = &operation["responses"][&status];
    assert!(!response.is_null(), "{name} is not said to answer {status}: {answer:?}");
    if answer.status.is_success() {
        SEEN.lock().unwrap().insert(name.clone());
    }
    let Some(contents) = response["content"].as_object() else {
        assert!(answer.body.is_empty(), "{name} is said to answer {status} without a body: {answer:?}");
        return;
    };
    let kind = answer.header("content-type").split(';').next().unwrap().to_owned();
    let content = contents.get(&kind).unwrap_or_else(|| panic!("{name} is not said to give {kind}"));
    if !kind.ends_with("json") || kind == "application/x-ndjson" {
        return;
    }
    let key = format!("{name} {status} {kind}");
    let validator = *VALIDATORS
        .lock()
        .unwrap()
        .entry(key.clone())
        .or_insert_with(|| Box::leak(Box::new(validator(&content["schema"]))));
    let body = answer.json();
    let wrong: Vec<String> =
        validator.iter_errors(&body).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{key} is not as described:\n{}\n{body}", wrong.join("\n"));
}

/// A validator for a schema of the description, whatever it refers to.
pub(crate) fn validator(schema: &Value) -> Validator {
    let document = tokometer_site::openapi();
    let whole = json!({"components": document["components"], "allOf": [schema]});
    jsonschema::options()
        .with_base_uri("http://site.test/openapi.json")
        .with_retriever(Schemas)
        .build(&whole)
        .unwrap()
}

/// The schemas of documents, as the site serves them.
struct Schemas;

impl Retrieve for Schemas {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let name = uri.path().as_str().rsplit('/').next().unwrap_or_default().to_owned();
        let found = tokometer_record::schema::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, make)| make()).ok_or_else(|| format!("no schema at {uri}").into())
    }
}

/// The path of the description that an address is one of; what has no places comes first.
pub(crate) fn template_of(path: &str) -> Option<String> {
    let paths = tokometer_site::openapi()["paths"].as_object().unwrap();
    if paths.contains_key(path) && !path.contains('{') {
        return Some(path.to_owned());
    }
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |template: &&String| {
        let places: Vec<&str> = template.split('/').collect();
        places.len() == parts.len()
            && places
                .iter()
                .zip(&parts)
                .all(|(place, part)| place == part || (place.starts_with('{') && !part.is_empty()))
    };
    paths.keys().find(fits).cloned()
}
