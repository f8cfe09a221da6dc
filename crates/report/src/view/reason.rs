//! Why a cell has the status that it has, with figures.

use tokometer_record::{Cell, Failure, LoopEvidence, Reason, ReasonRule, Status};

use crate::definitions::status_meaning;
use crate::number::count;
use crate::words::{clean, counted, failure, shorten, status_is_failure};

/// Longest foreign excerpt in a reason.
const EXCERPT: usize = 160;
/// Longest reason in a cell of the matrix; the footnote has it whole.
const IN_CELL: usize = 60;

/// One or more sentences for a footnote.
pub(crate) fn full(cell: &Cell) -> String {
    let mut parts: Vec<String> = cell.loops.iter().map(looped).collect();
    parts.extend(cell.error.as_ref().map(failed));
    if let Some(reason) = &cell.reason {
        let said = match (figures(reason), reason.rule) {
            (Some(figures), ReasonRule::Stated | ReasonRule::Method) => {
                format!("{} ({figures})", clean(&reason.text))
            }
            (Some(figures), _) => figures,
            (None, _) => clean(&reason.text),
        };
        if cell.status != Status::Error || cell.error.is_none() {
            parts.push(said);
        }
    }
    if parts.is_empty() {
        parts.push(match cell.status {
            Status::Valid | Status::Planned => String::new(),
            status => format!("{} No figures are in the record.", status_meaning(status)),
        });
    }
    parts.join("; ")
}

/// Up to two short lines for a cell of the matrix.
pub(crate) fn short(cell: &Cell) -> Vec<String> {
    if let Some(Reason { needed: Some(needed), available: Some(available), .. }) = cell.reason {
        return vec![format!("needs {}", count(needed)), format!("has {}", counted(available, unit(cell)))];
    }
    if let (Status::Looped, Some(evidence)) = (cell.status, cell.loops.first()) {
        return vec![format!("{} × {}", count(evidence.cycles), counted(evidence.period, "character"))];
    }
    if let (Status::Error, Some(first)) = (cell.status, &cell.error) {
        return vec![failure(first)];
    }
    match &cell.reason {
        Some(Reason { rule: ReasonRule::Stated, .. }) => vec!["stated, no figures".to_owned()],
        Some(reason) => vec![shorten(&clean(&reason.text), IN_CELL)],
        None => Vec::new(),
    }
}

fn unit(cell: &Cell) -> &'static str {
    match cell.reason.as_ref().map(|reason| reason.rule) {
        Some(ReasonRule::ConcurrentRequests) => "request",
        Some(ReasonRule::KvTokens) => "KV token",
        _ => "token",
    }
}

/// `needs 4,718,592 tokens of KV cache, 3,145,728 available`.
fn figures(reason: &Reason) -> Option<String> {
    let (needed, available) = (reason.needed?, count(reason.available?));
    Some(match reason.rule {
        ReasonRule::ModelLength => format!("needs {}, the model takes {available}", counted(needed, "token")),
        ReasonRule::KvTokens => {
            format!("needs {} of KV cache, {available} available", counted(needed, "token"))
        }
        ReasonRule::ConcurrentRequests => {
            format!("needs {} at once, the server takes {available}", counted(needed, "request"))
        }
        ReasonRule::Stated | ReasonRule::Method => {
            format!("needed {}, available {available}", count(needed))
        }
    })
}

fn looped(evidence: &LoopEvidence) -> String {
    format!("{}, from “{}”", looped_short(evidence), shorten(&clean(&evidence.excerpt), EXCERPT))
}

/// What repeated itself, without the text.
pub(crate) fn looped_short(evidence: &LoopEvidence) -> String {
    format!(
        "stream {} repeated {} of {} {} ({} in all)",
        evidence.stream,
        counted(evidence.period, "character"),
        clean(&evidence.channel),
        counted(evidence.cycles, "time"),
        count(evidence.repeated_characters)
    )
}

/// `timeout: nothing came from the server for 3 s; the answer began with HTTP 200`.
fn failed(first: &Failure) -> String {
    let mut parts = vec![format!("{}: {}", failure(first), shorten(&clean(&first.message), 2 * EXCERPT))];
    if let Some(status) = first.http_status.filter(|_| !status_is_failure(first.kind)) {
        parts.push(format!("the answer began with HTTP {status}"));
    }
    if let Some(body) = first.body.as_deref().map(str::trim).filter(|body| !body.is_empty()) {
        parts.push(format!("the server said “{}”", shorten(&clean(body), 2 * EXCERPT)));
    }
    parts.join("; ")
}
