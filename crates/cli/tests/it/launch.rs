//! Servers that a run starts: ready, measured, ended, whatever happens; and no process is left.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use tokometer_record::RunState;

use crate::secrets::hidden;
use crate::support::{Ended, SMALL, Watched, load, only_run, tokometer};

/// Tokens a second of each stream: so few that a client on a busy machine keeps up with them.
pub(crate) const SLOW: &str = "20";
/// A key in the launch command.
const KEY: &str = "launch-secret-abcdef012345";

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A place for a run, and a command that starts the simulated engine with a helper beside it. Both leave their
/// process ids.
struct Place {
    folder: tempfile::TempDir,
    port: u16,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap(), port: free_port() }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    fn pids_file(&self) -> PathBuf {
        self.folder.path().join("pids")
    }

    fn server(&self) -> String {
        let binary = env!("CARGO_BIN_EXE_tokometer");
        let (port, pids) = (self.port, self.pids_file());
        let pids = pids.display();
        format!(
            "setsid sleep 600 & echo $! >> {pids}; echo $$ >> {pids}; echo loading the model; \
             exec {binary} sim --port {port} --api-key {KEY} --rate {SLOW}"
        )
    }

    /// A run of the server that `launch` starts.
    fn run(&self, launch: &str) -> Command {
        let mut command = tokometer();
        command.args(["run", &format!("127.0.0.1:{}", self.port), "--launch", launch, "--out"]);
        command.arg(self.out()).env("OPENAI_API_KEY", KEY);
        command
    }

    /// Checks that what was launched is gone.
    fn nothing_is_left(&self, count: usize) {
        let text = std::fs::read_to_string(self.pids_file()).unwrap();
        let pids: Vec<&str> = text.lines().collect();
        assert_eq!(pids.len(), count, "{pids:?}");
        for pid in pids {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let gone =
                stat.is_empty() || stat.rsplit_once(')').unwrap().1.trim_start().starts_with(['Z', 'X']);
            assert!(gone, "{pid} is left: {stat}");
        }
    }
}

fn log_of(run: &Path) -> String {
    std::fs::read_to_string(run.join("server.log")).unwrap()
}

#[test]
fn a_launched_server_is_measured_and_ended() {
    let place = Place::new();
    let ended = Ended::from(place.run(&place.server()).args(SMALL).output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stderr.contains("the server answers") && ended.stderr.contains("ending the server"),
        "{ended:?}"
    );
    place.nothing_is_left(2);
    let folder = only_run(&place.out());
    let run = load(&folder);
    assert_eq!(run.state, RunState::Finished);
    let command = run.launch_command.as_deref().unwrap();
    assert!(command.contains("sim --port") && command.contains("<redacted>"), "{command}");
    assert!(log_of(&folder).contains("loading the model"));
    hidden(&[KEY], &ended, &place.out());
}

#[test]
fn an_interruption_in_each_phase_leaves_no_process() {
    // What is waited for, and whether there is a run by then.
    for (moment, is_run) in [
        ("starting the server", false),
        ("the server answers", true),
        ("launched by:", true),
        ("[ 1/3]", true),
        ("[ 2/3]", true),
    ] {
        let place = Place::new();
        let mut command = place.run(&place.server());
        let window = if moment == "[ 2/3]" { "1s" } else { "1h" };
        let matrix = ["--contexts", "1k", "--concurrency", "1,2", "--duration", window];
        let mut running = Watched::start(command.args(matrix));
        running.wait_for(moment);
        while moment == "starting the server"
            && std::fs::read_to_string(place.pids_file()).map_or(0, |text| text.lines().count()) < 2
        {
            std::thread::yield_now();
        }
        running.signal("INT");
        let ended = running.ended();
        assert_eq!(ended.code, Some(130), "{moment}: {ended:?}");
        place.nothing_is_left(2);
        if is_run {
            assert_eq!(load(&only_run(&place.out())).state, RunState::Interrupted, "{moment}");
        }
        hidden(&[KEY], &ended, &place.out());
    }
}

#[test]
fn an_interruption_ends_a_server_that_does_not_hear() {
    let place = Place::new();
    let launch =
        format!("trap '' TERM INT; echo $$ >> {}; while :; do sleep 1; done", place.pids_file().display());
    let mut running = Watched::start(place.run(&launch).args(SMALL));
    running.wait_for("starting the server");
    while !place.pids_file().is_file() {
        std::thread::yield_now();
    }
    running.signal("INT");
    running.wait_for("interrupted");
    let ended = running.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    place.nothing_is_left(1);
}

#[test]
fn a_resumed_run_launches_again_and_keeps_both_logs() {
    let place = Place::new();
    let mut running = Watched::start(place.run(&place.server()).args(SMALL));
    running.wait_for("[ 1/3]");
    running.signal("INT");
    let ended = running.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    place.nothing_is_left(2);
    let folder = only_run(&place.out());
    let first = log_of(&folder);
    assert!(first.contains("loading the model"), "{first}");

    let resume = |launch: Option<&str>| {
        let mut command = tokometer();
        command.args(["run", "--resume"]).arg(&folder).env("OPENAI_API_KEY", KEY);
        Ended::from(
            command.args(launch.map(|launch| ["--launch", launch]).into_iter().flatten()).output().unwrap(),
        )
    };
    // Nothing answers: the server was that of the run.
    resume(None).failed_with(1, &["--launch again"]);
    let ended = resume(Some(&place.server()));
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    place.nothing_is_left(4);
    assert_eq!(load(&folder).state, RunState::Finished);
    assert_eq!(log_of(&folder), first, "the first log is as it was");
    let second = std::fs::read_to_string(folder.join("server.s2.log")).unwrap();
    assert!(second.contains("loading the model"), "{second}");
    hidden(&[KEY], &ended, &place.out());
}

#[test]
fn a_second_interruption_does_not_wait_for_the_server() {
    let place = Place::new();
    let launch =
        format!("trap '' TERM INT; echo $$ >> {}; while :; do sleep 1; done", place.pids_file().display());
    let mut running = Watched::start(place.run(&launch).args(SMALL));
    running.wait_for("starting the server");
    while !place.pids_file().is_file() {
        std::thread::yield_now();
    }
    running.signal("INT");
    // Twenty seconds are left to it.
    running.wait_for("ending the server");
    running.signal("INT");
    let ended = running.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    place.nothing_is_left(1);
}

#[test]
fn a_server_that_dies_while_it_loads_shows_its_last_lines() {
    let place = Place::new();
    let launch =
        format!("echo loading; echo the key is {KEY}; echo out of memory >&2; exit 7; : --api-key {KEY}");
    let ended = Ended::from(place.run(&launch).args(SMALL).output().unwrap());
    ended.failed_with(1, &["ended before it answered", "7", "log"]);
    assert!(ended.stderr.contains("| out of memory"), "{ended:?}");
    hidden(&[KEY], &ended, &place.out());
}

#[test]
fn a_server_that_dies_in_a_cell_is_told_in_the_record() {
    let place = Place::new();
    let mut command = place.run(&place.server());
    let mut running =
        Watched::start(command.args(["--contexts", "1k", "--concurrency", "1,2", "--duration", "1h"]));
    running.wait_for("[ 1/3]");
    let text = std::fs::read_to_string(place.pids_file()).unwrap();
    let server = text.lines().nth(1).unwrap();
    assert!(Command::new("kill").args(["-KILL", server]).status().unwrap().success());
    let ended = running.ended();
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stderr.contains("ended by itself") && ended.stderr.contains("| loading the model"),
        "{ended:?}"
    );
    let run = load(&only_run(&place.out()));
    assert!(run.remarks.iter().any(|remark| remark.contains("ended by itself")), "{:?}", run.remarks);
    place.nothing_is_left(2);
}

#[test]
fn a_port_that_is_taken_is_not_measured() {
    let place = Place::new();
    let _taken = TcpListener::bind(("127.0.0.1", place.port)).unwrap();
    let ended = Ended::from(place.run(&place.server()).args(SMALL).output().unwrap());
    ended.failed_with(1, &["listens at", "another port"]);
    assert!(!place.pids_file().exists());
}

#[test]
fn a_server_that_never_answers_is_ended_at_its_limit() {
    let place = Place::new();
    let launch = format!("echo $$ >> {}; exec sleep 600", place.pids_file().display());
    let ended =
        Ended::from(place.run(&launch).args(SMALL).args(["--launch-timeout", "2s"]).output().unwrap());
    ended.failed_with(1, &["did not answer within"]);
    place.nothing_is_left(1);
}

/// Ways in which a key stands in a launch command; the key at each `§`.
const PLANTED: [&str; 12] = [
    "true --api-key §",
    "true --api-key=§ --port 1",
    "VLLM_API_KEY=§ true",
    "env HF_TOKEN=§ true",
    "true --hf-token '§'",
    "true --kv-transfer-config '{\"extra\": {\"token\": \"§\"}}'",
    "true https://user:§@host/m",
    "true 'https://host/m?X-Amz-Signature=§&a=1'",
    "sh -c 'true --admin-api-key §'",
    "true -H 'Authorization: Bearer §'",
    "true --model-loader-extra-config '{\"secret_access_key\": \"§\"}'",
    "export AWS_SECRET_ACCESS_KEY=§",
];

#[test]
fn a_planted_secret_never_appears_whatever_the_server_does_with_it() {
    for (number, form) in PLANTED.into_iter().enumerate() {
        // No known beginning, no random look: only its place tells what it is.
        let key = format!("Zq{number}planted{}Secret", number * 7919);
        let place = Place::new();
        // It is in the log alone, beside a name, in an error, and in the line that is shown last.
        let launch = format!(
            "{}; echo key {key}; echo \"api_key='{key}'\" >&2; echo 'cannot start: {key} was refused' >&2; exit 3",
            form.replace('§', &key)
        );
        let ended = Ended::from(place.run(&launch).args(SMALL).output().unwrap());
        ended.failed_with(1, &["ended before it answered"]);
        assert!(ended.stderr.contains("cannot start: <redacted> was refused"), "{form}: {ended:?}");
        hidden(&[&key], &ended, &place.out());
    }
}

/// What the descendants of a process were started with.
fn arguments_below(id: u32) -> Vec<String> {
    let children = |id: &str| -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
        let lists =
            tasks.map(|task| std::fs::read_to_string(task.path().join("children")).unwrap_or_default());
        lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
    };
    let (mut found, mut left) = (Vec::new(), children(&id.to_string()));
    while let Some(id) = left.pop() {
        found.push(
            String::from_utf8_lossy(&std::fs::read(format!("/proc/{id}/cmdline")).unwrap()).into_owned(),
        );
        left.extend(children(&id));
    }
    found
}

#[test]
fn the_clients_key_is_in_no_record_page_log_or_child() {
    let place = Place::new();
    let binary = env!("CARGO_BIN_EXE_tokometer");
    let launch = format!(
        "echo serving with $OPENAI_API_KEY; exec {binary} sim --port {} --api-key-env OPENAI_API_KEY",
        place.port
    );
    let mut running = Watched::start(place.run(&launch).args(SMALL));
    running.wait_for("[ 1/3]");
    let children = arguments_below(running.id());
    assert!(children.iter().any(|arguments| arguments.contains("sim")), "{children:?}");
    assert!(!children.iter().any(|arguments| arguments.contains(KEY)), "{children:?}");
    let ended = running.ended();
    // A busy machine may make a cell unsound.
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    hidden(&[KEY], &ended, &place.out());
    let run = only_run(&place.out());
    assert!(log_of(&run).contains("serving with <redacted>"), "{}", log_of(&run));
    for format in ["terminal", "html", "json", "markdown", "csv"] {
        let shown = crate::support::call(["report", &run.to_string_lossy(), "--format", format]);
        assert!(shown.code == Some(0) && !shown.stdout.contains(KEY), "{format}");
    }
}
