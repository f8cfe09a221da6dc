//! Cell by cell: what the drawer of a cell shows.

mod drawings;
mod figures;

use std::collections::BTreeMap;

use tokometer_record::{Cell, CellDetail, FailureKind, Outcome, Phase, RequestColumns, Run, Status};

use super::machine::Machine;
use super::matrix::{interval, shown_rate};
use super::reason;
use crate::definitions::{flag_meaning, status_meaning};
use crate::number;
use crate::words::{self, clean, clean_lines, shorten};
use figures::{Fact, Latency};

/// Longest text of a server that a cell shows whole.
const FOREIGN: usize = 4096;

/// One cell, whole.
#[derive(Debug)]
pub(crate) struct Sheet {
    /// `decode-8192-32`.
    pub(crate) name: String,
    /// `8K × 32`.
    pub(crate) label: String,
    /// The verdict's symbol.
    pub(crate) glyph: &'static str,
    /// The verdict in words.
    pub(crate) word: &'static str,
    /// What it means; empty where the detail says no more.
    pub(crate) meaning: &'static str,
    /// True for valid cells.
    pub(crate) valid: bool,
    /// `1,145 ± 9 tok/s`; none without a figure to show.
    pub(crate) headline: Option<String>,
    /// Why it has this verdict; empty for valid cells.
    pub(crate) why: String,
    /// Single figures.
    pub(crate) facts: Vec<Fact>,
    /// Repeats, where the cell was measured several times.
    pub(crate) repeats: Vec<[String; 6]>,
    /// Distributions.
    pub(crate) latencies: Vec<Latency>,
    /// Flags.
    pub(crate) flags: Vec<FlagRow>,
    /// Figures that decided the verdict, with what they were compared with.
    pub(crate) decided: Vec<String>,
    /// What the machine did meanwhile.
    pub(crate) machine: Option<Machine>,
    /// The first failure: what, and the server's own text.
    pub(crate) failure: Option<(String, Option<String>)>,
    /// Repeated text: what, and how it begins.
    pub(crate) loops: Vec<(String, String)>,
    /// Fields that are null, with the reason.
    pub(crate) missing: Vec<(String, String)>,
    /// File, size in bytes, and SHA-256 of each trace.
    pub(crate) traces: Vec<(String, String, String)>,
    /// Drawings of its trace.
    pub(crate) drawings: Vec<String>,
    /// Single requests.
    pub(crate) requests: Option<Requests>,
    /// Why there is nothing of its trace; empty where there is.
    pub(crate) no_detail: &'static str,
}

/// A flag of a cell.
#[derive(Debug)]
pub(crate) struct FlagRow {
    /// `few_samples`.
    pub(crate) code: &'static str,
    /// What it says here.
    pub(crate) detail: String,
    /// What it means.
    pub(crate) meaning: &'static str,
    /// Figures that raised it, with what they were compared with.
    pub(crate) figures: String,
}

/// The table of requests.
#[derive(Debug)]
pub(crate) struct Requests {
    /// How many there are, and which are listed.
    pub(crate) note: String,
    /// Number, stream, sent, ended, TTFT, time between tokens, tokens, how it ended.
    pub(crate) rows: Vec<[String; 8]>,
}

/// Every cell of a run, with the details that are at hand.
pub(crate) fn sheets(run: &Run, details: &[CellDetail]) -> Vec<Sheet> {
    let details: BTreeMap<&str, &CellDetail> =
        details.iter().map(|detail| (detail.cell.as_str(), detail)).collect();
    let imported = run.imported.is_some();
    run.cells.iter().map(|cell| sheet(cell, details.get(cell.name().as_str()).copied(), imported)).collect()
}

fn sheet(cell: &Cell, detail: Option<&CellDetail>, imported: bool) -> Sheet {
    let measured =
        !matches!(cell.status, Status::Planned | Status::OverLimit | Status::OverCapacity | Status::Skipped);
    Sheet {
        name: cell.name(),
        label: words::cell_label(cell),
        glyph: words::glyph(cell.status),
        word: cell.status.words(),
        meaning: status_meaning(cell.status),
        valid: cell.status == Status::Valid,
        headline: headline(cell),
        why: if cell.status == Status::Valid { String::new() } else { words::sentence(&reason::full(cell)) },
        facts: figures::facts(cell),
        repeats: figures::repeats(cell),
        latencies: figures::latencies(cell),
        flags: cell
            .flags
            .iter()
            .map(|flag| FlagRow {
                code: flag.code.code(),
                detail: clean(&flag.detail),
                meaning: Some(flag_meaning(flag.code))
                    .filter(|meaning| !meaning.trim_end_matches('.').eq_ignore_ascii_case(&flag.detail))
                    .unwrap_or_default(),
                figures: flag.figures.iter().map(figures::figure).collect::<Vec<_>>().join("; "),
            })
            .collect(),
        decided: cell.reason.iter().flat_map(|reason| &reason.figures).map(figures::figure).collect(),
        machine: cell.telemetry.as_ref().and_then(Machine::of),
        failure: cell.error.as_ref().map(|failure| {
            let body = failure.body.as_deref().map(str::trim).filter(|body| !body.is_empty());
            (
                format!("{}: {}", words::failure(failure), shorten(&clean(&failure.message), FOREIGN)),
                body.map(|body| shorten(&clean_lines(body), FOREIGN)),
            )
        }),
        loops: cell
            .loops
            .iter()
            .map(|found| (reason::looped_short(found), shorten(&clean_lines(&found.excerpt), FOREIGN)))
            .collect(),
        missing: cell
            .unknown
            .iter()
            .map(|(field, why)| (shorten(&clean(field), 200), shorten(&clean(why), 400)))
            .collect(),
        traces: cell
            .traces()
            .map(|trace| (clean(&trace.file), number::count(trace.bytes), clean(&trace.sha256)))
            .collect(),
        drawings: detail.map(drawings::of).unwrap_or_default(),
        requests: detail.map(|detail| &detail.requests).filter(|requests| !requests.is_empty()).map(requests),
        no_detail: match detail {
            Some(_) => "",
            None if !measured => "",
            None if imported => "An imported record has no trace: no rate over time and no single requests.",
            None => {
                "The cell's trace was not beside the record when this page was made: no rate over time and no single requests."
            }
        },
    }
}

fn headline(cell: &Cell) -> Option<String> {
    if cell.status != Status::Valid {
        return None;
    }
    if cell.phase == Phase::Prefill {
        return cell.prefill_rate.map(|rate| format!("{} tok/s", number::rate(rate)));
    }
    let half = interval(cell).map(|half| format!(" ± {half}")).unwrap_or_default();
    shown_rate(cell).map(|rate| format!("{}{half} tok/s", number::rate(rate)))
}

fn requests(columns: &RequestColumns) -> Requests {
    let listed = columns.len();
    let total = words::counted(columns.total, "request");
    let note = if columns.total > listed as u64 {
        format!("{listed} of {total}: failed ones, then the first by time of sending")
    } else {
        total
    };
    let or_dash = |value: Option<f64>, text: fn(f64) -> String| super::or_none(value, text);
    let rows = (0..listed).map(|row| {
        [
            columns.request[row].to_string(),
            columns.stream[row].to_string(),
            number::fixed(columns.sent_seconds[row], 2),
            number::fixed(columns.end_seconds[row], 2),
            or_dash(columns.ttft_ms[row], number::ms),
            or_dash(columns.time_between_tokens_ms[row], number::gap_ms),
            number::count(columns.output_tokens[row]),
            ending(columns.outcome[row], columns.failure[row]),
        ]
    });
    Requests { note, rows: rows.collect() }
}

fn ending(outcome: Outcome, failure: Option<FailureKind>) -> String {
    match (outcome, failure) {
        (Outcome::Ended, _) => "ended".to_owned(),
        (Outcome::Cut, _) => "cut".to_owned(),
        (Outcome::Failed, Some(kind)) => format!("failed: {}", words::failure_kind(kind)),
        (Outcome::Failed, None) => "failed".to_owned(),
    }
}
