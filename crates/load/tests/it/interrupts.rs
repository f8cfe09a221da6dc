//! The user ends the run, in each phase of a cell.

use tokio::sync::watch;
use tokometer_load::LivePhase;
use tokometer_record::{AtEnd, Outcome, RequestKind};

use crate::bench::{Bench, LONG, ms};
use crate::facts::{active_streams, check, of_kind, outcomes, window_is_whole};
use crate::scripted::{self, Asked, Counts, HEAD, Next};
use crate::simulated::start;

/// A server that raises the interrupt where its script says so, and a conductor that hears it.
fn raising(
    answer: impl Fn(&Asked, &mut std::net::TcpStream, &watch::Sender<bool>) -> Next + Send + Sync + 'static,
) -> (scripted::Scripted, Bench) {
    let interrupt = watch::Sender::new(false);
    let raise = interrupt.clone();
    let server = scripted::serve(move |asked, stream| answer(asked, stream, &raise));
    let mut bench = Bench::new(server.port);
    bench.conductor.interrupt = interrupt.subscribe();
    (server, bench)
}

#[tokio::test]
async fn while_an_empty_server_is_waited_for() {
    let (server, bench) = raising(|_, stream, raise| {
        raise.send_replace(true);
        scripted::metrics(stream, 1, 0, 0)
    });
    let bench = bench.with_gauges();
    let trace = bench.conductor.run_cell(&bench.cell(2, 10, LONG)).await;
    check(&trace);
    assert!(trace.meta.interrupted && trace.requests.is_empty() && trace.meta.failure.is_none());
    assert!(server.bodies().is_empty());
}

#[tokio::test]
async fn in_the_scout() {
    let (_server, bench) = raising(|_, stream, raise| {
        scripted::send(stream, HEAD);
        raise.send_replace(true);
        scripted::hang(stream)
    });
    let mut spec = bench.cell(2, 10, LONG);
    spec.scouts = vec![bench.request("a", 1), bench.request("b", 1)];
    let trace = bench.conductor.run_cell(&spec).await;
    check(&trace);
    assert!(trace.meta.interrupted);
    assert_eq!((trace.requests.len(), trace.requests[0].kind), (1, RequestKind::Scout));
    assert_eq!(trace.requests[0].outcome, Outcome::Cut);
}

#[tokio::test]
async fn while_connections_are_opened() {
    // The server accepts and never answers the TLS greeting.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut bench = Bench::at(&format!("https://127.0.0.1:{port}"), LONG);
    let interrupt = watch::Sender::new(false);
    bench.conductor.interrupt = interrupt.subscribe();
    std::thread::spawn(move || {
        let first = listener.accept();
        interrupt.send_replace(true);
        let rest: Vec<_> = listener.incoming().collect();
        drop((first, rest));
    });
    let trace = bench.conductor.run_cell(&bench.cell(3, 10, LONG)).await;
    check(&trace);
    assert!(trace.meta.interrupted && trace.requests.is_empty());
}

#[tokio::test]
async fn in_the_ready_phase() {
    let (_server, mut bench) = raising(|asked, stream, raise| {
        scripted::send(stream, HEAD);
        scripted::send(stream, &scripted::token("one", Some(1)));
        if asked.number == 2 {
            raise.send_replace(true);
        }
        scripted::hang(stream)
    });
    bench.conductor.timing.ready_minimum = LONG;
    bench.conductor.timing.ready_limit = LONG * 2;
    let trace = bench.conductor.run_cell(&bench.cell(3, 10, LONG)).await;
    check(&trace);
    assert!(trace.meta.interrupted && trace.meta.ready.is_none() && trace.meta.window_start_ns.is_none());
    assert_eq!(outcomes(&trace), (0, 3, 0));
}

#[tokio::test]
async fn in_the_window() {
    let (server, bench) = start(10.0);
    let spec = bench.cell(3, 100_000, LONG);
    let (trace, ()) = tokio::join!(
        bench.conductor.run_cell(&spec),
        bench.raise_when(|live| live.phase == LivePhase::Window && live.seconds > 0.2)
    );
    check(&trace);
    assert!(trace.meta.interrupted && trace.meta.window_end_ns.is_some() && !window_is_whole(&trace));
    assert_eq!(outcomes(&trace), (0, 3, 0));
    assert_eq!(active_streams(&trace).len(), 3);
    assert!(!trace.events.is_empty() && trace.meta.counters_after.is_some());
    server.stop();
}

#[tokio::test]
async fn while_requests_run_out_behind_the_window() {
    let (server, bench) = start(10.0);
    let mut spec = bench.cell(3, 100_000, ms(200));
    spec.at_end = AtEnd::Finish;
    let (trace, ()) =
        tokio::join!(bench.conductor.run_cell(&spec), bench.raise_when(|live| live.phase == LivePhase::Stop));
    check(&trace);
    // What the cell was to measure is measured.
    assert!(!trace.meta.interrupted && window_is_whole(&trace));
    assert_eq!(outcomes(&trace), (0, 3, 0));
    server.stop();
}

#[tokio::test]
async fn behind_the_window() {
    let (server, bench) = start(10.0);
    let spec = bench.cell(3, 100_000, ms(200));
    let seen = std::cell::Cell::new(false);
    let drained_after = |live: tokometer_load::LiveCell| {
        seen.set(seen.get() || live.phase == LivePhase::Window);
        seen.get() && live.phase == LivePhase::Drain
    };
    let (trace, ()) = tokio::join!(bench.conductor.run_cell(&spec), bench.raise_when(drained_after));
    check(&trace);
    assert!(!trace.meta.interrupted && window_is_whole(&trace));
    assert!(trace.meta.counters_after.is_some());
    server.stop();
}

#[tokio::test]
async fn in_the_calibration() {
    let (_server, bench) = raising(|asked, stream, raise| {
        if asked.wants(256) {
            raise.send_replace(true);
            return scripted::hang(stream);
        }
        scripted::stream(stream, 100_000, Counts::AtEnd)
    });
    let mut spec = bench.cell(2, 100_000, ms(200));
    spec.calibration = Some(bench.request("Say something.", 256));
    let trace = bench.conductor.run_cell(&spec).await;
    check(&trace);
    assert!(!trace.meta.interrupted && window_is_whole(&trace));
    let row = of_kind(&trace, RequestKind::Calibration).next().unwrap();
    assert_eq!(row.outcome, Outcome::Cut);
}

#[tokio::test]
async fn before_anything() {
    let (server, bench) = start(10.0);
    bench.interrupt.send_replace(true);
    let trace = bench.conductor.run_cell(&bench.cell(3, 10, LONG)).await;
    check(&trace);
    assert!(trace.meta.interrupted && trace.requests.is_empty());
    assert!(!bench.conductor.pause(LONG).await);
    server.stop();
}
