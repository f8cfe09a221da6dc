//! What holds of every trace, however its cell went.

use std::collections::{BTreeMap, BTreeSet};

use tokometer_record::{CellTrace, EventRow, Outcome, RequestKind, RequestRow};

/// Checks a trace.
pub(crate) fn check(trace: &CellTrace) {
    let numbers: Vec<u32> = trace.requests.iter().map(|row| row.request).collect();
    let dense: Vec<u32> = (0..numbers.len() as u32).collect();
    assert_eq!(numbers, dense, "request numbers are unique, dense and in order");
    let listed: BTreeSet<u32> = numbers.into_iter().collect();
    assert!(trace.events.iter().all(|event| listed.contains(&event.request)), "no stray event");
    assert!(trace.events.is_sorted_by_key(|event| event.request), "events stand by request");
    assert!(trace.samples.is_sorted_by_key(|sample| sample.time_ns), "samples stand by time");
    for row in &trace.requests {
        check_request(row, events(trace, row));
    }
    let mut by_stream: BTreeMap<u32, Vec<&RequestRow>> = BTreeMap::new();
    for row in streams(trace) {
        assert!(row.stream < trace.meta.concurrency, "{row:?}");
        by_stream.entry(row.stream).or_default().push(row);
    }
    for rows in by_stream.values() {
        check_stream(rows);
    }
    if let (Some(start), Some(end)) = (trace.meta.window_start_ns, trace.meta.window_end_ns) {
        assert!(start <= end, "{:?}", trace.meta);
        assert!(trace.meta.ready.is_some(), "the window follows the ready phase");
    }
}

fn check_request(row: &RequestRow, events: &[EventRow]) {
    assert_eq!(row.outcome == Outcome::Failed, row.failure.is_some(), "{row:?}");
    assert!(row.first_byte_ns.is_none_or(|first| row.send_ns <= first && first <= row.end_ns), "{row:?}");
    assert!(row.send_ns <= row.end_ns, "{row:?}");
    assert!(events.is_sorted_by_key(|event| event.arrival_ns), "events stand by arrival: {row:?}");
    let first = events.first().map_or(row.send_ns, |event| event.arrival_ns);
    let last = events.last().map_or(row.end_ns, |event| event.arrival_ns);
    assert!(row.send_ns <= first && last <= row.end_ns, "events lie within the request: {row:?}");
    let counts: Vec<u32> = events.iter().filter_map(|event| event.tokens).collect();
    assert!(counts.is_sorted(), "a count never falls: {row:?}");
    if row.outcome == Outcome::Ended {
        assert!(row.finish_reason.is_some(), "{row:?}");
    }
}

/// A closed loop: one after the other, and nothing behind a request that did not end.
fn check_stream(rows: &[&RequestRow]) {
    for pair in rows.windows(2) {
        assert_eq!(pair[0].outcome, Outcome::Ended, "{pair:?}");
        assert!(pair[0].end_ns <= pair[1].send_ns, "{pair:?}");
    }
}

/// The events of a request.
pub(crate) fn events<'a>(trace: &'a CellTrace, row: &RequestRow) -> &'a [EventRow] {
    let start = trace.events.partition_point(|event| event.request < row.request);
    let own = &trace.events[start..];
    &own[..own.partition_point(|event| event.request == row.request)]
}

pub(crate) fn of_kind(trace: &CellTrace, kind: RequestKind) -> impl Iterator<Item = &RequestRow> {
    trace.requests.iter().filter(move |row| row.kind == kind)
}

/// Requests of the cell's streams.
pub(crate) fn streams(trace: &CellTrace) -> impl Iterator<Item = &RequestRow> {
    of_kind(trace, RequestKind::Stream)
}

/// Streams that sent something.
pub(crate) fn active_streams(trace: &CellTrace) -> BTreeSet<u32> {
    streams(trace).map(|row| row.stream).collect()
}

/// Requests of the streams by outcome: ended, cut, failed.
pub(crate) fn outcomes(trace: &CellTrace) -> (usize, usize, usize) {
    let count = |outcome| streams(trace).filter(|row| row.outcome == outcome).count();
    (count(Outcome::Ended), count(Outcome::Cut), count(Outcome::Failed))
}

/// Output tokens that we received, over all requests.
pub(crate) fn received_tokens(trace: &CellTrace) -> u64 {
    trace.requests.iter().filter_map(|row| row.completion_tokens).sum()
}

/// Output tokens that the server counted from drain to drain.
pub(crate) fn counted_tokens(trace: &CellTrace) -> u64 {
    let told = |counters: &Option<tokometer_record::CounterSnapshot>| {
        counters.as_ref().and_then(|counters| counters.generated_tokens).unwrap()
    };
    (told(&trace.meta.counters_after) - told(&trace.meta.counters_before)) as u64
}

/// True if the window is as long as it was to be, by its stamps.
pub(crate) fn window_is_whole(trace: &CellTrace) -> bool {
    let meta = &trace.meta;
    let (Some(start), Some(end)) = (meta.window_start_ns, meta.window_end_ns) else { return false };
    ((end - start) as f64 - meta.duration_seconds * 1e9).abs() < 1e6
}
