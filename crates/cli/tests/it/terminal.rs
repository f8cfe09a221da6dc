//! The dashboard on a real terminal, in tmux: keys in, pictures out.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokometer_record::{Run, RunState, Status};

use crate::support::{call, load, only_run};

/// Looks until something shows, however busy the machine is.
const LOOKS: u32 = 1200;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A terminal of its own, with a shell in it.
struct Pane {
    socket: String,
}

impl Pane {
    fn open(width: u16, height: u16) -> Pane {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let socket = format!("tokometer-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let pane = Pane { socket };
        let (width, height) = (width.to_string(), height.to_string());
        pane.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &width,
            "-y",
            &height,
            "bash --norc --noprofile -i",
        ]);
        pane.tmux(&["set-option", "-g", "default-terminal", "screen-256color"]);
        pane.keys("PS1='ready> '; export TOKOMETER_CONFIG=; unset CI");
        pane.keys("Enter");
        pane.wait_for_shell();
        pane
    }

    fn tmux(&self, args: &[&str]) -> String {
        let output = Command::new("tmux").args(["-L", &self.socket]).args(args).output();
        let output = output.expect("tmux is needed: apt-get install tmux");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn keys(&self, keys: &str) {
        self.tmux(&["send-keys", keys]);
    }

    /// Types a line.
    fn line(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.keys("Enter");
    }

    /// Starts the binary under test.
    fn run(&self, args: &str, out: &Path) {
        self.line(&format!("clear; {} {args} --out {}", env!("CARGO_BIN_EXE_tokometer"), out.display()));
    }

    /// The process in the foreground.
    fn process(&self) -> String {
        let tty = self.tmux(&["display-message", "-p", "#{pane_tty}"]);
        let tty = tty.trim().trim_start_matches("/dev/");
        let listed = Command::new("ps").args(["-t", tty, "-o", "pid=,comm="]).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let found = listed.lines().filter_map(|line| line.trim().split_once(' '));
        let mut found = found.filter(|(_, name)| name.trim() == "tokometer");
        found.next().unwrap_or_else(|| panic!("no process in {listed}")).0.to_owned()
    }

    /// Sends a signal to it by its name.
    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.process()]).status().unwrap();
        assert!(sent.success());
    }

    fn resize(&self, width: u16, height: u16) {
        self.tmux(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
    }

    /// What is on the screen.
    fn picture(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    fn wait_until(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        for _ in 0..LOOKS {
            let picture = self.picture();
            if is_there(&picture) {
                return picture;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        panic!("no {what} in\n{}", self.picture());
    }

    fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |picture| picture.contains(text))
    }

    fn wait_for_shell(&self) {
        self.wait_until("the shell", |picture| picture.trim_end().ends_with("ready>"));
    }

    fn wait_without(&self, text: &str) -> String {
        self.wait_until(&format!("picture without {text}"), |picture| !picture.contains(text))
    }

    /// Keeps a picture where somebody wants to look at it.
    fn keep(name: &str, picture: &str) {
        if let Some(folder) = std::env::var_os("TOKOMETER_ARTIFACTS") {
            let folder = Path::new(&folder);
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(format!("terminal-{name}.txt")), picture).unwrap();
        }
    }

    /// The shell is back and its terminal as it was: what is typed shows, lines are edited, the cursor is there.
    fn is_as_it_was(&self) {
        self.line("stty -a | tr ';' '\\n' | grep -c -e ' icanon' -e ' echo ' -e ' isig'; echo back$((40+2))");
        self.wait_for("back42");
        let cursor = self.tmux(&["display-message", "-p", "#{cursor_flag} #{alternate_on}"]);
        assert_eq!(cursor.trim(), "1 0");
        self.line("stty -a | grep -o -e '-icanon' -e '-echo ' -e '-isig'; echo raw$?");
        self.wait_for("raw1");
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.socket, "kill-server"]).output();
    }
}

/// The one run in `out`: ended by its user or a signal, saved, and as its traces say.
#[track_caller]
fn interrupted_and_whole(out: &Path) -> Run {
    let folder = only_run(out);
    let run = load(&folder);
    assert_eq!(run.state, RunState::Interrupted);
    let verified = call(["verify", &folder.to_string_lossy()]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    run
}

#[test]
fn the_dashboard_at_three_widths_with_its_keys() {
    let out = tempfile::tempdir().unwrap();
    let pane = Pane::open(80, 40);
    pane.run("demo --contexts 1k --concurrency 1,2,4 --duration 1h", out.path());
    // The prefill row first, then the window of the first cell, whose rate shows.
    let picture =
        pane.wait_until("a window with its rate", |it| it.contains("window ") && it.contains("so far"));
    for word in [
        "SIMULATED",
        "prefill",
        "total tok/s",
        "1K × 1",
        "1 of 1 streams active",
        "client lag",
        "running, 0 waiting",
        "events",
        "left",
        "q finish",
    ] {
        assert!(picture.contains(word), "{word}:\n{picture}");
    }
    Pane::keep("80", &picture);
    let beside = |picture: &str| {
        picture.lines().any(|line| line.contains("1K × 1") && line.contains("server and machine"))
    };
    assert!(!beside(&picture), "{picture}");
    pane.resize(110, 40);
    let picture = pane.wait_until("two columns", |picture| beside(picture) && picture.contains("so far"));
    assert!(
        picture.lines().any(|line| line.contains("total tok/s") && line.contains("TTFT ms")),
        "{picture}"
    );
    Pane::keep("110", &picture);
    pane.resize(160, 45);
    let three =
        |picture: &str| picture.lines().any(|line| line.contains("1K × 1") && line.contains("events"));
    Pane::keep(
        "160",
        &pane.wait_until("three columns", |picture| three(picture) && picture.contains("so far")),
    );

    pane.keys("o");
    let picture = pane
        .wait_until("a stream's text", |it| it.contains("stream 1 of 1, request") && it.contains("o: close"));
    Pane::keep("output", &picture);
    pane.keys("o");
    pane.wait_without("o: close");
    pane.keys("?");
    pane.wait_for("finish: save what is measured");
    pane.keys("Escape");
    pane.wait_without("finish: save what is measured");
    pane.keys("Right");
    pane.wait_for("1K × 2: not reached");

    pane.keys("s");
    pane.wait_for("skipping 1K × 1");
    pane.wait_until("the next cell's window", |it| {
        it.contains("2 of 2 streams active") && it.contains("window ")
    });
    let picture = pane.picture();
    assert!(picture.contains("skip"), "{picture}");
    pane.keys("q");
    let picture = pane.wait_for("page: ");
    assert!(picture.contains("record: ") && !picture.contains("q finish"), "{picture}");
    pane.line("echo code=$?");
    pane.wait_for("code=130");
    pane.is_as_it_was();

    let run = interrupted_and_whole(out.path());
    let statuses: Vec<Status> = run.cells.iter().skip(1).map(|cell| cell.status).collect();
    assert_eq!(statuses, [Status::Skipped, Status::Interrupted, Status::Planned]);
    assert!(run.cells[0].prefill_rate.is_some());
}

#[test]
fn to_the_shell_and_back_and_an_interruption() {
    let out = tempfile::tempdir().unwrap();
    let pane = Pane::open(100, 35);
    pane.run("demo --contexts 1k --concurrency 1 --duration 1h", out.path());
    pane.wait_for("window ");
    pane.keys("C-z");
    pane.wait_for("Stopped");
    pane.is_as_it_was();
    pane.line("clear; fg");
    let picture = pane.wait_until("the dashboard", |picture| picture.contains("q finish"));
    assert!(picture.contains("SIMULATED"), "{picture}");
    pane.keys("C-c");
    pane.wait_for("page: ");
    pane.line("echo code=$?");
    pane.wait_for("code=130");
    pane.is_as_it_was();
    interrupted_and_whole(out.path());
}

#[test]
fn a_stop_from_outside_gives_the_terminal_back_and_a_return_takes_it() {
    let out = tempfile::tempdir().unwrap();
    let pane = Pane::open(100, 35);
    pane.run("demo --contexts 1k --concurrency 1 --duration 1h", out.path());
    pane.wait_for("window ");
    pane.signal("TSTP");
    pane.wait_for("Stopped");
    pane.is_as_it_was();
    // In the background it goes on without a picture, and is neither stopped by the terminal nor draws on it.
    pane.line("clear; bg");
    pane.wait_until("a running job", |_| {
        pane.line("clear; jobs");
        pane.picture().contains("Running")
    });
    pane.is_as_it_was();
    pane.line("clear; fg");
    pane.wait_for("q finish");
    // A stop that can't be heard leaves the terminal taken; the return draws it anew.
    pane.signal("STOP");
    pane.wait_for("Stopped");
    pane.line("clear; fg");
    pane.wait_for("q finish");
    pane.keys("?");
    pane.wait_for("finish: save what is measured");
    pane.keys("Escape");
    pane.keys("q");
    pane.wait_for("page: ");
    pane.line("echo code=$?");
    pane.wait_for("code=130");
    pane.is_as_it_was();
    interrupted_and_whole(out.path());
}

#[test]
fn an_end_from_outside_saves_and_gives_the_terminal_back() {
    for signal in ["TERM", "HUP"] {
        let out = tempfile::tempdir().unwrap();
        let pane = Pane::open(100, 35);
        pane.run("demo --contexts 1k --concurrency 1 --duration 1h", out.path());
        pane.wait_for("window ");
        pane.signal(signal);
        pane.wait_for("page: ");
        pane.line("echo code=$?");
        pane.wait_for("code=130");
        pane.is_as_it_was();
        interrupted_and_whole(out.path());
    }
}

#[test]
fn a_terminal_that_goes_away_leaves_a_saved_run() {
    let out = tempfile::tempdir().unwrap();
    let pane = Pane::open(100, 35);
    pane.run("demo --contexts 1k --concurrency 1 --duration 1h", out.path());
    pane.wait_for("window ");
    let process = pane.process();
    drop(pane);
    let stat = || std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let gone =
        |stat: &str| stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']));
    for _ in 0..LOOKS {
        if gone(&stat()) {
            break;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let left = stat();
    if !gone(&left) {
        // A test that fails leaves no process behind.
        drop(Command::new("kill").args(["-KILL", &process]).status());
        panic!("{left}");
    }
    interrupted_and_whole(out.path());
    assert!(only_run(out.path()).join("report.html").is_file());
}

#[test]
fn a_run_under_nohup_outlives_its_terminal() {
    let out = tempfile::tempdir().unwrap();
    let pane = Pane::open(100, 35);
    let binary = env!("CARGO_BIN_EXE_tokometer");
    let log = out.path().join("log");
    pane.line(&format!(
        "nohup {binary} demo --contexts 1k --concurrency 1 --duration 1h --out {} >{} 2>&1",
        out.path().join("runs").display(),
        log.display()
    ));
    let said = |text: &str| std::fs::read_to_string(&log).is_ok_and(|log| log.contains(text));
    pane.wait_until("a line of the run", |_| said("[ 1/2]"));
    pane.signal("HUP");
    // A signal that is heard comes before the one that is sent after it.
    pane.signal("INT");
    pane.wait_for_shell();
    let log = std::fs::read_to_string(&log).unwrap();
    assert_eq!(log.matches("interrupted: saving").count(), 1, "{log}");
    interrupted_and_whole(&out.path().join("runs"));
}

#[test]
fn an_impatient_user_gets_the_terminal_back() {
    let out = tempfile::tempdir().unwrap();
    let pane = Pane::open(100, 35);
    pane.run("demo --contexts 1k --concurrency 1 --duration 1h", out.path());
    pane.wait_for("window ");
    // Whether the second comes before all is saved or not.
    pane.tmux(&["send-keys", "C-c", "C-c"]);
    pane.wait_for_shell();
    pane.line("echo code=$?");
    pane.wait_for("code=130");
    pane.is_as_it_was();
}

#[test]
#[cfg(target_os = "linux")]
fn an_agents_readings_are_beside_the_servers() {
    let (server, url) = crate::machine::server();
    let folder = tempfile::tempdir().unwrap();
    let (_agent, address) = crate::agent::agent(folder.path(), server.id(), &[]);
    let token = crate::agent::token_file(folder.path());
    let pane = Pane::open(110, 40);
    pane.line(&format!("export OPENAI_API_KEY={}", crate::machine::KEY));
    let agent = format!("--agent {address} --agent-token-file {}", token.display());
    let out = folder.path().join("runs");
    pane.run(&format!("run {url} {agent} --contexts 1k --concurrency 1 --duration 1h --yes"), &out);
    let device = |line: &str| line.contains("0 NVIDIA H200") || line.contains("0 H200 SXM");
    let picture =
        pane.wait_until("a device", |it| it.lines().any(|line| device(line) && line.contains(" W  ")));
    Pane::keep("agent", &picture);
    pane.keys("q");
    pane.wait_for("page: ");
}

#[test]
fn lines_where_a_dashboard_is_not_wanted() {
    let out = tempfile::tempdir().unwrap();
    let pane = Pane::open(120, 50);
    let lines = |picture: &str| picture.contains("[ 1/2]") && !picture.contains("q finish");
    for start in ["--plain", "CI=true", "TERM=dumb", "2>&1 | cat"] {
        let (before, behind) = match start {
            "--plain" => ("", " --plain"),
            "2>&1 | cat" => ("", ""),
            variable => (variable, ""),
        };
        let pipe = if start.contains('|') { start } else { "" };
        let binary = env!("CARGO_BIN_EXE_tokometer");
        pane.line(&format!(
            "clear; {before} {binary} demo --contexts 1k --concurrency 1 --duration 1h --out {}{behind} {pipe}",
            out.path().display()
        ));
        pane.wait_until("a line a cell", lines);
        assert_eq!(pane.tmux(&["display-message", "-p", "#{alternate_on}"]).trim(), "0", "{start}");
        pane.keys("C-c");
        pane.wait_for_shell();
    }
    let quiet = tempfile::tempdir().unwrap();
    pane.run("demo --contexts 1k --concurrency 1 --duration 1s --quiet", quiet.path());
    let picture = pane.wait_for("report.html");
    for word in ["building", "[ 1/2]", "record:", "windows:", "q finish"] {
        assert!(!picture.contains(word), "{word}:\n{picture}");
    }
}
