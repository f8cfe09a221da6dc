//! The site behind a real nginx with the configuration of `deploy/`. `scripts/deploy-check.sh` names the program: these
//! tests do nothing without it.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use http::Method;
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::net::TcpSocket;
use tokometer_record::store::sha256;

use crate::client::{Answer, Call};
use crate::sample::Sample;
use crate::site::Site;

/// Names the program.
const NGINX: &str = "TOKOMETER_TEST_NGINX";

struct Nginx {
    child: Child,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Nginx {
    /// nginx with the locations that we give to others, in front of this address.
    async fn start(program: &str, site: SocketAddr) -> Nginx {
        let folder = tempfile::tempdir().unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let location = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/nginx/location.conf");
        let place = folder.path().display();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {place}/{kind};\n"))
            .concat();
        let text = format!(
            "daemon off;\nmaster_process off;\npid {place}/pid;\nerror_log {place}/error.log;\nevents {{}}\n\
             http {{\naccess_log off;\n{temporary}\
             upstream tokometer {{ server {site}; keepalive 8; }}\n\
             server {{ listen {address}; include {}; }}\n}}\n",
            location.canonicalize().unwrap().display()
        );
        let configuration = folder.path().join("nginx.conf");
        std::fs::write(&configuration, text).unwrap();
        let mut command = Command::new(program);
        command.arg("-p").arg(folder.path()).arg("-c").arg(&configuration).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        while tokio::net::TcpStream::connect(address).await.is_err() {
            let log = || std::fs::read_to_string(folder.path().join("error.log")).unwrap_or_default();
            assert!(child.try_wait().unwrap().is_none(), "nginx ended: {}", log());
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        Nginx { child, address, _folder: folder }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
        let _ = self.child.wait();
    }
}

/// Asks from another address of this host.
async fn get_from(from: &str, to: SocketAddr, forwarded: &str) -> http::StatusCode {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((from.parse::<IpAddr>().unwrap(), 0).into()).unwrap();
    let stream = socket.connect(to).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    let running = tokio::spawn(connection);
    let request = http::Request::get("/health/live").header("host", "site.test");
    let request = request.header("x-forwarded-for", forwarded).body(Full::<bytes::Bytes>::default()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    let status = response.status();
    response.into_body().collect().await.unwrap();
    running.abort();
    status
}

#[tokio::test]
async fn behind_nginx_runs_are_published_and_read() {
    let Ok(program) = std::env::var(NGINX) else { return };
    let site = Site::with(|config| config.behind_proxy = true).await;
    let nginx = Nginx::start(&program, site.address).await;
    let sample = Sample::new();
    for (_, bytes) in &sample.files {
        let path = format!("/api/v1/artefacts/{}", sha256(bytes));
        let put = Call::new(Method::PUT, &path).token(&site.admin).body(bytes.clone());
        put.send(nginx.address).await.is(201);
    }
    let post = Call::post("/api/v1/runs").token(&site.admin).body(sample.document());
    post.send(nginx.address).await.is(201);
    for (_, bytes) in &sample.files {
        let path = format!("/api/v1/artefacts/{}", sha256(bytes));
        assert_eq!(Call::get(&path).send(nginx.address).await.is(200).body, *bytes);
    }
    let page = Call::get(&format!("/runs/{}", sample.id())).header("accept", "text/html");
    assert!(
        page.send(nginx.address)
            .await
            .is(200)
            .header("content-security-policy")
            .contains("default-src 'none'")
    );
}

#[tokio::test]
async fn behind_nginx_clients_are_told_apart() {
    let Ok(program) = std::env::var(NGINX) else { return };
    let site = Site::with(|config| {
        config.behind_proxy = true;
        config.limits.reads.burst = 3.0;
        config.limits.reads.per_second = 0.001;
    })
    .await;
    let nginx = Nginx::start(&program, site.address).await;
    // Whatever it says of itself, it is one client.
    for claim in ["198.51.100.1", "198.51.100.2", "198.51.100.3, 198.51.100.4"] {
        assert_eq!(get_from("127.0.0.2", nginx.address, claim).await, 200);
    }
    assert_eq!(get_from("127.0.0.2", nginx.address, "198.51.100.5").await, 429);
    assert_eq!(get_from("127.0.0.3", nginx.address, "198.51.100.1").await, 200, "another one");
}

#[tokio::test]
async fn behind_nginx_refusals_are_clear() {
    let Ok(program) = std::env::var(NGINX) else { return };
    let site = Site::with(|config| config.behind_proxy = true).await;
    let nginx = Nginx::start(&program, site.address).await;
    let path = format!("/api/v1/artefacts/{}", "0".repeat(64));
    let put = |bytes: usize| Call::new(Method::PUT, &path).token(&site.admin).body(vec![0_u8; bytes]);
    let answer: Answer = put((64 << 20) + 1).send(nginx.address).await;
    answer.refused(413, "too_long");
    // What just fits gets to the site, which looks at it.
    put(64 << 20).send(nginx.address).await.refused(422, "hash_differs");
    // Documents of runs have a limit of their own, and so has all else.
    let post = Call::post("/api/v1/runs").token(&site.admin).body(vec![b' '; 33 << 20]);
    post.send(nginx.address).await.refused(413, "too_long");
    let report = format!("/api/v1/runs/{}/reports", uuid::Uuid::now_v7());
    let form = Call::post(&report).body(vec![b' '; 2 << 20]);
    form.send(nginx.address).await.refused(413, "too_long");
    // The site is gone.
    site.stop().await;
    let answer = Call::get("/").send(nginx.address).await;
    answer.refused(503, "unavailable");
    assert_eq!(answer.header("retry-after"), "10");
}
