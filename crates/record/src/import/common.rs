//! What the importers of tools' own result files share.

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::store::hex;
use crate::{
    Cell, Distribution, Figure, Flag, FlagCode, Imported, Method, Order, Phase, Reason, ReasonRule, Run,
    RunState, Settings, Spread, Status, Throughput, Tool, Window,
};

/// Samples that a percentile needs (method section 6).
const LEAST: [(&str, u64); 3] = [("p90", 64), ("p95", 130), ("p99", 662)];
/// Fewer requests, or a shorter window, are flagged.
const FEW_REQUESTS: u64 = 6;
const SHORT_WINDOW_SECONDS: f64 = 10.0;
/// Where a foreign message is cut, in characters.
const LONGEST_MESSAGE: usize = 300;

/// The file that is read.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) file: &'a str,
    pub(super) format: &'static str,
}

/// A summary as a tool states it, in the unit of the record.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stated {
    pub(super) n: Option<u64>,
    pub(super) mean: Option<f64>,
    pub(super) min: Option<f64>,
    pub(super) p50: Option<f64>,
    pub(super) p90: Option<f64>,
    pub(super) p95: Option<f64>,
    pub(super) p99: Option<f64>,
    pub(super) max: Option<f64>,
}

/// A UUID of version 8 (free form) from the SHA-256 of the text.
pub(super) fn id_of(text: &str) -> String {
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&Sha256::digest(text.as_bytes())[..16]);
    bytes[6] = 0x80 | (bytes[6] & 0x0f);
    bytes[8] = 0x80 | (bytes[8] & 0x3f);
    let hex = hex(&bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Reads one part of a foreign document.
pub(super) fn part<'a, T: Deserialize<'a>>(value: &'a Value, what: &str) -> Result<T, String> {
    T::deserialize(value).map_err(|error| format!("{what}: {error}"))
}

/// The record of a finished foreign run; `tool` is who measured, and whose definitions hold.
pub(super) fn run(
    source: &Source<'_>,
    tool: Tool,
    settings: Settings,
    cells: Vec<Cell>,
) -> Result<Run, String> {
    if cells.is_empty() {
        return Err("no measurement in it".to_owned());
    }
    for (at, cell) in cells.iter().enumerate() {
        if cells[..at].iter().any(|other| other.name() == cell.name()) {
            let why = "a record holds each pair of context and concurrency once; import the runs one by one";
            return Err(format!("{} is there twice: {why}", cell.name()));
        }
    }
    let mut run = Run::new(id_of(source.text), tool, settings);
    run.state = RunState::Finished;
    run.imported = Some(Imported { format: source.format.to_owned(), file: source.file.to_owned() });
    run.method = Method { name: run.tool.name.clone(), version: run.tool.version.clone() };
    run.cells = cells;
    Ok(run)
}

/// Settings of a matrix of which a tool tells little: what its cells show, and the rest unknown.
pub(super) fn settings(cells: &[Cell], decode_test: &str, prefill_mode: &str) -> Settings {
    let mut contexts = Vec::new();
    let mut concurrency = Vec::new();
    let mut prefill_contexts = Vec::new();
    for cell in cells {
        match cell.phase {
            Phase::Prefill => push_new(&mut prefill_contexts, cell.context_nominal),
            Phase::Decode => {
                push_new(&mut contexts, cell.context_nominal);
                push_new(&mut concurrency, cell.concurrency);
            }
        }
    }
    let longest = cells.iter().filter_map(|cell| cell.window.as_ref()).map(|window| window.seconds);
    Settings {
        contexts,
        concurrency,
        prefill_contexts,
        prefill_repeats: 1,
        adaptive: false,
        repeats: 1,
        order: Order::Standard,
        duration_seconds: longest.fold(0.0, f64::max),
        max_output_tokens: 0,
        decode_test: decode_test.to_owned(),
        prefill_mode: prefill_mode.to_owned(),
        prompts: None,
        cold: None,
        endpoint: None,
        respect_eos: None,
        temperature: None,
        top_p: None,
        seed: None,
        request_json: None,
        request_fields: None,
        at_end: None,
        timeout_seconds: None,
        corpus: None,
        prompt_sizing: None,
        allow_busy: None,
        load_threads: None,
    }
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

/// A decode row that was measured.
pub(super) fn decode_cell(context: u64, concurrency: u32) -> Result<Cell, String> {
    if concurrency == 0 {
        return Err("a concurrency of 0".to_owned());
    }
    let mut cell = Cell::planned(Phase::Decode, context, concurrency);
    cell.status = Status::Valid;
    Ok(cell)
}

/// A summary, without the percentiles that its samples do not bear: those are told as the reason.
pub(super) fn distribution(cell: &mut Cell, field: &str, stated: Stated, tool: &str) -> Option<Distribution> {
    let positive = |value: Option<f64>| value.filter(|value| value.is_finite() && *value > 0.0);
    if stated.n == Some(0) || (positive(stated.p50).is_none() && positive(stated.mean).is_none()) {
        cell.unknown.insert(field.to_owned(), format!("{tool} does not tell"));
        return None;
    }
    let mut kept = Distribution {
        n: stated.n,
        mean: positive(stated.mean),
        min: positive(stated.min),
        p50: positive(stated.p50),
        max: positive(stated.max),
        ..Distribution::default()
    };
    let tails = [stated.p90, stated.p95, stated.p99];
    for ((name, least), value) in LEAST.iter().zip(tails) {
        let Some(value) = positive(value) else { continue };
        if stated.n.is_some_and(|n| n >= *least) {
            *match *name {
                "p90" => &mut kept.p90,
                "p95" => &mut kept.p95,
                _ => &mut kept.p99,
            } = Some(value);
        } else {
            let samples = stated.n.map_or("an unknown number of".to_owned(), |n| n.to_string());
            let why = format!("{tool} states {value} from {samples} samples; a {name} needs {least}");
            cell.unknown.insert(format!("{field}.{name}"), why);
        }
    }
    Some(kept)
}

/// The rate over all streams. There is no trace, so there is no interval.
pub(super) fn throughput(cell: &mut Cell, total: Option<f64>, tool: &str) {
    match total.filter(|total| total.is_finite() && *total > 0.0) {
        None => {
            cell.unknown.insert("throughput".to_owned(), format!("{tool} does not tell"));
        }
        Some(total) => {
            cell.throughput = Some(Throughput {
                total,
                interval: None,
                decoding: None,
                restart_share: None,
                batches: Vec::new(),
                lag1: None,
            });
            for field in ["throughput.interval", "throughput.decoding", "throughput.restart_share"] {
                let why = format!("{tool} does not tell; there is no trace to compute it from");
                cell.unknown.insert(field.to_owned(), why);
            }
        }
    }
}

/// The measured span.
pub(super) fn window(cell: &mut Cell, seconds: f64) -> Result<(), String> {
    if !(seconds.is_finite() && seconds > 0.0) {
        return Err(format!("a duration of {seconds} s"));
    }
    cell.window = Some(Window { start_ns: None, end_ns: None, seconds });
    Ok(())
}

/// Requests by outcome. A cell with a failed one is in `error`.
pub(super) fn requests(cell: &mut Cell, ended: u64, failed: Option<u64>, message: Option<&str>, tool: &str) {
    cell.requests.ended = Some(ended);
    cell.requests.failed = failed;
    match failed {
        None => {
            for field in ["requests.failed", "requests.started"] {
                cell.unknown.insert(field.to_owned(), format!("{tool} does not tell"));
            }
        }
        Some(failed) => cell.requests.started = Some(ended + failed),
    }
    if let Some(failed @ 1..) = failed {
        // A traceback says what it was in its last line.
        let message = message.and_then(|text| text.trim().lines().last()).map(|line| {
            let cut: String = line.trim().chars().take(LONGEST_MESSAGE).collect();
            format!(": {cut}")
        });
        let all = ended + failed;
        let text =
            format!("{tool} states that {failed} of {all} requests failed{}", message.unwrap_or_default());
        decide(cell, Status::Error, text);
        cell.unknown
            .insert("error".to_owned(), format!("{tool} keeps no more of a failure than its message"));
    }
}

/// A status that the tool's own words decide.
pub(super) fn decide(cell: &mut Cell, status: Status, text: String) {
    cell.status = status;
    cell.reason =
        Some(Reason { rule: ReasonRule::Stated, text, needed: None, available: None, figures: Vec::new() });
}

/// A remark without figures to compare.
pub(super) fn flag(cell: &mut Cell, code: FlagCode, detail: String) {
    cell.flags.push(Flag { code, detail, figures: Vec::new() });
}

/// Flags medians over few requests, and short windows.
pub(super) fn flag_few(cell: &mut Cell) {
    let ended = cell.requests.ended.unwrap_or(0);
    let seconds = cell.window.as_ref().map_or(0.0, |window| window.seconds);
    if ended < FEW_REQUESTS {
        let detail = format!("{ended} requests ended; limit {FEW_REQUESTS}");
        cell.flags.push(Flag {
            code: FlagCode::FewSamples,
            detail,
            figures: vec![figure("requests", ended as f64, "requests", FEW_REQUESTS as f64)],
        });
    } else if seconds < SHORT_WINDOW_SECONDS {
        let detail = format!("measured for {seconds:.1} s; limit {SHORT_WINDOW_SECONDS} s");
        cell.flags.push(Flag {
            code: FlagCode::FewSamples,
            detail,
            figures: vec![figure("window", seconds, "s", SHORT_WINDOW_SECONDS)],
        });
    }
}

fn figure(name: &str, value: f64, unit: &str, limit: f64) -> Figure {
    Figure { name: name.to_owned(), value, unit: unit.to_owned(), limit: Some(limit) }
}

/// Median and range of counts.
pub(super) fn spread(mut counts: Vec<u64>) -> Option<Spread> {
    counts.sort_unstable();
    let (min, max) = (*counts.first()?, *counts.last()?);
    let middle = counts.len() / 2;
    let p50 = if counts.len() % 2 == 1 {
        counts[middle] as f64
    } else {
        f64::midpoint(counts[middle - 1] as f64, counts[middle] as f64)
    };
    Some(Spread { n: counts.len() as u64, p50, min, max })
}

/// A count that a file holds as a float.
pub(super) fn count(value: f64, what: &str) -> Result<u64, String> {
    if value >= 0.0 && value.fract() == 0.0 && value < 9e15 {
        Ok(value as u64)
    } else {
        Err(format!("{what} is {value}, which is no count"))
    }
}

/// Notes for every null that one would expect a value of.
pub(super) fn note_unknown(run: &mut Run, tool: &str) {
    let settings = &run.settings;
    let missing = [
        ("created_at", run.created_at.is_none()),
        ("elapsed_seconds", run.elapsed_seconds.is_none()),
        ("target.url", run.target.url.is_none()),
        ("capacity.kv_tokens", run.capacity.kv_tokens.is_none()),
        ("capacity.concurrent_requests", run.capacity.concurrent_requests.is_none()),
        ("model.id", run.model.id.is_none()),
        ("model.revision", true),
        ("model.quantization", true),
        ("model.max_length", run.model.max_length.is_none()),
        ("engine.name", run.engine.name.is_none()),
        ("engine.version", run.engine.version.is_none()),
        ("engine.commit", true),
        ("engine.build", true),
        ("engine.backend", true),
        ("engine.repository", true),
        ("engine.parallelism", true),
        ("engine.speculative", true),
        ("engine.prefix_caching", true),
        ("hardware", run.hardware.accelerators.is_empty()),
        ("launch_command", true),
        ("settings.prompts", settings.prompts.is_none()),
        ("settings.temperature", settings.temperature.is_none()),
        ("settings.top_p", settings.top_p.is_none()),
    ];
    for (field, null) in missing {
        if null {
            run.unknown.entry(field.to_owned()).or_insert_with(|| format!("{tool} does not tell"));
        }
    }
}

/// An address without user, password and query.
pub(super) fn bare_url(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let url = &url[..end];
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            format!("{scheme}://{host}{path}").trim_end_matches('/').to_owned()
        }
        None => url.rsplit_once('@').map_or(url, |(_, host)| host).to_owned(),
    }
}
