//! Prefill measurements.

use tokometer_record::{FailureKind, Outcome, RequestKind};

use crate::bench::Bench;
use crate::facts::{check, counted_tokens, of_kind};
use crate::scripted::{self, Counts};
use crate::simulated::{prompt, start, start_faulty};

#[tokio::test]
async fn each_sample_is_cold_and_alone() {
    let (server, bench) = start(5.0);
    let prompts = ["a", "b", "c"].map(prompt);
    let trace = bench.conductor.run_prefill(&bench.prefill(&prompts)).await;
    check(&trace);
    let rows: Vec<_> = of_kind(&trace, RequestKind::Prefill).collect();
    assert_eq!((rows.len(), trace.requests.len()), (3, 3));
    for row in &rows {
        assert_eq!((row.outcome, row.cached_tokens), (Outcome::Ended, Some(0)));
        assert_eq!(row.completion_tokens, Some(1));
        assert!(row.connect_ns.is_some(), "each has a connection of its own, opened before its send");
    }
    assert!(rows.windows(2).all(|pair| pair[0].end_ns < pair[1].send_ns));
    // Between two samples the server was seen empty.
    for pair in rows.windows(2) {
        let between = pair[0].end_ns..pair[1].send_ns;
        let mut seen = trace.samples.iter().filter(|sample| between.contains(&sample.time_ns));
        assert!(seen.clone().count() >= 2 && seen.next_back().unwrap().running == Some(0.0));
    }
    assert_eq!(counted_tokens(&trace), 3);
    assert!(trace.meta.drained && !trace.meta.interrupted && trace.meta.window_start_ns.is_none());
    server.stop();
}

#[tokio::test]
async fn after_a_failure_no_other_sample_is_sent() {
    let server = scripted::serve(|asked, stream| match asked.number {
        0 => scripted::stream(stream, 1, Counts::Each),
        _ => scripted::plain(stream, "500 Internal Server Error", "text/plain", "no"),
    });
    let bench = Bench::new(server.port);
    let prompts = ["a", "b", "c"].map(str::to_owned);
    let trace = bench.conductor.run_prefill(&bench.prefill(&prompts)).await;
    check(&trace);
    let outcomes: Vec<_> = trace.requests.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ended, Outcome::Failed]);
    assert_eq!(trace.requests[1].failure.as_ref().unwrap().kind, FailureKind::HttpStatus);
    assert_eq!(server.bodies().len(), 2);
    assert!(!trace.meta.interrupted);
}

#[tokio::test]
async fn an_interrupt_keeps_the_samples_so_far() {
    let interrupt = tokio::sync::watch::Sender::new(false);
    let raise = interrupt.clone();
    let server = scripted::serve(move |asked, stream| {
        if asked.number < 1 {
            return scripted::stream(stream, 1, Counts::Each);
        }
        raise.send_replace(true);
        scripted::hang(stream)
    });
    let mut bench = Bench::new(server.port);
    bench.conductor.interrupt = interrupt.subscribe();
    let prompts = ["a", "b", "c"].map(str::to_owned);
    let trace = bench.conductor.run_prefill(&bench.prefill(&prompts)).await;
    check(&trace);
    let outcomes: Vec<_> = trace.requests.iter().map(|row| row.outcome).collect();
    assert_eq!(outcomes, [Outcome::Ended, Outcome::Cut]);
    assert!(trace.meta.interrupted);
}

#[tokio::test]
async fn an_interrupt_of_the_last_sample_counts() {
    let interrupt = tokio::sync::watch::Sender::new(false);
    let raise = interrupt.clone();
    let server = scripted::serve(move |_, stream| {
        raise.send_replace(true);
        scripted::hang(stream)
    });
    let mut bench = Bench::new(server.port);
    bench.conductor.interrupt = interrupt.subscribe();
    let trace = bench.conductor.run_prefill(&bench.prefill(&["a".to_owned()])).await;
    assert_eq!(trace.requests[0].outcome, Outcome::Cut);
    assert!(trace.meta.interrupted);
}

#[tokio::test]
async fn an_interrupt_behind_the_last_sample_takes_nothing() {
    let interrupt = tokio::sync::watch::Sender::new(false);
    let raise = interrupt.clone();
    let server = scripted::serve(move |asked, stream| {
        if asked.is_metrics() {
            return scripted::metrics(stream, 0, 0, 0);
        }
        scripted::stream(stream, 1, Counts::Each);
        // The client leaves once it has all of it.
        let next = scripted::hang(stream);
        raise.send_replace(true);
        next
    });
    let mut bench = Bench::new(server.port).with_gauges();
    bench.conductor.interrupt = interrupt.subscribe();
    let trace = bench.conductor.run_prefill(&bench.prefill(&["a".to_owned()])).await;
    check(&trace);
    assert_eq!(trace.requests[0].outcome, Outcome::Ended);
    assert!(!trace.meta.interrupted);
}

#[tokio::test]
async fn the_counters_around_each_sample_tell_a_warm_cache_that_is_sold_as_cold() {
    // Every second request finds its prompt cached; the usage of this dialect says nothing about it.
    let (server, bench) = start_faulty("warm-cache/2");
    let prompts = ["a", "b", "c"].map(prompt);
    let trace = bench.conductor.run_prefill(&bench.prefill(&prompts)).await;
    check(&trace);
    assert!(trace.requests.iter().all(|row| row.cached_tokens.is_none() && row.outcome == Outcome::Ended));
    assert_eq!(trace.meta.counters_by_request.len(), 3);
    assert_eq!(trace.meta.counters_by_request[0], trace.meta.counters_before);
    let counted: Vec<f64> = trace
        .meta
        .counters_by_request
        .iter()
        .chain([&trace.meta.counters_after])
        .map(|counters| counters.as_ref().unwrap().cached_tokens.unwrap())
        .collect();
    let hits: Vec<f64> = counted.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let prompt_tokens = trace.requests[1].prompt_tokens.unwrap() as f64;
    assert_eq!((hits[0], hits[2]), (0.0, 0.0));
    assert!(hits[1] > 0.9 * prompt_tokens && hits[1] <= prompt_tokens, "{hits:?} of {prompt_tokens}");
    server.stop();
}
