//! Comma-separated values: one row a cell, under columns that stay.
//!
//! New columns come behind the old ones, and no column changes its meaning. Units stand in the names. What is
//! missing is empty, never 0.

use tokometer_record::{Cell, Distribution, Run, context_label};

use crate::number::exact;
use crate::view::faces::accelerators;
use crate::view::reason;
use crate::words::clean;

/// A column: its name, and its text of a cell.
type Column = (&'static str, fn(&Cell, &Whole) -> Option<String>);

/// What a cell's row takes from the run.
pub(crate) struct Whole {
    accelerators: Option<f64>,
}

/// The header and a row for each row of the record, each ended by a line feed.
pub(crate) fn render(run: &Run) -> String {
    let whole = Whole { accelerators: accelerators(run) };
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let mut text = names.join(",");
    text.push('\n');
    for cell in &run.cells {
        let fields: Vec<String> = COLUMNS
            .iter()
            .map(|(_, get)| get(cell, &whole).map(|value| field(&value)).unwrap_or_default())
            .collect();
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}

const COLUMNS: &[Column] = &[
    ("cell", |cell, _| Some(cell.name())),
    ("phase", |cell, _| Some(crate::words::phase(cell.phase).to_lowercase())),
    ("context", |cell, _| Some(context_label(cell.context_nominal))),
    ("context_nominal_tokens", |cell, _| Some(cell.context_nominal.to_string())),
    ("context_actual_p50_tokens", |cell, _| cell.context_actual.map(|actual| exact(actual.p50))),
    ("concurrency", |cell, _| Some(cell.concurrency.to_string())),
    ("status", |cell, _| Some(cell.status.code().to_owned())),
    ("flags", |cell, _| {
        let codes: Vec<&str> = cell.flags.iter().map(|flag| flag.code.code()).collect();
        (!codes.is_empty()).then(|| codes.join(" "))
    }),
    ("total_tok_per_s", |cell, _| Some(exact(cell.throughput.as_ref()?.total))),
    ("total_low_tok_per_s", |cell, _| Some(exact(cell.throughput.as_ref()?.interval.as_ref()?.low))),
    ("total_high_tok_per_s", |cell, _| Some(exact(cell.throughput.as_ref()?.interval.as_ref()?.high))),
    ("interval_scope", |cell, _| Some(clean(&cell.throughput.as_ref()?.interval.as_ref()?.scope))),
    ("decoding_tok_per_s", |cell, _| cell.throughput.as_ref()?.decoding.map(exact)),
    ("per_gpu_tok_per_s", |cell, whole| Some(exact(cell.throughput.as_ref()?.total / whole.accelerators?))),
    ("per_request_p50_tok_per_s", |cell, _| p50(cell.per_request_rate.as_ref())),
    ("prefill_tok_per_s", |cell, _| cell.prefill_rate.map(exact)),
    ("ttft_p50_ms", |cell, _| p50(cell.ttft_ms.as_ref())),
    ("ttft_p90_ms", |cell, _| cell.ttft_ms.as_ref()?.p90.map(exact)),
    ("ttft_p99_ms", |cell, _| cell.ttft_ms.as_ref()?.p99.map(exact)),
    ("ttft_max_ms", |cell, _| cell.ttft_ms.as_ref()?.max.map(exact)),
    ("ttft_n", |cell, _| n(cell.ttft_ms.as_ref())),
    ("time_between_tokens_p50_ms", |cell, _| p50(cell.time_between_tokens_ms.as_ref())),
    ("time_between_tokens_p90_ms", |cell, _| cell.time_between_tokens_ms.as_ref()?.p90.map(exact)),
    ("time_between_tokens_p99_ms", |cell, _| cell.time_between_tokens_ms.as_ref()?.p99.map(exact)),
    ("time_between_tokens_n", |cell, _| n(cell.time_between_tokens_ms.as_ref())),
    ("gap_p50_ms", |cell, _| p50(gaps(cell))),
    ("gap_p99_ms", |cell, _| gaps(cell)?.p99.map(exact)),
    ("gap_n", |cell, _| n(gaps(cell))),
    ("longest_gap_ms", |cell, _| cell.longest_gap_ms.map(exact)),
    ("average_active_requests", |cell, _| cell.average_active_requests.map(exact)),
    ("completed_requests", |cell, _| cell.requests.ended.map(|number| number.to_string())),
    ("failed_requests", |cell, _| cell.requests.failed.map(|number| number.to_string())),
    ("output_tokens", |cell, _| cell.tokens.out.map(|number| number.to_string())),
    ("measured_s", |cell, _| Some(exact(cell.window.as_ref()?.seconds))),
    ("reason", |cell, _| {
        let why = reason::full(cell);
        (!why.is_empty()).then_some(why)
    }),
    ("energy_j_per_tok", |cell, _| cell.telemetry.as_ref()?.joules_per_token.map(exact)),
    ("energy_j", |cell, _| cell.telemetry.as_ref()?.energy_joules.map(exact)),
    ("throttled_share", |cell, _| cell.telemetry.as_ref()?.slowed_share.map(exact)),
];

fn p50(values: Option<&Distribution>) -> Option<String> {
    values?.p50.map(exact)
}

fn n(values: Option<&Distribution>) -> Option<String> {
    values?.n.map(|n| n.to_string())
}

fn gaps(cell: &Cell) -> Option<&Distribution> {
    cell.window_view.as_ref()?.gap_ms.as_ref()
}

/// A field as RFC 4180 has it. Text that a spreadsheet would take for a formula gets an apostrophe before it.
fn field(value: &str) -> String {
    let is_number = value.parse::<f64>().is_ok();
    let formula = !is_number && value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let value = if formula { format!("'{value}") } else { value.to_owned() };
    if value.contains([',', '"', '\n', '\r']) { format!("\"{}\"", value.replace('"', "\"\"")) } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must() {
        for (value, written) in [
            ("8K", "8K"),
            ("-1.5", "-1.5"),
            ("a, b", "\"a, b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("=1+1", "'=1+1"),
            ("–", "–"),
        ] {
            assert_eq!(field(value), written);
        }
    }
}
