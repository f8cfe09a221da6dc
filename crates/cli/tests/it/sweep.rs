//! Sweeps: planned, measured, killed and resumed, with entries that fail, and with the page at the end.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use tokometer_record::{RunFolder, RunState, SweepSummary};

use crate::secrets::hidden;
use crate::support::{Ended, Watched, tokometer};

/// A key in a launch command.
const KEY: &str = "sweep-secret-abcdef012345";

/// The shortest runs that measure anything.
const OPTIONS: &str =
    "[options]\ncontexts = '1k'\nconcurrency = 1\nduration = '1s'\nprefill-contexts = '1k'\n";

/// A file of a sweep and what comes of it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new(text: &str) -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        place.write(text);
        place
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("grid.toml")
    }

    fn write(&self, text: &str) {
        std::fs::write(self.file(), format!("{text}\n")).unwrap();
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = tokometer();
        command.arg("sweep").arg(self.file()).args(more).arg("--out").arg(self.folder.path().join("sweeps"));
        command.env("OPENAI_API_KEY", KEY);
        command
    }

    fn call(&self, more: &[&str]) -> Ended {
        self.command(more).output().unwrap().into()
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("sweeps/grid")
    }

    fn summary(&self) -> SweepSummary {
        serde_json::from_slice(&std::fs::read(self.out().join("sweep.json")).unwrap()).unwrap()
    }

    fn state(&self, run: &str) -> RunState {
        RunFolder::open(&self.out().join(run)).unwrap().load_run().unwrap().state
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn is_gone(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.rsplit_once(')').unwrap().1.trim_start().starts_with(['Z', 'X'])
}

fn pids(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Three simulated profiles.
fn three() -> String {
    format!(
        "title = 'Three profiles'\n{OPTIONS}[[entry]]\nname = '{{profile}}'\nprofile = '{{profile}}'\n\
         grid.profile = ['h200-x4', 'rtx-pro-6000-x4']\n\
         [[entry]]\nname = 'speculative'\nprofile = 'h200-x4'\nspeculative = '1,0.8'"
    )
}

#[test]
fn a_sweep_that_is_killed_goes_on_where_it_stopped_and_ends_with_the_page() {
    let place = Place::new(&three());
    let mut running = Watched::start(&mut place.command(&["--yes"]));
    running.wait_for("== 2 of 3: rtx-pro-6000-x4");
    running.wait_for("[ 1/2]");
    running.signal("KILL");
    assert_eq!(running.ended().code, None);
    assert_eq!(place.state("h200-x4-r1"), RunState::Finished);
    assert_eq!(place.state("rtx-pro-6000-x4-r1"), RunState::Running);
    assert!(!place.out().join("sweep.json").exists() && !place.out().join("comparison.html").exists());
    let first = std::fs::read(place.out().join("h200-x4-r1/run.json")).unwrap();
    let half = std::fs::read(place.out().join("rtx-pro-6000-x4-r1/run.json")).unwrap();

    let plan = place.call(&["--dry-run"]);
    assert!(plan.stderr.contains("there (h200-x4-r1)") && plan.stderr.contains("2 to measure"), "{plan:?}");

    let ended = place.call(&["--yes"]);
    // A cell of a second on a busy machine may be unsound; then the code says so.
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    for name in ["h200-x4", "rtx-pro-6000-x4", "speculative", "÷ base", "SIMULATED"] {
        assert!(ended.stdout.contains(name), "{name}: {ended:?}");
    }
    assert!(!ended.stderr.contains("== 1 of 3"), "what was finished is not measured again: {ended:?}");
    // Nothing that was there is lost.
    assert_eq!(std::fs::read(place.out().join("h200-x4-r1/run.json")).unwrap(), first);
    assert_eq!(std::fs::read(place.out().join("rtx-pro-6000-x4-r1/run.json")).unwrap(), half);
    assert_eq!(place.state("rtx-pro-6000-x4-r1.2"), RunState::Finished);
    let page = std::fs::read_to_string(place.out().join("comparison.html")).unwrap();
    assert!(page.contains("SIMULATED") && page.contains("rtx-pro-6000-x4") && page.contains("speculative"));
    let summary = place.summary();
    assert_eq!((summary.title.as_str(), summary.base.as_deref()), ("Three profiles", Some("h200-x4")));
    let folders: Vec<&str> = summary.entries.iter().map(|entry| entry.runs[0].folder.as_str()).collect();
    assert_eq!(folders, ["h200-x4-r1", "rtx-pro-6000-x4-r1.2", "speculative-r1"]);
    assert_eq!(summary.pages.len(), 1);

    // Once more: there is nothing to do. With other settings: everything.
    let again = place.call(&["--json"]);
    assert_eq!((again.code, again.json()["entries"][1]["planned"].as_u64()), (ended.code, Some(1)));
    assert!(!again.stderr.contains("=="), "{again:?}");
    place.write(&three().replace("'1s'", "'2s'"));
    assert!(place.call(&["--dry-run"]).stderr.contains("3 to measure"));
    hidden(&[KEY], &ended, &place.out());
}

#[test]
fn an_entry_that_fails_is_told_and_the_others_are_measured() {
    let binary = env!("CARGO_BIN_EXE_tokometer");
    let (port, other) = (free_port(), free_port());
    let text = format!(
        "{OPTIONS}launch-timeout = '120s'\n\
         [[entry]]\nname = 'dies'\nlaunch = 'echo loading; echo out of memory with {KEY} >&2; exit 7; : --api-key {KEY} --port {other}'\n\
         [[entry]]\nname = 'silent'\nlaunch = 'sleep 600; : --port {other}'\noptions.launch-timeout = '1s'\n\
         [[entry]]\nname = 'works'\nlaunch = 'exec {binary} sim --port {{port}} --api-key {KEY}'\ngrid.port = [{port}]"
    );
    let place = Place::new(&text);
    let plan = place.call(&["--dry-run"]);
    assert_eq!(plan.code, Some(0), "{plan:?}");
    assert!(plan.stderr.contains("--api-key <redacted>") && !place.out().exists(), "{plan:?}");
    let ended = place.call(&["--yes"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("| out of memory") && ended.stderr.contains("did not answer within"),
        "{ended:?}"
    );
    let summary = place.summary();
    let missing: Vec<&[String]> = summary.entries.iter().map(|entry| entry.missing.as_slice()).collect();
    assert!(
        missing[0][0].contains("repeat 1") && missing[0][0].contains("ended before it answered"),
        "{missing:?}"
    );
    assert!(missing[1][0].contains("did not answer"), "{missing:?}");
    assert!(missing[2].is_empty() && summary.entries[2].runs.len() == 1, "{summary:?}");
    assert_eq!(summary.base.as_deref(), Some(format!("works-port={port}").as_str()));
    assert!(summary.pages.is_empty() && ended.stderr.contains("no page"), "{ended:?}");
    let run =
        RunFolder::open(&place.out().join(&summary.entries[2].runs[0].folder)).unwrap().load_run().unwrap();
    let part = run.sweep.unwrap();
    assert_eq!((part.variables["port"].as_str(), part.repeat), (port.to_string().as_str(), 1));
    assert!(run.launch_command.unwrap().contains("<redacted>"));
    hidden(&[KEY], &ended, &place.out());
    hidden(&[KEY], &plan, &place.out());

    // What failed is tried again, and nothing else.
    let again = place.call(&["--yes"]);
    assert!(again.stderr.contains("== 1 of 3") && !again.stderr.contains("== 3 of 3"), "{again:?}");
    assert_eq!(again.code, Some(1));
}

#[test]
fn an_interruption_ends_the_sweep_and_its_server() {
    let binary = env!("CARGO_BIN_EXE_tokometer");
    let port = free_port();
    let folder = tempfile::tempdir().unwrap();
    let pids_file = folder.path().join("pids");
    let text = format!(
        "{}repeats = 2\n[[entry]]\nname = 'sim'\nlaunch = 'setsid sleep 600 & echo $! >> {pids}; echo $$ >> {pids}; \
         exec {binary} sim --port {port}'",
        "options = { contexts = '1k', concurrency = 1, duration = '1h' }\n",
        pids = pids_file.display()
    );
    let place = Place::new(&text);
    let mut running = Watched::start(&mut place.command(&["--yes"]));
    running.wait_for("[ 1/2]");
    running.signal("INT");
    let ended = running.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stderr.contains("2 runs left") && !ended.stderr.contains("== 2 of 2"), "{ended:?}");
    assert_eq!(place.state("sim-r1"), RunState::Interrupted);
    let left = pids(&pids_file);
    assert_eq!(left.len(), 2);
    assert!(left.iter().all(|pid| is_gone(pid)), "{left:?}");
}

#[test]
fn a_file_that_is_wrong_is_refused_before_anything_starts() {
    for (text, words) in [
        ("[[entry]]\nprofil = 'h200-x4'", &["profil", "profile"][..]),
        ("options.context = '1k'\n[[entry]]\nprofile = 'h200-x4'", &["context", "contexts"]),
        ("options.contexts = '1x'\n[[entry]]\nprofile = 'h200-x4'", &["entry-1", "--contexts"]),
        ("[[entry]]\nprofile = 'h201'", &["entry-1", "h201"]),
        ("[[entry]]\nprofile = 'h200-x4'\nspeculative = 'much'", &["speculative"]),
        ("[[entry]]\nlaunch = './my-server'", &["entry-1", "port"]),
        ("options.cold = true\n[[entry]]\nprofile = 'h200-x4'", &["--cold"]),
    ] {
        let place = Place::new(text);
        place.call(&["--yes"]).failed_with(2, words);
        assert!(!place.out().exists());
    }
}

#[test]
fn the_example_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new.toml");
    let init = || Ended::from(tokometer().args(["sweep", "--init"]).arg(&file).output().unwrap());
    assert_eq!(init().code, Some(0));
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("[[entry]]"));
    init().failed_with(2, &["new.toml", "not there yet"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let mut plan = tokometer();
    let plan = Ended::from(
        plan.arg("sweep").arg(&file).arg("--dry-run").current_dir(folder.path()).output().unwrap(),
    );
    assert_eq!(plan.code, Some(0), "{plan:?}");
    assert!(plan.stderr.contains("12 to measure"), "{plan:?}");
}
