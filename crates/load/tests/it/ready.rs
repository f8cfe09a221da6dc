//! When the window begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::bench::{Bench, ms};
use crate::facts::{active_streams, check, outcomes, streams, window_is_whole};
use crate::scripted::{self, Counts, HEAD};
use crate::simulated::start;

#[tokio::test]
async fn a_stream_without_a_token_is_waited_for_until_the_limit() {
    let server = scripted::serve(|asked, stream| {
        if asked.number == 2 {
            scripted::send(stream, HEAD);
            return scripted::hang(stream);
        }
        scripted::stream(stream, 100_000, Counts::Each)
    });
    let mut bench = Bench::new(server.port);
    bench.conductor.timing.ready_limit = ms(600);
    let trace = bench.conductor.run_cell(&bench.cell(3, 100_000, ms(200))).await;
    check(&trace);
    let ready = trace.meta.ready.as_ref().unwrap();
    assert!(!ready.reached);
    assert_eq!(ready.missing, ["2 of 3 streams have had a token"]);
    assert!(ready.seconds >= ready.limit_seconds);
    // Measured all the same.
    assert!(window_is_whole(&trace));
    assert_eq!(outcomes(&trace), (0, 3, 0));
    assert_eq!(active_streams(&trace).len(), 3);
}

#[tokio::test]
async fn the_window_begins_when_every_stream_has_had_a_token() {
    let (server, bench) = start(10.0);
    let trace = bench.conductor.run_cell(&bench.cell(4, 4000, ms(200))).await;
    check(&trace);
    let start = trace.meta.window_start_ns.unwrap();
    for row in streams(&trace).filter(|row| row.connect_ns.is_some()) {
        let first = crate::facts::events(&trace, row).iter().find(|event| event.payload).unwrap();
        assert!(first.arrival_ns <= start, "{row:?}");
    }
    let ready = trace.meta.ready.unwrap();
    let least = bench.conductor.timing.ready_minimum + bench.conductor.timing.ready_stable;
    assert!(ready.reached && ready.seconds >= least.as_secs_f64());
    server.stop();
}

#[tokio::test]
async fn requests_that_wait_on_the_server_keep_the_window_from_beginning() {
    let sent = Arc::new(AtomicUsize::new(0));
    let server = scripted::serve(move |asked, stream| {
        if asked.is_metrics() {
            let running = usize::from(sent.load(Ordering::SeqCst) > 0);
            return scripted::metrics(stream, running, running, 0);
        }
        sent.fetch_add(1, Ordering::SeqCst);
        let next = scripted::stream(stream, 100_000, Counts::Each);
        sent.fetch_sub(1, Ordering::SeqCst);
        next
    });
    let mut bench = Bench::new(server.port).with_gauges();
    bench.conductor.timing.ready_limit = ms(600);
    let trace = bench.conductor.run_cell(&bench.cell(2, 100_000, ms(100))).await;
    check(&trace);
    let ready = trace.meta.ready.as_ref().unwrap();
    assert!(!ready.reached);
    assert_eq!(ready.missing, ["1 requests wait on the server", "the server runs 1 of 2 requests"]);
    assert!(trace.meta.drained && trace.meta.failure.is_none());
}

#[tokio::test]
async fn requests_of_milliseconds_are_ready_once_every_stream_has_ended_one() {
    let sent = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&sent);
    let server = scripted::serve(move |asked, stream| {
        if asked.is_metrics() {
            // Once requests flow there is always one on its way in, and hardly one inside.
            let flowing = usize::from(seen.load(Ordering::SeqCst) > 0);
            return scripted::metrics(stream, 0, flowing, 0);
        }
        sent.fetch_add(1, Ordering::SeqCst);
        let whole = format!("{HEAD}{}{}", scripted::token("yes", Some(1)), scripted::finish("stop", Some(1)));
        scripted::send(stream, &whole);
        scripted::Next::Keep
    });
    let mut bench = Bench::new(server.port).with_gauges();
    bench.conductor.timing.drain_limit = ms(300);
    let trace = bench.conductor.run_cell(&bench.cell(4, 1, ms(300))).await;
    check(&trace);
    assert!(trace.meta.ready.as_ref().unwrap().reached, "{:?}", trace.meta.ready);
    let (ended, _, failed) = outcomes(&trace);
    assert!(ended > 4 && failed == 0);
    assert!(window_is_whole(&trace));
    // A server that does not come to rest behind the cell takes nothing from what was measured.
    assert!(!trace.meta.drained && trace.meta.failure.is_none() && trace.meta.counters_after.is_some());
}
