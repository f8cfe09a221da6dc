//! How true the client's stamps and counts are: its trace against what the simulated engine really did.
//!
//! A stamp is off by its distance outside of the truth's interval (`tokometer_record::truth`). So TTFT, which begins
//! with the client's own send, is off by as much as its last stamp; a gap lies between two events, and the truth of
//! it is an interval too: from *before the later − after the earlier* to *after the later − before the earlier*.
//!
//! Streams are told apart by the field `user` of their requests, which is the stream's number; the requests of one
//! stream follow each other, so the n-th of the one side is the n-th of the other.

use std::collections::HashMap;

use tokometer_record::calibration::{Errors, TokenBalance, WindowTokens};
use tokometer_record::truth::{Truth, TruthSend};
use tokometer_record::{CellTrace, EventRow, Outcome, RequestKind, RequestRow};
use tokometer_stats::{percentile, sorted};

use crate::rates::Span;

/// What the comparison of a cell with the truth comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Fidelity {
    /// Errors of TTFT, over every request of the cell.
    pub ttft: Errors,
    /// The same, over the requests whose first event was the last of its read: the others' stamps are upper bounds.
    pub ttft_of_own_stamps: Errors,
    /// Errors of gaps between events that were each the last of their read, over the window.
    pub gap: Errors,
    /// Gaps of the window whose events shared a read: they have no stamp of their own and are not judged.
    pub gaps_of_shared_reads: u64,
    /// Tokens counted, and tokens sent to the same requests.
    pub tokens: TokenBalance,
    /// Tokens that the client has in its window, and those that the truth puts there; none without a window.
    pub window: Option<WindowTokens>,
    /// How long the calls took that wrote events: within that no error can be seen.
    pub truth_width: Errors,
    /// How late the engine was: from when an event was due until right before it was written.
    pub engine_late: Errors,
}

/// Why a trace and a truth cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FidelityError {
    /// They are not of the same streams.
    #[error(
        "stream {stream} sent {sent} requests and the engine saw {seen}: the trace and the truth are not of one run"
    )]
    Requests {
        /// Number of the stream.
        stream: u32,
        /// Requests in the trace.
        sent: usize,
        /// Requests in the truth.
        seen: usize,
    },
    /// The engine saw a request before it was sent.
    #[error(
        "request {request} arrived before it was sent: the trace and the truth are not of one host's clock"
    )]
    Clocks {
        /// Number of the request in the trace.
        request: u32,
    },
}

/// Compares the streams of a cell with the truth. `clock_origin_ns` is what `CLOCK_MONOTONIC` read at the start of the
/// trace's clock.
pub fn fidelity(trace: &CellTrace, clock_origin_ns: u64, truth: &Truth) -> Result<Fidelity, FidelityError> {
    let window = Span::of(&trace.meta);
    let mut gathered = Gathered::default();
    for pair in pairs(trace, truth)? {
        if pair.arrival_ns < clock_origin_ns + pair.row.send_ns {
            return Err(FidelityError::Clocks { request: pair.row.request });
        }
        let events = events_of(trace, pair.row.request);
        gathered.add(&pair, events, clock_origin_ns, window);
    }
    Ok(gathered.into_fidelity(window))
}

/// A request on both sides.
struct Pair<'a> {
    row: &'a RequestRow,
    /// Its writes.
    sends: &'a [TruthSend],
    /// When it had been read, on the truth's clock.
    arrival_ns: u64,
}

/// Each request of the trace, with what the truth has of it.
fn pairs<'a>(trace: &'a CellTrace, truth: &'a Truth) -> Result<Vec<Pair<'a>>, FidelityError> {
    let mut seen: HashMap<u32, Vec<(u32, u64)>> = HashMap::new();
    for request in &truth.requests {
        if let Some(stream) = request.label.as_ref().and_then(|label| label.parse().ok()) {
            seen.entry(stream).or_default().push((request.request, request.arrival_ns));
        }
    }
    let mut sent: HashMap<u32, Vec<&RequestRow>> = HashMap::new();
    for row in trace.requests.iter().filter(|row| row.kind == RequestKind::Stream) {
        sent.entry(row.stream).or_default().push(row);
    }
    let mut pairs = Vec::with_capacity(trace.requests.len());
    for (stream, mut rows) in sent {
        rows.sort_by_key(|row| row.send_ns);
        let requests = seen.remove(&stream).unwrap_or_default();
        // The last one may have been cut before the engine had read it.
        let is_unread = |row: &&RequestRow| row.outcome == Outcome::Cut && row.events == 0;
        let unread = rows.len() == requests.len() + 1 && rows.last().is_some_and(is_unread);
        if rows.len() != requests.len() && !unread {
            return Err(FidelityError::Requests { stream, sent: rows.len(), seen: requests.len() });
        }
        for (row, (request, arrival_ns)) in rows.into_iter().zip(requests) {
            let start = truth.sends.partition_point(|send| send.request < request);
            let end = truth.sends.partition_point(|send| send.request <= request);
            pairs.push(Pair { row, sends: &truth.sends[start..end], arrival_ns });
        }
    }
    Ok(pairs)
}

/// The events of one request; they stand together in a trace.
fn events_of(trace: &CellTrace, request: u32) -> &[EventRow] {
    let start = trace.events.partition_point(|event| event.request < request);
    let end = trace.events.partition_point(|event| event.request <= request);
    &trace.events[start..end]
}

/// When an event left, on the trace's clock: the earliest and the latest that it can be. An engine may start before
/// the trace does, hence the sign.
#[derive(Clone, Copy)]
struct Left {
    from_ns: i128,
    to_ns: i128,
}

#[derive(Default)]
struct Gathered {
    ttft: Vec<f64>,
    ttft_of_own_stamps: Vec<f64>,
    gap: Vec<f64>,
    gaps_of_shared_reads: u64,
    width: Vec<f64>,
    late: Vec<f64>,
    counted: u64,
    sent: u64,
    unequal_requests: u64,
    in_window: u64,
    surely_in_window: u64,
    perhaps_in_window: u64,
}

impl Gathered {
    fn add(&mut self, pair: &Pair<'_>, events: &[EventRow], origin_ns: u64, window: Option<Span>) {
        let sends = pair.sends;
        let left: Vec<Left> = sends.iter().flat_map(|send| left(send, origin_ns)).collect();
        let payload: Vec<&EventRow> = events.iter().filter(|event| event.payload).collect();
        self.late.extend(sends.iter().map(|send| ms(i128::from(send.before_ns) - i128::from(send.due_ns))));
        self.width
            .extend(sends.iter().map(|send| ms(i128::from(send.after_ns) - i128::from(send.before_ns))));
        self.count(pair.row, &payload, left.len());
        if let (Some(event), Some(left)) = (payload.first(), left.first()) {
            let error = outside(event.arrival_ns.into(), left.from_ns, left.to_ns);
            self.ttft.push(error);
            if event.last_of_read {
                self.ttft_of_own_stamps.push(error);
            }
        }
        let Some(window) = window else { return };
        self.in_window += tokens_within(&payload, window);
        let holds = |ns: i128| u64::try_from(ns).is_ok_and(|ns| window.holds(ns));
        self.surely_in_window +=
            left.iter().filter(|left| holds(left.from_ns) && holds(left.to_ns)).count() as u64;
        self.perhaps_in_window +=
            left.iter().filter(|left| holds(left.from_ns) || holds(left.to_ns)).count() as u64;
        for (place, pair) in
            payload.windows(2).enumerate().filter(|(_, pair)| window.holds(pair[1].arrival_ns))
        {
            if !(pair[0].last_of_read && pair[1].last_of_read) {
                self.gaps_of_shared_reads += 1;
            } else if let (Some(earlier), Some(later)) = (left.get(place), left.get(place + 1)) {
                let gap = i128::from(pair[1].arrival_ns) - i128::from(pair[0].arrival_ns);
                self.gap.push(outside(gap, later.from_ns - earlier.to_ns, later.to_ns - earlier.from_ns));
            }
        }
    }

    /// Counts the tokens of a request on both sides: all of them where it ended, else up to the last event that the
    /// client had read. A count that differs at any event on the way makes the request unequal.
    fn count(&mut self, row: &RequestRow, payload: &[&EventRow], sent: usize) {
        let counted = payload
            .iter()
            .filter_map(|event| event.tokens)
            .max()
            .map_or(payload.len(), |tokens| tokens as usize);
        let sent = if row.outcome == Outcome::Cut { sent.min(payload.len()) } else { sent };
        let on_the_way = payload
            .iter()
            .zip(1_u32..)
            .all(|(event, place)| event.tokens.is_none_or(|tokens| tokens == place));
        self.counted += counted as u64;
        self.sent += sent as u64;
        self.unequal_requests += u64::from(counted != sent || !on_the_way);
    }

    fn into_fidelity(self, window: Option<Span>) -> Fidelity {
        Fidelity {
            ttft: errors(&self.ttft),
            ttft_of_own_stamps: errors(&self.ttft_of_own_stamps),
            gap: errors(&self.gap),
            gaps_of_shared_reads: self.gaps_of_shared_reads,
            tokens: TokenBalance {
                counted: self.counted,
                sent: self.sent,
                unequal_requests: self.unequal_requests,
            },
            window: window.map(|_| WindowTokens {
                counted: self.in_window,
                at_least: self.surely_in_window,
                at_most: self.perhaps_in_window,
            }),
            truth_width: errors(&self.width),
            engine_late: errors(&self.late),
        }
    }
}

/// One for each token of a write.
fn left(send: &TruthSend, origin_ns: u64) -> impl Iterator<Item = Left> + use<> {
    let on_clock = |ns: u64| i128::from(ns) - i128::from(origin_ns);
    let left = Left { from_ns: on_clock(send.before_ns), to_ns: on_clock(send.after_ns) };
    std::iter::repeat_n(left, send.tokens as usize)
}

/// Tokens of the events that arrived in a window.
fn tokens_within(payload: &[&EventRow], window: Span) -> u64 {
    let mut before = 0;
    let mut within = 0;
    for (event, place) in payload.iter().zip(1_u32..) {
        let counted = event.tokens.unwrap_or(place);
        if window.holds(event.arrival_ns) {
            within += u64::from(counted.saturating_sub(before));
        }
        before = counted;
    }
    within
}

/// Milliseconds outside of an interval.
fn outside(value: i128, from: i128, to: i128) -> f64 {
    ms((from - value).max(value - to).max(0))
}

fn ms(ns: i128) -> f64 {
    ns as f64 / 1e6
}

fn errors(values: &[f64]) -> Errors {
    let values = sorted(values);
    Errors {
        n: values.len() as u64,
        p50_ms: percentile(&values, 0.5),
        p99_ms: percentile(&values, 0.99),
        max_ms: values.last().copied(),
    }
}
