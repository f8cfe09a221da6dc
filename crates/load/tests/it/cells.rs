//! Whole cells on the simulated engine.

use tokometer_load::LivePhase;
use tokometer_record::{AtEnd, Outcome, RequestKind, StampSource, TokenSource};

use crate::bench::{LONG, ms};
use crate::facts::{
    active_streams, check, counted_tokens, events, of_kind, outcomes, received_tokens, streams,
    window_is_whole,
};
use crate::simulated::{prompt, start};

/// Tokens that a cut request may leave on the server: generous, since the machine may be busy.
const LEFT_OF_A_CUT: u64 = 20;

#[tokio::test]
async fn with_finish_every_token_of_the_server_is_ours() {
    let (server, bench) = start(5.0);
    let mut spec = bench.cell(4, 40, ms(700));
    spec.requests = vec![bench.request(&prompt("finish"), 40)];
    spec.scouts = vec![bench.request(&prompt("finish"), 1)];
    spec.at_end = AtEnd::Finish;
    let trace = bench.conductor.run_cell(&spec).await;
    check(&trace);
    let (ended, cut, failed) = outcomes(&trace);
    assert_eq!((cut, failed), (0, 0));
    assert!(ended >= 4);
    assert!(trace.meta.drained && window_is_whole(&trace) && !trace.meta.interrupted);
    assert_eq!(received_tokens(&trace), counted_tokens(&trace));
    assert_eq!(received_tokens(&trace), 40 * ended as u64 + 1);
    assert!(streams(&trace).all(|row| row.token_source == TokenSource::Usage));
    assert!(trace.meta.ready.as_ref().is_some_and(|ready| ready.reached && ready.missing.is_empty()));
    if cfg!(target_os = "linux") {
        assert_eq!(trace.meta.stamp_source, StampSource::Kernel);
    }
    server.stop();
}

#[tokio::test]
async fn with_cut_the_server_is_little_ahead() {
    let (server, bench) = start(40.0);
    let mut spec = bench.cell(6, 4000, ms(600));
    spec.requests = vec![bench.request(&prompt("cut"), 4000)];
    let trace = bench.conductor.run_cell(&spec).await;
    check(&trace);
    assert_eq!(outcomes(&trace), (0, 6, 0));
    assert_eq!(active_streams(&trace).len(), 6);
    assert!(trace.meta.drained && window_is_whole(&trace) && !trace.meta.interrupted);
    let (counted, received) = (counted_tokens(&trace), received_tokens(&trace));
    assert!(received > 0 && counted >= received, "{counted} {received}");
    assert!(counted - received <= 6 * LEFT_OF_A_CUT, "{counted} {received}");
    // The cut comes behind the window, and what arrived by then is recorded.
    let end = trace.meta.window_end_ns.unwrap();
    for row in streams(&trace) {
        assert!(row.end_ns >= end, "{row:?}");
        assert!(!events(&trace, row).is_empty());
    }
    server.stop();
}

#[tokio::test]
async fn streams_send_the_next_request_on_the_same_connection() {
    let (server, bench) = start(5.0);
    let trace = bench.conductor.run_cell(&bench.cell(3, 10, ms(600))).await;
    check(&trace);
    for stream in 0..3 {
        let rows: Vec<_> = streams(&trace).filter(|row| row.stream == stream).collect();
        assert!(rows.len() > 1, "{rows:?}");
        assert!(rows[0].connect_ns.is_some());
        assert!(rows[1..].iter().all(|row| row.connect_ns.is_none()), "{rows:?}");
        assert!(rows[..rows.len() - 1].iter().all(|row| row.completion_tokens == Some(10)), "{rows:?}");
    }
    server.stop();
}

#[tokio::test]
async fn scouts_come_first_and_warm_the_prefix() {
    let (server, bench) = start(5.0);
    let mut spec = bench.cell(3, 20, ms(300));
    let prompts: Vec<String> = ["one", "two", "three"].map(prompt).to_vec();
    spec.requests = prompts.iter().map(|prompt| bench.request(prompt, 20)).collect();
    spec.scouts = prompts.iter().map(|prompt| bench.request(prompt, 1)).collect();
    spec.at_end = AtEnd::Finish;
    let trace = bench.conductor.run_cell(&spec).await;
    check(&trace);
    let scouts: Vec<_> = of_kind(&trace, RequestKind::Scout).collect();
    assert_eq!(scouts.len(), 3);
    assert!(scouts.iter().all(|row| row.outcome == Outcome::Ended && row.cached_tokens == Some(0)));
    let last = scouts.iter().map(|row| row.end_ns).max().unwrap();
    assert!(streams(&trace).all(|row| row.send_ns >= last));
    assert!(streams(&trace).all(|row| row.cached_tokens > Some(0)), "{:?}", trace.requests);
    server.stop();
}

#[tokio::test]
async fn unique_prompts_without_scouts_meet_a_cold_prefix() {
    let (server, bench) = start(5.0);
    let mut spec = bench.cell(3, 20, ms(300));
    spec.requests = ["1", "2", "3"].map(|salt| bench.request(&prompt(salt), 20)).to_vec();
    spec.at_end = AtEnd::Finish;
    let trace = bench.conductor.run_cell(&spec).await;
    check(&trace);
    for stream in 0..3 {
        let rows: Vec<_> = streams(&trace).filter(|row| row.stream == stream).collect();
        assert_eq!(rows[0].cached_tokens, Some(0), "the first one is cold: {rows:?}");
        let again = &rows[1..];
        assert!(again.iter().all(|row| row.cached_tokens > Some(0)), "its own prompt comes again: {rows:?}");
    }
    server.stop();
}

#[tokio::test]
async fn the_window_is_sampled() {
    let (server, bench) = start(10.0);
    let trace = bench.conductor.run_cell(&bench.cell(2, 4000, ms(800))).await;
    let (start, end) = (trace.meta.window_start_ns.unwrap(), trace.meta.window_end_ns.unwrap());
    let inside: Vec<_> =
        trace.samples.iter().filter(|sample| (start..end).contains(&sample.time_ns)).collect();
    assert!(!inside.is_empty());
    assert!(inside.iter().all(|sample| sample.running == Some(2.0) && sample.waiting == Some(0.0)));
    server.stop();
}

#[tokio::test]
async fn a_cell_that_is_dropped_half_way_cuts_its_streams() {
    let (server, bench) = start(10.0);
    let spec = bench.cell(4, 100_000, LONG);
    tokio::select! {
        _ = bench.conductor.run_cell(&spec) => panic!("the window is long"),
        () = bench.seen(|live| live.phase == LivePhase::Window) => {}
    }
    // The drain of the next cell sees an empty server, and its workers are free.
    let trace = bench.conductor.run_cell(&bench.cell(4, 100_000, ms(100))).await;
    check(&trace);
    assert_eq!(outcomes(&trace), (0, 4, 0));
    assert!(trace.meta.drained);
    server.stop();
}

#[test]
fn a_cell_may_run_on_any_event_loop() {
    fn check(_: impl Send) {}
    let bench = crate::bench::Bench::new(9);
    check(bench.conductor.run_cell(&bench.cell(1, 1, LONG)));
    check(bench.conductor.run_prefill(&bench.prefill(&[])));
}

#[tokio::test]
async fn a_warm_up_leaves_nothing_but_its_failure() {
    let (server, bench) = start(10.0);
    assert_eq!(bench.conductor.warm_up(&bench.request("Warm up.", 4000), ms(200)).await, None);
    assert_eq!(bench.conductor.warm_up(&bench.request("Warm up.", 3), ms(200)).await, None);
    let single = bench.conductor.run_single(&bench.request("Once.", 3)).await;
    check(&single);
    assert_eq!(single.requests.len(), 1);
    assert_eq!(single.requests[0].completion_tokens, Some(3));
    server.stop();
    let failure = bench.conductor.warm_up(&bench.request("Warm up.", 4000), ms(200)).await;
    assert!(failure.is_some());
}
