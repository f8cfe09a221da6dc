//! Bodies that are too long, too slow, or more than they seem.

use std::io::Write;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::Call;
use crate::sample::{Plan, Sample};
use crate::site::Site;

pub(crate) fn pack(encoding: &str, bytes: &[u8]) -> Vec<u8> {
    if encoding == "zstd" {
        return zstd::bulk::compress(bytes, 19).unwrap();
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn bombs_are_refused() {
    let site = Site::start().await;
    // 200 MB of nothing, and a record in front of it that would be fine.
    let mut large = Sample::new().document();
    large.resize(200 << 20, b' ');
    for encoding in ["zstd", "gzip"] {
        let body = pack(encoding, &large);
        assert!(body.len() < 1 << 20, "{encoding}: {}", body.len());
        let call =
            Call::post("/api/v1/runs").token(&site.admin).header("content-encoding", encoding).body(body);
        call.send(site.address).await.refused(413, "too_long");
    }
}

#[tokio::test]
async fn a_file_that_unpacks_to_too_much_is_not_unpacked() {
    let site = Site::with(|config| config.limits.unpacked_bytes = 4000).await;
    let body = site.publish(&site.admin, &Sample::new()).await.refused(422, "record_differs");
    assert!(body["detail"].as_str().unwrap().contains("more than is taken here"), "{body}");
}

#[tokio::test]
async fn a_gigabyte_is_refused_at_its_head() {
    let site = Site::start().await;
    let mut stream = TcpStream::connect(site.address).await.unwrap();
    let head = format!(
        "POST /api/v1/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 1073741824\r\n\r\n",
        site.admin
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer).await.unwrap();
    assert!(String::from_utf8_lossy(&answer[..length]).starts_with("HTTP/1.1 413"), "nothing of it was read");
}

/// Sends in chunks without a length told, on and on, until the server has had enough.
#[tokio::test]
async fn a_gigabyte_without_a_length_is_cut_off() {
    let site = Site::start().await;
    let mut stream = TcpStream::connect(site.address).await.unwrap();
    let head = format!(
        "POST /api/v1/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ntransfer-encoding: chunked\r\n\r\n",
        site.admin
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let chunk = [b"100000\r\n".to_vec(), vec![b' '; 1 << 20], b"\r\n".to_vec()].concat();
    let mut sent = 0;
    while sent < 1024 && stream.write_all(&chunk).await.is_ok() {
        sent += 1;
    }
    assert!(sent < 128, "{sent} MB of 1024 were taken");
}

#[tokio::test]
async fn slow_bodies_are_cut_off() {
    let site = Site::with(|config| {
        config.limits.body_silence = Duration::from_millis(200);
        config.limits.head_time = Duration::from_millis(200);
    })
    .await;
    let heads = [
        format!(
            "POST /api/v1/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 1000\r\n\r\n{{",
            site.admin
        ),
        "GET /api/v1/runs HTTP/1.1\r\nhost: ".to_owned(),
    ];
    for (head, expected) in heads.into_iter().zip(["HTTP/1.1 408", ""]) {
        let mut stream = TcpStream::connect(site.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // It ends by itself: the server closes.
        let _ = stream.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with(expected), "{answer}");
    }
}

#[tokio::test]
async fn a_body_that_trickles_is_cut_off() {
    let site = Site::with(|config| {
        config.limits.body_silence = Duration::from_millis(300);
        config.limits.body_bytes_per_second = 1e6;
    })
    .await;
    let mut stream = TcpStream::connect(site.address).await.unwrap();
    let head = format!(
        "POST /api/v1/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 100000\r\n\r\n",
        site.admin
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut from, mut to) = stream.into_split();
    let trickle = tokio::spawn(async move {
        let mut sent = 0;
        // Never silent for long enough, and still too slow.
        while sent < 100_000 && to.write_all(b" ").await.is_ok() {
            sent += 1;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        sent
    });
    let mut answer = Vec::new();
    let _ = from.read_to_end(&mut answer).await;
    assert!(answer.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&answer));
    assert!(trickle.await.unwrap() < 100_000);
}

#[tokio::test]
async fn a_file_must_be_what_its_name_says() {
    let site = Site::start().await;
    let sample = Plan::default().make();
    let name = tokometer_record::store::sha256(b"something else");
    let put = |name: &str| {
        let path = format!("/api/v1/artefacts/{name}");
        Call::new(http::Method::PUT, &path)
            .token(&site.admin)
            .body(sample.files[0].1.clone())
            .send(site.address)
    };
    put(&name).await.refused(422, "hash_differs");
    put("..%2F..%2Fetc%2Fpasswd").await.refused(400, "bad_hash");
    put(&name.to_uppercase()).await.refused(400, "bad_hash");
}
