//! The result file of llm-inference-bench (`--output`): prefill rows and a matrix of decode cells.

use serde::Deserialize;
use serde_json::Value;

use super::common::{self, Source, Stated};
use crate::{Cell, FlagCode, Phase, Reason, ReasonRule, Run, Status, TokenSource, Tool};

const TOOL: &str = "llm-inference-bench";
/// More of the window's samples with a waiting request, and the cell is queued (method section 7).
const QUEUED_SHARE: f64 = 0.1;

/// Its results have words of their own.
pub(super) fn is(document: &Value) -> bool {
    document.get("metadata").is_some()
        && document.get("results").is_some_and(Value::is_array)
        && (document.get("summary_table").is_some() || document.pointer("/results/0/aggregate_tps").is_some())
}

#[derive(Deserialize)]
struct Metadata {
    version: Option<String>,
    engine: Option<String>,
    model: Option<String>,
    decode_mode: Option<String>,
    prefill_mode: Option<String>,
    duration_per_test: Option<f64>,
    max_tokens: Option<u64>,
    max_total_tokens: Option<u64>,
    temperature: Option<f64>,
    ignore_eos: Option<bool>,
    metrics_available: Option<bool>,
    #[serde(default)]
    concurrency_levels: Vec<u32>,
    #[serde(default)]
    context_lengths: Vec<u64>,
}

#[derive(Deserialize)]
struct Row {
    concurrency: u32,
    context_tokens: u64,
    aggregate_tps: f64,
    aggregate_source: Option<String>,
    measurement_seconds: Option<f64>,
    client_output_tokens: Option<u64>,
    #[serde(default)]
    failure_reason: String,
    #[serde(default)]
    num_errors: u64,
    request_count: Option<u64>,
    completed_request_count: Option<u64>,
    avg_running_reqs: Option<f64>,
    queue_fraction: Option<f64>,
    #[serde(default)]
    underfilled: bool,
    #[serde(default)]
    warmup_timed_out: bool,
    #[serde(default)]
    capacity_limited: bool,
    #[serde(default)]
    loop_detected: bool,
    #[serde(default)]
    request_samples: Vec<Sample>,
}

#[derive(Deserialize)]
struct Sample {
    input_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct Prefill {
    ttft_seconds: Option<f64>,
    tok_per_sec: Option<f64>,
    client_tok_per_sec: Option<f64>,
    prompt_tokens: Option<u64>,
    samples: Option<u64>,
}

pub(super) fn read(document: &Value, source: &Source<'_>) -> Result<Run, String> {
    let metadata: Metadata = common::part(&document["metadata"], "metadata")?;
    let mut cells = Vec::new();
    for (context, value) in document["prefill"].as_object().into_iter().flatten() {
        let prefill: Prefill = common::part(value, &format!("prefill of {context}"))?;
        let context = context.parse().map_err(|_| format!("prefill of {context:?}, which is no length"))?;
        cells.push(prefill_cell(context, &prefill)?);
    }
    for (at, value) in document["results"].as_array().into_iter().flatten().enumerate() {
        let what = format!("result {}", at + 1);
        let row: Row = common::part(value, &what)?;
        cells.push(decode_cell(&row, value, &metadata).map_err(|why| format!("{what}: {why}"))?);
    }
    add_missing(&mut cells, &metadata);
    let mode = metadata.decode_mode.as_deref().unwrap_or("not told");
    let mut settings = common::settings(
        &cells,
        if mode == "duration" { "fixed_duration" } else { mode },
        metadata.prefill_mode.as_deref().unwrap_or("not told"),
    );
    settings.duration_seconds = metadata.duration_per_test.unwrap_or(settings.duration_seconds);
    settings.max_output_tokens = metadata.max_tokens.ok_or("no max_tokens in its metadata")?;
    settings.temperature = metadata.temperature;
    settings.respect_eos = metadata.ignore_eos.map(|ignore| !ignore);
    let version = metadata.version.unwrap_or_else(|| "not told".to_owned());
    let tool = Tool { name: TOOL.to_owned(), version, commit: None };
    let mut run = common::run(source, tool, settings, cells)?;
    run.engine.name = metadata.engine;
    run.model.served_name = metadata.model;
    run.capacity.kv_tokens = metadata.max_total_tokens.filter(|tokens| *tokens > 0);
    if let Some(at) = document["metadata"]["timestamp"].as_str() {
        if at.ends_with('Z') {
            run.created_at = Some(at.to_owned());
        } else {
            let why = format!("{TOOL} states {at}, a local time without its zone");
            run.unknown.insert("created_at".to_owned(), why);
        }
    }
    if let Some(bursts) = document["burst_results"].as_array().filter(|bursts| !bursts.is_empty()) {
        run.remarks
            .push(format!("{} burst results were left out: a record has no place for them", bursts.len()));
    }
    common::note_unknown(&mut run, TOOL);
    Ok(run)
}

fn prefill_cell(context: u64, prefill: &Prefill) -> Result<Cell, String> {
    let mut cell = common::decode_cell(context, 1)?;
    cell.phase = Phase::Prefill;
    let rate = prefill.client_tok_per_sec.or(prefill.tok_per_sec);
    cell.prefill_rate = rate.filter(|rate| *rate > 0.0);
    if cell.prefill_rate.is_none() {
        common::decide(&mut cell, Status::Error, format!("{TOOL} states no rate for this prompt"));
    }
    let ttft = prefill.ttft_seconds.map(|seconds| 1000.0 * seconds);
    let stated = Stated { n: prefill.samples, p50: ttft, ..Stated::default() };
    cell.ttft_ms = common::distribution(&mut cell, "ttft_ms", stated, TOOL);
    cell.requests.ended = prefill.samples;
    cell.context_actual = prefill.prompt_tokens.and_then(|tokens| common::spread(vec![tokens]));
    if cell.context_actual.is_none() {
        cell.unknown.insert("context_actual".to_owned(), format!("{TOOL} does not tell"));
    }
    Ok(cell)
}

fn decode_cell(row: &Row, value: &Value, metadata: &Metadata) -> Result<Cell, String> {
    let mut cell = common::decode_cell(row.context_tokens, row.concurrency)?;
    let ended = row.completed_request_count.unwrap_or(0);
    common::requests(&mut cell, ended, Some(row.num_errors), told(&row.failure_reason), TOOL);
    cell.requests.started = row.request_count;
    judge(&mut cell, row);
    if let Some(seconds) = row.measurement_seconds.filter(|seconds| *seconds > 0.0) {
        common::window(&mut cell, seconds)?;
    } else {
        cell.unknown.insert("window".to_owned(), format!("{TOOL} does not tell"));
    }
    // Looped and failed cells carry a mark below 0 in place of a rate.
    common::throughput(&mut cell, Some(row.aggregate_tps), TOOL);
    latencies(&mut cell, row, value);
    cell.context_actual =
        common::spread(row.request_samples.iter().filter_map(|sample| sample.input_tokens).collect());
    if cell.context_actual.is_none() {
        cell.unknown.insert("context_actual".to_owned(), format!("{TOOL} does not tell"));
    }
    // Without the server's metrics it writes 0.
    cell.average_active_requests =
        row.avg_running_reqs.filter(|running| metadata.metrics_available != Some(false) && *running > 0.0);
    if cell.average_active_requests.is_none() {
        let why = format!("{TOOL} had no gauge of the server");
        cell.unknown.insert("average_active_requests".to_owned(), why);
    }
    cell.tokens.out = row.client_output_tokens.filter(|tokens| *tokens > 0);
    if cell.tokens.out.is_none() {
        cell.unknown.insert("tokens.out".to_owned(), format!("{TOOL} does not tell"));
    }
    token_source(&mut cell, row);
    let why = format!("{TOOL} keeps no gaps, only a mean for each request");
    cell.unknown.insert("window_view".to_owned(), why.clone());
    cell.unknown.insert("longest_gap_ms".to_owned(), why);
    Ok(cell)
}

/// The first of the method's verdicts that the file's own words give.
fn judge(cell: &mut Cell, row: &Row) {
    let source = row.aggregate_source.as_deref().unwrap_or_default();
    if cell.status == Status::Error
        || source == "invalid_stream_failure"
        || told(&row.failure_reason).is_some()
    {
        if cell.status != Status::Error {
            let reason = told(&row.failure_reason).unwrap_or("a stream failed");
            common::decide(cell, Status::Error, format!("{TOOL} states: {reason}"));
        }
    } else if row.loop_detected || source == "invalid_exact_repetition" {
        common::decide(cell, Status::Looped, format!("{TOOL} states that a stream repeated itself"));
    } else if let Some(share) = row.queue_fraction.filter(|share| *share > QUEUED_SHARE) {
        let percent = 100.0 * share;
        let text = format!("{TOOL} states that requests waited in {percent:.0} % of the samples");
        common::decide(cell, Status::Queued, text);
    } else if row.aggregate_tps <= 0.0 {
        common::decide(cell, Status::Error, format!("{TOOL} states no rate and no reason"));
    }
    let flags = [
        (row.warmup_timed_out, FlagCode::NotReady, "its warm-up ran into its limit"),
        (row.underfilled, FlagCode::Underfilled, "the server ran fewer requests than asked"),
        (
            row.capacity_limited && !row.underfilled && !row.warmup_timed_out,
            FlagCode::Underfilled,
            "the cell is marked as limited by capacity",
        ),
    ];
    for (raised, code, what) in flags {
        if raised {
            common::flag(cell, code, format!("{TOOL} states that {what}"));
        }
    }
}

/// Its latencies are in seconds, its percentiles over the requests of the cell.
fn latencies(cell: &mut Cell, row: &Row, value: &Value) {
    let stated = |name: &str, factor: f64| {
        let of = |figure: &str| value[format!("{name}_{figure}")].as_f64().map(|told| factor * told);
        Stated {
            n: row.request_count,
            mean: of("avg"),
            p50: of("p50"),
            p90: of("p90"),
            p99: of("p99"),
            ..Stated::default()
        }
    };
    cell.ttft_ms = common::distribution(cell, "ttft_ms", stated("ttft", 1000.0), TOOL);
    cell.time_between_tokens_ms =
        common::distribution(cell, "time_between_tokens_ms", stated("inter_token_latency", 1000.0), TOOL);
    cell.per_request_rate =
        common::distribution(cell, "per_request_rate", stated("output_tps_per_user", 1.0), TOOL);
}

fn token_source(cell: &mut Cell, row: &Row) {
    match row.aggregate_source.as_deref() {
        Some("openai_continuous_usage") => cell.tokens.source = Some(TokenSource::Usage),
        Some("openai_completed_usage") => cell.tokens.source = Some(TokenSource::UsageFinal),
        Some("openai_stream_chunks_fallback") => {
            cell.tokens.source = Some(TokenSource::Events);
            common::flag(cell, FlagCode::TokensEstimated, format!("{TOOL} counted chunks, not tokens"));
        }
        other => {
            let source = other.unwrap_or("none");
            cell.unknown.insert("tokens.source".to_owned(), format!("{TOOL} states the source {source:?}"));
            if other == Some("prometheus_fallback") {
                let detail = format!("{TOOL} took the server's counter, which counts for all clients");
                common::flag(cell, FlagCode::TokensEstimated, detail);
            }
        }
    }
}

fn told(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// Cells of the matrix that the file leaves out: too large for the KV cache by its own rule, or not reached.
fn add_missing(cells: &mut Vec<Cell>, metadata: &Metadata) {
    let budget = metadata.max_total_tokens.unwrap_or(0);
    for context in &metadata.context_lengths {
        for concurrency in &metadata.concurrency_levels {
            let there = |cell: &Cell| {
                (cell.phase, cell.context_nominal, cell.concurrency)
                    == (Phase::Decode, *context, *concurrency)
            };
            if *concurrency == 0 || cells.iter().any(there) {
                continue;
            }
            let mut cell = Cell::planned(Phase::Decode, *context, *concurrency);
            let needed = u64::from(*concurrency).saturating_mul(context + metadata.max_tokens.unwrap_or(0));
            if budget > 0 && needed > budget {
                cell.status = Status::OverCapacity;
                cell.reason = Some(Reason {
                    rule: ReasonRule::KvTokens,
                    text: format!("needs {needed} tokens of KV cache, {TOOL} was told of {budget}; not run"),
                    needed: Some(needed),
                    available: Some(budget),
                    figures: Vec::new(),
                });
            } else {
                let text = format!("not in the file of {TOOL}: skipped by the user, or not reached");
                common::decide(&mut cell, Status::Planned, text);
            }
            cells.push(cell);
        }
    }
}
