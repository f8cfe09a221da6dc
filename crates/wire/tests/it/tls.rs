//! TLS with certificates of our own.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::NamedTempFile;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokometer_wire::clock::Clock;
use tokometer_wire::{
    Connector, Control, FailureKind, Headers, Outcome, StampSource, TargetUrl, TlsOptions, WireError,
};

use crate::support::{Act, CHAT, HEAD, content, finish, perform, request, scripted, stream, timeouts};

/// A server certificate for `localhost`, and the file of the authority that signed it.
pub(crate) fn certificates() -> (Arc<ServerConfig>, NamedTempFile) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let server =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(authority.pem().as_bytes()).unwrap();

    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![server.der().clone()], key)
        .unwrap();
    (Arc::new(config), file)
}

/// Serves connections over TLS, each by one script; a handshake that fails ends its connection.
pub(crate) async fn scripted_tls(config: Arc<ServerConfig>, scripts: Vec<Vec<Act>>) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(config);
    let server = tokio::spawn(async move {
        for script in scripts {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            for act in script {
                perform(&mut stream, act, &mut Vec::new()).await;
            }
        }
    });
    (port, server)
}

fn connector(host: &str, port: u16, tls: &TlsOptions) -> Connector {
    let target = TargetUrl::parse(&format!("https://{host}:{port}")).unwrap();
    Connector::new(target, tls, Headers::new(), Clock::start(), timeouts(Duration::from_secs(60))).unwrap()
}

pub(crate) fn trusting(file: &NamedTempFile) -> TlsOptions {
    TlsOptions { insecure: false, ca_certificate: Some(file.path().to_owned()) }
}

fn insecure() -> TlsOptions {
    TlsOptions { insecure: true, ca_certificate: None }
}

#[tokio::test]
async fn a_stream_over_tls_with_a_ca_file_or_insecure() {
    #[cfg(target_os = "linux")]
    crate::support::with_kernel_stamps();
    let (config, file) = certificates();
    for tls in [trusting(&file), insecure()] {
        let body = [HEAD, &content("a"), &content("b"), &finish()].concat().into_bytes();
        let again =
            [Act::Read, Act::Drip(body.clone()), Act::Read, Act::Write(body), Act::AwaitClose].to_vec();
        let (port, server) = scripted_tls(Arc::clone(&config), vec![again]).await;
        let connector = connector("localhost", port, &tls);
        let mut connection = connector.connect().await.unwrap();
        for first in [true, false] {
            assert!(connection.is_reusable());
            let (exchange, events) = stream(&mut connection, &request(&connector), CHAT).await;
            assert_eq!(exchange.outcome, Outcome::Ended, "{exchange:?}");
            assert_eq!((events.len(), exchange.connect_ns.is_some()), (2, first));
            assert!(events.iter().all(|event| event.arrival_ns <= event.handled_ns));
        }
        #[cfg(target_os = "linux")]
        assert_eq!(connection.stamp_source(), StampSource::Kernel);
        drop(connection);
        server.await.unwrap();
    }
}

#[tokio::test]
async fn events_of_one_tls_read_are_told_apart_from_those_of_another() {
    let (config, file) = certificates();
    // Two records in one write reach the client in one read of its socket, but in two pieces.
    let long = "x".repeat(20_000);
    let body = [HEAD, &content("a"), &content(&long), &content("b"), &finish()].concat().into_bytes();
    let (port, server) = scripted_tls(config, vec![vec![Act::Read, Act::Write(body), Act::AwaitClose]]).await;
    let connector = connector("localhost", port, &trusting(&file));
    let mut connection = connector.connect().await.unwrap();
    let (exchange, events) = stream(&mut connection, &request(&connector), CHAT).await;
    assert_eq!((exchange.outcome, events.len()), (Outcome::Ended, 3), "{exchange:?}");
    for pair in events.windows(2) {
        let same_read = pair[0].arrival_ns == pair[1].arrival_ns && pair[0].handled_ns == pair[1].handled_ns;
        assert_eq!(pair[0].last_of_read, !same_read, "{pair:?}");
    }
    drop(connection);
    server.await.unwrap();
}

#[tokio::test]
async fn a_certificate_that_nobody_knows_is_refused_with_a_hint() {
    let (config, file) = certificates();
    let (port, server) = scripted_tls(config, vec![vec![], vec![], vec![]]).await;
    // The platform may know no authority at all: then that is said before anything is opened.
    let target = TargetUrl::parse(&format!("https://localhost:{port}")).unwrap();
    let (_, other) = certificates();
    let plain = TlsOptions::default();
    match Connector::new(target, &plain, Headers::new(), Clock::start(), timeouts(Duration::from_secs(60))) {
        Ok(connector) => check_refused(&connector, "--cacert").await,
        Err(error) => assert!(error.to_string().contains("--cacert"), "{error}"),
    }
    check_refused(&connector("localhost", port, &trusting(&other)), "--cacert").await;
    check_refused(&connector("127.0.0.1", port, &trusting(&file)), "not valid for that name").await;
    server.abort();
}

async fn check_refused(connector: &Connector, part: &str) {
    let failure = connector.connect().await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tls, "{failure}");
    assert!(failure.message.contains(part) && failure.message.contains("--insecure"), "{failure}");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_told_apart() {
    let plain = b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    let (port, server) = scripted(vec![vec![Act::Write(plain), Act::AwaitClose]]).await;
    let failure = connector("localhost", port, &insecure()).connect().await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Tls);
    assert!(failure.message.contains("try http://"), "{failure}");
    server.await.unwrap();
}

#[tokio::test]
async fn a_server_that_speaks_only_tls_is_told_apart() {
    let (config, _file) = certificates();
    let (port, server) = scripted_tls(config, vec![vec![]]).await;
    let connector = crate::support::connector(port);
    let mut connection = connector.connect().await.unwrap();
    let (exchange, _) = stream(&mut connection, &request(&connector), CHAT).await;
    let failure = exchange.failure.unwrap();
    assert!(failure.message.contains("try https://"), "{failure}");
    server.await.unwrap();
}

#[tokio::test]
async fn control_over_tls() {
    let (config, file) = certificates();
    let response = Act::Write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec());
    let (port, server) = scripted_tls(config, vec![vec![Act::Read, response, Act::AwaitClose]]).await;
    let control = Control::new(connector("localhost", port, &trusting(&file)));
    assert_eq!(&*control.get("/health", Duration::from_secs(20)).await.unwrap().text(), "ok");
    drop(control);
    server.await.unwrap();
}

#[test]
fn a_bad_ca_file_is_named() {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(b"no certificate").unwrap();
    for path in [file.path().to_owned(), PathBuf::from("/nowhere/ca.pem")] {
        let tls = TlsOptions { insecure: false, ca_certificate: Some(path.clone()) };
        let target = TargetUrl::parse("https://localhost").unwrap();
        let made =
            Connector::new(target, &tls, Headers::new(), Clock::start(), timeouts(Duration::from_secs(60)));
        let error = made.unwrap_err();
        assert!(matches!(&error, WireError::CaCertificate { path: named, .. } if *named == path), "{error}");
    }
}
