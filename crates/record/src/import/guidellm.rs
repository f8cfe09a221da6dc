//! The JSON output of GuideLLM: a list of benchmarks, of which those at a fixed concurrency are cells.

use serde::Deserialize;
use serde_json::Value;

use super::common::{self, Source, Stated};
use crate::{Cell, FlagCode, Run, Spread, Status, Tool};

const TOOL: &str = "GuideLLM";

/// It names itself.
pub(super) fn is(document: &Value) -> bool {
    document.pointer("/metadata/guidellm_version").is_some()
}

#[derive(Deserialize)]
struct Metric {
    successful: Summary,
}

#[derive(Deserialize)]
struct Summary {
    mean: f64,
    median: f64,
    min: f64,
    max: f64,
    count: u64,
    total_sum: f64,
    percentiles: Percentiles,
}

#[derive(Deserialize)]
struct Percentiles {
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
}

#[derive(Deserialize)]
struct Totals {
    successful: u64,
    errored: u64,
    incomplete: u64,
}

pub(super) fn read(document: &Value, source: &Source<'_>) -> Result<Run, String> {
    let version = document["metadata"]["guidellm_version"].as_str().unwrap_or("not told");
    let benchmarks: &Vec<Value> = document["benchmarks"].as_array().ok_or("no list of benchmarks in it")?;
    let mut cells = Vec::new();
    let mut left_out = Vec::new();
    for (at, benchmark) in benchmarks.iter().enumerate() {
        let strategy =
            benchmark.pointer("/config/strategy/type_").and_then(Value::as_str).unwrap_or("unknown");
        match strategy {
            "concurrent" | "synchronous" => {
                let cell = cell(document, benchmark).map_err(|why| format!("benchmark {}: {why}", at + 1))?;
                cells.push(cell);
            }
            other => left_out.push(other.to_owned()),
        }
    }
    if cells.is_empty() && !left_out.is_empty() {
        return Err(format!(
            "only benchmarks with the strategy {}; cells are those with a fixed concurrency (concurrent, \
             synchronous)",
            left_out.join(", ")
        ));
    }
    let mut settings = common::settings(&cells, "request_count", "none");
    let asked = lengths(document, "output_tokens");
    let longest = cells.iter().filter_map(|cell| {
        let ended = cell.requests.ended?;
        cell.tokens.out?.checked_div(ended)
    });
    settings.max_output_tokens = asked.unwrap_or(longest.max().unwrap_or(0));
    let tool = Tool { name: TOOL.to_owned(), version: version.to_owned(), commit: None };
    let mut run = common::run(source, tool, settings, cells)?;
    if asked.is_none() {
        let why = format!("{TOOL} does not tell what was asked; this is the mean output");
        run.unknown.insert("settings.max_output_tokens".to_owned(), why);
    }
    let edge = |name: &str| benchmarks.iter().filter_map(|one| one[name].as_f64()).collect::<Vec<_>>();
    let (starts, ends) = (edge("start_time"), edge("end_time"));
    if let (Some(start), Some(end)) = (starts.first(), ends.last()) {
        run.elapsed_seconds = Some(end - start);
        run.unknown.insert("created_at".to_owned(), format!("{TOOL} states {start} s of the Unix clock"));
    }
    let backend = &document["config"]["spec"]["backend"];
    run.model.served_name = backend["model"].as_str().map(str::to_owned);
    run.target.url = backend["target"].as_str().map(common::bare_url);
    if !left_out.is_empty() {
        let list = left_out.join(", ");
        run.remarks.push(format!("benchmarks without a fixed concurrency were left out: {list}"));
    }
    common::note_unknown(&mut run, TOOL);
    Ok(run)
}

fn cell(document: &Value, benchmark: &Value) -> Result<Cell, String> {
    let metrics = &benchmark["metrics"];
    let metric = |name: &str| common::part::<Metric>(&metrics[name], name).map(|metric| metric.successful);
    let prompts = metric("prompt_token_count")?;
    let outputs = metric("output_token_count")?;
    let context = lengths(document, "prompt_tokens").unwrap_or(prompts.mean.round() as u64);
    let asked = benchmark.pointer("/config/strategy/streams").and_then(Value::as_u64).unwrap_or(1);
    let concurrency = u32::try_from(asked).map_err(|_| "its number of streams is too large".to_owned())?;
    let mut cell = common::decode_cell(context, concurrency)?;

    common::window(&mut cell, benchmark["duration"].as_f64().ok_or("no duration in it")?)?;
    let totals: Totals = common::part(&metrics["request_totals"], "request_totals")?;
    let message = benchmark.pointer("/requests/errored/0/info/error").and_then(Value::as_str);
    common::requests(&mut cell, totals.successful, Some(totals.errored), message, TOOL);
    cell.requests.cut = Some(totals.incomplete);
    cell.requests.started = Some(totals.successful + totals.errored + totals.incomplete);
    if totals.successful == 0 && cell.status == Status::Valid {
        common::decide(&mut cell, Status::Error, format!("{TOOL} states that no request ended"));
    }
    common::flag_few(&mut cell);

    cell.context_actual = counts(&prompts)?;
    common::throughput(&mut cell, Some(metric("output_tokens_per_second")?.mean), TOOL);
    let ttft = stated(&metric("time_to_first_token_ms")?);
    cell.ttft_ms = common::distribution(&mut cell, "ttft_ms", ttft, TOOL);
    let told = metric("inter_token_latency_ms")?;
    let between = Stated { n: Some(totals.successful), ..stated(&told) };
    cell.time_between_tokens_ms = common::distribution(&mut cell, "time_between_tokens_ms", between, TOOL);
    if told.count != totals.successful {
        let why = format!("{TOOL} takes each request once for each of its tokens, {} in all", told.count);
        cell.unknown.insert("time_between_tokens_ms.n".to_owned(), why);
    }
    cell.average_active_requests = Some(metric("request_concurrency")?.mean);
    cell.tokens.out = Some(common::count(outputs.total_sum, "the sum of output_token_count")?);
    cell.tokens.out_cell = cell.tokens.out;
    cell.tokens.input = Some(common::count(prompts.total_sum, "the sum of prompt_token_count")?);
    token_source(&mut cell, benchmark);
    cell.unknown.insert("per_request_rate".to_owned(), format!("{TOOL} does not tell"));
    let why = format!("{TOOL} keeps no gaps, only a mean for each request");
    cell.unknown.insert("window_view".to_owned(), why.clone());
    cell.unknown.insert("longest_gap_ms".to_owned(), why);
    Ok(cell)
}

/// It takes the server's usage where there is one, and else counts its text; an estimate is flagged.
fn token_source(cell: &mut Cell, benchmark: &Value) {
    let by_usage = benchmark.pointer("/config/prefer_response_metrics") == Some(&Value::Bool(true));
    let why = if by_usage {
        format!(
            "{TOOL} prefers the server's usage and counts where there is none; it does not tell which it did"
        )
    } else {
        format!("{TOOL} was told to count by itself, not by the server's usage")
    };
    if !by_usage {
        common::flag(cell, FlagCode::TokensEstimated, why.clone());
    }
    cell.unknown.insert("tokens.source".to_owned(), why);
}

/// Asked length of prompts or outputs, where the data are synthetic and of one length.
fn lengths(document: &Value, name: &str) -> Option<u64> {
    let data = document.pointer("/config/spec/data/0")?;
    data.get(format!("{name}_stdev")).is_none_or(Value::is_null).then(|| data[name].as_u64())?
}

fn stated(summary: &Summary) -> Stated {
    Stated {
        n: Some(summary.count),
        mean: Some(summary.mean),
        min: Some(summary.min),
        p50: Some(summary.median),
        p90: summary.percentiles.p90,
        p95: summary.percentiles.p95,
        p99: summary.percentiles.p99,
        max: Some(summary.max),
    }
}

fn counts(summary: &Summary) -> Result<Option<Spread>, String> {
    if summary.count == 0 {
        return Ok(None);
    }
    Ok(Some(Spread {
        n: summary.count,
        p50: summary.median,
        min: common::count(summary.min, "the smallest prompt")?,
        max: common::count(summary.max, "the largest prompt")?,
    }))
}
