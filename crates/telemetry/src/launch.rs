//! Starts a server in a process group of its own, keeps its log, and ends it with all its children.

mod group;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokometer_wire::redact;

use crate::root::Root;
use group::Group;

/// Lines of the log that are kept at hand.
const TAIL: usize = 20;
/// Between two looks at what is still there.
const LOOK: Duration = Duration::from_millis(20);
/// The longest that the log is waited for once its process has ended.
const CATCH_UP: Duration = Duration::from_secs(1);
/// Servers that run, for the end of a process that must end at once.
static RUNNING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// A server that was started here. When it is dropped, it is ended.
#[derive(Debug)]
pub struct Launched {
    child: Child,
    group: Group,
    log: PathBuf,
    tail: Arc<Mutex<VecDeque<String>>>,
    reader: Option<JoinHandle<()>>,
    ended: Option<ExitStatus>,
    stopped: bool,
}

impl Launched {
    /// Starts `command` by the shell. Its output goes to the file `log`, without the secrets that the command and the
    /// environment name, and without what looks like one.
    pub fn start(command: &str, log: &Path) -> io::Result<Launched> {
        Launched::start_hiding(command, log, Vec::new())
    }

    /// As [`start`](Self::start); these values are no less secret.
    pub fn start_hiding(command: &str, log: &Path, known: Vec<String>) -> io::Result<Launched> {
        let file = File::create(log)?;
        let (output, input) = io::pipe()?;
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(command).stdin(Stdio::null());
        shell.stdout(input.try_clone()?).stderr(input).process_group(0);
        let child = shell.spawn()?;
        // Else the pipe would never come to its end.
        drop(shell);
        lock(&RUNNING).push(child.id());
        let tail = Arc::new(Mutex::new(VecDeque::new()));
        let mut secrets =
            redact::words(command).map(|words| redact::command(&words).secrets).unwrap_or_default();
        secrets.extend(known);
        // The server inherits them, and some print what they were given.
        secrets.extend(redact::secrets_of(
            std::env::vars_os()
                .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        ));
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let kept = Arc::clone(&tail);
        let reader = std::thread::Builder::new()
            .name("server log".to_owned())
            .spawn(move || keep(BufReader::new(output), file, &secrets, &kept));
        let group = Group::new(Root::system(), child.id());
        let mut launched =
            Launched { child, group, log: log.to_owned(), tail, reader: None, ended: None, stopped: false };
        // From here on an error ends what was started.
        launched.reader = Some(reader?);
        Ok(launched)
    }

    /// The process that was started.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The log's file.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Moves the log; the server writes on.
    pub fn move_log(&mut self, to: &Path) -> io::Result<()> {
        std::fs::rename(&self.log, to)?;
        to.clone_into(&mut self.log);
        Ok(())
    }

    /// The last lines of the log, oldest first.
    pub fn last_lines(&self) -> Vec<String> {
        lock(&self.tail).iter().cloned().collect()
    }

    /// How the process that was started has ended; none while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.group.look();
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
            if self.ended.is_some() {
                self.catch_up();
            }
        }
        self.ended
    }

    /// Lets the log take in what was written before the process ended. A child that lives on keeps the pipe open, so
    /// that this has a limit.
    fn catch_up(&self) {
        let mut waited = Duration::ZERO;
        while waited < CATCH_UP && self.reader.as_ref().is_some_and(|reader| !reader.is_finished()) {
            std::thread::sleep(LOOK);
            waited += LOOK;
        }
    }

    /// Asks it and its children to end, and ends what is left after `patience`.
    pub fn stop(&mut self, patience: Duration) {
        if std::mem::replace(&mut self.stopped, true) {
            return;
        }
        self.group.look();
        self.group.terminate();
        let mut waited = Duration::ZERO;
        while self.ended().is_none() || self.group.is_alive() {
            if waited >= patience {
                break;
            }
            std::thread::sleep(LOOK);
            waited += LOOK;
        }
        self.group.kill();
        if self.ended.is_none() {
            self.ended = self.child.wait().ok();
        }
        lock(&RUNNING).retain(|id| *id != self.child.id());
        // The pipe ends with the last process that writes into it, and none is left.
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// The time that a server has to end by itself when nobody says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

impl Drop for Launched {
    fn drop(&mut self) {
        self.stop(PATIENCE);
    }
}

/// Ends every server that runs, at once: for a process that goes away without dropping anything.
pub fn kill_all() {
    for id in lock(&RUNNING).iter() {
        let mut group = Group::new(Root::system(), *id);
        group.look();
        group.kill();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes what comes to the log, line by line, secrets removed.
fn keep(
    mut output: BufReader<PipeReader>,
    mut file: File,
    secrets: &[String],
    tail: &Mutex<VecDeque<String>>,
) {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match output.read_until(b'\n', &mut bytes) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = redact::text(&redact::values(line.trim_end_matches(['\n', '\r']), secrets));
        // A disk that is full must not stop the server: its output is read on.
        let _ = writeln!(file, "{line}");
        // A bar that moves: what is shown last counts.
        let shown = line.rsplit('\r').next().unwrap_or(&line).trim();
        if !shown.is_empty() {
            let mut tail = lock(tail);
            if tail.len() == TAIL {
                tail.pop_front();
            }
            tail.push_back(shown.to_owned());
        }
    }
}
