//! A process that is killed, and a disk that is full.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokometer_site::{Config, Limits, Rate};

use crate::client::Call;
use crate::sample::Sample;

/// Names the folder of a child that serves; not set: the test that makes one does nothing.
const CHILD: &str = "TOKOMETER_SITE_TEST_CHILD";
/// Bytes that a file of the child may have, at most.
const CHILD_FILE_BYTES: &str = "TOKOMETER_SITE_TEST_FILE_BYTES";
/// Uploads at once.
const UPLOADS: usize = 200;
/// Uploads that were acknowledged when the process is killed.
const ACKNOWLEDGED: usize = 60;

/// A site in a process of its own: this test binary again, with this test alone.
struct Process {
    child: Child,
    address: SocketAddr,
    admin: String,
}

impl Process {
    fn start(data: &Path, file_bytes: Option<u64>) -> Process {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "faults::serves_where_it_is_asked_to", "--nocapture"]).env(CHILD, data);
        if let Some(bytes) = file_bytes {
            command.env(CHILD_FILE_BYTES, bytes.to_string());
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line =
            lines.find_map(|line| line.unwrap().split_once("serves ").map(|(_, rest)| rest.to_owned()));
        let address = line.expect("it says where it serves").trim().parse().unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        let admin = std::fs::read_to_string(data.join("admin-token")).unwrap().trim().to_owned();
        Process { child, address, admin }
    }

    /// As `kill -9` does.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn serves_where_it_is_asked_to() {
    let Some(data) = std::env::var_os(CHILD) else { return };
    if let Ok(bytes) = std::env::var(CHILD_FILE_BYTES) {
        let bytes = bytes.parse().unwrap();
        // Writing beyond it shall fail, as on a full disk, and not end the process.
        ignore_file_size_signal();
        setrlimit(Resource::RLIMIT_FSIZE, bytes, bytes).unwrap();
    }
    let config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        data: data.into(),
        base_url: None,
        behind_proxy: false,
        sign_in: None,
        require_sign_in: false,
        // Two hundred uploads of one user, of four requests each.
        limits: Limits { uploads: Rate { burst: 1e6, per_second: 1e6 }, ..Limits::default() },
    };
    tokometer_site::log::start("error");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (server, _) = tokometer_site::start(config).await.unwrap();
        println!("serves {}", server.address());
        server.run(std::future::pending()).await;
    });
}

/// Rust's own start-up leaves this signal at its default, which ends a process. A handler that does nothing does.
fn ignore_file_size_signal() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _guard = runtime.enter();
    let kind = tokio::signal::unix::SignalKind::from_raw(nix::libc::SIGXFSZ);
    std::mem::forget(tokio::signal::unix::signal(kind).unwrap());
    // The handler stays for the life of the process.
    std::mem::forget(runtime);
}

async fn upload(address: SocketAddr, admin: &str, sample: &Sample) -> Result<u16, String> {
    for (_, bytes) in &sample.files {
        let path = format!("/api/v1/artefacts/{}", tokometer_record::store::sha256(bytes));
        let call = Call::new(http::Method::PUT, &path).token(admin).body(bytes.clone());
        let status = call.try_send(address).await?.status;
        if status != 201 {
            return Ok(status.as_u16());
        }
    }
    let call = Call::post("/api/v1/runs").token(admin).body(sample.document());
    Ok(call.try_send(address).await?.status.as_u16())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_acknowledged_outlives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let process = Process::start(&data, None);
    let samples: Vec<Sample> = (0..UPLOADS).map(|_| Sample::new()).collect();
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let pid = Pid::from_raw(process.child.id() as i32);
    let mut uploads = Vec::new();
    for sample in samples.clone() {
        let (address, admin) = (process.address, process.admin.clone());
        let acknowledged = Arc::clone(&acknowledged);
        uploads.push(tokio::spawn(async move {
            let status = upload(address, &admin, &sample).await;
            if status == Ok(201) && acknowledged.fetch_add(1, Ordering::SeqCst) + 1 == ACKNOWLEDGED {
                // Here and now: the others are under way.
                kill(pid, Signal::SIGKILL).unwrap();
            }
            (sample.id().to_owned(), status)
        }));
    }
    let mut outcomes = BTreeMap::new();
    for upload in uploads {
        let (id, status) = upload.await.unwrap();
        outcomes.insert(id, status);
    }
    process.kill();
    let broken = outcomes.values().filter(|status| status.is_err()).count();
    assert!(broken > 0, "the kill came when all was done");

    let process = Process::start(&data, None);
    let (mut there, mut absent) = (0, 0);
    for sample in &samples {
        let path = format!("/api/v1/runs/{}", sample.id());
        let answer = Call::get(&path).send(process.address).await;
        if answer.status == 404 {
            assert_ne!(outcomes[sample.id()], Ok(201), "{} was acknowledged, and is not there", sample.id());
            absent += 1;
            continue;
        }
        // Whole: the document as it was sent, its cells, and each file that it names.
        assert_eq!(answer.is(200).json(), serde_json::to_value(&sample.run).unwrap());
        let cells = Call::get(&format!("{path}/cells")).send(process.address).await.is(200).json();
        assert_eq!(cells["cells"].as_array().unwrap().len(), sample.run.cells.len());
        for (_, bytes) in &sample.files {
            let hash = tokometer_record::store::sha256(bytes);
            let file = Call::get(&format!("/api/v1/artefacts/{hash}")).send(process.address).await.is(200);
            assert_eq!(file.body, *bytes);
        }
        there += 1;
    }
    let known = outcomes.values().filter(|status| **status == Ok(201)).count();
    assert!(there >= known && known >= ACKNOWLEDGED, "{there} there, {known} acknowledged");
    let facets = Call::get("/api/v1/facets?fold=0").send(process.address).await.json();
    assert_eq!(facets["total"], there as u64);
    println!("{known} acknowledged, {there} there, {absent} absent, {broken} broken off");
    // A retry of what broke off does what it should.
    let retried = samples.iter().find(|sample| outcomes[sample.id()].is_err()).unwrap();
    let status = upload(process.address, &process.admin, retried).await.unwrap();
    assert!(status == 201 || status == 200, "{status}");
    process.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_told_and_harms_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // The tables are made first; then no file may grow beyond what a few runs take.
    Process::start(&data, None).kill();
    let process = Process::start(&data, Some(400_000));
    let (mut taken, mut refused) = (Vec::new(), 0);
    while refused < 3 {
        let sample = Sample::new();
        match upload(process.address, &process.admin, &sample).await {
            Ok(201) => taken.push(sample),
            Ok(status) => {
                assert_eq!(status, 503, "it can pass");
                refused += 1;
            }
            Err(error) => panic!("the server is gone: {error}"),
        }
        assert!(taken.len() < 2000, "the limit is never met");
    }
    assert_eq!(Call::get("/health/live").send(process.address).await.status, 200);
    // A write of a few bytes may still fit.
    let ready = Call::get("/health/ready").send(process.address).await.status;
    assert!(ready == 503 || ready == 200, "{ready}");
    let list = Call::get("/api/v1/facets?fold=0").send(process.address).await.is(200).json();
    assert_eq!(list["total"], taken.len() as u64);
    process.kill();
    // With space again, all of it is there and more can come.
    let process = Process::start(&data, None);
    for sample in &taken {
        Call::get(&format!("/api/v1/runs/{}", sample.id())).send(process.address).await.is(200);
    }
    assert_eq!(upload(process.address, &process.admin, &Sample::new()).await, Ok(201));
    process.kill();
}
