//! The result file of `vllm bench serve`, of the Python client and of the Rust one (`vllm-bench`): one
//! measurement a file.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::common::{self, Source, Stated};
use crate::{Cell, Run, Tool};

const TOOL: &str = "vllm bench serve";

/// Its fields of a serving benchmark, which other benchmarks of vLLM do not have together.
pub(super) fn is(document: &Value) -> bool {
    ["num_prompts", "max_concurrency", "output_throughput", "total_output_tokens"]
        .iter()
        .all(|field| document.get(field).is_some())
}

#[derive(Deserialize)]
struct Document {
    date: Option<String>,
    endpoint_type: Option<String>,
    model_id: Option<String>,
    num_prompts: u64,
    request_rate: Option<Value>,
    max_concurrency: Option<u32>,
    max_concurrent_requests: Option<u32>,
    duration: f64,
    completed: u64,
    failed: Option<u64>,
    total_input_tokens: u64,
    total_output_tokens: u64,
    output_throughput: f64,
    /// Only with `--save-detailed`, as the following.
    input_lens: Option<Vec<u64>>,
    output_lens: Option<Vec<u64>>,
    itls: Option<Vec<Vec<f64>>>,
    errors: Option<Vec<String>>,
    /// `mean_ttft_ms`, `p99_tpot_ms`, …: which ones is an option of the tool.
    #[serde(flatten)]
    metrics: Map<String, Value>,
}

pub(super) fn read(document: &Value, source: &Source<'_>) -> Result<Run, String> {
    let document: Document = common::part(document, "the document")?;
    let cell = cell(&document)?;
    let mut settings = common::settings(std::slice::from_ref(&cell), "request_count", "none");
    let asked = document.output_lens.as_ref().and_then(|lens| lens.iter().max().copied());
    settings.max_output_tokens =
        asked.unwrap_or(document.total_output_tokens.checked_div(document.completed).unwrap_or(0));
    let tool = Tool { name: TOOL.to_owned(), version: "not told".to_owned(), commit: None };
    let mut run = common::run(source, tool, settings, vec![cell])?;
    let longest = if asked.is_some() { "longest" } else { "mean" };
    run.unknown.insert(
        "settings.max_output_tokens".to_owned(),
        format!("{TOOL} does not tell what was asked; this is the {longest} output"),
    );
    run.unknown.insert("tool.version".to_owned(), format!("{TOOL} does not tell"));
    match document.date {
        // The Rust client writes UTC, the Python client local time.
        Some(date) if date.ends_with('Z') => run.created_at = Some(date),
        Some(date) => {
            let why = format!("{TOOL} states {date}, a local time without its zone");
            run.unknown.insert("created_at".to_owned(), why);
        }
        None => {}
    }
    run.elapsed_seconds = Some(document.duration);
    run.model.served_name = document.model_id;
    if let Some(backend) = document.endpoint_type {
        run.remarks.push(format!("backend of {TOOL}: {backend}"));
    }
    common::note_unknown(&mut run, TOOL);
    Ok(run)
}

fn cell(document: &Document) -> Result<Cell, String> {
    let inputs = document.input_lens.clone().unwrap_or_default();
    let context = match document.total_input_tokens.checked_div(document.completed) {
        Some(mean) => mean,
        None => inputs.iter().copied().max().unwrap_or(0),
    };
    let mut cell = common::decode_cell(context, concurrency(document)?)?;
    common::window(&mut cell, document.duration)?;
    let message = document.errors.iter().flatten().find(|error| !error.is_empty()).map(String::as_str);
    common::requests(&mut cell, document.completed, document.failed, message, TOOL);
    common::flag_few(&mut cell);
    cell.context_actual = common::spread(inputs);
    if cell.context_actual.is_none() {
        let why = format!("{TOOL} tells only the sum; the label is the mean of the requests that ended");
        cell.unknown.insert("context_actual".to_owned(), why);
    }
    common::throughput(&mut cell, Some(document.output_throughput), TOOL);
    cell.ttft_ms = common::distribution(&mut cell, "ttft_ms", stated(document, "ttft"), TOOL);
    cell.time_between_tokens_ms =
        common::distribution(&mut cell, "time_between_tokens_ms", stated(document, "tpot"), TOOL);
    cell.tokens.out = Some(document.total_output_tokens);
    cell.tokens.out_cell = Some(document.total_output_tokens);
    cell.tokens.input = Some(document.total_input_tokens);
    let why = format!("{TOOL} takes the server's usage or counts the text again, and does not tell which");
    cell.unknown.insert("tokens.source".to_owned(), why);
    let longest = document.itls.iter().flatten().flatten().copied().fold(0.0, f64::max);
    cell.longest_gap_ms = (longest > 0.0).then_some(1000.0 * longest);
    for field in ["per_request_rate", "average_active_requests"] {
        cell.unknown.insert(field.to_owned(), format!("{TOOL} does not tell"));
    }
    note_gaps(&mut cell, document);
    Ok(cell)
}

/// How many requests ran at once: as asked, else as the tool saw.
fn concurrency(document: &Document) -> Result<u32, String> {
    let unlimited = document.request_rate.as_ref().is_none_or(|rate| rate.as_str() == Some("inf"));
    match (document.max_concurrency, document.max_concurrent_requests) {
        (Some(asked), _) => Ok(asked),
        (None, _) if unlimited => {
            u32::try_from(document.num_prompts).map_err(|_| "num_prompts is too large".to_owned())
        }
        (None, Some(seen)) => Ok(seen),
        (None, None) => {
            Err("neither max_concurrency nor max_concurrent_requests is told: no cell of a matrix".to_owned())
        }
    }
}

/// `mean_ttft_ms`, `median_ttft_ms`, `p99_ttft_ms`, …
fn stated(document: &Document, metric: &str) -> Stated {
    let of = |figure: &str| document.metrics.get(&format!("{figure}_{metric}_ms")).and_then(Value::as_f64);
    Stated {
        n: Some(document.completed),
        mean: of("mean"),
        p50: of("median").or_else(|| of("p50")),
        p90: of("p90"),
        p95: of("p95"),
        p99: of("p99"),
        ..Stated::default()
    }
}

/// Its gaps do not tell which events came in one read, so they are no gaps of the method.
fn note_gaps(cell: &mut Cell, document: &Document) {
    let gaps = stated(document, "itl");
    let figures: Vec<String> = [("median", gaps.p50), ("p99", gaps.p99)]
        .iter()
        .filter_map(|(name, value)| value.map(|value| format!("{name} {value:.3} ms")))
        .collect();
    let why = if figures.is_empty() {
        format!("{TOOL} does not tell")
    } else {
        format!(
            "{TOOL} states {} between chunks, without telling which of them came in one read",
            figures.join(", ")
        )
    };
    cell.unknown.insert("window_view".to_owned(), why);
}
