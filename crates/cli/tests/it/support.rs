//! The real binary, and what it leaves.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tokometer_record::{Run, RunFolder};
use tokometer_sim::{Profile, Running, Server, ServerOptions};

/// The smallest matrix that measures anything.
pub(crate) const SMALL: [&str; 6] = ["--contexts", "1k", "--concurrency", "1,2", "--duration", "1s"];

/// No line of a run comes later than this after the one before, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(180);

/// The binary, with no key in its environment and nothing to answer questions with.
pub(crate) fn tokometer() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tokometer"));
    command.env_remove("OPENAI_API_KEY").stdin(Stdio::null());
    // Nobody's own settings reach a test.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_setting(name)) {
        command.env_remove(name);
    }
    command.env("TOKOMETER_CONFIG", "");
    command
}

fn is_setting(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with("TOKOMETER_") && name != "TOKOMETER_CALIBRATION"
}

/// What a call of the binary came to.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Checks that it failed with `code`, one line that names each of `words`, and a hint.
    pub(crate) fn failed_with(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        let error = self.line("error: ");
        assert!(self.stderr.lines().any(|line| line.starts_with("hint: ")), "a hint is missing: {self:?}");
        for word in words {
            assert!(error.contains(word) || self.line("hint: ").contains(word), "{word:?} in {self:?}");
        }
    }

    /// The only line that starts so.
    pub(crate) fn line(&self, start: &str) -> &str {
        let mut lines = self.stderr.lines().filter(|line| line.starts_with(start));
        let line = lines.next().unwrap_or_else(|| panic!("no line {start:?} in {self:?}"));
        assert_eq!(lines.next(), None, "{start:?} stands twice");
        line
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs the binary to its end.
pub(crate) fn call<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Ended {
    tokometer().args(args).output().unwrap().into()
}

/// The only run in a folder of runs.
pub(crate) fn only_run(out: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(out).unwrap();
    let path = entries.next().expect("a run was saved").unwrap().path();
    assert!(entries.next().is_none(), "more than one run in {}", out.display());
    path
}

/// Reads a run and checks that every trace which it names is there, whole and readable.
pub(crate) fn load(folder: &Path) -> Run {
    let folder = RunFolder::open(folder).unwrap();
    let run = folder.load_run().unwrap();
    for trace in run.cells.iter().flat_map(tokometer_record::Cell::traces) {
        folder.load_trace(trace).unwrap();
    }
    run
}

/// The simulated engine in this process.
pub(crate) fn simulated(api_key: Option<&str>) -> Running {
    let profile = Profile::builtin("h200-x4").unwrap();
    let options = ServerOptions { api_key: api_key.map(str::to_owned), ..ServerOptions::default() };
    Server::start(profile, options).unwrap()
}

/// A running binary whose lines on one stream can be waited for.
pub(crate) struct Watched {
    child: Child,
    lines: mpsc::Receiver<String>,
    seen: String,
}

impl Watched {
    /// Starts it and watches standard error; standard output goes to `stdout`.
    pub(crate) fn start(command: &mut Command) -> Watched {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = lines_of(child.stderr.take().unwrap());
        Watched { child, lines, seen: String::new() }
    }

    /// Starts it and watches standard output.
    pub(crate) fn start_on_stdout(command: &mut Command) -> Watched {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        Watched { child, lines, seen: String::new() }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that holds `text`.
    pub(crate) fn wait_for(&mut self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|why| panic!("no {text:?}, {why}: {}", self.seen));
            self.seen.push_str(&line);
            self.seen.push('\n');
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Sends a signal by its name.
    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(self.id().to_string()).status().unwrap();
        assert!(sent.success());
    }

    /// Kills it after so long, unless it has ended by then; waits for its end.
    pub(crate) fn kill_after(mut self, after: Duration) {
        std::thread::sleep(after);
        self.child.kill().unwrap();
        drop(self.child.wait());
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Ended {
        let mut stdout = String::new();
        if let Some(mut pipe) = self.child.stdout.take() {
            pipe.read_to_string(&mut stdout).unwrap();
        }
        for line in &self.lines {
            self.seen.push_str(&line);
            self.seen.push('\n');
        }
        let code = self.child.wait().unwrap().code();
        Ended { code, stdout, stderr: std::mem::take(&mut self.seen) }
    }
}

/// A test that fails leaves no process behind.
impl Drop for Watched {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn lines_of(pipe: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
