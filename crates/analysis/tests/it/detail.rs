//! Details of a cell: what a page shows of its trace, within bounds.

use tokometer_analysis::detail;
use tokometer_record::{FailureKind, Outcome, Phase, RequestKind};

use crate::build::{MS, SECOND, STEADY, Streams, close, failure, row};

#[test]
fn the_rate_over_time_adds_up() {
    let trace = STEADY.trace();
    let made = detail(&trace);
    let (cell, rate) = (row(&trace), made.rate.unwrap());
    assert_eq!(made.cell, "decode-8192-4");
    assert_eq!(rate.window_seconds, Some([5.0, 15.0]));
    assert_eq!(rate.bin_seconds, 0.25);
    // A bin begins where the window does.
    let place = (5.0 - rate.start_seconds) / rate.bin_seconds;
    assert_eq!(place.fract(), 0.0);
    let inside: f64 = rate.rates[place as usize..place as usize + 40].iter().sum();
    close(inside * rate.bin_seconds / 10.0, cell.throughput.unwrap().total);
    let all: f64 = rate.rates.iter().sum();
    close(all * rate.bin_seconds, cell.tokens.out_cell.unwrap() as f64);
}

#[test]
fn distributions_and_requests_are_those_of_the_row() {
    let mut trace = STEADY.trace();
    trace.requests[2].outcome = Outcome::Failed;
    trace.requests[2].failure = Some(failure("reset"));
    let made = detail(&trace);
    let cell = row(&trace);
    let ttft = made.ttft_ms.unwrap();
    assert_eq!(Some(ttft.n), cell.ttft_ms.as_ref().unwrap().n);
    assert_eq!(ttft.points.last().unwrap()[1], 500.0);
    let gaps = made.gap_ms.unwrap();
    assert_eq!(Some(gaps.n), cell.window_view.unwrap().gap_ms.unwrap().n);
    let requests = made.requests;
    assert!(requests.is_even() && requests.len() == 12 && requests.total == 12);
    assert!(requests.sent_seconds.is_sorted());
    let failed = requests.outcome.iter().position(|outcome| *outcome == Outcome::Failed).unwrap();
    assert_eq!(requests.failure[failed], Some(FailureKind::Reset));
    assert_eq!(requests.output_tokens[0], 451);
    assert_eq!(requests.time_between_tokens_ms[0], Some(10.0));
}

#[test]
fn size_is_bounded() {
    let many = Streams { concurrency: 256, ttft_ns: 20 * MS, step_ns: 37 * MS, tokens: 3, events: 40 };
    let mut trace = many.trace();
    trace.meta.window_end_ns = Some(900 * SECOND);
    let last = trace.requests.len() - 1;
    trace.requests[last].outcome = Outcome::Failed;
    let made = detail(&trace);
    assert!(made.rate.unwrap().rates.len() <= 121);
    assert!(made.gap_ms.unwrap().points.len() <= 60 && made.ttft_ms.unwrap().points.len() <= 60);
    assert_eq!((made.requests.len(), made.requests.total), (50, last as u64 + 1));
    assert!(made.requests.outcome.contains(&Outcome::Failed), "failed requests are listed before others");
}

#[test]
fn prefill_has_its_requests_and_no_rate_over_time() {
    let mut trace = STEADY.trace();
    trace.meta.phase = Phase::Prefill;
    (trace.meta.window_start_ns, trace.meta.window_end_ns) = (None, None);
    trace.requests.iter_mut().for_each(|request| request.kind = RequestKind::Prefill);
    let made = detail(&trace);
    assert!(made.rate.is_none() && made.gap_ms.is_none());
    assert_eq!(made.requests.len(), trace.requests.len());
    trace.requests.clear();
    trace.events.clear();
    let nothing = detail(&trace);
    assert!(nothing.ttft_ms.is_none() && nothing.requests.is_empty());
}
