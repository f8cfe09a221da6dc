//! Waiting for an empty server, and servers that do not tell.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokometer_record::FailureKind;

use crate::bench::{Bench, ms};
use crate::facts::{active_streams, check, outcomes, window_is_whole};
use crate::scripted::{self, Counts};

#[tokio::test]
async fn a_server_without_gauges_is_measured_without_them() {
    let server = scripted::serve(|_, stream| scripted::stream(stream, 100_000, Counts::Each));
    let bench = Bench::new(server.port);
    let trace = bench.conductor.run_cell(&bench.cell(3, 100_000, ms(200))).await;
    check(&trace);
    assert_eq!(outcomes(&trace), (0, 3, 0));
    assert_eq!(active_streams(&trace).len(), 3);
    assert!(window_is_whole(&trace) && trace.meta.ready.as_ref().unwrap().reached);
    let meta = &trace.meta;
    assert!(!meta.drained && meta.counters_before.is_none() && meta.counters_after.is_none());
    assert!(trace.samples.is_empty() && meta.failure.is_none());
}

#[tokio::test]
async fn without_an_empty_server_nothing_is_sent() {
    let server = scripted::serve(|_, stream| scripted::metrics(stream, 2, 1, 7));
    let mut bench = Bench::new(server.port).with_gauges();
    bench.conductor.timing.drain_limit = ms(200);
    let trace = bench.conductor.run_cell(&bench.cell(3, 10, ms(200))).await;
    check(&trace);
    assert!(trace.requests.is_empty() && trace.meta.window_start_ns.is_none());
    let failure = trace.meta.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(failure.message.contains("runs 2 requests and has 1 waiting"), "{}", failure.message);
    assert_eq!(trace.meta.counters_before.as_ref().unwrap().generated_tokens, Some(7.0));
    assert!(server.bodies().is_empty());
}

#[tokio::test]
async fn a_busy_server_may_be_allowed() {
    let server = scripted::serve(|asked, stream| {
        if asked.is_metrics() {
            return scripted::metrics(stream, 5, 0, 7);
        }
        scripted::stream(stream, 100_000, Counts::Each)
    });
    let mut bench = Bench::new(server.port).with_gauges();
    bench.conductor.allow_busy = true;
    let trace = bench.conductor.run_cell(&bench.cell(2, 100_000, ms(200))).await;
    check(&trace);
    assert_eq!(outcomes(&trace), (0, 2, 0));
    assert!(window_is_whole(&trace) && !trace.meta.drained && trace.meta.failure.is_none());
}

#[tokio::test]
async fn tokens_that_are_still_counted_are_waited_for() {
    let readings = Arc::new(AtomicUsize::new(0));
    let server = scripted::serve(move |asked, stream| {
        if asked.is_metrics() {
            // The gauge says empty at once; the counter comes to rest later.
            let reading = readings.fetch_add(1, Ordering::SeqCst);
            return scripted::metrics(stream, 0, 0, reading.min(20));
        }
        scripted::stream(stream, 3, Counts::Each)
    });
    let bench = Bench::new(server.port).with_gauges();
    let trace = bench.conductor.run_cell(&bench.cell(1, 3, ms(100))).await;
    check(&trace);
    assert_eq!(trace.meta.counters_before.as_ref().unwrap().generated_tokens, Some(20.0));
    assert!(trace.meta.drained);
}

#[tokio::test]
async fn counters_without_gauges_are_read_when_they_have_come_to_rest() {
    let readings = Arc::new(AtomicUsize::new(0));
    let server = scripted::serve(move |asked, stream| {
        if asked.is_metrics() {
            let reading = readings.fetch_add(1, Ordering::SeqCst);
            let text = format!("vllm:generation_tokens_total {}\n", reading.min(20));
            return scripted::plain(stream, "200 OK", "text/plain", &text);
        }
        scripted::stream(stream, 100_000, Counts::Each)
    });
    let bench = Bench::new(server.port).with_gauges();
    let trace = bench.conductor.run_cell(&bench.cell(1, 100_000, ms(100))).await;
    check(&trace);
    assert_eq!(trace.meta.counters_before.as_ref().unwrap().generated_tokens, Some(20.0));
    assert!(!trace.meta.drained && window_is_whole(&trace));
}

#[tokio::test]
async fn gauges_that_fall_silent_mean_that_the_server_is_gone() {
    let (_socket, dead_port) = scripted::dead_port();
    for port in [dead_port, scripted::serve(|_, stream| scripted::hang(stream)).port] {
        let mut bench = Bench::new(port).with_gauges();
        bench.conductor.timing.silence_limit = ms(200);
        let trace = bench.conductor.run_cell(&bench.cell(2, 10, ms(200))).await;
        check(&trace);
        let failure = trace.meta.failure.unwrap();
        assert!(failure.message.contains("metrics have not answered"), "{}", failure.message);
        assert!(trace.requests.is_empty() && !trace.meta.interrupted);
    }
}
