//! A sweep, run by run: what is there, what is left, and what it came to.

mod ending;
mod entry;
mod found;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tokio::sync::watch;
use tokometer_plan::sweep::{Job, Subject, Sweep};
use tokometer_record::{RunState, SweepPart};
use tokometer_sim::{Running, Server, ServerOptions};
use tokometer_wire::clock::Clock;

use crate::failure::{self, Hinted};
use crate::progress;
use crate::session::{InSweep, Session, interrupt, launch};
use crate::{commands, out};
use entry::Prepared as Entry;
use found::Found;

/// Name of the file that tells others that the sweep is being measured.
const LOCK: &str = ".lock";

/// A sweep that can be measured: every entry looked through, and what is there already found.
pub(crate) struct Prepared {
    sweep: Sweep,
    title: String,
    folder: PathBuf,
    entries: Vec<Entry>,
    jobs: Vec<Job>,
    found: Found,
}

/// Why runs are missing, by entry.
type Missing = Vec<Vec<String>>;

impl Prepared {
    /// Reads a sweep's file; what it measures goes to a folder of the file's name in `out`.
    pub(crate) fn new(path: &Path, text: &str, out: &Path) -> anyhow::Result<Prepared> {
        let name = path.display();
        let bad =
            |message: String| Hinted::usage(format!("{name}: {message}"), "docs/sweep.md describes the file");
        let sweep = Sweep::parse(text, &entry::known_options()).map_err(|error| bad(error.to_string()))?;
        let stem =
            path.file_stem().map_or_else(|| "sweep".to_owned(), |stem| stem.to_string_lossy().into_owned());
        let title = sweep.title.clone().unwrap_or_else(|| stem.clone());
        let entries = sweep
            .entries
            .iter()
            .map(|entry| Entry::new(entry).map_err(|why| bad(why).into()))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let folder = out.join(&stem);
        let found = Found::look(&folder);
        Ok(Prepared { jobs: sweep.jobs(), sweep, title, folder, entries, found })
    }

    /// Runs that are still to be made.
    pub(crate) fn left(&self) -> usize {
        self.jobs.iter().filter(|job| self.done(&self.found, **job).is_none()).count()
    }

    /// What will be done, in order, what is there, and how long the rest takes.
    pub(crate) fn plan_text(&self) -> String {
        let mut lines = vec![format!("sweep: {}, into {}", self.title, self.folder.display())];
        for (entry, planned) in self.sweep.entries.iter().zip(&self.entries) {
            lines.push(format!("  {}: {}", entry.name, planned.shown));
            if !planned.options.is_empty() {
                lines.push(format!("      {}", planned.options));
            }
        }
        let runs = out::count(self.jobs.len(), "run");
        lines.push(format!("  {runs}, order {}:", self.sweep.order.word()));
        let mut seconds = 0.0;
        for (number, job) in self.jobs.iter().enumerate() {
            let state = if let Some(found) = self.done(&self.found, *job) {
                format!("there ({})", found.folder)
            } else {
                let estimate = self.entries[job.entry].seconds;
                seconds += estimate;
                format!("about {}", progress::time(estimate))
            };
            lines.push(format!("  {:>4}  {}  {state}", number + 1, self.name(*job)));
        }
        let left = self.left();
        if left > 0 {
            lines.push(format!(
                "  {left} to measure; about {}, and the time that servers take to start",
                progress::time(seconds)
            ));
        } else {
            lines.push("  everything is measured".to_owned());
        }
        lines.join("\n")
    }

    /// Makes the runs that are left, one after the other, then lays all side by side; the exit code.
    pub(crate) fn measure(mut self, quiet: bool, json: bool) -> anyhow::Result<u8> {
        let _lock = self.lock()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut missing: Missing = vec![Vec::new(); self.entries.len()];
        let whole = runtime.block_on(self.all(quiet, &mut missing));
        // A name look-up that hangs must not keep the process.
        runtime.shutdown_timeout(Duration::from_millis(200));
        let whole = whole?;
        self.found = Found::look(&self.folder);
        if !whole {
            let left = out::count(self.left(), "run");
            out::say(&format!("interrupted: {left} left; the same command goes on from here"));
            return Ok(failure::INTERRUPTED);
        }
        self.finish(missing, quiet, json)
    }

    /// Every run that is left; false if the user ended it.
    async fn all(&self, quiet: bool, missing: &mut Missing) -> anyhow::Result<bool> {
        let interrupt = interrupt::flag(quiet)?;
        let count = self.jobs.len();
        for (number, job) in self.jobs.iter().enumerate() {
            if self.done(&self.found, *job).is_some() {
                continue;
            }
            let name = self.name(*job);
            if !quiet {
                out::say(&format!("\n== {} of {count}: {name}", number + 1));
            }
            let folder = self.free_folder(*job);
            let why = match self.one(*job, &folder, quiet, &interrupt).await {
                Ok(code) if code == failure::INTERRUPTED => return Ok(false),
                Ok(_) => found::state(&self.folder.join(&folder))
                    .filter(|(state, _)| *state != RunState::Finished)
                    .map(|(_, reason)| reason.unwrap_or_else(|| "it did not come to its end".to_owned())),
                Err(error) if launch::interrupted(&error).is_some() => return Ok(false),
                Err(error) => {
                    failure::print(&error);
                    Some(format!("{error:#}"))
                }
            };
            if *interrupt.borrow() {
                return Ok(false);
            }
            missing[job.entry].extend(why.map(|why| format!("repeat {}: {why}", job.repeat)));
        }
        Ok(true)
    }

    /// One run, in a folder of this name.
    async fn one(
        &self,
        job: Job,
        folder: &str,
        quiet: bool,
        interrupt: &watch::Receiver<bool>,
    ) -> anyhow::Result<u8> {
        let (entry, of_file) = (&self.entries[job.entry], &self.sweep.entries[job.entry]);
        let mut args = entry.args.clone();
        let simulated = simulated(&of_file.subject)?;
        if let Some(server) = &simulated {
            args.url = Some(format!("http://{}", server.addr()));
            // No key of the user's is sent to the simulated engine.
            args.target.ignore_environment = true;
        }
        args.output.out.clone_from(&self.folder);
        args.output.title.get_or_insert_with(|| of_file.name.clone());
        args.output.quiet = quiet;
        let part = SweepPart {
            sweep: self.title.clone(),
            entry: of_file.name.clone(),
            repeat: job.repeat,
            variables: entry.variables.clone(),
            definition: entry.definition.clone(),
        };
        let place = InSweep { part, folder: folder.to_owned(), interrupt: interrupt.clone() };
        let session = Session {
            url: args.url,
            target: args.target,
            machine: args.machine,
            matrix: args.matrix,
            output: args.output,
            may_ask: false,
            sweep: Some(place),
        };
        let result = Box::pin(session.make(Clock::start())).await;
        if let Some(server) = simulated {
            server.stop();
        }
        result
    }

    /// The finished run of a job, if there is one.
    fn done<'a>(&self, found: &'a Found, job: Job) -> Option<&'a found::Part> {
        let entry = &self.entries[job.entry];
        found.finished(&self.sweep.entries[job.entry].name, job.repeat, &entry.definition)
    }

    fn name(&self, job: Job) -> String {
        let name = &self.sweep.entries[job.entry].name;
        if self.sweep.repeats == 1 {
            name.clone()
        } else {
            format!("{name}, repeat {} of {}", job.repeat, self.sweep.repeats)
        }
    }

    /// A name for a run's folder that none has yet: what is there, half or of another definition, stays as it is.
    fn free_folder(&self, job: Job) -> String {
        let name = format!("{}-r{}", self.sweep.entries[job.entry].slug, job.repeat);
        let mut free = name.clone();
        let mut number = 1;
        while self.folder.join(&free).exists() {
            number += 1;
            free = format!("{name}.{number}");
        }
        free
    }

    /// Two of a kind would measure each other.
    fn lock(&self) -> anyhow::Result<File> {
        let folder = self.folder.display();
        let open = || {
            std::fs::create_dir_all(&self.folder)?;
            File::create(self.folder.join(LOCK))
        };
        let file = open().with_context(|| {
            Hinted::new(format!("cannot write to {folder}"), "give another folder with --out")
        })?;
        if let Err(std::fs::TryLockError::WouldBlock) = file.try_lock() {
            return Err(Hinted::new(
                format!("another tokometer is measuring {folder}"),
                "wait for it, or give another folder with --out",
            )
            .into());
        }
        // Some file systems have no locks.
        Ok(file)
    }
}

/// The simulated engine of an entry that asks for one.
fn simulated(subject: &Subject) -> anyhow::Result<Option<Running>> {
    let Subject::Simulated { profile, speculative } = subject else { return Ok(None) };
    let mut profile = commands::sim::profile(profile)?;
    if let Some(speculative) = speculative {
        profile = profile.with_speculation(speculative.parse()?);
    }
    Ok(Some(Server::start(profile, ServerOptions::default())?))
}
