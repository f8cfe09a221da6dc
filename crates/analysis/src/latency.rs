//! Latencies of requests and gaps between events.

use tokometer_record::EventRow;

use crate::ledger::Request;
use crate::rates::Span;

/// Milliseconds from one time to another; nothing where the second comes first.
pub(crate) fn ms_between(from: u64, to: u64) -> Option<f64> {
    to.checked_sub(from).map(|nanoseconds| nanoseconds as f64 / 1e6)
}

/// TTFT: send → first payload event.
pub(crate) fn ttft_ms(request: &Request<'_>) -> Option<f64> {
    ms_between(request.row.send_ns, request.first_payload()?.arrival_ns)
}

/// Send → first event that carried answer text.
pub(crate) fn time_to_answer_ms(request: &Request<'_>) -> Option<f64> {
    let answer = request.events.iter().find(|event| event.payload && event.answer)?;
    ms_between(request.row.send_ns, answer.arrival_ns)
}

/// Send → response head.
pub(crate) fn first_byte_ms(request: &Request<'_>) -> Option<f64> {
    ms_between(request.row.send_ns, request.row.first_byte_ns?)
}

/// Set-up of the connection that the request opened.
pub(crate) fn connect_ms(request: &Request<'_>) -> Option<f64> {
    request.row.connect_ns.map(|nanoseconds| nanoseconds as f64 / 1e6)
}

/// Time between tokens over the whole observed life of a request: first to last payload arrival ÷ (tokens −
/// tokens of the first payload event, 1 where unknown).
pub(crate) fn time_between_tokens_ms(request: &Request<'_>) -> Option<f64> {
    let (first, last) = ends(request, |event| event.payload)?;
    per_token(request, first, last, request.counted())
}

/// The same from the payload events inside a window.
pub(crate) fn time_between_tokens_in(request: &Request<'_>, window: Span) -> Option<f64> {
    let (first, last) = ends(request, |event| event.payload && window.holds(event.arrival_ns))?;
    per_token(request, first, last, request.count_at(last)?)
}

/// First and last event of a request that fit, if they are two.
fn ends(request: &Request<'_>, fits: impl Fn(&EventRow) -> bool) -> Option<(usize, usize)> {
    let first = request.events.iter().position(&fits)?;
    let last = request.events.iter().rposition(&fits)?;
    (last > first).then_some((first, last))
}

/// Milliseconds per token from one payload event to another; `count` is the count at the later one.
fn per_token(request: &Request<'_>, first: usize, last: usize, count: f64) -> Option<f64> {
    let span = ms_between(request.events[first].arrival_ns, request.events[last].arrival_ns)?;
    let tokens = count - request.count_at(first).unwrap_or(1.0);
    (tokens > 0.0 && span > 0.0).then(|| span / tokens)
}

/// Gaps that end in a window.
#[derive(Default)]
pub(crate) struct Gaps {
    /// Between events that were each the last of their read, ms.
    pub(crate) own_stamps: Vec<f64>,
    /// Between events of different reads, ms: what came to the client apart. Where no events share reads these are
    /// all gaps.
    pub(crate) between_reads: Vec<f64>,
    /// Number of those that are not between events with stamps of their own.
    pub(crate) shared_read: u64,
    /// The largest of all, also of the others: a stall that ends in a full read is a stall.
    pub(crate) longest: Option<f64>,
}

impl Gaps {
    pub(crate) fn add(&mut self, request: &Request<'_>, window: Span) {
        let mut before: Option<&EventRow> = None;
        for event in request.payload() {
            if let Some(before) = before.filter(|_| window.holds(event.arrival_ns)) {
                let gap = ms_between(before.arrival_ns, event.arrival_ns).unwrap_or(0.0);
                if before.last_of_read || event.arrival_ns > before.arrival_ns {
                    self.between_reads.push(gap);
                }
                self.longest = Some(self.longest.map_or(gap, |longest| longest.max(gap)));
                if before.last_of_read && event.last_of_read {
                    self.own_stamps.push(gap);
                } else {
                    self.shared_read += 1;
                }
            }
            before = Some(event);
        }
    }
}
