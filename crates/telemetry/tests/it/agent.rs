//! The agent over real sockets: who may ask, what is told, and how its readings are joined.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokometer_telemetry::agent::{
    Agent, AgentError, AgentOptions, Remote, RemoteRun, RemoteWatch, Token, TokenError,
};
use tokometer_telemetry::{Options, Root};
use tokometer_wire::clock::Clock;
use tokometer_wire::{Connector, Headers, TargetUrl, Timeouts, TlsOptions};

use crate::nvidia::library;
use crate::tree::Tree;

const TOKEN: &str = "a-token-of-the-tests-0123456789";

/// An agent on a thread of its own, until it is dropped.
struct Running {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    _folder: TempDir,
}

impl Running {
    /// On `listen`, with four devices of which the process 4242 uses two.
    fn start(listen: SocketAddr) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let nvml = vec![library(folder.path(), &["STUB_PID=4242"])];
        let root = Root::at(&folder.path().join("empty"));
        Running::of(listen, Options { root, nvml, ..Options::default() }, folder)
    }

    fn of(listen: SocketAddr, machine: Options, folder: TempDir) -> Running {
        let token = Token::stated(TOKEN, "here").unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let (bound, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let agent = Agent::bind(AgentOptions { listen, token, machine }).await.unwrap();
                bound.send(agent.address().unwrap()).unwrap();
                agent.serve(async { drop(stopped.await) }).await;
            });
        });
        Running { address: address.recv().unwrap(), stop: Some(stop), thread: Some(thread), _folder: folder }
    }

    /// Sends bytes and reads to the end of the connection.
    fn send(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        // A connection that is closed in the middle of a request may be reset.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }

    fn get(&self, path: &str, token: &str) -> (u16, Value) {
        let answer = self.send(
            format!(
                "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
            )
            .as_bytes(),
        );
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status, serde_json::from_str(body).unwrap_or_default())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn remote(address: SocketAddr, token: &str, clock: Clock) -> Remote {
    let mut headers = Headers::new();
    headers.bearer(&tokometer_wire::Secret::new(token)).unwrap();
    let url = TargetUrl::parse(&format!("http://{address}")).unwrap();
    let second = Duration::from_secs(5);
    let timeouts = Timeouts { connect: second, idle: second };
    Remote::new(Connector::new(url, &TlsOptions::default(), headers, clock, timeouts).unwrap())
}

#[test]
fn who_has_no_token_is_told_nothing() {
    let agent = Running::start(loopback());
    for path in ["/v1/health", "/v1/clock", "/v1/inventory?port=1", "/v1/telemetry?run=a", "/", "/v1/other"] {
        for token in ["", "wrong", &TOKEN[1..], &format!("{TOKEN}x")] {
            let (status, told) = agent.get(path, token);
            assert!(status == 401 || status == 429, "{path} {token}: {status}");
            assert_eq!(told.as_object().unwrap().len(), 1, "{told}");
        }
    }
    // Guesses are slowed down, and who has the token is not.
    let statuses: Vec<u16> = (0..20).map(|_| agent.get("/v1/health", "wrong").0).collect();
    assert!(statuses.contains(&429), "{statuses:?}");
    let (status, health) = agent.get("/v1/health", TOKEN);
    assert_eq!((status, &health["schema"]), (200, &"tokometer.agent/1".into()));
    assert!(!health.to_string().contains(TOKEN));
}

#[test]
fn it_is_only_read_and_within_bounds() {
    let agent = Running::start(loopback());
    let head = format!("Host: a\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n");
    for (request, status) in [
        (format!("POST /v1/health HTTP/1.1\r\n{head}Content-Length: 0\r\n\r\n"), "405"),
        (format!("DELETE /v1/telemetry?run=a HTTP/1.1\r\n{head}\r\n"), "405"),
        (format!("GET /v1/health HTTP/1.1\r\n{head}Content-Length: 5\r\n\r\nhello"), "413"),
        (format!("GET /v1/health HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "413"),
        (format!("GET /v1/health?port=1&{} HTTP/1.1\r\n{head}\r\n", "a=b&".repeat(200)), "414"),
        (format!("GET /v1/health HTTP/1.1\r\n{head}X: {}\r\n\r\n", "a".repeat(40_000)), "431"),
        (format!("GET /v1/inventory?port=99999 HTTP/1.1\r\n{head}\r\n"), "400"),
        (format!("GET /v1/inventory?port=1&salt=../x HTTP/1.1\r\n{head}\r\n"), "400"),
        (format!("GET /v1/telemetry?port=1 HTTP/1.1\r\n{head}\r\n"), "400"),
        (format!("GET /etc/passwd HTTP/1.1\r\n{head}\r\n"), "404"),
        ("no HTTP at all\r\n\r\n".to_owned(), "400"),
    ] {
        let answer = agent.send(request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {request:.80} {answer:.200}");
    }
    // Many at once are told to wait.
    let limited = (0..150).filter(|_| agent.get("/v1/clock", TOKEN).0 == 429).count();
    assert!(limited > 0 && limited < 150, "{limited}");
}

#[test]
fn connections_that_say_nothing_keep_nobody_out() {
    let agent = Running::start(loopback());
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(agent.address).unwrap()).collect();
    drop(silent);
    // Their places come back once they are closed.
    let is_served = || {
        let mut stream = TcpStream::connect(agent.address).unwrap();
        let head = format!("GET /v1/health HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
        let mut answer = [0; 12];
        stream.write_all(head.as_bytes()).is_ok()
            && stream.read_exact(&mut answer).is_ok()
            && answer == *b"HTTP/1.1 200"
    };
    while !is_served() {
        std::thread::yield_now();
    }
}

#[test]
fn the_server_on_that_host_is_told_without_its_secrets() {
    let tree = Tree::new();
    tree.put("proc/70/status", "Name:\tvllm\nPPid:\t1\n").put("proc/70/comm", "vllm\n");
    tree.put("proc/70/cmdline", "vllm\0serve\0org/m\0--api-key\0hunter2secret\0");
    tree.put("proc/70/environ", "VLLM_API_KEY=hunter3secret\0VLLM_USE_V1=1\0HF_TOKEN=hunter4secret\0");
    let line = "   0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000 0 555 1\n";
    tree.put("proc/net/tcp", format!("  sl  local_address ...\n{line}"));
    tree.link("proc/70/fd/7", "socket:[555]");
    tree.put("proc/sys/kernel/hostname", "gpu1\n");
    tree.put("sys/class/dmi/id/product_serial", "SERIAL77\n");
    let options =
        Options { root: tree.root(), nvml: vec![PathBuf::from("/nowhere.so")], ..Options::default() };
    let agent = Running::of(loopback(), options, tempfile::tempdir().unwrap());
    let (status, report) = agent.get("/v1/inventory?port=8000&salt=run1", TOKEN);
    assert_eq!(status, 200, "{report}");
    let text = report.to_string();
    for secret in ["hunter", "gpu1", "SERIAL77", TOKEN] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert_eq!(report["hardware"]["origin"], "agent");
    assert!(text.contains("<redacted>") && text.contains("HF_TOKEN"), "{text}");
    let (_, report) = agent.get("/v1/inventory?port=8000&salt=run1&hostname=1", TOKEN);
    assert_eq!(report["hardware"]["host"]["hostname"], "gpu1");
    let (_, report) = agent.get("/v1/inventory?port=8001&salt=run1", TOKEN);
    assert!(
        report["server"].is_null() && report["server_unknown"].as_str().unwrap().contains("8001"),
        "{report}"
    );
    // The client's side of it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let clock = Clock::start();
    let report = runtime.block_on(remote(agent.address, TOKEN, clock).report(8000, "run1", false)).unwrap();
    assert_eq!(
        report.server.unwrap().command(),
        "VLLM_API_KEY=<redacted> VLLM_USE_V1=1 vllm serve org/m --api-key <redacted>"
    );
    let wrong =
        runtime.block_on(remote(agent.address, "wrong-token-wrong", clock).report(8000, "run1", false));
    assert_eq!(wrong.unwrap_err(), AgentError::Token);
}

/// Joins a run to an agent.
fn join(agent: &Running, clock: Clock) -> RemoteWatch {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let remote = remote(agent.address, TOKEN, clock);
    runtime.block_on(async {
        let report = remote.report(8000, "run1", false).await.unwrap();
        let hardware = report.hardware.clone();
        let about = RemoteRun { run: "run1".to_owned(), port: 8000, url: "http://a".to_owned(), hardware };
        RemoteWatch::start(&remote, &report, about, clock).await.unwrap()
    })
}

#[test]
fn readings_are_joined_on_the_runs_time_line() {
    let agent = Running::start(loopback());
    // The agent's clock began before the run's: its readings lie elsewhere on its own time line.
    std::thread::sleep(Duration::from_millis(300));
    let clock = Clock::start();
    let watch = join(&agent, clock);
    let mut last = 0;
    for _ in 0..4 {
        let asked_ns = clock.now_ns();
        assert!(watch.read_now());
        let answered_ns = clock.now_ns();
        let (time_ns, uncertainty_ns) = watch.with(|series| {
            let link = series.meta.sampling.agent.as_ref().unwrap();
            (series.devices.last().unwrap().time_ns, link.uncertainty_ns.unwrap())
        });
        // The reading was made between question and answer, as far as the offset tells.
        assert!(
            time_ns + uncertainty_ns >= asked_ns && time_ns <= answered_ns + uncertainty_ns,
            "{asked_ns} {time_ns} {answered_ns} ± {uncertainty_ns}"
        );
        assert!(time_ns >= last);
        last = time_ns;
        std::thread::sleep(Duration::from_millis(150));
    }
    let series = watch.stop();
    let sampling = &series.meta.sampling;
    assert_eq!((sampling.source.as_str(), sampling.gaps.len()), ("agent", 0), "{sampling:?}");
    let link = sampling.agent.as_ref().unwrap();
    let (start, end) = (link.start.unwrap(), link.end.unwrap());
    // Both clocks are one here, so the offset is exactly how much earlier the agent began.
    let apart = start.offset_ns.abs_diff(end.offset_ns);
    assert!(start.offset_ns < -300_000_000 && apart <= start.uncertainty_ns + end.uncertainty_ns, "{link:?}");
    assert_eq!(start.round_trips, 8);
    assert_eq!((series.meta.run.as_str(), series.meta.devices.len()), ("run1", 4));
    assert!(series.meta.devices[0].reasons.len() > 5 && series.meta.hardware.is_some());
    // Nothing twice, nothing out of order.
    for device in 0..4 {
        let times: Vec<u64> =
            series.devices.iter().filter(|row| row.device == device).map(|row| row.time_ns).collect();
        assert!(times.is_sorted() && times.len() > 6, "{times:?}");
        let mut different = times.clone();
        different.dedup();
        assert_eq!(different.len(), times.len());
    }
    assert!(series.host.len() > 1);
}

#[test]
fn an_agent_that_is_gone_leaves_a_gap_and_one_that_comes_back_goes_on() {
    let agent = Running::start(loopback());
    let clock = Clock::start();
    let watch = join(&agent, clock);
    assert!(watch.read_now());
    let before = watch.with(|series| series.devices.len());
    let address = agent.address;
    drop(agent);
    assert!(!watch.read_now() && !watch.read_now());
    assert_eq!(watch.with(|series| series.devices.len()), before);
    // Another one, with another clock.
    let again = Running::start(address);
    assert!(watch.read_now());
    let rows: Vec<u64> = watch.with(|series| series.devices.iter().map(|row| row.time_ns).collect());
    assert!(rows.len() > before && rows.is_sorted(), "{rows:?}");
    assert!(*rows.last().unwrap() <= clock.now_ns() + 1_000_000_000, "{rows:?}");
    drop(again);
    let series = watch.stop();
    let sampling = &series.meta.sampling;
    assert_eq!(sampling.gaps.len(), 2, "{sampling:?}");
    assert!(sampling.gaps[0].to_ns.is_some_and(|to_ns| to_ns >= sampling.gaps[0].from_ns), "{sampling:?}");
    assert!(
        sampling.gaps[0].why.contains("does not answer") && sampling.gaps[1].to_ns.is_none(),
        "{sampling:?}"
    );
    let link = sampling.agent.as_ref().unwrap();
    assert!(link.end.is_none() && link.drift_ppm.is_none() && link.measured == 2, "{link:?}");
}

#[test]
fn a_token_is_made_once_and_kept_from_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a/b/token");
    let (token, made) = Token::read_or_make(&file).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!((made, text.trim().len()), (true, 64));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let (again, made) = Token::read_or_make(&file).unwrap();
    assert!(!made && again.is(text.trim()) && token.is(text.trim()));
    assert!(!token.is("") && !token.is(&text.trim()[1..]) && !token.is(&format!("{}0", text.trim())));
    assert!(!format!("{token:?}").contains(text.trim()));
    let other = Token::read_or_make(&folder.path().join("other")).unwrap().0;
    assert!(!other.is(text.trim()), "each is another one");

    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = Token::read(&file).unwrap_err();
    assert!(matches!(error, TokenError::Open { .. }) && !error.to_string().contains(text.trim()), "{error}");
    let bad = |text: &str| Token::stated(text, "X").unwrap_err().to_string();
    assert!(
        bad("short").contains('X')
            && !bad("short").contains("short ")
            && bad("with a space in it 0123").contains('X')
    );
    assert!(matches!(Token::read(Path::new("/nowhere/token")), Err(TokenError::File { .. })));
}
