//! Why a cell has the status that it has, with figures.

use tokometer_record::{Cell, Failure, LoopEvidence, Reason, ReasonRule, Status};

use crate::definitions::status_meaning;
use crate::number::count;
use crate::words::{clean, failure_kind, shorten};

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
        return vec![format!("needs {}", count(needed)), format!("has {} {}", count(available), unit(cell))];
    }
    if let (Status::Looped, Some(evidence)) = (cell.status, cell.loops.first()) {
        return vec![format!("{} × {} characters", count(evidence.cycles), count(evidence.period))];
    }
    if let (Status::Error, Some(failure)) = (cell.status, &cell.error) {
        return vec![match failure.http_status {
            Some(status) => format!("HTTP {status}"),
            None => failure_kind(failure.kind).to_owned(),
        }];
    }
    match &cell.reason {
        Some(Reason { rule: ReasonRule::Stated, .. }) => vec!["stated, no figures".to_owned()],
        Some(reason) => vec![shorten(&clean(&reason.text), IN_CELL)],
        None => Vec::new(),
    }
}

fn unit(cell: &Cell) -> &'static str {
    match cell.reason.as_ref().map(|reason| reason.rule) {
        Some(ReasonRule::ConcurrentRequests) => "requests",
        Some(ReasonRule::KvTokens) => "KV tokens",
        _ => "tokens",
    }
}

/// `needs 4,718,592 tokens of KV cache, 3,145,728 available`.
fn figures(reason: &Reason) -> Option<String> {
    let (needed, available) = (count(reason.needed?), count(reason.available?));
    Some(match reason.rule {
        ReasonRule::ModelLength => format!("needs {needed} tokens, the model takes {available}"),
        ReasonRule::KvTokens => format!("needs {needed} tokens of KV cache, {available} available"),
        ReasonRule::ConcurrentRequests => {
            format!("needs {needed} requests at once, the server takes {available}")
        }
        ReasonRule::Stated | ReasonRule::Method => format!("needed {needed}, available {available}"),
    })
}

fn looped(evidence: &LoopEvidence) -> String {
    format!(
        "stream {} repeated {} characters of {} {} times ({} in all), from “{}”",
        evidence.stream,
        count(evidence.period),
        clean(&evidence.channel),
        count(evidence.cycles),
        count(evidence.repeated_characters),
        shorten(&clean(&evidence.excerpt), EXCERPT)
    )
}

fn failed(failure: &Failure) -> String {
    let kind = failure_kind(failure.kind);
    let status = failure.http_status.map(|status| format!(" {status}")).unwrap_or_default();
    let body = failure.body.as_deref().map(str::trim).filter(|body| !body.is_empty());
    let said = body.map(|body| format!("; the server said “{}”", shorten(&clean(body), 2 * EXCERPT)));
    format!("{kind}{status}: {}{}", shorten(&clean(&failure.message), 2 * EXCERPT), said.unwrap_or_default())
}
