//! The client for services of our own.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use tokometer_wire::{FailureKind, ServiceClient};

use crate::support::{Act, scripted};
use crate::tls::{certificates, scripted_tls, trusting};

fn get(address: &str) -> Request<Full<Bytes>> {
    Request::get(address).body(Full::default()).unwrap()
}

fn answer(text: &str) -> Act {
    Act::Write(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len()).into_bytes())
}

async fn text(client: &ServiceClient, address: &str) -> String {
    let response = client.send(get(address)).await.unwrap();
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn connections_are_kept_over_tls_and_without() {
    let twice = || vec![vec![Act::Read, answer("one"), Act::Read, answer("two"), Act::AwaitClose]];
    let (config, file) = certificates();
    let (port, server) = scripted_tls(config, twice()).await;
    let client = ServiceClient::new(&trusting(&file)).unwrap();
    let address = format!("https://localhost:{port}/a?X-Amz-Signature=hush");
    assert_eq!((text(&client, &address).await, text(&client, &address).await), ("one".into(), "two".into()));
    drop(client);
    server.await.unwrap();

    let (port, server) = scripted(twice()).await;
    let client = ServiceClient::plain();
    let address = format!("http://127.0.0.1:{port}/a?X-Amz-Signature=hush");
    assert_eq!((text(&client, &address).await, text(&client, &address).await), ("one".into(), "two".into()));
    drop(client);
    let requests = server.await.unwrap();
    let head = String::from_utf8(requests[0].clone()).unwrap();
    assert!(head.starts_with("GET /a?X-Amz-Signature=hush HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("host: 127.0.0.1:{port}\r\n")), "{head}");
}

#[tokio::test]
async fn failures_name_the_place_and_nothing_that_is_signed() {
    let (config, _file) = certificates();
    let (_, other) = certificates();
    let (port, server) = scripted_tls(config, vec![vec![]]).await;
    let client = ServiceClient::new(&trusting(&other)).unwrap();
    let address = format!("https://localhost:{port}/?X-Amz-Signature=hush");
    let failure = client.send(get(&address)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tls);
    assert!(failure.message.contains(&format!("localhost:{port}")), "{failure}");
    assert!(!failure.message.contains("hush") && !failure.message.contains("--insecure"), "{failure}");
    server.await.unwrap();

    let address = "http://127.0.0.1:1/?X-Amz-Signature=hush";
    let failure = ServiceClient::plain().send(get(address)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(failure.message.contains("127.0.0.1:1") && !failure.message.contains("hush"), "{failure}");

    let (port, server) = scripted(vec![vec![Act::Read]]).await;
    let address = format!("http://127.0.0.1:{port}/?X-Amz-Signature=hush");
    let failure = ServiceClient::plain().send(get(&address)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Reset);
    assert!(!failure.message.contains("hush"), "{failure}");
    server.await.unwrap();
}
