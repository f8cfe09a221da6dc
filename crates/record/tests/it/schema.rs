//! Records follow the JSON Schema that is made from their types.

use serde_json::{Value, json};
use tokometer_record::{Run, import, published, schema};

use crate::sample;

/// Checks `value` against `schema` by the keywords that these schemas use; any other keyword is an error, so
/// that nothing is passed over.
fn check(root: &Value, schema: &Value, value: &Value, path: &str) -> Result<(), String> {
    let Some(keywords) = schema.as_object() else {
        return if schema == &Value::Bool(true) {
            Ok(())
        } else {
            Err(format!("{path}: nothing is allowed here"))
        };
    };
    for (keyword, argument) in keywords {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => {}
            "$ref" => {
                let pointer = argument.as_str().and_then(|reference| reference.strip_prefix('#')).unwrap();
                check(root, root.pointer(pointer).unwrap(), value, path)?;
            }
            "type" => check_type(argument, value, path)?,
            "const" if argument == value => {}
            "enum" if argument.as_array().unwrap().contains(value) => {}
            "const" | "enum" => return Err(format!("{path}: {value} is not {argument}")),
            "minimum" => {
                if value.as_f64().is_some_and(|number| number < argument.as_f64().unwrap()) {
                    return Err(format!("{path}: {value} is below {argument}"));
                }
            }
            "maximum" => {
                if value.as_f64().is_some_and(|number| number > argument.as_f64().unwrap()) {
                    return Err(format!("{path}: {value} is above {argument}"));
                }
            }
            "minItems" | "maxItems" => {
                let (length, limit) = (value.as_array().map(Vec::len), argument.as_u64().unwrap() as usize);
                if length
                    .is_some_and(|length| if keyword == "minItems" { length < limit } else { length > limit })
                {
                    return Err(format!("{path}: {length:?} items, {keyword} {limit}"));
                }
            }
            "anyOf" | "oneOf" => {
                let branches = argument.as_array().unwrap();
                let fitting =
                    branches.iter().filter(|branch| check(root, branch, value, path).is_ok()).count();
                if fitting == 0 || (keyword == "oneOf" && fitting > 1) {
                    return Err(format!("{path}: {value} fits {fitting} of {keyword}"));
                }
            }
            "required" => {
                let missing = argument
                    .as_array()
                    .unwrap()
                    .iter()
                    .find(|name| value.is_object() && value.get(name.as_str().unwrap()).is_none());
                if let Some(name) = missing {
                    return Err(format!("{path}: no {name}"));
                }
            }
            "properties" => {
                for (name, schema) in argument.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        check(root, schema, value, &format!("{path}.{name}"))?;
                    }
                }
            }
            "additionalProperties" => {
                for (name, value) in value.as_object().into_iter().flatten() {
                    check(root, argument, value, &format!("{path}.{name}"))?;
                }
            }
            "items" => {
                for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, argument, value, &format!("{path}[{index}]"))?;
                }
            }
            other => return Err(format!("{path}: keyword {other} is not known to this test")),
        }
    }
    Ok(())
}

fn check_type(types: &Value, value: &Value, path: &str) -> Result<(), String> {
    let fits = |name: &str| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        other => panic!("type {other}"),
    };
    let fitting = match types {
        Value::Array(names) => names.iter().any(|name| fits(name.as_str().unwrap())),
        name => fits(name.as_str().unwrap()),
    };
    if fitting { Ok(()) } else { Err(format!("{path}: {value} is no {types}")) }
}

fn check_run(run: &Value) -> Result<(), String> {
    let schema = schema::run();
    check(&schema, &schema, run, "run")
}

#[test]
fn records_follow_the_schema() {
    for text in [published::H200_X4, published::RTX_PRO_6000_X4] {
        let run = import::published(text, "a.json").unwrap();
        check_run(&serde_json::to_value(&run).unwrap()).unwrap();
    }
    check_run(&serde_json::to_value(sample::run()).unwrap()).unwrap();
}

#[test]
fn the_schema_tells_wrong_from_right() {
    let good = serde_json::to_value(sample::run()).unwrap();
    let changes: [(&str, Value); 5] = [
        ("/cells/1/status", json!("fine")),
        ("/cells/1/throughput/total", json!("fast")),
        ("/cells/1/concurrency", json!(-1)),
        ("/cells/1/flags/0/code", json!("nice")),
        ("/tool", Value::Null),
    ];
    for (place, value) in changes {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap() = value;
        assert!(check_run(&bad).is_err(), "{place}");
    }
}

#[test]
fn the_schema_has_a_title_and_describes_fields() {
    let schema = schema::run();
    assert!(schema["title"].as_str().unwrap().contains(Run::SCHEMA));
    assert_eq!(schema.get("$id"), None);
    assert!(schema["properties"]["cells"]["description"].is_string());
}

#[test]
fn other_programs_find_the_promised_names() {
    let run = serde_json::to_value(sample::run()).unwrap();
    let cell = &run["cells"][1];
    for place in [
        "/phase",
        "/context_nominal",
        "/context_actual/p50",
        "/concurrency",
        "/status",
        "/flags/0/code",
        "/throughput/total",
        "/prefill_rate",
        "/ttft_ms/p50",
        "/time_between_tokens_ms/p50",
        "/per_request_rate/p50",
        "/requests/started",
        "/requests/ended",
        "/requests/cut",
        "/requests/failed",
        "/tokens/out",
        "/error",
    ] {
        assert!(cell.pointer(place).is_some_and(|value| !value.is_null()), "{place}");
    }
    assert_eq!(run["schema"], "tokometer.run/1");
}
