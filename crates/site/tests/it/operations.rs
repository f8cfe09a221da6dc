//! Running it.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokometer_site::domain::Role;
use tokometer_site::{Config, Rate, host};

use crate::client::Call;
use crate::sample::Sample;
use crate::site::Site;

#[tokio::test]
async fn it_tells_how_it_is() {
    let site = Site::start().await;
    assert_eq!(site.get("/health/live").await.is(200).text(), "live\n");
    assert_eq!(site.get("/health/ready").await.is(200).text(), "ready\n");
    site.publish(&site.admin, &Sample::new()).await.is(201);
    site.get("/nowhere/else").await.refused(404, "not_found");
    let text = site.get("/metrics").await.is(200).text();
    for line in [
        "tokometer_site_uploads_total{outcome=\"created\"} 1",
        "tokometer_site_http_request_duration_seconds_count{method=\"POST\",route=\"/api/v1/runs\",status=\"201\"} 1",
        "tokometer_site_http_request_duration_seconds_count{method=\"GET\",route=\"none\",status=\"404\"} 1",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
    assert!(!text.contains("/nowhere"), "addresses of strangers make no series");
}

#[tokio::test]
async fn every_answer_binds_browsers() {
    let site = Site::start().await;
    for path in ["/api/v1/runs", "/nowhere", "/health/live"] {
        let answer = site.get(path).await;
        assert!(answer.header("content-security-policy").contains("default-src 'none'"));
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert!(answer.header("x-request-id").len() > 30);
        assert!(answer.headers.get("strict-transport-security").is_none(), "over TLS alone");
    }
    let site = Site::with(|config| config.base_url = Some("https://bench.example.org".to_owned())).await;
    assert!(site.get("/health/live").await.header("strict-transport-security").starts_with("max-age"));
}

#[tokio::test]
async fn requests_are_limited_by_client() {
    let site = Site::with(|config| {
        config.limits.reads.burst = 3.0;
        config.limits.reads.per_second = 0.001;
        config.behind_proxy = true;
    })
    .await;
    let from =
        |address: &str| Call::get("/health/live").header("x-forwarded-for", address).send(site.address);
    for _ in 0..3 {
        from("198.51.100.1").await.is(200);
    }
    let answer = from("198.51.100.1").await;
    answer.refused(429, "too_many_requests");
    assert!(answer.header("retry-after").parse::<u64>().unwrap() > 1);
    from("198.51.100.2").await.is(200);
    from("198.51.100.2, 198.51.100.1").await.refused(429, "too_many_requests");
    // Addresses of one IPv6 network are one client.
    for _ in 0..3 {
        from("2001:db8::1").await.is(200);
    }
    from("2001:db8::2").await.refused(429, "too_many_requests");
}

#[tokio::test]
async fn uploads_are_limited_by_user() {
    let site = Site::with(|config| config.limits.uploads = Rate { burst: 2.0, per_second: 0.001 }).await;
    let token = site.user("somebody", Role::Publisher).await;
    let send = |token: &str, content: &'static str| {
        let path = format!("/api/v1/artefacts/{}", tokometer_record::store::sha256(content.as_bytes()));
        Call::new(http::Method::PUT, &path).token(token).body(content).send(site.address)
    };
    send(&token, "one").await.is(201);
    send(&token, "two").await.is(201);
    let refused = send(&token, "three").await;
    refused.refused(429, "too_many_requests");
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 1);
    site.post(&token, "{}").await.refused(429, "too_many_requests");
    send(&site.admin, "four").await.is(201);
}

#[tokio::test]
async fn the_end_waits_for_open_requests() {
    let site = Site::start().await;
    let sample = Sample::new();
    site.send_files(&site.admin, &sample).await;
    let document = sample.document();
    let (first, last) = document.split_at(document.len() / 2);
    let mut stream = tokio::net::TcpStream::connect(site.address).await.unwrap();
    let head = format!(
        "POST /api/v1/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
        site.admin,
        document.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(first).await.unwrap();
    // It is being read once something was asked behind it.
    site.get("/health/live").await.is(200);
    let address = site.address;
    let stopping = tokio::spawn(site.stop());
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stream.write_all(last).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 201"), "{}", String::from_utf8_lossy(&answer));
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_backup_is_a_site() {
    // Of a file: a server's database has tools of its own.
    let site = Site::on(None, |_| {}).await;
    let (one, two) = (Sample::new(), Sample::new());
    site.publish(&site.admin, &one).await.is(201);
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("backup");
    let done = host::backup(&site.config, &to).await.unwrap();
    assert_eq!(done, "1 runs and 3 files");
    assert!(host::backup(&site.config, &to).await.is_err(), "nothing is written over");
    site.publish(&site.admin, &two).await.is(201);

    let config = Config { data: folder.path().join("again"), ..site.config.clone() };
    host::restore(&to, &config).await.unwrap();
    assert!(host::restore(&to, &config).await.is_err(), "nothing is written over");
    let (server, started) =
        tokometer_site::start(Config { listen: ([127, 0, 0, 1], 0).into(), ..config.clone() }).await.unwrap();
    assert!(started.new_token, "the backup has no token in the clear");
    let address = server.address();
    let running = tokio::spawn(server.run(std::future::pending()));
    Call::get(&format!("/api/v1/runs/{}", one.id())).send(address).await.is(200);
    Call::get(&format!("/api/v1/runs/{}", two.id())).send(address).await.refused(404, "not_found");
    for (_, bytes) in &one.files {
        let hash = tokometer_record::store::sha256(bytes);
        assert_eq!(Call::get(&format!("/api/v1/artefacts/{hash}")).send(address).await.is(200).body, *bytes);
    }
    running.abort();

    // A file that was damaged is found before anything is in place.
    let hash = tokometer_record::store::sha256(&one.files[0].1);
    std::fs::write(to.join("artefacts").join(&hash[..2]).join(&hash), b"x").unwrap();
    let config = Config { data: folder.path().join("third"), ..site.config.clone() };
    let error = host::restore(&to, &config).await.unwrap_err().to_string();
    assert!(error.contains("is damaged"), "{error}");
    assert!(!config.database().exists());
}
