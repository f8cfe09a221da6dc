//! One request over a real socket: cuts, limits, broken connections, reuse.

use std::cell::Cell;
use std::future::{pending, poll_fn};
use std::io::{Read, Write};
use std::task::Poll;
use std::time::Duration;

use tokometer_wire::{
    Channel, Event, EventSink, Exchange, FailureKind, Headers, Outcome, TargetUrl, TlsOptions,
};

use crate::support::{
    Act, CHAT, HEAD, chunk, connector, connector_with, content, exchange, finish, request, scripted, stream,
    timeouts,
};

const LONG: Duration = Duration::from_secs(60);

fn write(parts: &[&str]) -> Act {
    Act::Write(parts.concat().into_bytes())
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let whole = || vec![Act::Read, write(&[HEAD, &content("a"), &finish()])];
    let (port, server) = scripted(vec![[whole(), whole(), vec![Act::AwaitClose]].concat()]).await;
    let connector = connector(port);
    let mut connection = connector.connect().await.unwrap();
    let connect_ns = connection.connect_ns();
    for number in 0..2 {
        assert!(connection.is_reusable());
        let (exchange, events) = stream(&mut connection, &request(&connector), CHAT).await;
        assert_eq!((exchange.outcome, events.len()), (Outcome::Ended, 1));
        assert_eq!(exchange.connect_ns, (number == 0).then_some(connect_ns));
        let first_byte_ns = exchange.first_byte_ns.unwrap();
        assert!(exchange.send_ns <= first_byte_ns && first_byte_ns <= exchange.end_ns);
        assert_eq!(connection.received_text(Channel::Content).as_deref(), Some("a"));
    }
    drop(connection);
    let requests = server.await.unwrap();
    let sent = String::from_utf8(requests[1].clone()).unwrap();
    assert!(sent.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{sent}");
    assert!(
        sent.contains("Accept-Encoding: identity\r\n") && sent.ends_with("\r\n\r\n{\"stream\":true}"),
        "{sent}"
    );
}

#[tokio::test]
async fn a_connection_that_the_server_closed_is_not_used_again() {
    for end in [Act::Wait(Duration::ZERO), write(&["junk"])] {
        let closes = matches!(end, Act::Wait(_));
        let script = vec![Act::Read, write(&[HEAD, &content("a"), &finish()]), end];
        let (port, server) = scripted(vec![script]).await;
        let connector = connector(port);
        let mut connection = connector.connect().await.unwrap();
        let (exchange, _) = stream(&mut connection, &request(&connector), CHAT).await;
        assert_eq!(exchange.outcome, Outcome::Ended);
        server.await.unwrap();
        assert!(!connection.is_reusable(), "closes: {closes}");
    }
}

#[tokio::test]
async fn connection_close_is_obeyed() {
    let head = HEAD.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let (exchange, _, reusable) =
        exchange(vec![Act::Read, write(&[&head, &content("a"), &finish()])], LONG).await;
    assert_eq!((exchange.outcome, reusable), (Outcome::Ended, false));
}

#[tokio::test]
async fn a_cut_closes_the_connection_and_is_no_failure() {
    let (port, server) =
        scripted(vec![vec![Act::Read, write(&[HEAD, &content("a"), &content("b")]), Act::AwaitClose]]).await;
    let connector = connector(port);
    let mut connection = connector.connect().await.unwrap();
    let count = std::rc::Rc::new(Cell::new(0));
    let mut sink = Shared { count: count.clone() };
    // Looked at after each wake-up: cut as soon as both events are there.
    let cancel = poll_fn(move |cx| {
        if count.get() == 2 {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    });
    let exchange = connection.stream(&request(&connector), CHAT, &mut sink, cancel).await;
    assert_eq!((exchange.outcome, exchange.failure), (Outcome::Cut, None));
    assert_eq!(exchange.finish_reason, None);
    assert!(!connection.is_reusable());
    // The server sees the close while we still hold the connection.
    server.await.unwrap();
    let again = connection.stream(&request(&connector), CHAT, &mut (), pending()).await;
    assert_eq!(again.failure.unwrap().kind, FailureKind::Connect);
}

struct Shared {
    count: std::rc::Rc<Cell<u32>>,
}

impl EventSink for Shared {
    fn event(&mut self, _event: &Event) {
        self.count.set(self.count.get() + 1);
    }
}

#[tokio::test]
async fn what_arrived_before_the_cut_is_kept() {
    let exchange = cut_behind([HEAD, &content("a"), &content("b")].concat()).await;
    assert_eq!((exchange.outcome, exchange.payload_events), (Outcome::Cut, 2));
    // A response that was whole by then was not cut.
    let exchange = cut_behind([HEAD, &content("a"), &finish()].concat()).await;
    assert_eq!((exchange.outcome, exchange.payload_events), (Outcome::Ended, 1));
}

/// Cuts a request when the server's bytes are in our socket, but before the event loop has noticed them.
async fn cut_behind(response: String) -> Exchange {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (written, told) = std::sync::mpsc::channel();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut seen = Vec::new();
        let mut byte = [0];
        while !seen.ends_with(b"{\"stream\":true}") {
            stream.read_exact(&mut byte).unwrap();
            seen.push(byte[0]);
        }
        stream.write_all(response.as_bytes()).unwrap();
        written.send(()).unwrap();
        // Until the client closes.
        while stream.read(&mut byte).is_ok_and(|length| length > 0) {}
    });
    let connector = connector(port);
    let prepared = request(&connector);
    let mut connection = connector.connect().await.unwrap();
    let mut events: Vec<Event> = Vec::new();
    let mut first = true;
    // The second look blocks this thread until the events are in our socket, so the event loop cannot have
    // noticed them when the cut comes.
    let cancel = poll_fn(move |cx| {
        if std::mem::replace(&mut first, false) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        told.recv().unwrap();
        Poll::Ready(())
    });
    let exchange = connection.stream(&prepared, CHAT, &mut events, cancel).await;
    assert_eq!(events.len() as u32, exchange.payload_events);
    assert!(events.iter().all(|event| event.arrival_ns <= exchange.end_ns));
    assert!(!connection.is_reusable());
    server.join().unwrap();
    exchange
}

#[tokio::test]
async fn silence_is_a_timeout() {
    let idle = Duration::from_millis(60);
    let script = vec![Act::Read, write(&[HEAD, &content("a")]), Act::AwaitClose];
    let (exchange, events, reusable) = exchange(script, idle).await;
    let failure = exchange.failure.unwrap();
    assert_eq!((failure.kind, events.len(), reusable), (FailureKind::Timeout, 1, false));
    assert_eq!(failure.http_status, Some(200));
    assert!(exchange.end_ns - exchange.send_ns >= 60_000_000);
}

#[tokio::test]
async fn comments_reset_the_timeout() {
    // The limit is far above the pauses, so that a busy machine cannot stretch one to it; all together are longer.
    let idle = Duration::from_secs(5);
    let mut script = vec![Act::Read, write(&[HEAD])];
    for _ in 0..12 {
        script.extend([Act::Wait(Duration::from_millis(500)), write(&[&chunk(": keep-alive\n\n")])]);
    }
    script.push(write(&[&content("a"), &finish()]));
    let (exchange, events, _) = exchange(script, idle).await;
    assert_eq!((exchange.outcome, events.len()), (Outcome::Ended, 1), "{exchange:?}");
    assert!(exchange.end_ns - exchange.send_ns > 5_000_000_000);
    assert_eq!(exchange.events, 3);
}

#[tokio::test]
async fn a_reset_is_told_from_a_close() {
    let script = vec![Act::Read, write(&[HEAD, &content("a")]), Act::Reset];
    let (reset, events, _) = exchange(script, LONG).await;
    assert_eq!((reset.failure.unwrap().kind, events.len()), (FailureKind::Reset, 1));

    let (closed, events, _) = exchange(vec![Act::Read, write(&[HEAD, &content("a")])], LONG).await;
    assert_eq!((closed.failure.unwrap().kind, events.len()), (FailureKind::Truncated, 1));

    let (nothing, ..) = exchange(vec![Act::Read], LONG).await;
    let failure = nothing.failure.unwrap();
    assert_eq!((failure.kind, failure.http_status), (FailureKind::Reset, None));
    assert!(failure.message.contains("before it answered"), "{failure}");
    assert_eq!(nothing.first_byte_ns, None);
}

#[tokio::test]
async fn a_body_that_does_not_end_after_its_marker_is_not_waited_for() {
    let unfinished = finish().replace("0\r\n\r\n", "");
    let script = vec![Act::Read, write(&[HEAD, &content("a"), &unfinished]), Act::AwaitClose];
    let (exchange, _, reusable) = exchange(script, LONG).await;
    assert_eq!((exchange.outcome, reusable), (Outcome::Ended, false), "{exchange:?}");
    assert!(exchange.end_ns - exchange.send_ns < 30_000_000_000);
}

#[tokio::test]
async fn an_answer_that_comes_before_the_request_is_whole_is_heard() {
    // The server reads nothing; the body is larger than any socket buffer.
    let body = r#"{"error":{"message":"the body is too large"}}"#;
    let response = format!("HTTP/1.1 413 Payload Too Large\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        .into_bytes();
    let (port, server) = scripted(vec![vec![Act::Write(response), Act::AwaitClose]]).await;
    let connector = connector(port);
    let prepared = connector.prepare("/v1/chat/completions", vec![b' '; 64 << 20].into());
    let mut connection = connector.connect().await.unwrap();
    let (exchange, _) = stream(&mut connection, &prepared, CHAT).await;
    let failure = exchange.failure.unwrap();
    assert_eq!((failure.kind, failure.http_status), (FailureKind::HttpStatus, Some(413)));
    assert!(failure.message.contains("the body is too large"), "{failure}");
    assert!(!connection.is_reusable());
    drop(connection);
    server.await.unwrap();
}

#[tokio::test]
async fn a_large_request_goes_out_whole() {
    let (port, server) = scripted(vec![vec![Act::Read, write(&[HEAD, &content("a"), &finish()])]]).await;
    let connector = connector(port);
    let body = "0123456789".repeat(500_000);
    let prepared = connector.prepare("/v1/chat/completions", body.clone().into());
    let mut connection = connector.connect().await.unwrap();
    let (exchange, _) = stream(&mut connection, &prepared, CHAT).await;
    assert_eq!(exchange.outcome, Outcome::Ended, "{exchange:?}");
    let requests = server.await.unwrap();
    assert!(requests[0].ends_with(body.as_bytes()));
    assert_eq!(requests[0].len() as u64, prepared.bytes());
}

#[tokio::test]
async fn an_event_of_several_megabytes_is_taken_and_one_over_the_limit_is_not() {
    let text = "word \\ ".repeat(600_000);
    let (whole, events, _) =
        exchange(vec![Act::Read, write(&[HEAD, &content(&text), &finish()])], LONG).await;
    assert_eq!((whole.outcome, events.len()), (Outcome::Ended, 1));
    assert!(events[0].bytes as usize > text.len());

    let huge = "x".repeat(17 << 20);
    let (over, ..) = exchange(vec![Act::Read, write(&[HEAD, &content(&huge)])], LONG).await;
    let failure = over.failure.unwrap();
    assert_eq!(failure.kind, FailureKind::Malformed);
    assert!(failure.message.contains("16 MB"), "{failure}");
}

#[tokio::test]
async fn text_that_repeats_itself_is_evidence() {
    let mut body = HEAD.to_owned();
    for number in 0..40 {
        body += &content(&format!("Line {number} is new. "));
    }
    for _ in 0..200 {
        body += &content("The same sentence,");
        body += &content(" again.\n");
    }
    body += &finish();
    let (exchange, ..) = exchange(vec![Act::Read, write(&[&body])], LONG).await;
    let repetition = exchange.repetition.unwrap();
    assert_eq!((repetition.channel, repetition.period), (Channel::Content, 26));
    assert!(repetition.cycles >= 200 && repetition.repeated_characters >= 26 * 200, "{repetition:?}");
    assert!(repetition.excerpt.contains("sentence"), "{repetition:?}");
    assert_eq!(exchange.outcome, Outcome::Ended);
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_explained() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let failure = connector(port).connect().await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Connect);
    let expected = format!(
        "nothing listens at 127.0.0.1:{port} (connection refused): is the server up, and is the port right?"
    );
    assert_eq!(failure.message, expected);
}

#[tokio::test]
async fn a_host_that_does_not_exist_is_explained() {
    let target = TargetUrl::parse("http://no-such-host.invalid:1").unwrap();
    let clock = tokometer_wire::clock::Clock::start();
    let connector =
        tokometer_wire::Connector::new(target, &TlsOptions::default(), Headers::new(), clock, timeouts(LONG))
            .unwrap();
    let failure = connector.connect().await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(failure.message.contains("no-such-host.invalid"), "{failure}");
}

#[tokio::test]
async fn a_server_that_never_finishes_its_handshake_is_a_connect_timeout() {
    let (port, server) = scripted(vec![vec![Act::AwaitClose]]).await;
    let target = TargetUrl::parse(&format!("https://127.0.0.1:{port}")).unwrap();
    let tls = TlsOptions { insecure: true, ca_certificate: None };
    let limits = tokometer_wire::Timeouts { connect: Duration::from_millis(50), idle: LONG };
    let clock = connector_with(port, Headers::new(), limits).clock();
    let connector = tokometer_wire::Connector::new(target, &tls, Headers::new(), clock, limits).unwrap();
    let failure = connector.connect().await.unwrap_err();
    assert!(matches!(failure.kind, FailureKind::Connect | FailureKind::Tls), "{failure}");
    assert!(failure.message.contains("no connection to 127.0.0.1"), "{failure}");
    server.await.unwrap();
}
