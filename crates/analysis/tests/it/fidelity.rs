//! A trace against a truth whose errors are known.

use tokometer_analysis::fidelity::{FidelityError, fidelity};
use tokometer_record::truth::{Truth, TruthMeta, TruthRequest, TruthSend};
use tokometer_record::{CellTrace, Outcome};

use crate::build::{MS, STEADY};

/// Where the clock of the trace stands on the truth's.
const ORIGIN_NS: u64 = 7_000_000_123;

/// How long the call of each write took, and how long before the arrival it began.
const CALL_NS: u64 = 40_000;
const BEGAN_NS: u64 = 30_000;

/// The truth of a trace without errors.
fn truth_of(trace: &CellTrace) -> Truth {
    let mut truth = Truth {
        meta: TruthMeta {
            schema: TruthMeta::SCHEMA.to_owned(),
            profile: "made up".to_owned(),
            events_per_write: 1,
            network_threads: 1,
            start_ns: 0,
            first_request_ns: None,
            full_sockets: 0,
        },
        requests: Vec::new(),
        sends: Vec::new(),
    };
    for row in &trace.requests {
        truth.requests.push(TruthRequest {
            request: row.request,
            label: Some(row.stream.to_string()),
            arrival_ns: ORIGIN_NS + row.send_ns + 1,
            prompt_tokens: 8190,
        });
        for event in trace.events.iter().filter(|event| event.request == row.request) {
            let before_ns = ORIGIN_NS + event.arrival_ns - BEGAN_NS;
            let due_ns = before_ns - MS;
            let after_ns = before_ns + CALL_NS;
            truth.sends.push(TruthSend { request: row.request, tokens: 1, due_ns, before_ns, after_ns });
        }
    }
    truth
}

#[test]
fn stamps_within_the_writes_have_no_error() {
    let trace = STEADY.trace();
    let found = fidelity(&trace, ORIGIN_NS, &truth_of(&trace)).unwrap();
    assert_eq!(found.ttft.n, trace.requests.len() as u64);
    assert_eq!((found.ttft.max_ms, found.gap.max_ms), (Some(0.0), Some(0.0)));
    assert_eq!(found.tokens.counted, trace.events.len() as u64);
    assert_eq!((found.tokens.sent, found.tokens.unequal_requests), (found.tokens.counted, 0));
    let window = found.window.unwrap();
    assert!((window.at_least..=window.at_most).contains(&window.counted), "{window:?}");
    assert_eq!(found.engine_late.p50_ms, Some(1.0));
    assert_eq!((found.truth_width.p50_ms, found.truth_width.max_ms), (Some(0.04), Some(0.04)));
}

#[test]
fn a_stamp_is_off_by_its_distance_from_the_write() {
    let mut trace = STEADY.trace();
    let truth = truth_of(&trace);
    // 2 ms behind the end of the first write of all.
    trace.events[0].arrival_ns += CALL_NS - BEGAN_NS + 2 * MS;
    let found = fidelity(&trace, ORIGIN_NS, &truth).unwrap();
    assert_eq!(found.ttft.max_ms, Some(2.0));
    assert_eq!(found.ttft.p50_ms, Some(0.0));
    // In the window, a gap of 10 ms becomes one of 13 ms; the calls leave it 0.04 ms of room.
    let mut trace = STEADY.trace();
    let within = trace.events.iter().rposition(|event| event.arrival_ns < 14_000 * MS).unwrap();
    trace.events[within].arrival_ns += 3 * MS;
    let found = fidelity(&trace, ORIGIN_NS, &truth).unwrap();
    assert_eq!(found.gap.max_ms, Some(2.96));
}

#[test]
fn gaps_without_stamps_of_their_own_are_not_judged() {
    let mut trace = STEADY.trace();
    let truth = truth_of(&trace);
    let all = fidelity(&trace, ORIGIN_NS, &truth).unwrap();
    let within = trace.events.iter().rposition(|event| event.arrival_ns < 14_000 * MS).unwrap();
    trace.events[within].last_of_read = false;
    trace.events[within].arrival_ns = trace.events[within + 1].arrival_ns;
    let found = fidelity(&trace, ORIGIN_NS, &truth).unwrap();
    assert_eq!(found.gaps_of_shared_reads, 2);
    assert_eq!(found.gap.n, all.gap.n - 2);
    assert_eq!(found.gap.max_ms, Some(0.0));
}

#[test]
fn a_lost_token_makes_its_request_unequal() {
    let trace = STEADY.trace();
    let mut short = trace.clone();
    let last = short.events.iter().rposition(|event| event.request == 0).unwrap();
    short.events.remove(last);
    let found = fidelity(&short, ORIGIN_NS, &truth_of(&trace)).unwrap();
    assert_eq!((found.tokens.sent - found.tokens.counted, found.tokens.unequal_requests), (1, 1));
    // In the middle the last count is right, and the counts on the way are not.
    let mut holed = trace.clone();
    holed.events.remove(100);
    let found = fidelity(&holed, ORIGIN_NS, &truth_of(&trace)).unwrap();
    assert_eq!(found.tokens.unequal_requests, 1);
}

#[test]
fn a_cut_request_is_judged_up_to_what_was_read() {
    let trace = STEADY.trace();
    let mut truth = truth_of(&trace);
    let cut = trace.requests.iter().find(|row| row.outcome == Outcome::Cut).unwrap().request;
    let last = truth.sends.iter().rposition(|send| send.request == cut).unwrap();
    let unread = truth.sends[last];
    truth.sends.insert(last + 1, TruthSend { before_ns: unread.after_ns, ..unread });
    let found = fidelity(&trace, ORIGIN_NS, &truth).unwrap();
    assert_eq!((found.tokens.counted, found.tokens.unequal_requests), (found.tokens.sent, 0));
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let trace = STEADY.trace();
    let mut truth = truth_of(&trace);
    truth.requests[1].label = Some("99".to_owned());
    assert!(matches!(fidelity(&trace, ORIGIN_NS, &truth), Err(FidelityError::Requests { .. })));
    let truth = truth_of(&trace);
    let error = fidelity(&trace, ORIGIN_NS + 1000 * MS, &truth).unwrap_err();
    assert!(matches!(error, FidelityError::Clocks { .. }), "{error}");
}
