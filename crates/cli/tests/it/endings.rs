//! Runs that do not come to their end: what was measured is kept, and the exit code tells which way it ended.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use tokometer_record::{RunState, Status};
use tokometer_sim::Running;

use crate::support::{SMALL, Watched, call, load, only_run, simulated, tokometer};

/// A run whose windows are longer than any test.
fn long_run(server: &Running, out: &Path) -> Watched {
    let mut command = tokometer();
    command.args(["run", &server.addr().to_string(), "--contexts", "1k", "--concurrency", "1,2"]);
    Watched::start(command.args(["--duration", "1h", "--out"]).arg(out))
}

/// Waits until the server has generated so many more tokens.
fn generate(server: SocketAddr, more: u64) {
    let first = generated(server);
    while generated(server) < first + more {
        std::thread::yield_now();
    }
}

fn generated(server: SocketAddr) -> u64 {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let line = text.lines().find(|line| line.starts_with("vllm:generation_tokens_total")).unwrap();
    line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64
}

/// The prefill row is kept with its number and its trace.
fn prefill_is_kept(run: &tokometer_record::Run) {
    assert!(run.cells[0].prefill_rate.is_some() && run.cells[0].trace.is_some(), "{:?}", run.cells[0]);
}

#[test]
fn an_interrupted_window_is_saved() {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let mut running = long_run(&server, out.path());
    running.wait_for("[ 1/3]");
    // Long past the ready phase: more than eight seconds of this profile's 224 tok/s.
    generate(server.addr(), 2000);
    running.signal("INT");
    let ended = running.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.line("interrupted: ").contains("saving"), "{ended:?}");
    let folder = only_run(out.path());
    let run = load(&folder);
    assert_eq!(run.state, RunState::Interrupted);
    prefill_is_kept(&run);
    let statuses: Vec<Status> = run.cells[1..].iter().map(|cell| cell.status).collect();
    assert_eq!(statuses, [Status::Interrupted, Status::Planned]);
    assert!(run.cells[1].trace.is_some() && run.cells[1].tokens.out_cell.unwrap() >= 1000);
    assert!(std::fs::read_to_string(folder.join("report.html")).unwrap().contains("SIMULATED"));
    assert!(ended.stdout.contains("Interrupted"), "the table is shown: {ended:?}");
}

#[test]
fn an_interruption_before_the_first_cell_leaves_a_plan() {
    let server = simulated(None);
    for (moment, tokens, signal) in [("prompts", 0, "INT"), ("warm-up", 10, "TERM")] {
        let out = tempfile::tempdir().unwrap();
        let mut running = long_run(&server, out.path());
        running.wait_for("building prompts");
        if tokens > 0 {
            generate(server.addr(), tokens);
        }
        running.signal(signal);
        let ended = running.ended();
        assert_eq!(ended.code, Some(130), "{moment}: {ended:?}");
        let folder = only_run(out.path());
        let run = load(&folder);
        assert_eq!(run.state, RunState::Interrupted, "{moment}");
        assert!(run.cells.iter().all(|cell| cell.status == Status::Planned), "{moment}: {ended:?}");
        assert!(folder.join("report.html").is_file(), "{moment}");
    }
}

#[test]
fn a_second_interruption_ends_at_once() {
    let (server, url) = simulated_apart();
    let out = tempfile::tempdir().unwrap();
    let mut command = tokometer();
    command.args(["run", &url, "--contexts", "1k", "--concurrency", "1", "--duration", "1h", "--out"]);
    let mut running = Watched::start(command.arg(out.path()));
    running.wait_for("[ 1/2]");
    // A server that stands still: nothing can be finished in order.
    server.signal("STOP");
    running.signal("INT");
    running.wait_for("interrupted: ");
    running.signal("INT");
    let ended = running.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let run = load(&only_run(out.path()));
    prefill_is_kept(&run);
    server.signal("CONT");
    server.signal("TERM");
    assert_eq!(server_code(server), Some(0), "the simulated engine ends in order");
}

#[test]
fn a_killed_run_leaves_its_finished_cells() {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let mut running = long_run(&server, out.path());
    running.wait_for("[ 1/3]");
    generate(server.addr(), 200);
    running.signal("KILL");
    assert_eq!(running.ended().code, None);
    let folder = only_run(out.path());
    let run = load(&folder);
    assert_eq!(run.state, RunState::Running);
    assert!(run.elapsed_seconds.is_some());
    prefill_is_kept(&run);
    let shown = call(["report", &folder.to_string_lossy()]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    let rate = run.cells[0].prefill_rate.unwrap().round() as u64;
    let rate = format!("{},{:03}", rate / 1000, rate % 1000);
    assert!(shown.stdout.contains(&rate) && shown.stdout.contains("killed"), "{rate}: {shown:?}");
}

#[test]
fn a_server_that_dies_ends_the_run() {
    let (server, url) = simulated_apart();
    let out = tempfile::tempdir().unwrap();
    let mut command = tokometer();
    command.args(["run", &url, "--contexts", "1k", "--concurrency", "1,2,4", "--duration", "1h", "--out"]);
    let mut running = Watched::start(command.arg(out.path()));
    running.wait_for("[ 1/4]");
    generate(url.parse().unwrap(), 100);
    server.signal("KILL");
    let ended = running.ended();
    // A cell was reached, so there is a run: 3, and not 1.
    ended.failed_with(3, &["stopped answering", "log"]);
    let folder = only_run(out.path());
    let run = load(&folder);
    assert_eq!(run.state, RunState::Failed);
    assert!(run.state_reason.as_ref().unwrap().contains("stopped answering"));
    prefill_is_kept(&run);
    let statuses: Vec<Status> = run.cells[1..].iter().map(|cell| cell.status).collect();
    assert_eq!(statuses, [Status::Error, Status::Planned, Status::Planned]);
    let failure = run.cells[1].error.as_ref().unwrap();
    assert!(!failure.message.is_empty());
    assert!(folder.join("report.html").is_file());
}

/// By hand with a full disk (a small tmpfs), which needs rights to make.
#[test]
fn a_cell_that_cannot_be_saved_ends_the_run() {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let mut command = tokometer();
    command.args(["run", &server.addr().to_string(), "--out"]).arg(out.path()).args(SMALL);
    let mut running = Watched::start(&mut command);
    running.wait_for("[ 1/3]");
    // From here on there is no place for traces.
    let folder = only_run(out.path());
    let (traces, moved) = (folder.join("trace"), folder.join("moved"));
    std::fs::rename(&traces, &moved).unwrap();
    std::fs::write(&traces, "").unwrap();
    let ended = running.ended();
    std::fs::remove_file(&traces).unwrap();
    std::fs::rename(&moved, &traces).unwrap();

    ended.failed_with(3, &["1K × 1", "could not be saved", "trace", "make room", "--out"]);
    assert!(ended.stderr.contains(&*folder.to_string_lossy()), "it says where the rest is: {ended:?}");
    let run = load(&folder);
    assert_eq!(run.state, RunState::Failed);
    prefill_is_kept(&run);
    // The numbers of the cell are there, and why its trace is not.
    assert!(run.cells[1].trace.is_none() && run.cells[1].throughput.is_some());
    assert!(run.cells[1].unknown.contains_key("trace"));
    assert_eq!(run.cells[2].status, Status::Planned);
    assert!(folder.join("report.html").is_file());
}

/// The simulated engine in a process of its own, and its address.
fn simulated_apart() -> (Watched, String) {
    let mut server = Watched::start_on_stdout(tokometer().args(["sim", "--port", "0"]));
    let line = server.wait_for("http://");
    let url = line.split("http://").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    (server, url)
}

fn server_code(server: Watched) -> Option<i32> {
    server.ended().code
}
