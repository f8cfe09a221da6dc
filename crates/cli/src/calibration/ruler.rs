//! The simulated engine as a process of its own, on cores of its own.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

use anyhow::{Context, anyhow};
use tempfile::TempDir;
use tokometer_record::truth::Truth;

use super::cores::Cores;

/// A running engine that notes when it sends each event.
pub(crate) struct Ruler {
    child: Child,
    /// The engine ends when this does, also when this process is killed.
    input: Option<ChildStdin>,
    url: String,
    truth: PathBuf,
    _folder: TempDir,
}

impl Ruler {
    /// Starts an engine that gives each stream `rate` tokens a second (`max`: flat out).
    pub(crate) fn start(rate: &str, events_per_write: Option<u32>, cores: &Cores) -> anyhow::Result<Ruler> {
        let folder = tempfile::tempdir().context("cannot make a folder for what the engine notes")?;
        let truth = folder.path().join("truth.parquet");
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command = Command::new(program);
        command.args(["sim", "--port", "0", "--rate", rate, "--until-stdin-ends", "--truth"]).arg(&truth);
        if let Some(events) = events_per_write {
            command.args(["--events-per-write", &events.to_string()]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // A process starts on the cores of the thread that starts it.
        cores.take_engines();
        let started = command.spawn();
        cores.take_clients();
        let mut child = started.context("cannot start the simulated engine")?;
        let input = child.stdin.take();
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).map(str::to_owned);
        let url = url.unwrap_or_default();
        let ruler = Ruler { child, input, url, truth, _folder: folder };
        if ruler.url.is_empty() {
            return Err(anyhow!("the simulated engine did not start"));
        }
        Ok(ruler)
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Ends it; what it really did.
    pub(crate) fn finish(mut self) -> anyhow::Result<Truth> {
        drop(self.input.take());
        let status = self.child.wait().context("the simulated engine is gone")?;
        if !status.success() {
            return Err(anyhow!("the simulated engine failed ({status})"));
        }
        Ok(Truth::load(&self.truth)?)
    }
}

impl Drop for Ruler {
    fn drop(&mut self) {
        // Where it has ended by itself there is nothing to end.
        drop(self.input.take());
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
