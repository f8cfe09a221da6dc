//! A run's numbers by the definitions of llm-inference-bench 0.6.2, from the same traces. Where they differ from ours:
//!
//! - the total rate is taken to the last tokens of the window, not to its end;
//! - TTFT holds the time that connecting took;
//! - the time between tokens is ÷ (output tokens − 1), though the first event may have brought several;
//! - prefill is one request, its rate over all prompt tokens;
//! - a cell whose server ran fewer requests than asked, or had any waiting, has no number.

use tokometer_record::compat::{COMPAT_NAME, Compat, CompatCell, CompatPrefill};
use tokometer_record::{Cell, CellTrace, Outcome, Phase, RequestKind, Run, Status};
use tokometer_stats::{mean, median, sorted};

use crate::ledger::{Ledger, Request, ordered_events};

/// Mean of running requests ÷ concurrency from which on a cell counts as filled.
const FILLED: f64 = 0.95;

/// Gathers a run's numbers cell by cell, so that one trace at a time is in memory.
#[derive(Debug)]
pub struct CompatBuilder {
    table: Compat,
    /// Per context: when its first scout was sent.
    scouts: Vec<(u64, u64)>,
}

impl CompatBuilder {
    /// Nothing yet.
    pub fn new(run: &Run) -> CompatBuilder {
        let table = Compat {
            definitions: COMPAT_NAME,
            title: run.display_title(),
            prefill: Vec::new(),
            cells: Vec::new(),
        };
        CompatBuilder { table, scouts: Vec::new() }
    }

    /// Adds a row with its trace; of a cell with repeats the one that represents it.
    pub fn add(&mut self, cell: &Cell, trace: Option<&CellTrace>) {
        match (cell.phase, trace) {
            (Phase::Prefill, Some(trace)) => self.prefill(trace, RequestKind::Prefill, "scout_only"),
            (Phase::Prefill, None) => {}
            (Phase::Decode, _) => {
                self.table.cells.push(decode(cell, trace));
                if let Some(trace) = trace {
                    self.prefill(trace, RequestKind::Scout, "integrated_scout");
                }
            }
        }
    }

    /// The table.
    pub fn finish(mut self) -> Compat {
        self.table.prefill.sort_by_key(|row| row.context);
        self.table
    }

    /// A scout of a cell stands before a cold sample, and the first scout of a context before later ones: those find
    /// its prompt in the cache.
    fn prefill(&mut self, trace: &CellTrace, kind: RequestKind, method: &'static str) {
        let events = ordered_events(trace);
        let ledger = Ledger::new(trace, &events);
        let Some(first) = ledger.of_kind(kind).min_by_key(|request| request.row.send_ns) else { return };
        let context = trace.meta.context_nominal;
        let known = self.table.prefill.iter().position(|row| row.context == context);
        let earlier = self.scouts.iter().find(|(of, _)| *of == context).map(|(_, sent)| *sent);
        let is_better = match (kind, earlier) {
            (RequestKind::Scout, Some(earlier)) => first.row.send_ns < earlier,
            (RequestKind::Scout, None) => true,
            _ => known.is_none(),
        };
        let figures = first.row.prompt_tokens.zip(ttft_ns(first)).filter(|(_, ttft)| *ttft > 0);
        let (true, Some((prompt_tokens, ttft_ns))) = (is_better, figures) else { return };
        let ttft_seconds = ttft_ns as f64 / 1e9;
        let rate = prompt_tokens as f64 / ttft_seconds;
        let row = CompatPrefill { context, method, prompt_tokens, ttft_seconds, rate };
        match known {
            Some(known) => self.table.prefill[known] = row,
            None => self.table.prefill.push(row),
        }
        if kind == RequestKind::Scout {
            self.scouts.retain(|(of, _)| *of != context);
            self.scouts.push((context, first.row.send_ns));
        }
    }
}

fn decode(cell: &Cell, trace: Option<&CellTrace>) -> CompatCell {
    let mut row = CompatCell {
        context: cell.context_nominal,
        concurrency: cell.concurrency,
        void: None,
        total: None,
        per_request: None,
        total_by_concurrency: None,
        ttft_ms: None,
        time_between_tokens_ms: None,
        average_active: None,
        completed: 0,
        output_tokens: 0,
        measured_seconds: None,
    };
    row.void = match cell.status {
        Status::OverCapacity | Status::OverLimit => Some("over_capacity"),
        Status::Looped => Some("looped"),
        Status::Error => Some("error"),
        Status::Skipped => Some("skipped"),
        Status::Planned | Status::Interrupted => Some("not measured"),
        _ => None,
    };
    let (None, Some(trace)) = (row.void, trace) else {
        row.void = row.void.or(Some("not measured"));
        return row;
    };
    let (Some(start), Some(end)) = (trace.meta.window_start_ns, trace.meta.window_end_ns) else {
        row.void = Some("not measured");
        return row;
    };
    let events = ordered_events(trace);
    let ledger = Ledger::new(trace, &events);
    let (mut tokens, mut last) = (0.0, start);
    for request in ledger.streams() {
        for (event, added) in request.events.iter().zip(&request.added) {
            if event.arrival_ns > start && event.arrival_ns <= end && *added > 0.0 {
                tokens += added;
                last = last.max(event.arrival_ns);
            }
        }
    }
    let seconds = last.saturating_sub(start) as f64 / 1e9;
    if seconds > 0.0 {
        row.total = Some(tokens / seconds);
        row.total_by_concurrency = Some(tokens / seconds / f64::from(cell.concurrency));
        row.measured_seconds = Some(seconds);
    }
    row.output_tokens = tokens.round() as u64;
    let between: Vec<f64> = ledger.streams().filter_map(between_ns).collect();
    row.time_between_tokens_ms = p50(between.iter().map(|ns| ns / 1e6));
    row.per_request = p50(between.iter().map(|ns| 1e9 / ns));
    row.ttft_ms = p50(ledger.streams().filter_map(ttft_ns).map(|ns| ns as f64 / 1e6));
    let completed = |request: &&Request<'_>| request.row.outcome == Outcome::Ended && request.total() >= 1.0;
    row.completed = ledger.streams().filter(completed).count() as u64;
    gauges(&mut row, trace, start, end);
    row
}

/// What the server says of itself in the window: a cell that was not filled has no number.
fn gauges(row: &mut CompatCell, trace: &CellTrace, start: u64, end: u64) {
    let inside = || trace.samples.iter().filter(|sample| (start..=end).contains(&sample.time_ns));
    let running: Vec<f64> = inside().filter_map(|sample| sample.running).collect();
    let queued = inside().any(|sample| sample.waiting.is_some_and(|waiting| waiting > 0.0));
    let asked = f64::from(row.concurrency);
    let late = trace.meta.ready.as_ref().is_some_and(|ready| !ready.reached);
    let mut limited = late || queued;
    if let Some(average) = mean(&running) {
        row.average_active = Some((average * 10.0).round() / 10.0);
        let most = running.iter().copied().fold(0.0, f64::max);
        limited |= row.concurrency > 1 && (most < asked || average < FILLED * asked);
    }
    if limited {
        row.void = Some("capacity_limited");
    }
}

/// First to last output of a request ÷ (its tokens − 1), ns.
fn between_ns(request: &Request<'_>) -> Option<f64> {
    let (first, last) = (request.first_payload()?, request.last_payload()?);
    let tokens = match request.counted() {
        0.0 => request.payload().count() as f64,
        counted => counted,
    };
    let between = last.arrival_ns.saturating_sub(first.arrival_ns) as f64 / (tokens - 1.0);
    (tokens >= 2.0 && between > 0.0).then_some(between)
}

/// From the start of connecting to the first output, ns.
fn ttft_ns(request: &Request<'_>) -> Option<u64> {
    let first = request.first_payload()?.arrival_ns.checked_sub(request.row.send_ns)?;
    Some(first + request.row.connect_ns.unwrap_or(0))
}

/// The median as that tool takes it: values of 0 and below are dropped.
fn p50(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
    median(&sorted(&values))
}
