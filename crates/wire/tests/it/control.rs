//! The client for what is not measured.

use std::time::Duration;

use serde_json::json;
use tokometer_wire::{Control, FailureKind, Headers};

use crate::support::{Act, connector, connector_with, scripted, timeouts};

const LIMIT: Duration = Duration::from_secs(20);

fn answer(status: &str, body: &str) -> Act {
    Act::Write(
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nServer: test\r\n\r\n{body}", body.len())
            .into_bytes(),
    )
}

#[tokio::test]
async fn one_connection_serves_several_requests() {
    let script = vec![
        Act::Read,
        answer("200 OK", r#"{"data":[]}"#),
        Act::Read,
        answer("404 Not Found", "no"),
        Act::Read,
        answer("200 OK", r#"{"count":3}"#),
    ];
    let (port, server) = scripted(vec![script]).await;
    let control = Control::new(connector(port));
    let first = control.get("/v1/models", LIMIT).await.unwrap();
    assert_eq!((first.status, first.json().unwrap()), (200, json!({"data": []})));
    assert_eq!(first.header("server"), Some("test"));
    let second = control.get("/nothing", LIMIT).await.unwrap();
    assert_eq!((second.status, second.is_success(), &*second.text()), (404, false, "no"));
    assert_eq!(second.json().unwrap_err().http_status, Some(404));
    let third = control.post_json("/tokenize", &json!({"prompt": "a"}), LIMIT).await.unwrap();
    assert_eq!(third.json().unwrap()["count"], 3);
    assert!(first.arrival_ns <= second.arrival_ns && second.arrival_ns <= third.arrival_ns);
    drop(control);

    let requests = server.await.unwrap();
    let sent: Vec<String> = requests.into_iter().map(|request| String::from_utf8(request).unwrap()).collect();
    assert!(sent[0].starts_with("GET /v1/models HTTP/1.1\r\n"), "{}", sent[0]);
    assert!(sent[0].to_ascii_lowercase().contains(&format!("host: 127.0.0.1:{port}\r\n")), "{}", sent[0]);
    assert!(
        sent[2].starts_with("POST /tokenize HTTP/1.1\r\n") && sent[2].ends_with(r#"{"prompt":"a"}"#),
        "{}",
        sent[2]
    );
}

#[tokio::test]
async fn a_connection_that_was_closed_is_opened_again() {
    let script = || vec![Act::Read, answer("200 OK", "1")];
    let (port, server) = scripted(vec![script(), script(), script()]).await;
    let control = Control::new(connector(port));
    for _ in 0..2 {
        assert_eq!(control.get("/a", LIMIT).await.unwrap().status, 200);
    }
    assert_eq!(control.post_json("/a", &json!(1), LIMIT).await.map(|answer| answer.status), Ok(200));
    assert_eq!(server.await.unwrap().len(), 3);
}

#[tokio::test]
async fn what_goes_wrong_is_told() {
    // Silence.
    let (port, server) = scripted(vec![vec![Act::Read, Act::AwaitClose]]).await;
    let control = Control::new(connector(port));
    let failure = control.get("/slow", Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout);
    assert!(failure.message.contains("/slow"), "{failure}");
    // The half-used connection was given up, which lets the server end.
    server.await.unwrap();

    // Closed without an answer, and no server behind it any more.
    let (port, server) = scripted(vec![vec![Act::Read]]).await;
    let control = Control::new(connector(port));
    assert_eq!(control.get("/a", LIMIT).await.unwrap_err().kind, FailureKind::Reset);
    server.await.unwrap();
    let failure = control.get("/a", LIMIT).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(failure.message.contains("nothing listens at 127.0.0.1"), "{failure}");

    // Another protocol.
    let (port, server) = scripted(vec![vec![Act::Read, Act::Write(b"220 mail ready\r\n".to_vec())]]).await;
    let failure = Control::new(connector(port)).get("/a", LIMIT).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Malformed);
    assert!(failure.message.contains("is the port right"), "{failure}");
    server.await.unwrap();
}

#[tokio::test]
async fn the_base_path_is_in_front() {
    let (port, server) = scripted(vec![vec![Act::Read, answer("200 OK", "")]]).await;
    let target = tokometer_wire::TargetUrl::parse(&format!("127.0.0.1:{port}/gate/v1")).unwrap();
    let plain = connector_with(port, Headers::new(), timeouts(LIMIT));
    let connector = tokometer_wire::Connector::new(
        target,
        &tokometer_wire::TlsOptions::default(),
        Headers::new(),
        plain.clock(),
        timeouts(LIMIT),
    )
    .unwrap();
    Control::new(connector).get("/metrics?x=1", LIMIT).await.unwrap();
    assert!(server.await.unwrap()[0].starts_with(b"GET /gate/metrics?x=1 HTTP/1.1\r\n"));
}
