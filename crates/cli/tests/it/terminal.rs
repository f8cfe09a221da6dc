//! The dashboard on a real terminal, in tmux: keys in, pictures out.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokometer_record::{RunState, Status};

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

    let folder = only_run(out.path());
    let run = load(&folder);
    assert_eq!(run.state, RunState::Interrupted);
    let statuses: Vec<Status> = run.cells.iter().skip(1).map(|cell| cell.status).collect();
    assert_eq!(statuses, [Status::Skipped, Status::Interrupted, Status::Planned]);
    assert!(run.cells[0].prefill_rate.is_some());
    let verified = call(["verify", &folder.to_string_lossy()]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
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
    assert_eq!(load(&only_run(out.path())).state, RunState::Interrupted);
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
