//! Faults that a widely used benchmark client was seen to have, one test for each: here they must not be.

use std::future::pending;
use std::net::TcpListener;
use std::time::Duration;

use tokometer_wire::response::{Close, Progress, ResponseReader};
use tokometer_wire::{
    Channel, Dialect, Endpoint, Event, Exchange, Expect, FailureKind, Headers, Outcome, Secret, Stamp,
    TokenSource,
};

use crate::support::{
    Act, CHAT, HEAD, chunk, connector, connector_with, content, finish, request, scripted, stream, timeouts,
};

const LONG: Duration = Duration::from_secs(60);

/// Reads pieces that arrived at the times that stand beside them; the server then closes.
fn replay(pieces: &[(u64, &[u8])]) -> (Exchange, Vec<Event>, ResponseReader) {
    let mut reader = ResponseReader::new(Expect { endpoint: Endpoint::Chat, dialect: Dialect::Vllm });
    let mut events = Vec::new();
    for &(arrival_ns, bytes) in pieces {
        let stamp = Stamp { arrival_ns, handled_ns: arrival_ns, lag_ns: 0 };
        if reader.feed(bytes, stamp, &mut events) == Progress::Complete {
            break;
        }
        reader.end_of_read(&mut events);
    }
    reader.close(Close::Eof, &mut events);
    reader.end_of_read(&mut events);
    (reader.exchange(0, None, 0), events, reader)
}

fn delta(delta: &str) -> String {
    chunk(&format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":null}}]}}\n\n"))
}

fn counted(text: &str, tokens: u32) -> String {
    chunk(&format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}],\
         \"usage\":{{\"prompt_tokens\":1,\"completion_tokens\":{tokens}}}}}\n\n"
    ))
}

#[test]
fn fault_1_a_role_is_taken_for_the_first_token() {
    let role = [HEAD, &delta(r#"{"role":"assistant","content":""}"#)].concat();
    let empty = delta("{}");
    let (text, end) = (content("Hi"), finish());
    let (exchange, events, _) =
        replay(&[(5, role.as_bytes()), (9, empty.as_bytes()), (214, text.as_bytes()), (300, end.as_bytes())]);
    assert_eq!((exchange.outcome, exchange.first_byte_ns), (Outcome::Ended, Some(5)));
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].arrival_ns, events[0].payload), (214, Some(Channel::Content)));
}

#[test]
fn fault_2_reasoning_is_not_read() {
    for name in ["reasoning", "reasoning_content"] {
        let thought = delta(&format!(r#"{{"{name}":"Let me see."}}"#));
        let (text, end) = (content("4"), finish());
        let (exchange, events, reader) = replay(&[
            (1, HEAD.as_bytes()),
            (2, thought.as_bytes()),
            (3, text.as_bytes()),
            (4, end.as_bytes()),
        ]);
        assert_eq!(exchange.payload_events, 2);
        assert_eq!((events[0].arrival_ns, events[0].payload), (2, Some(Channel::Reasoning)));
        assert_eq!((events[1].arrival_ns, events[1].payload), (3, Some(Channel::Content)));
        assert_eq!(reader.whole_text(Channel::Reasoning).as_deref(), Some("Let me see."));
    }
}

#[test]
fn fault_3_an_event_is_taken_for_a_token() {
    let pieces = [HEAD.to_owned() + &counted("a", 3), counted("b", 4) + &counted("c", 9), finish()];
    let (exchange, events, _) =
        replay(&[(10, pieces[0].as_bytes()), (20, pieces[1].as_bytes()), (30, pieces[2].as_bytes())]);
    let told: Vec<_> = events.iter().map(|event| event.tokens.unwrap()).collect();
    assert_eq!(told, [3, 4, 9]);
    assert_eq!((exchange.completion_tokens, exchange.token_source), (Some(9), TokenSource::Usage));
    // Two events of one read have no gap between them that anybody measured.
    let own: Vec<_> = events.iter().map(|event| event.last_of_read).collect();
    assert_eq!(own, [true, false, true]);
}

#[test]
fn fault_4_an_event_that_cannot_be_read_and_an_error_inside_a_200_are_skipped() {
    for (event, kind) in [
        ("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}\n\n", FailureKind::Malformed),
        ("data: {\"error\":{\"message\":\"the engine died\"}}\n\n", FailureKind::ErrorEvent),
        ("event: error\ndata: {\"message\":\"the engine died\"}\n\n", FailureKind::ErrorEvent),
    ] {
        let body = [HEAD, &content("a"), &chunk(event), &content("b"), &finish()].concat();
        let (exchange, events, _) = replay(&[(1, body.as_bytes())]);
        let failure = exchange.failure.unwrap();
        assert_eq!((exchange.outcome, failure.kind, events.len()), (Outcome::Failed, kind, 1), "{event}");
        assert!(event.contains(failure.body.as_deref().unwrap().trim()), "{failure:?}");
    }
}

#[test]
fn fault_5_whatever_ends_is_a_success() {
    let role = delta(r#"{"role":"assistant"}"#);
    let done = chunk("data: [DONE]\n\n") + "0\r\n\r\n";
    let text = content("a");
    for (body, kind) in [
        ([HEAD, &text, &text].concat(), FailureKind::Truncated),
        ([HEAD, &text, "0\r\n\r\n"].concat(), FailureKind::Truncated),
        ([HEAD, &text, &done].concat(), FailureKind::Truncated),
        ([HEAD, &done].concat(), FailureKind::NoToken),
        ([HEAD, &role, &finish()].concat(), FailureKind::NoToken),
        ([HEAD, "0\r\n\r\n"].concat(), FailureKind::Truncated),
    ] {
        let (exchange, ..) = replay(&[(1, body.as_bytes())]);
        assert_eq!((exchange.outcome, exchange.failure.unwrap().kind), (Outcome::Failed, kind), "{body}");
    }
}

#[tokio::test]
async fn fault_6_a_broken_connection_is_tried_again_in_silence() {
    // Closed before an answer: nothing is sent a second time, and the time from the first send counts.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connector = connector(port);
    let prepared = request(&connector);
    let mut connection = connector.connect().await.unwrap();
    let (accepted, _) = listener.accept().unwrap();
    drop(accepted);
    let before_ns = connector.clock().now_ns();
    let exchange = connection.stream(&prepared, CHAT, &mut (), pending()).await;
    assert_eq!((exchange.outcome, exchange.failure.unwrap().kind), (Outcome::Failed, FailureKind::Reset));
    assert!(before_ns <= exchange.send_ns && exchange.send_ns <= exchange.end_ns);
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);

    // Refused: told at once.
    drop(listener);
    let failure = connector.connect().await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Connect);
}

#[test]
fn fault_7_text_is_broken_where_a_read_ends() {
    let text = "日本語 🙂 é";
    let event = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
    );
    let body = [HEAD, &chunk(&event), &finish()].concat().into_bytes();
    for cut in 1..body.len() {
        let (front, back) = body.split_at(cut);
        let (exchange, _, reader) = replay(&[(1, front), (2, back)]);
        assert_eq!(exchange.outcome, Outcome::Ended);
        assert_eq!(reader.whole_text(Channel::Content).as_deref(), Some(text), "cut at {cut}");
    }
}

#[test]
fn fault_8_reads_are_trimmed_and_other_line_ends_are_not_known() {
    let text = "  two  blanks  ";
    let json = format!(
        "{{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}]}}"
    );
    for (before, end) in [("data: ", "\n\n"), ("data:", "\n\n"), ("data: ", "\r\n\r\n"), ("data:", "\r\r")] {
        let body = [HEAD, &chunk(&format!("{before}{json}{end}")), "0\r\n\r\n"].concat().into_bytes();
        for cut in 1..body.len() {
            let (front, back) = body.split_at(cut);
            let (exchange, _, reader) = replay(&[(1, front), (2, back)]);
            assert_eq!(exchange.outcome, Outcome::Ended, "{before:?} {end:?} cut at {cut}");
            assert_eq!(reader.whole_text(Channel::Content).as_deref(), Some(text));
        }
    }
}

#[tokio::test]
async fn fault_9_waiting_is_left_out_of_the_latency() {
    // The server takes the request only after a while: that while is part of the time to the first byte, as it
    // would be for a user. Setting up the connection is told apart.
    let waited = Duration::from_millis(40);
    let answer = [HEAD, &content("a"), &finish()].concat().into_bytes();
    let (port, server) = scripted(vec![vec![Act::Wait(waited), Act::Read, Act::Write(answer)]]).await;
    let connector = connector(port);
    let mut connection = connector.connect().await.unwrap();
    let (exchange, events) = stream(&mut connection, &request(&connector), CHAT).await;
    assert_eq!((exchange.outcome, events.len()), (Outcome::Ended, 1));
    assert!(exchange.connect_ns.is_some());
    // The server's wait began when it accepted, which may be a moment before our send.
    let latency = Duration::from_nanos(exchange.first_byte_ns.unwrap() - exchange.send_ns);
    assert!(latency >= waited / 2, "{latency:?}");
    server.await.unwrap();
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_stays_here() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let place = format!("http://{}/v1/chat/completions", elsewhere.local_addr().unwrap());
    for status in ["301 Moved Permanently", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let answer = format!("HTTP/1.1 {status}\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n");
        let (port, server) = scripted(vec![vec![Act::Read, Act::Write(answer.into_bytes())]]).await;
        let mut headers = Headers::new();
        headers.bearer(&Secret::new("sk-do-not-leak")).unwrap();
        let connector = connector_with(port, headers, timeouts(LONG));
        let mut connection = connector.connect().await.unwrap();
        let (exchange, _) = stream(&mut connection, &request(&connector), CHAT).await;
        let failure = exchange.failure.unwrap();
        assert_eq!(failure.kind, FailureKind::HttpStatus);
        assert!(failure.message.contains(&format!("it redirects to {place}")), "{failure}");
        assert_eq!(failure.headers["location"], place);
        server.await.unwrap();
        assert_eq!(elsewhere.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
}

#[tokio::test]
async fn overload_is_rejected_and_says_when_to_come_again() {
    for (status, after) in [("429 Too Many Requests", "3"), ("503 Service Unavailable", "120"), ("529 ", "7")]
    {
        let answer = format!("HTTP/1.1 {status}\r\nRetry-After: {after}\r\nContent-Length: 4\r\n\r\nbusy");
        let (port, server) = scripted(vec![vec![Act::Read, Act::Write(answer.into_bytes())]]).await;
        let connector = connector(port);
        let mut connection = connector.connect().await.unwrap();
        let (exchange, _) = stream(&mut connection, &request(&connector), CHAT).await;
        let failure = exchange.failure.unwrap();
        assert_eq!((failure.kind, failure.body.as_deref()), (FailureKind::Rejected, Some("busy")));
        assert_eq!(failure.headers["retry-after"], after);
        assert!(failure.message.ends_with(&format!("busy (it asks to retry after {after})")), "{failure}");
        // One request was sent, and no second.
        drop(connection);
        assert_eq!(server.await.unwrap().len(), 1);
    }
}
