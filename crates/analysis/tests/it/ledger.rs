//! Token counts from each source (method section 3).

use tokometer_record::{CellTrace, FlagCode, Outcome, RequestKind, TokenSource};

use crate::build::{MS, SECOND, STEADY, Streams, changed, close, each_event, event, raised, request, row};

/// A cell whose server counts at the end of a request only; each event has `tokens` tokens.
fn final_usage(tokens: u32) -> CellTrace {
    let mut trace = Streams { tokens, ..STEADY }.trace();
    each_event(&mut trace, |_, event| event.tokens = None);
    for row in &mut trace.requests {
        let cut = row.outcome == Outcome::Cut;
        row.token_source = if cut { TokenSource::Events } else { TokenSource::UsageFinal };
    }
    trace
}

#[test]
fn an_event_without_a_count_inherits() {
    let cell = changed(|trace| {
        each_event(trace, |index, event| {
            if index % 2 == 0 {
                event.tokens = None;
            }
        });
    });
    // Only the last event of a cut request may lack its count.
    assert!(cell.tokens.out.unwrap() >= 4 * 901, "{:?}", cell.tokens);
    assert_eq!(cell.flag(FlagCode::TokensEstimated), None);
}

#[test]
fn counts_between_payload_events_belong_to_the_event_before() {
    // Payload events without a count, each followed by a usage event.
    let mut trace = STEADY.trace();
    let usage: Vec<_> = trace
        .events
        .iter()
        .flat_map(|event| {
            let mut payload = *event;
            let mut count = *event;
            payload.tokens = None;
            (count.payload, count.answer) = (false, false);
            [payload, count]
        })
        .collect();
    trace.events = usage;
    let cell = row(&trace);
    assert_eq!(cell.tokens.out, Some(4 * 902));
    close(cell.time_between_tokens_ms.as_ref().unwrap().max.unwrap(), 10.0);
    let inside = cell.window_view.as_ref().unwrap().time_between_tokens_ms.as_ref().unwrap();
    close(inside.min.unwrap(), 10.0);
    close(inside.max.unwrap(), 10.0);
}

#[test]
fn without_a_count_at_the_first_event_one_token_is_left_out() {
    // Two events 1 s apart, 11 tokens in all: 10 of them after the first.
    let mut trace = STEADY.trace();
    trace.requests = vec![request(0, 0, 0)];
    trace.events = vec![event(0, SECOND, None), event(0, 2 * SECOND, Some(11))];
    close(row(&trace).time_between_tokens_ms.unwrap().p50.unwrap(), 100.0);
    // Known: 5 of them after the first.
    trace.events[0].tokens = Some(6);
    close(row(&trace).time_between_tokens_ms.unwrap().p50.unwrap(), 200.0);
}

#[test]
fn a_count_never_falls() {
    let cell = changed(|trace| trace.events[700].tokens = Some(1));
    assert_eq!(cell.tokens.out, Some(4 * 902));
}

#[test]
fn a_count_at_the_end_is_spread_over_the_events() {
    let cell = row(&final_usage(3));
    assert_eq!(cell.tokens.out, Some(4 * 902 * 3));
    close(cell.throughput.as_ref().unwrap().total, 360.8 * 3.0);
    close(cell.time_between_tokens_ms.as_ref().unwrap().p50.unwrap(), 10.0 / 3.0);
    assert_eq!(cell.tokens.source, Some(TokenSource::UsageFinal));
    assert!(raised(&cell, FlagCode::TokensEstimated).detail.contains("spread"));
}

#[test]
fn where_no_request_ended_the_calibration_request_tells() {
    let mut trace = final_usage(1);
    for row in &mut trace.requests {
        (row.outcome, row.completion_tokens, row.token_source) = (Outcome::Cut, None, TokenSource::Events);
    }
    let without = row(&trace);
    assert_eq!((without.tokens.source, without.tokens.out), (Some(TokenSource::Events), Some(4 * 902)));

    let mut calibration = request(900, 0, 16 * SECOND);
    calibration.kind = RequestKind::Calibration;
    calibration.token_source = TokenSource::UsageFinal;
    calibration.completion_tokens = Some(256);
    trace.requests.push(calibration);
    trace.events.extend((0..128).map(|index| event(900, 16 * SECOND + index * MS, None)));
    let with = row(&trace);
    assert_eq!((with.tokens.source, with.tokens.out), (Some(TokenSource::UsageFinal), Some(4 * 902 * 2)));
    raised(&with, FlagCode::TokensEstimated);
}

#[test]
fn what_a_cut_request_told_before_its_end_is_no_count() {
    // Some servers send a first usage with the first event.
    let mut trace = final_usage(3);
    for row in trace.requests.iter_mut().filter(|row| row.outcome == Outcome::Cut) {
        (row.token_source, row.completion_tokens) = (TokenSource::UsageFinal, Some(1));
    }
    assert_eq!(row(&trace).tokens.out, Some(4 * 902 * 3));
}

#[test]
fn ended_requests_come_before_the_calibration_request() {
    let mut trace = final_usage(3);
    let mut calibration = request(900, 0, 16 * SECOND);
    calibration.kind = RequestKind::Calibration;
    calibration.token_source = TokenSource::UsageFinal;
    calibration.completion_tokens = Some(100);
    trace.requests.push(calibration);
    trace.events.push(event(900, 16 * SECOND, None));
    assert_eq!(row(&trace).tokens.out, Some(4 * 902 * 3));
}

#[test]
fn without_any_count_an_event_is_a_token() {
    let cell = changed(|trace| {
        each_event(trace, |_, event| event.tokens = None);
        for row in &mut trace.requests {
            (row.token_source, row.completion_tokens) = (TokenSource::Events, None);
        }
    });
    assert_eq!((cell.tokens.out, cell.tokens.source), (Some(4 * 902), Some(TokenSource::Events)));
    close(cell.time_between_tokens_ms.as_ref().unwrap().p50.unwrap(), 10.0);
    assert!(raised(&cell, FlagCode::TokensEstimated).detail.contains("one token"));
}

#[test]
fn usage_that_is_all_zero_counts_as_missing() {
    let cell = changed(|trace| {
        each_event(trace, |_, event| event.tokens = Some(0));
        for row in &mut trace.requests {
            row.completion_tokens = row.completion_tokens.map(|_| 0);
        }
    });
    assert_eq!((cell.tokens.out, cell.tokens.source), (Some(4 * 902), Some(TokenSource::Events)));
}

#[test]
fn the_best_sources_are_no_estimate() {
    for source in [TokenSource::Usage, TokenSource::TokenIds, TokenSource::EngineEvents] {
        let cell = changed(|trace| trace.requests.iter_mut().for_each(|row| row.token_source = source));
        assert_eq!((cell.tokens.source, cell.flag(FlagCode::TokensEstimated)), (Some(source), None));
    }
}
