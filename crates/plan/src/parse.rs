//! Reads the lists and times that users write.

use std::collections::HashSet;
use std::fmt::Display;
use std::hash::Hash;

use tokometer_record::{CONTEXT_K, context_label};

use crate::PlanError;

/// A context length: `8192`, `8k` or `8K`.
///
/// ```
/// assert_eq!(tokometer_plan::parse_context("8k").unwrap(), 8192);
/// ```
pub fn parse_context(text: &str) -> Result<u64, PlanError> {
    let trimmed = text.trim();
    let (digits, unit) = match trimmed.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, CONTEXT_K),
        None => (trimmed, 1),
    };
    whole_number(digits)
        .and_then(|number| number.checked_mul(unit))
        .filter(|tokens| *tokens > 0)
        .ok_or_else(|| PlanError::Context { text: text.to_owned() })
}

/// A list of context lengths: `8k,16k,131072`.
pub fn parse_contexts(text: &str) -> Result<Vec<u64>, PlanError> {
    distinct(list(text, parse_context)?, |tokens| context_label(*tokens))
}

/// A list of numbers of requests at once: `1,2,4`.
pub fn parse_concurrency(text: &str) -> Result<Vec<u32>, PlanError> {
    let one = |item: &str| {
        whole_number(item.trim())
            .and_then(|number| u32::try_from(number).ok())
            .filter(|number| *number > 0)
            .ok_or_else(|| PlanError::Concurrency { text: item.to_owned() })
    };
    distinct(list(text, one)?, ToString::to_string)
}

/// Longest time that an option takes: a day.
const LONGEST_SECONDS: f64 = 86_400.0;

/// A length of time in seconds, up to a day: `30s`, `2m`, `500ms`, `1h`, or seconds as a plain number.
pub fn parse_duration(text: &str) -> Result<f64, PlanError> {
    let trimmed = text.trim();
    let (number, unit) = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)]
        .into_iter()
        .find_map(|(suffix, unit)| trimmed.strip_suffix(suffix).map(|number| (number, unit)))
        .unwrap_or((trimmed, 1.0));
    number
        .trim_end()
        .parse::<f64>()
        .ok()
        .filter(|_| number.starts_with(|first: char| first.is_ascii_digit() || first == '.'))
        .map(|number| number * unit)
        .filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST_SECONDS)
        .ok_or_else(|| PlanError::Duration { text: text.to_owned() })
}

/// Digits and nothing else: no sign, no fraction.
fn whole_number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn list<T>(text: &str, one: impl Fn(&str) -> Result<T, PlanError>) -> Result<Vec<T>, PlanError> {
    text.split(',').map(one).collect()
}

fn distinct<T: Eq + Hash + Copy + Display>(
    values: Vec<T>,
    show: impl Fn(&T) -> String,
) -> Result<Vec<T>, PlanError> {
    let mut seen = HashSet::new();
    match values.iter().find(|value| !seen.insert(**value)) {
        Some(twice) => Err(PlanError::Twice { text: show(twice) }),
        None => Ok(values),
    }
}
