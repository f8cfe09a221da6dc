//! The simple format of published speed test matrices: one JSON object with the set-up and a flat list of
//! measurements, `prefill` and `sustained_decode`.

use serde::Deserialize;
use serde_json::Value;

use super::common::{self, id_of};
use crate::{
    Accelerator, CONTEXT_K, Cell, Distribution, Engine, Evidence, Hardware, Imported, Method, Model, Phase,
    Reason, ReasonRule, RecordError, Run, RunState, Settings, Status, Throughput, Tool, Window,
};

/// Reads a published matrix in its own simple format. `file` is the name to remember.
///
/// The run's id is made from the text, so the same file gives the same record.
pub fn published(text: &str, file: &str) -> Result<Run, RecordError> {
    let foreign = |why: String| RecordError::Foreign { file: file.to_owned(), why };
    let document: Document = serde_json::from_str(text).map_err(|error| {
        foreign(format!("not a published matrix that tokometer can read ({error}); {WHAT_TO_DO}"))
    })?;
    if document.measurements.is_empty() {
        return Err(foreign(format!("no measurements in it; {WHAT_TO_DO}")));
    }
    let tool = tool_name(&document.run);
    let mut cells: Vec<Cell> = Vec::with_capacity(document.measurements.len());
    for (index, row) in document.measurements.iter().enumerate() {
        let cell = cell(row, &tool).map_err(|why| foreign(format!("measurement {}: {why}", index + 1)))?;
        if cells.iter().any(|other| other.name() == cell.name()) {
            return Err(foreign(format!(
                "measurement {}: {} is there twice; keep one",
                index + 1,
                cell.name()
            )));
        }
        cells.push(cell);
    }
    run(document, cells, text, file).map_err(foreign)
}

/// What to do about a file that is not as expected.
const WHAT_TO_DO: &str = "check that it is the file that was published, whole and unchanged";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    model: String,
    served_model: Option<String>,
    revision: Option<String>,
    hardware: HardwareStated,
    engine: EngineStated,
    run: RunStated,
    launch_command: Option<String>,
    /// Read one by one, so that an error can name its row.
    measurements: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HardwareStated {
    r#type: Option<String>,
    gpu: String,
    gpu_count: u32,
    vram_gb: Option<f64>,
    os: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EngineStated {
    name: String,
    version: Option<String>,
    quantization: Option<String>,
    backend: Option<String>,
    build: Option<String>,
    commit: Option<String>,
    repository: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunStated {
    tool: String,
    tool_version: String,
    decode_test: String,
    prefill_mode: String,
    seconds_per_measurement: f64,
    max_output_tokens: u64,
}

#[derive(Deserialize)]
#[serde(tag = "phase")]
enum Row {
    #[serde(rename = "prefill")]
    Prefill(PrefillRow),
    #[serde(rename = "sustained_decode")]
    Decode(DecodeRow),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PrefillRow {
    context: String,
    context_tokens: u64,
    concurrency: u32,
    status: StatusStated,
    prompt_tok_per_s: Option<f64>,
    ttft_ms: Option<f64>,
    completed_requests: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DecodeRow {
    context: String,
    context_tokens: u64,
    concurrency: u32,
    status: StatusStated,
    total_tok_per_s: Option<f64>,
    ttft_ms: Option<f64>,
    per_request_tok_per_s: Option<f64>,
    inter_token_ms: Option<f64>,
    average_active_requests: Option<f64>,
    completed_requests: Option<f64>,
    output_tokens: Option<f64>,
    measured_s: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StatusStated {
    Valid,
    Looped,
    OverCapacity,
}

/// `llm-inference-bench 0.6.2`.
fn tool_name(run: &RunStated) -> String {
    format!("{} {}", run.tool, run.tool_version)
}

fn run(document: Document, cells: Vec<Cell>, text: &str, file: &str) -> Result<Run, String> {
    let tool = tool_name(&document.run);
    let not_told = format!("{tool} does not tell");
    let mut run = Run::new(
        id_of(text),
        Tool { name: document.run.tool.clone(), version: document.run.tool_version.clone(), commit: None },
        settings(&document.run, &cells)?,
    );
    run.state = RunState::Finished;
    run.imported = Some(Imported { format: "published_matrix".to_owned(), file: file.to_owned() });
    run.method = Method { name: document.run.tool, version: document.run.tool_version };
    run.hardware = hardware(&document.hardware)?;
    run.engine = Engine {
        name: Some(document.engine.name),
        version: document.engine.version,
        commit: document.engine.commit,
        repository: document.engine.repository,
        build: document.engine.build,
        backend: document.engine.backend,
        ..Engine::default()
    };
    run.model = Model {
        id: Some(document.model),
        served_name: document.served_model,
        revision: document.revision,
        quantization: document.engine.quantization,
        max_length: document.launch_command.as_deref().and_then(max_length_stated),
    };
    match run.model.max_length {
        Some(length) => run.evidence.push(Evidence {
            field: "model.max_length".to_owned(),
            value: length.to_string(),
            source: "--max-model-len of the launch command".to_owned(),
        }),
        None => {
            run.unknown.insert("model.max_length".to_owned(), not_told.clone());
        }
    }
    run.launch_command = document.launch_command;
    run.cells = cells;
    let unknown = [
        ("created_at", true),
        ("elapsed_seconds", true),
        ("target.url", true),
        ("capacity.kv_tokens", true),
        ("capacity.concurrent_requests", true),
        ("model.served_name", run.model.served_name.is_none()),
        ("model.revision", run.model.revision.is_none()),
        ("model.quantization", run.model.quantization.is_none()),
        ("engine.version", run.engine.version.is_none()),
        ("engine.commit", run.engine.commit.is_none()),
        ("engine.build", run.engine.build.is_none()),
        ("engine.backend", run.engine.backend.is_none()),
        ("engine.repository", run.engine.repository.is_none()),
        ("engine.parallelism", true),
        ("engine.speculative", true),
        ("engine.prefix_caching", true),
        ("hardware.class", run.hardware.class.is_none()),
        ("hardware.os", run.hardware.os.is_none()),
        ("launch_command", run.launch_command.is_none()),
        ("settings.prompts", true),
        ("settings.temperature", true),
        ("settings.top_p", true),
    ];
    for (field, null) in unknown {
        if null {
            run.unknown.insert(field.to_owned(), not_told.clone());
        }
    }
    Ok(run)
}

fn settings(run: &RunStated, cells: &[Cell]) -> Result<Settings, String> {
    let repeats =
        cells.iter().filter(|cell| cell.phase == Phase::Prefill).filter_map(|cell| cell.requests.ended).max();
    Ok(Settings {
        prefill_repeats: u32::try_from(repeats.unwrap_or(1))
            .map_err(|_| format!("completed_requests of a prefill row is too large; {WHAT_TO_DO}"))?,
        duration_seconds: at_least("run.seconds_per_measurement", run.seconds_per_measurement, 0.0)?,
        max_output_tokens: run.max_output_tokens,
        ..common::settings(cells, &run.decode_test, &run.prefill_mode)
    })
}

fn hardware(stated: &HardwareStated) -> Result<Hardware, String> {
    if stated.gpu_count == 0 {
        return Err(format!("hardware.gpu_count is 0; {WHAT_TO_DO}"));
    }
    let memory = stated.vram_gb.map(|all| at_least("hardware.vram_gb", all, 0.0)).transpose()?;
    Ok(Hardware {
        class: stated.r#type.clone(),
        accelerators: vec![Accelerator {
            name: stated.gpu.clone(),
            count: stated.gpu_count,
            memory_gb: memory.map(|all| all / f64::from(stated.gpu_count)),
        }],
        os: stated.os.clone(),
        ..Hardware::default()
    })
}

/// The value of `--max-model-len` in a launch command.
fn max_length_stated(command: &str) -> Option<u64> {
    let mut words = command.split_whitespace();
    while let Some(word) = words.next() {
        if let Some(rest) = word.strip_prefix("--max-model-len") {
            return match rest.strip_prefix('=') {
                Some(value) => value.parse().ok(),
                None if rest.is_empty() => words.next()?.parse().ok(),
                None => continue,
            };
        }
    }
    None
}

fn cell(row: &Value, tool: &str) -> Result<Cell, String> {
    let row = Row::deserialize(row).map_err(|error| format!("{error}; {WHAT_TO_DO}"))?;
    match row {
        Row::Prefill(row) => prefill(&row, tool),
        Row::Decode(row) => decode(&row, tool),
    }
}

fn prefill(row: &PrefillRow, tool: &str) -> Result<Cell, String> {
    let mut cell = base(Phase::Prefill, &row.context, row.context_tokens, row.concurrency, row.status, tool)?;
    let rate = row.prompt_tok_per_s.map(|rate| positive("prompt_tok_per_s", rate)).transpose()?;
    expect_rate(row.status, "prompt_tok_per_s", rate.is_some())?;
    cell.prefill_rate = rate;
    cell.ttft_ms = median(&mut cell, "ttft_ms", row.ttft_ms, tool)?;
    cell.requests.ended =
        count(&mut cell, "completed_requests", "requests.ended", row.completed_requests, tool)?;
    Ok(cell)
}

fn decode(row: &DecodeRow, tool: &str) -> Result<Cell, String> {
    let mut cell = base(Phase::Decode, &row.context, row.context_tokens, row.concurrency, row.status, tool)?;
    let total = row.total_tok_per_s.map(|rate| positive("total_tok_per_s", rate)).transpose()?;
    expect_rate(row.status, "total_tok_per_s", total.is_some())?;
    if let Some(total) = total {
        cell.throughput = Some(Throughput {
            total,
            interval: None,
            decoding: None,
            restart_share: None,
            batches: Vec::new(),
            lag1: None,
        });
        for field in ["throughput.interval", "throughput.decoding", "throughput.restart_share"] {
            cell.unknown.insert(
                field.to_owned(),
                format!("{tool} does not tell; there is no trace to compute it from"),
            );
        }
    }
    cell.ttft_ms = median(&mut cell, "ttft_ms", row.ttft_ms, tool)?;
    cell.per_request_rate = median(&mut cell, "per_request_rate", row.per_request_tok_per_s, tool)?;
    cell.time_between_tokens_ms = median(&mut cell, "time_between_tokens_ms", row.inter_token_ms, tool)?;
    cell.average_active_requests = match row.average_active_requests {
        Some(active) => Some(at_least("average_active_requests", active, 0.0)?),
        None => missing(&mut cell, "average_active_requests", tool),
    };
    cell.requests.ended =
        count(&mut cell, "completed_requests", "requests.ended", row.completed_requests, tool)?;
    cell.tokens.out = count(&mut cell, "output_tokens", "tokens.out", row.output_tokens, tool)?;
    cell.window = match row.measured_s {
        Some(seconds) => {
            Some(Window { start_ns: None, end_ns: None, seconds: positive("measured_s", seconds)? })
        }
        None => missing(&mut cell, "window", tool),
    };
    Ok(cell)
}

/// What both kinds of rows have: label, status, reason.
fn base(
    phase: Phase,
    label: &str,
    tokens: u64,
    concurrency: u32,
    status: StatusStated,
    tool: &str,
) -> Result<Cell, String> {
    if label_tokens(label) != Some(tokens) {
        return Err(format!(
            "context {label:?} and context_tokens {tokens} do not agree (labels count in 1024)"
        ));
    }
    if concurrency == 0 {
        return Err(format!("concurrency is 0; {WHAT_TO_DO}"));
    }
    let mut cell = Cell::planned(phase, tokens, concurrency);
    let (status, text) = match status {
        StatusStated::Valid => (Status::Valid, None),
        StatusStated::Looped => {
            (Status::Looped, Some(format!("{tool} states that a stream repeated itself")))
        }
        StatusStated::OverCapacity => (
            Status::OverCapacity,
            Some(format!(
                "{tool} states that such requests do not fit the server's KV cache at once; not run"
            )),
        ),
    };
    cell.status = status;
    cell.reason = text.map(|text| Reason {
        rule: ReasonRule::Stated,
        text,
        figures: Vec::new(),
        needed: None,
        available: None,
    });
    if !status.not_run_by_plan() {
        let why = format!("{tool} does not tell; only the label is known");
        cell.unknown.insert("context_actual".to_owned(), why);
    }
    Ok(cell)
}

/// Tokens of a label such as `8K`, or of a plain number.
fn label_tokens(label: &str) -> Option<u64> {
    match label.strip_suffix(['K', 'k']) {
        Some(number) => number.parse::<u64>().ok()?.checked_mul(CONTEXT_K),
        None => label.parse().ok(),
    }
}

/// A valid row has a rate, a row that was not run has none.
fn expect_rate(status: StatusStated, field: &str, is_there: bool) -> Result<(), String> {
    match (status, is_there) {
        (StatusStated::Valid, false) => Err(format!("status is valid, but {field} is missing; {WHAT_TO_DO}")),
        (StatusStated::OverCapacity, true) => {
            Err(format!("status is over_capacity (not run), but there is a {field}; {WHAT_TO_DO}"))
        }
        _ => Ok(()),
    }
}

fn median(
    cell: &mut Cell,
    field: &str,
    value: Option<f64>,
    tool: &str,
) -> Result<Option<Distribution>, String> {
    Ok(match value {
        Some(value) => Some(Distribution { p50: Some(positive(field, value)?), ..Distribution::default() }),
        None => missing(cell, field, tool),
    })
}

fn count(
    cell: &mut Cell,
    stated: &str,
    field: &str,
    value: Option<f64>,
    tool: &str,
) -> Result<Option<u64>, String> {
    match value {
        Some(value) if value >= 0.0 && value.fract() == 0.0 && value < 9e15 => Ok(Some(value as u64)),
        Some(value) => Err(format!("{stated} is {value}, which is no count; {WHAT_TO_DO}")),
        None => Ok(missing(cell, field, tool)),
    }
}

/// Notes why a field of a measured row is null.
fn missing<T>(cell: &mut Cell, field: &str, tool: &str) -> Option<T> {
    if !cell.status.not_run_by_plan() {
        cell.unknown.insert(field.to_owned(), format!("null in the file of {tool}"));
    }
    None
}

fn positive(field: &str, value: f64) -> Result<f64, String> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(format!("{field} is {value}, but must be above 0; {WHAT_TO_DO}"))
    }
}

fn at_least(field: &str, value: f64, least: f64) -> Result<f64, String> {
    if value >= least && value.is_finite() {
        Ok(value)
    } else {
        Err(format!("{field} is {value}, but must be at least {least}; {WHAT_TO_DO}"))
    }
}
