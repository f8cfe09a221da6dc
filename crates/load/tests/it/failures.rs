//! Requests that fail: a row each, the other streams' rows kept, nothing sent in their place.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokometer_load::{CellSpec, LivePhase};
use tokometer_record::{CellTrace, FailureKind, Outcome, RequestKind, RequestRow};

use crate::bench::{Bench, LONG, ms};
use crate::facts::{check, events, of_kind, outcomes, streams, window_is_whole};
use crate::scripted::{self, Counts, HEAD, Next};

async fn with_one_bad(answer: fn(&mut TcpStream) -> Next) -> CellTrace {
    with_one_bad_within(LONG, answer).await
}

/// Three streams; the second request that comes is answered by `answer`, the others decode for ever. Silence
/// within a response has this limit.
async fn with_one_bad_within(idle: Duration, answer: fn(&mut TcpStream) -> Next) -> CellTrace {
    let server = scripted::serve(move |asked, stream| match asked.number {
        1 => answer(stream),
        _ => scripted::stream(stream, 100_000, Counts::Each),
    });
    let bench = Bench::at(&format!("http://127.0.0.1:{}", server.port), idle);
    let trace = bench.conductor.run_cell(&bench.cell(3, 100_000, LONG)).await;
    check(&trace);
    assert_eq!(outcomes(&trace), (0, 2, 1), "{:?}", trace.requests);
    assert_eq!(server.bodies().len(), 3, "nothing is sent in place of the failed one");
    let meta = &trace.meta;
    assert!(meta.window_start_ns.is_none() && meta.ready.is_none() && !meta.interrupted);
    assert!(meta.failure.is_none(), "the failure is the request's own");
    trace
}

fn failed(trace: &CellTrace) -> &RequestRow {
    trace.requests.iter().find(|row| row.failure.is_some()).unwrap()
}

fn kind(trace: &CellTrace) -> FailureKind {
    failed(trace).failure.as_ref().unwrap().kind
}

#[tokio::test]
async fn statuses() {
    let trace = with_one_bad(|stream| {
        scripted::plain(stream, "500 Internal Server Error", "application/json", r#"{"error":"out of luck"}"#)
    })
    .await;
    let failure = failed(&trace).failure.as_ref().unwrap();
    assert_eq!((failure.kind, failure.http_status), (FailureKind::HttpStatus, Some(500)));
    assert_eq!(failure.body.as_deref(), Some(r#"{"error":"out of luck"}"#));
    let trace =
        with_one_bad(|stream| scripted::plain(stream, "503 Service Unavailable", "text/plain", "full")).await;
    assert_eq!(kind(&trace), FailureKind::Rejected);
}

#[tokio::test]
async fn a_reset_within_a_stream_keeps_the_events_before_it() {
    let trace = with_one_bad(|stream| {
        scripted::send(stream, HEAD);
        scripted::send(stream, &scripted::token("one", Some(1)));
        Next::Reset
    })
    .await;
    assert_eq!(kind(&trace), FailureKind::Reset);
    assert_eq!(events(&trace, failed(&trace)).len(), 1);
    assert_eq!(failed(&trace).completion_tokens, Some(1));
}

#[tokio::test]
async fn events_that_nobody_knows_are_counted() {
    let server = scripted::serve(|_, stream| {
        scripted::send(stream, HEAD);
        scripted::send(stream, &scripted::token("one", Some(1)));
        let strange = "event: mood\ndata: {\"mood\":\"fine\"}\n\n";
        scripted::send(stream, &format!("{:x}\r\n{strange}\r\n", strange.len()));
        scripted::send(stream, &scripted::finish("stop", Some(1)));
        Next::Keep
    });
    let bench = Bench::new(server.port);
    let trace = bench.conductor.run_single(&bench.request("hello", 1)).await;
    check(&trace);
    let [row] = trace.requests.as_slice() else { panic!("{:?}", trace.requests) };
    assert_eq!((row.outcome, row.unknown_events), (Outcome::Ended, Some(1)), "{row:?}");
}

#[tokio::test]
async fn a_stream_that_breaks_off() {
    let trace = with_one_bad(|stream| {
        scripted::send(stream, HEAD);
        scripted::send(stream, &scripted::token("one", Some(1)));
        Next::Close
    })
    .await;
    assert_eq!(kind(&trace), FailureKind::Truncated);
}

#[tokio::test]
async fn a_stream_without_a_token() {
    let trace = with_one_bad(|stream| {
        scripted::send(stream, HEAD);
        scripted::send(stream, &scripted::finish("stop", None));
        Next::Keep
    })
    .await;
    assert_eq!(kind(&trace), FailureKind::NoToken);
}

#[tokio::test]
async fn an_answer_that_is_no_stream() {
    let trace =
        with_one_bad(|stream| scripted::plain(stream, "200 OK", "application/json", r#"{"choices":[]}"#))
            .await;
    assert_eq!(kind(&trace), FailureKind::NotAStream);
}

#[tokio::test]
async fn an_error_event() {
    let trace = with_one_bad(|stream| {
        scripted::send(stream, HEAD);
        scripted::send(stream, &scripted::event(r#"{"error":{"message":"the engine died"}}"#));
        Next::Keep
    })
    .await;
    assert_eq!(kind(&trace), FailureKind::ErrorEvent);
}

#[tokio::test]
async fn silence() {
    assert_eq!(kind(&with_one_bad_within(ms(1500), scripted::hang).await), FailureKind::Timeout);
}

#[tokio::test]
async fn refused_connections_end_the_cell_before_anything_is_sent() {
    let (_socket, port) = scripted::dead_port();
    let bench = Bench::new(port);
    let trace = bench.conductor.run_cell(&bench.cell(8, 10, LONG)).await;
    check(&trace);
    let (ended, cut, failed) = outcomes(&trace);
    assert!((1..=8).contains(&failed) && ended + cut == 0);
    assert_eq!(kind(&trace), FailureKind::Connect);
    assert!(trace.requests.iter().all(|row| row.connect_ns.is_none() && row.events == 0));
    assert!(trace.meta.ready.is_none() && !trace.meta.interrupted && trace.meta.failure.is_none());
}

#[tokio::test]
async fn a_server_that_takes_no_more_connections() {
    let server = scripted::serve_some(2, |_, stream| scripted::stream(stream, 100_000, Counts::Each));
    let bench = Bench::new(server.port);
    let trace = bench.conductor.run_cell(&bench.cell(5, 100_000, LONG)).await;
    check(&trace);
    // A connection that was in the queue when the listener went is reset instead of refused.
    assert!(matches!(kind(&trace), FailureKind::Connect | FailureKind::Reset), "{:?}", trace.requests);
    assert!(trace.meta.window_start_ns.is_none());
}

#[tokio::test]
async fn a_scout_that_fails_ends_the_cell() {
    let server = scripted::serve(|_, stream| scripted::plain(stream, "404 Not Found", "text/plain", "who?"));
    let bench = Bench::new(server.port);
    let mut spec = bench.cell(3, 10, LONG);
    spec.scouts = vec![bench.request("a", 1), bench.request("b", 1)];
    let trace = bench.conductor.run_cell(&spec).await;
    check(&trace);
    assert_eq!((trace.requests.len(), of_kind(&trace, RequestKind::Scout).count()), (1, 1));
    assert_eq!(kind(&trace), FailureKind::HttpStatus);
    assert_eq!(server.bodies().len(), 1);
}

/// Runs a cell; raises `flag` in its window.
async fn run_raising(bench: &Bench, spec: &CellSpec, flag: &AtomicBool) -> CellTrace {
    let in_window = async {
        bench.seen(|live| live.phase == LivePhase::Window).await;
        flag.store(true, Ordering::SeqCst);
    };
    let (trace, ()) = tokio::join!(bench.conductor.run_cell(spec), in_window);
    check(&trace);
    trace
}

#[tokio::test]
async fn a_failure_within_the_window_leaves_the_other_streams_running() {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let server = scripted::serve(move |asked, stream| match asked.number {
        // The stream that ends its first request finds the server unwilling.
        0 => scripted::stream_while(stream, Counts::Each, |_| !raised.load(Ordering::SeqCst)),
        1 | 2 => scripted::stream(stream, 100_000, Counts::Each),
        _ => scripted::plain(stream, "500 Internal Server Error", "text/plain", "no"),
    });
    let bench = Bench::new(server.port);
    let trace = run_raising(&bench, &bench.cell(3, 100_000, ms(1500)), &flag).await;
    assert_eq!(outcomes(&trace), (1, 2, 1));
    assert!(failed(&trace).send_ns >= trace.meta.window_start_ns.unwrap());
    assert!(window_is_whole(&trace));
}

#[tokio::test]
async fn a_server_that_goes_away_in_the_window_ends_it() {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    let server = scripted::serve(move |_, stream| {
        scripted::send(stream, HEAD);
        while !raised.load(Ordering::SeqCst) {
            scripted::send(stream, &scripted::token("on", None));
            std::thread::sleep(ms(5));
        }
        Next::Reset
    });
    let bench = Bench::new(server.port);
    let trace = run_raising(&bench, &bench.cell(3, 200, LONG), &flag).await;
    assert_eq!(outcomes(&trace), (0, 0, 3), "one failed row for each stream");
    assert!(trace.requests.iter().all(|row| !events(&trace, row).is_empty()));
    assert!(!window_is_whole(&trace) && !trace.meta.interrupted);
}

#[tokio::test]
async fn a_server_that_closes_after_each_answer_gets_new_connections() {
    let server = scripted::serve(|_, stream| {
        let head = HEAD.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
        let body = scripted::token("yes", Some(1)) + &scripted::finish("stop", Some(1));
        scripted::send(stream, &(head + &body));
        Next::Close
    });
    let bench = Bench::new(server.port);
    let trace = bench.conductor.run_cell(&bench.cell(2, 1, ms(200))).await;
    check(&trace);
    let (ended, _, failed) = outcomes(&trace);
    assert!(ended > 2 && failed == 0, "{:?}", trace.requests);
    assert!(streams(&trace).all(|row| row.connect_ns.is_some()));
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_costs_no_request() {
    // It announces nothing, answers once on each connection, and closes it when the next request comes.
    let server = scripted::serve(|asked, stream| {
        if asked.earlier > 0 {
            return Next::Close;
        }
        let body = scripted::token("yes", Some(1)) + &scripted::finish("stop", Some(1));
        scripted::plain(stream, "200 OK", "text/event-stream", &body)
    });
    let bench = Bench::new(server.port);
    let trace = bench.conductor.run_cell(&bench.cell(2, 1, ms(200))).await;
    check(&trace);
    let (ended, _, failed) = outcomes(&trace);
    assert!(ended > 2 && failed == 0, "{:?}", trace.requests);
    assert!((1..=2).contains(&trace.meta.resent), "told, and learnt from: {}", trace.meta.resent);
    assert!(streams(&trace).all(|row| row.connect_ns.is_some()), "each answer came on a new connection");
}
