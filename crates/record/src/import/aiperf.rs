//! `profile_export_aiperf.json` of AIPerf: one measurement a file.

use serde::Deserialize;
use serde_json::Value;

use super::common::{self, Source, Stated};
use crate::{Cell, FlagCode, Run, Spread, TokenSource, Tool};

const TOOL: &str = "AIPerf";

/// It names itself.
pub(super) fn is(document: &Value) -> bool {
    document.get("aiperf_version").is_some()
}

/// A metric with its unit.
#[derive(Deserialize)]
struct Metric {
    unit: String,
    avg: Option<f64>,
    min: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
    max: Option<f64>,
    count: Option<u64>,
}

pub(super) fn read(document: &Value, source: &Source<'_>) -> Result<Run, String> {
    let version = document["aiperf_version"].as_str().unwrap_or("not told");
    let cell = cell(document)?;
    let mut settings = common::settings(std::slice::from_ref(&cell), "request_count", "none");
    let asked = dataset(document, "osl");
    settings.max_output_tokens = if let Some(asked) = asked {
        asked
    } else {
        let mean = metric(document, "output_sequence_length", "tokens")?.and_then(|metric| metric.avg);
        mean.unwrap_or(0.0).round() as u64
    };
    let tool = Tool { name: TOOL.to_owned(), version: version.to_owned(), commit: None };
    let mut run = common::run(source, tool, settings, vec![cell])?;
    if asked.is_none() {
        let why = format!("{TOOL} does not tell what was asked; this is the mean output");
        run.unknown.insert("settings.max_output_tokens".to_owned(), why);
    }
    if let Some(start) = document["start_time"].as_str() {
        let why = format!("{TOOL} states {start}, a local time without its zone");
        run.unknown.insert("created_at".to_owned(), why);
    }
    run.elapsed_seconds = metric(document, "benchmark_duration", "sec")?.and_then(|metric| metric.avg);
    let input = &document["input_config"];
    run.model.served_name = input.pointer("/models/items/0/name").and_then(Value::as_str).map(str::to_owned);
    run.target.url = input.pointer("/endpoint/urls/0").and_then(Value::as_str).map(common::bare_url);
    if document["was_cancelled"] == Value::Bool(true) {
        run.remarks.push(format!("{TOOL} states that its run was cancelled"));
    }
    common::note_unknown(&mut run, TOOL);
    Ok(run)
}

fn cell(document: &Value) -> Result<Cell, String> {
    let prompts = metric(document, "usage_prompt_tokens", "tokens")?;
    let counted = metric(document, "input_sequence_length", "tokens")?;
    let mean = prompts.as_ref().or(counted.as_ref()).and_then(|metric| metric.avg);
    let context = dataset(document, "isl").or(mean.map(|mean| mean.round() as u64));
    let mut cell = common::decode_cell(context.ok_or("no prompt length in it")?, concurrency(document)?)?;

    let seconds = metric(document, "benchmark_duration", "sec")?.and_then(|metric| metric.avg);
    common::window(&mut cell, seconds.ok_or("no benchmark_duration in it")?)?;
    let number = |name: &str| -> Result<Option<u64>, String> {
        let value = metric(document, name, "requests")?.and_then(|metric| metric.avg);
        value.map(|value| common::count(value, name)).transpose()
    };
    let ended = number("request_count")?.unwrap_or(0);
    // It leaves the count of errors out where there are none, and says so by an empty summary.
    let none = document["error_summary"].as_array().is_some_and(Vec::is_empty);
    let failed = number("error_request_count")?.or(none.then_some(0));
    let message = document.pointer("/error_summary/0/error_details/message").and_then(Value::as_str);
    common::requests(&mut cell, ended, failed, message, TOOL);
    common::flag_few(&mut cell);

    cell.context_actual = prompts.as_ref().and_then(counts);
    if cell.context_actual.is_none() {
        let why = format!("{TOOL} states no usage of prompts; its own count is by its tokenizer");
        cell.unknown.insert("context_actual".to_owned(), why);
    }
    let total = metric(document, "output_token_throughput", "tokens/sec")?.and_then(|metric| metric.avg);
    common::throughput(&mut cell, total, TOOL);
    let figures = |cell: &mut Cell, field: &str, name: &str, unit: &str| {
        let stated = metric(document, name, unit)?.as_ref().map(stated).unwrap_or_default();
        Ok::<_, String>(common::distribution(cell, field, stated, TOOL))
    };
    cell.ttft_ms = figures(&mut cell, "ttft_ms", "time_to_first_token", "ms")?;
    cell.time_between_tokens_ms = figures(&mut cell, "time_between_tokens_ms", "inter_token_latency", "ms")?;
    cell.per_request_rate =
        figures(&mut cell, "per_request_rate", "output_token_throughput_per_user", "tokens/sec/user")?;
    cell.time_to_answer_ms = figures(&mut cell, "time_to_answer_ms", "time_to_first_output_token", "ms")?;
    cell.longest_gap_ms = metric(document, "inter_chunk_latency", "ms")?.and_then(|metric| metric.max);
    cell.average_active_requests =
        metric(document, "effective_concurrency", "requests")?.and_then(|metric| metric.avg);
    if cell.average_active_requests.is_none() {
        cell.unknown.insert("average_active_requests".to_owned(), format!("{TOOL} does not tell"));
    }
    note_gaps(&mut cell, document)?;
    tokens(&mut cell, document)?;
    Ok(cell)
}

fn tokens(cell: &mut Cell, document: &Value) -> Result<(), String> {
    let sum = |name: &str| -> Result<Option<u64>, String> {
        let value = metric(document, name, "tokens")?.and_then(|metric| metric.avg);
        value.map(|value| common::count(value, name)).transpose()
    };
    cell.tokens.out = sum("total_output_tokens")?;
    cell.tokens.out_cell = cell.tokens.out;
    cell.tokens.input = match sum("total_usage_prompt_tokens")? {
        Some(usage) => Some(usage),
        None => sum("total_isl")?,
    };
    if document.pointer("/input_config/endpoint/use_server_token_count") == Some(&Value::Bool(true)) {
        cell.tokens.source = Some(TokenSource::UsageFinal);
    } else {
        let why = format!("{TOOL} counted with a tokenizer of its own, not by the server's usage");
        common::flag(cell, FlagCode::TokensEstimated, why.clone());
        cell.unknown.insert("tokens.source".to_owned(), why);
    }
    Ok(())
}

/// Requests at once of the phase that was measured.
fn concurrency(document: &Value) -> Result<u32, String> {
    let phases = document.pointer("/input_config/phases").and_then(Value::as_array);
    let measured = phases.and_then(|all| all.iter().find(|phase| phase["kind"] == "profiling"));
    let asked = measured.and_then(|phase| phase["concurrency"].as_u64());
    let asked = asked.ok_or("no concurrency in its input_config: only runs with --concurrency are cells")?;
    u32::try_from(asked).map_err(|_| "its concurrency is too large".to_owned())
}

/// Asked length of prompts (`isl`) or outputs (`osl`), where it is one number.
fn dataset(document: &Value, length: &str) -> Option<u64> {
    let lengths = document.pointer(&format!("/input_config/datasets/0/prompts/{length}"))?;
    (lengths["stddev"].as_f64() == Some(0.0)).then(|| lengths["mean"].as_f64())?.map(|mean| mean as u64)
}

/// A metric, which must have the unit that this program reads it in.
fn metric(document: &Value, name: &str, unit: &str) -> Result<Option<Metric>, String> {
    let Some(value) = document.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    let metric: Metric = common::part(value, name)?;
    if metric.unit == unit {
        Ok(Some(metric))
    } else {
        Err(format!("{name} is in {}, expected {unit}", metric.unit))
    }
}

fn stated(metric: &Metric) -> Stated {
    Stated {
        n: metric.count,
        mean: metric.avg,
        min: metric.min,
        p50: metric.p50,
        p90: metric.p90,
        p95: metric.p95,
        p99: metric.p99,
        max: metric.max,
    }
}

fn counts(metric: &Metric) -> Option<Spread> {
    let whole = |value: f64| common::count(value, "").ok();
    Some(Spread { n: metric.count?, p50: metric.p50?, min: whole(metric.min?)?, max: whole(metric.max?)? })
}

/// Its gaps do not tell which events came in one read, so they are no gaps of the method.
fn note_gaps(cell: &mut Cell, document: &Value) -> Result<(), String> {
    let figure = |value: Option<f64>| value.map_or("nothing".to_owned(), |value| format!("{value:.3} ms"));
    let why = match metric(document, "inter_chunk_latency", "ms")? {
        Some(gaps) => format!(
            "{TOOL} states a median of {} and a p99 of {} between chunks, without telling which of them came in \
             one read",
            figure(gaps.p50),
            figure(gaps.p99)
        ),
        None => format!("{TOOL} does not tell"),
    };
    cell.unknown.insert("window_view".to_owned(), why);
    Ok(())
}
