//! No secret may show in a failure or in debug output.

use std::time::Duration;

use tokometer_wire::{Control, FailureKind, Headers, Secret};

use crate::support::{Act, CHAT, connector_with, request, scripted, stream, timeouts};

const KEY: &str = "sk-4f1d2c-very-secret";
const OTHER: &str = "tenant-blue-77";

fn headers() -> Headers {
    let mut headers = Headers::new();
    headers.bearer(&Secret::new(format!("{KEY}\n"))).unwrap();
    headers.insert_line(&format!("X-Tenant: {OTHER}")).unwrap();
    headers
}

fn assert_clean(shown: &str) {
    assert!(!shown.contains(KEY) && !shown.contains(OTHER), "{shown}");
}

/// A response that repeats every secret wherever it can.
fn echo(status: &str, content_type: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nSet-Cookie: s=1\r\nX-Api-Key: {KEY}\r\n\
         Proxy-Authenticate: Basic\r\nX-Echo: {OTHER} Bearer {KEY}\r\nRetry-After: 3\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

#[tokio::test]
async fn a_failure_shows_no_secret() {
    let text = format!("Incorrect key {KEY} of {OTHER}");
    let event = format!("data: {{\"error\":{{\"message\":\"{text}\"}}}}\n\n");
    let cases = [
        (
            echo("401 Unauthorized", "application/json", &format!("{{\"error\":\"{text}\"}}")),
            FailureKind::HttpStatus,
        ),
        (echo("503 Service Unavailable", "text/plain", &text), FailureKind::Rejected),
        (echo("200 OK", "text/event-stream", &event), FailureKind::ErrorEvent),
        (echo("200 OK", "text/plain", &text), FailureKind::NotAStream),
        (format!("garbage {KEY} {OTHER}\r\n\r\n").into_bytes(), FailureKind::Malformed),
    ];
    for (response, kind) in cases {
        let (port, server) = scripted(vec![vec![Act::Read, Act::Write(response)]]).await;
        let connector = connector_with(port, headers(), timeouts(Duration::from_secs(20)));
        let mut connection = connector.connect().await.unwrap();
        let prepared = request(&connector);
        let (exchange, _) = stream(&mut connection, &prepared, CHAT).await;
        let failure = exchange.failure.clone().unwrap();
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert!(failure.body.as_ref().unwrap().contains("<redacted>"), "{failure:?}");
        for name in ["set-cookie", "x-api-key", "proxy-authenticate"] {
            assert!(!failure.headers.contains_key(name), "{name}");
        }
        if kind != FailureKind::Malformed {
            assert_eq!(failure.headers["retry-after"], "3");
        }
        assert_clean(&format!("{exchange:?} {failure} {connector:?} {connection:?} {prepared:?}"));

        // The secrets did go out.
        let requests = server.await.unwrap();
        let sent = String::from_utf8(requests[0].clone()).unwrap();
        assert!(sent.contains(&format!("Authorization: Bearer {KEY}\r\n")), "{sent}");
        assert!(sent.contains(&format!("X-Tenant: {OTHER}\r\n")), "{sent}");
    }
}

#[tokio::test]
async fn control_shows_no_secret() {
    let script = vec![Act::Read, Act::Write(echo("200 OK", "text/plain", "no json"))];
    let (port, server) = scripted(vec![script]).await;
    let connector = connector_with(port, headers(), timeouts(Duration::from_secs(20)));
    let control = Control::new(connector);
    let answer = control.get("/v1/models", Duration::from_secs(20)).await.unwrap();
    assert_eq!(answer.header("retry-after"), Some("3"));
    assert_eq!(answer.header("x-echo"), Some("<redacted> <redacted>"));
    assert_eq!(answer.header("set-cookie"), None);
    assert_clean(&format!("{answer:?} {:?} {control:?}", answer.json().unwrap_err()));
    drop(control);
    assert!(String::from_utf8(server.await.unwrap()[0].clone()).unwrap().contains(KEY));
}

#[test]
fn bad_headers_are_refused_without_their_values() {
    let mut headers = Headers::new();
    let refused = [
        headers.insert_line(KEY),
        headers.insert_line(&format!("bad name: {KEY}")),
        headers.insert("X-Key", Secret::new(format!("{KEY}\r\nInjected: 1"))),
        headers.insert("Content-Length", Secret::new(KEY)),
        headers.bearer(&Secret::new("  ")),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert_clean(&format!("{error} {error:?}"));
    }
    assert_eq!(headers.names().count(), 0);
}

#[test]
fn a_header_of_the_same_name_is_replaced() {
    let mut headers = Headers::new();
    headers.bearer(&Secret::new("old-key")).unwrap();
    headers.insert_line("authorization: Basic abc").unwrap();
    let entries: Vec<_> = headers.iter().map(|(name, value)| (name, value.expose())).collect();
    assert_eq!(entries, [("authorization", "Basic abc")]);
}
