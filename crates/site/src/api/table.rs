//! A list as comma-separated values, and the names of its fields.

use crate::clock;
use crate::domain::{Headline, RunRow};

/// Fields of a run in a list, in the order of columns.
pub(super) const NAMES: [&str; 31] = [
    "id",
    "submitter",
    "revision",
    "shelf",
    "measured_at",
    "published_at",
    "revised_at",
    "title",
    "model",
    "hardware",
    "accelerators",
    "engine",
    "engine_version",
    "quantization",
    "speculative",
    "contexts",
    "method",
    "evidence",
    "group_hash",
    "series_hash",
    "content_sha256",
    "one_user",
    "peak",
    "peak_per_accelerator",
    "prefill",
    "users_at_limits",
    "joules_per_token",
    "valid_cells",
    "all_cells",
    "replicates",
    "submitters",
];

/// Rows as a table; units stand in the names of columns.
pub(super) fn csv(rows: &[RunRow], fields: Option<&[&'static str]>) -> String {
    let all = NAMES.to_vec();
    let fields = fields.unwrap_or(&all);
    let mut out = String::new();
    line(&mut out, fields.iter().flat_map(|field| columns(field)).map(|(name, _)| name.to_owned()));
    for row in rows {
        line(&mut out, fields.iter().flat_map(|field| columns(field)).map(|(_, value)| value(row)));
    }
    out
}

fn line(out: &mut String, values: impl Iterator<Item = String>) {
    let values: Vec<String> = values.map(|value| quoted(&value)).collect();
    out.push_str(&values.join(","));
    out.push_str("\r\n");
}

/// A value as it may stand in a table. What a spreadsheet would take for a formula gets an apostrophe in front.
fn quoted(value: &str) -> String {
    let is_number = value.parse::<f64>().is_ok();
    let formula = !is_number && value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let value = if formula { format!("'{value}") } else { value.to_owned() };
    if value.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value }
}

type Column = (&'static str, fn(&RunRow) -> String);

/// The columns of a field.
fn columns(field: &str) -> Vec<Column> {
    fn or_empty(value: Option<impl ToString>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    fn part(headline: Option<Headline>, of: fn(&Headline) -> Option<f64>) -> String {
        or_empty(headline.as_ref().and_then(of))
    }
    match field {
        "id" => vec![("id", |row| row.id.clone())],
        "submitter" => vec![("submitter", |row| row.submitter.clone())],
        "revision" => vec![("revision", |row| row.revision.to_string())],
        "shelf" => vec![("shelf", |row| row.shelf.code().to_owned())],
        "measured_at" => vec![("measured_at", |row| or_empty(row.measured_at.map(clock::text)))],
        "published_at" => vec![("published_at", |row| clock::text(row.published_at))],
        "revised_at" => vec![("revised_at", |row| clock::text(row.revised_at))],
        "title" => vec![("title", |row| row.title.clone())],
        "model" => vec![("model", |row| row.model.clone())],
        "hardware" => vec![("hardware", |row| row.hardware.clone())],
        "accelerators" => vec![("accelerators", |row| or_empty(row.accelerators))],
        "engine" => vec![("engine", |row| row.engine.clone())],
        "engine_version" => vec![("engine_version", |row| row.engine_version.clone())],
        "quantization" => vec![("quantization", |row| row.quantization.clone())],
        "speculative" => vec![("speculative", |row| row.speculative.clone())],
        "contexts" => vec![("contexts_tokens", |row| {
            row.contexts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        })],
        "method" => vec![("method", |row| row.method.clone())],
        "evidence" => vec![("evidence", |row| row.evidence.level.code().to_owned())],
        "group_hash" => vec![("group_hash", |row| row.group_hash.clone())],
        "series_hash" => vec![("series_hash", |row| row.series_hash.clone())],
        "content_sha256" => vec![("content_sha256", |row| row.content_sha256.clone())],
        "one_user" => vec![
            ("one_user_tok_s", |row| part(row.one_user, |it| Some(it.value))),
            ("one_user_low_tok_s", |row| part(row.one_user, |it| it.low)),
            ("one_user_high_tok_s", |row| part(row.one_user, |it| it.high)),
        ],
        "peak" => vec![
            ("peak_tok_s", |row| part(row.peak, |it| Some(it.value))),
            ("peak_low_tok_s", |row| part(row.peak, |it| it.low)),
            ("peak_high_tok_s", |row| part(row.peak, |it| it.high)),
        ],
        "peak_per_accelerator" => {
            vec![("peak_per_accelerator_tok_s", |row| or_empty(row.peak_per_accelerator))]
        }
        "prefill" => vec![("prefill_tok_s", |row| or_empty(row.prefill))],
        "users_at_limits" => vec![("users_at_50_tok_s_and_1_s", |row| or_empty(row.users_at_limits))],
        "joules_per_token" => vec![("joules_per_token", |row| or_empty(row.joules_per_token))],
        "valid_cells" => vec![("valid_cells", |row| row.valid_cells.to_string())],
        "all_cells" => vec![("all_cells", |row| row.all_cells.to_string())],
        "replicates" => vec![("replicates", |row| row.replicates.to_string())],
        "submitters" => vec![("submitters", |row| row.submitters.to_string())],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_column() {
        for name in NAMES {
            assert!(!columns(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn no_value_is_a_formula() {
        assert_eq!(quoted("=1+1"), "'=1+1");
        assert_eq!(quoted("@x,\"y\""), "\"'@x,\"\"y\"\"\"");
        assert_eq!(quoted("-1.5"), "-1.5");
    }
}
