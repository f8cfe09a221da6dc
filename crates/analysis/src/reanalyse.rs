//! Traces analysed again: another part of the window, limits for users.

use std::str::FromStr;

use tokometer_record::comparison::{ServiceLevel, SloBasis, SloContext, SloUsers};
use tokometer_record::reanalysis::{SloCell, WindowPart};
use tokometer_record::{Cell, CellTrace, Outcome, Phase, Status};
use tokometer_stats::proportion_at_least;

use crate::error::AnalysisError;
use crate::latency;
use crate::ledger::{Ledger, Request, ordered_events};
use crate::rates::Span;
use crate::samples::LEVEL;
use crate::units;
use crate::users::{Keeps, answer};

/// A part of a window as it is written: `10s..25s`, from the start of the recorded window on; either end may be left
/// out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part(pub WindowPart);

impl FromStr for Part {
    type Err = AnalysisError;

    fn from_str(text: &str) -> Result<Part, AnalysisError> {
        let bad = |why: &str| AnalysisError::Window { text: text.to_owned(), why: why.to_owned() };
        let (from, to) = text.split_once("..").ok_or_else(|| bad("there is no '..'"))?;
        let seconds = |text: &str| {
            // A plain number is in seconds here.
            let text = text.trim();
            let plain = units::number(text).map(|seconds| seconds * 1000.0);
            plain.or_else(|| units::milliseconds(text)).filter(|ms| *ms >= 0.0).map(|ms| ms / 1000.0)
        };
        let end = |text: &str| -> Result<Option<f64>, AnalysisError> {
            if text.trim().is_empty() {
                return Ok(None);
            }
            seconds(text).map(Some).ok_or_else(|| bad("an end is no time"))
        };
        let part = WindowPart { from_seconds: end(from)?.unwrap_or(0.0), to_seconds: end(to)? };
        match part.to_seconds {
            Some(to) if to <= part.from_seconds => Err(bad("it ends before it starts")),
            None if part.from_seconds == 0.0 => Err(bad("it has no end")),
            _ => Ok(Part(part)),
        }
    }
}

/// The trace with a part of its window in place of the whole; `None` where nothing of that part was recorded, or
/// where there is no window (prefill).
pub fn part_of_window(trace: &CellTrace, part: WindowPart) -> Option<CellTrace> {
    let whole = Span::of(&trace.meta)?;
    let at = |seconds: f64| whole.start.saturating_add((seconds * 1e9).round() as u64).min(whole.end);
    let (start, end) = (at(part.from_seconds), part.to_seconds.map_or(whole.end, at));
    (end > start).then(|| {
        let mut trace = trace.clone();
        (trace.meta.window_start_ns, trace.meta.window_end_ns) = (Some(start), Some(end));
        trace
    })
}

/// Counts the requests of a cell's streams that keep limits; those that ran in the window count. Repeats of one cell
/// are counted together.
pub fn add_count(counts: &mut Vec<SloCell>, trace: &CellTrace, level: ServiceLevel) {
    let (kept, missed, left_out) = judge(trace, level);
    let (context_nominal, concurrency) = (trace.meta.context_nominal, trace.meta.concurrency);
    let place =
        |count: &SloCell| (count.context_nominal, count.concurrency) == (context_nominal, concurrency);
    let index = counts.iter().position(place).unwrap_or_else(|| {
        counts.push(SloCell {
            context_nominal,
            concurrency,
            kept: 0,
            requests: 0,
            left_out: 0,
            lower_bound: None,
            passes: false,
        });
        counts.len() - 1
    });
    let count = &mut counts[index];
    count.kept += kept;
    count.requests += kept + missed;
    count.left_out += left_out;
    count.lower_bound = proportion_at_least(count.kept, count.requests, LEVEL);
    count.passes = count.lower_bound.is_some_and(|bound| bound >= level.share);
}

/// Requests that kept the limits, that did not, and that can't be judged.
fn judge(trace: &CellTrace, level: ServiceLevel) -> (u64, u64, u64) {
    let events = ordered_events(trace);
    let ledger = Ledger::new(trace, &events);
    let window = Span::of(&trace.meta);
    let runs = |request: &&Request<'_>| {
        window.is_some_and(|window| window.overlap(request.row.send_ns, request.row.end_ns) > 0)
    };
    let judged: Vec<Option<bool>> =
        ledger.streams().filter(runs).map(|request| keeps_limits(request, level)).collect();
    let count = |judgement: Option<bool>| judged.iter().filter(|one| **one == judgement).count() as u64;
    (count(Some(true)), count(Some(false)), count(None))
}

/// Whether a request kept the limits; nothing where it was cut before it could tell.
fn keeps_limits(request: &Request<'_>, level: ServiceLevel) -> Option<bool> {
    if request.row.outcome == Outcome::Failed {
        return Some(false);
    }
    if let Some(most) = level.most_ttft_ms {
        let Some(ttft) = latency::ttft_ms(request) else {
            // It waited without an answer: too long already, or not yet.
            let waited = latency::ms_between(request.row.send_ns, request.row.end_ns)?;
            return (waited > most).then_some(false);
        };
        if ttft > most {
            return Some(false);
        }
    }
    match level.least_rate {
        Some(least) => latency::time_between_tokens_ms(request).map(|ms| 1000.0 / ms >= least),
        None => Some(true),
    }
}

/// Users within limits, by context, from the counts of the cells and their verdicts.
pub fn users_by_requests(cells: &[Cell], counts: &[SloCell], level: ServiceLevel) -> SloUsers {
    let decode = || cells.iter().filter(|cell| cell.phase == Phase::Decode);
    let mut contexts: Vec<u64> = decode().map(|cell| cell.context_nominal).collect();
    contexts.sort_unstable();
    contexts.dedup();
    let of = |cell: &Cell| (cell.concurrency, keeps(cell, counts, level));
    SloUsers {
        level,
        basis: SloBasis::Requests,
        contexts: contexts
            .into_iter()
            .map(|context_nominal| SloContext {
                context_nominal,
                runs: vec![answer(
                    decode().filter(|cell| cell.context_nominal == context_nominal).map(of).collect(),
                )],
            })
            .collect(),
    }
}

fn keeps(cell: &Cell, counts: &[SloCell], level: ServiceLevel) -> Keeps {
    if cell.status.not_run_by_plan() {
        return Keeps::No(cell.status.words().to_lowercase());
    }
    if cell.status != Status::Valid {
        return Keeps::Unknown(cell.status.words().to_lowercase());
    }
    let place = (cell.context_nominal, cell.concurrency);
    match counts.iter().find(|count| (count.context_nominal, count.concurrency) == place) {
        Some(count) if count.passes => Keeps::Yes,
        Some(count) => {
            let words = format!("{} of {} requests", count.kept, count.requests);
            if count.kept as f64 >= level.share * count.requests as f64 {
                Keeps::Unknown(format!("{words}, too few to tell"))
            } else {
                Keeps::No(words)
            }
        }
        None => Keeps::Unknown("no trace".to_owned()),
    }
}
