//! Values of arguments: what they must look like, and what to say of those that do not.

/// A list given as one argument: clap would otherwise take `Vec` as a repeated option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

/// A JSON object given as an argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Object(pub(crate) serde_json::Map<String, serde_json::Value>);

pub(crate) fn parse_contexts(text: &str) -> Result<List<u64>, String> {
    tokometer_plan::parse_contexts(text).map(List).map_err(|error| error.to_string())
}

pub(crate) fn parse_concurrency(text: &str) -> Result<List<u32>, String> {
    tokometer_plan::parse_concurrency(text).map(List).map_err(|error| error.to_string())
}

pub(crate) fn parse_duration(text: &str) -> Result<f64, String> {
    tokometer_plan::parse_duration(text).map_err(|error| error.to_string())
}

pub(crate) fn parse_temperature(text: &str) -> Result<f64, String> {
    parse_within(text, 0.0, f64::MAX, "a number from 0 on, such as 0.7")
}

pub(crate) fn parse_top_p(text: &str) -> Result<f64, String> {
    parse_within(text, 0.0, 1.0, "a number from 0 to 1, such as 0.95")
}

pub(crate) fn parse_within(text: &str, least: f64, most: f64, expected: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        // Not a number lies in no range.
        Ok(number) if number >= least && number <= most => Ok(number),
        _ => Err(format!("expected {expected}")),
    }
}

/// Fields of a request that decide what is measured, and what sets them.
const OWNED_FIELDS: [(&str, &str); 12] = [
    ("model", "use --model"),
    ("messages", "prompts are built by --contexts, --prompts and --corpus"),
    ("prompt", "prompts are built by --contexts, --prompts and --corpus"),
    ("max_tokens", "use --max-output"),
    ("max_completion_tokens", "use --max-output"),
    ("min_tokens", "use --max-output, or --respect-eos"),
    ("ignore_eos", "use --respect-eos"),
    ("stream", "responses are always streamed"),
    ("stream_options", "usage is asked for as the engine gives it"),
    ("n", "use --concurrency"),
    ("temperature", "use --temperature"),
    ("top_p", "use --top-p"),
];

pub(crate) fn parse_object(text: &str) -> Result<Object, String> {
    match serde_json::from_str(text) {
        Ok(serde_json::Value::Object(map)) => {
            match OWNED_FIELDS.iter().find(|(field, _)| map.contains_key(*field)) {
                Some((field, instead)) => Err(format!("{field:?} is set by the method: {instead}")),
                None => Ok(Object(map)),
            }
        }
        Ok(_) => Err("expected a JSON object such as '{\"top_k\": 20}'".to_owned()),
        Err(error) => Err(format!("not JSON ({error}); expected an object such as '{{\"top_k\": 20}}'")),
    }
}

/// Tokens a second for each stream; none: as fast as the machine can.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate(pub(crate) Option<f64>);

pub(crate) fn parse_rate(text: &str) -> Result<Rate, String> {
    match text.trim() {
        "max" => Ok(Rate(None)),
        number => parse_steady_rate(number).map(|rate| Rate(Some(rate))),
    }
}

pub(crate) fn parse_steady_rate(text: &str) -> Result<f64, String> {
    parse_within(text, 0.001, 1e6, "a number from 0.001 to 1000000")
}
