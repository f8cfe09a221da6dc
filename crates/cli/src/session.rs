//! One measuring session: from the arguments to a saved run.

mod adaptive;
mod advice;
pub(crate) mod agent;
mod ask;
mod ending;
pub(crate) mod interrupt;
pub(crate) mod launch;
pub(crate) mod machine;
mod measure;
mod prompts;
mod publication;
pub(crate) mod resume;
pub(crate) mod server;
pub(crate) mod settings;
mod skip;
mod watching;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::watch;
use tokometer_load::{Conductor, Gauges, Live, LoadEngine, Timing};
use tokometer_plan::text::Corpus;
use tokometer_plan::{Plan, Step};
use tokometer_record::{RecordError, Run, RunFolder, RunState, SweepPart};
use tokometer_target::{Busy, ProbeOptions, Target};
use tokometer_wire::clock::Clock;

use crate::args::machine::MachineArgs;
use crate::args::matrix::MatrixArgs;
use crate::args::output::OutputArgs;
use crate::args::resume::ResumeArgs;
use crate::args::target::TargetArgs;
use crate::calibration::kept;
use crate::config::Preset;
use crate::dashboard::Board;
use crate::failure::{self, Hinted};
use crate::out;
use crate::progress::{Progress, Verbosity};
use prompts::Prompts;
use resume::Resume;
use skip::Skip;

/// A probed server, what is to be done with it, and where the result goes.
struct Site {
    server: server::Server,
    target: Target,
    plan: Plan,
    /// What of the plan is to be measured, in order, each with its round from 0 on.
    todo: Vec<(u32, Step)>,
    /// Which segment of a resumed run this is, from 2 on.
    segment: Option<u32>,
    /// What the salts of prompts are made from.
    salt: String,
    corpus: Option<Arc<Corpus>>,
    threads: usize,
    folder: RunFolder,
    observed: watching::Watching,
}

/// How often, and how many times, a server is looked at that may still hold requests of a segment that was killed.
const LEFTOVER_LOOK: Duration = Duration::from_millis(500);
const LEFTOVER_LOOKS: u32 = 20;

/// What a session is to do.
pub(crate) struct Session {
    /// Server; none: look for one on this machine.
    pub(crate) url: Option<String>,
    pub(crate) target: TargetArgs,
    pub(crate) machine: MachineArgs,
    pub(crate) matrix: MatrixArgs,
    pub(crate) output: OutputArgs,
    /// Ask before starting, on a terminal.
    pub(crate) may_ask: bool,
    /// The preset that it was started with, if any.
    pub(crate) preset: Option<Preset>,
    /// The run that goes on; none: a new one.
    pub(crate) resume: Option<Resume>,
    /// The sweep that it is a part of.
    pub(crate) sweep: Option<InSweep>,
}

/// The place of a session in a sweep.
pub(crate) struct InSweep {
    /// As it stands in the record.
    pub(crate) part: SweepPart,
    /// Name of the run's folder.
    pub(crate) folder: String,
    /// Raised when the whole sweep is to end.
    pub(crate) interrupt: watch::Receiver<bool>,
}

impl Session {
    /// Takes up the run that `args` name, if they name one.
    pub(crate) fn resuming(mut self, args: &ResumeArgs) -> anyhow::Result<Session> {
        self.resume = Resume::open(args, &mut self)?;
        Ok(self)
    }

    /// Runs the session on an event loop of its own; the exit code.
    pub(crate) fn run(self) -> anyhow::Result<u8> {
        let clock = self.resume.as_ref().map_or_else(Clock::start, Resume::clock);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let code = runtime.block_on(async {
            let publication = publication::Publication::prepare(&self.output).await?;
            let (code, folder) = Box::pin(self.make(clock)).await?;
            match (publication, folder) {
                (Some(publication), Some(folder)) => publication.publish(&folder, code).await,
                _ => Ok(code),
            }
        });
        // A name look-up or a probe that hangs must not keep the process.
        runtime.shutdown_timeout(Duration::from_millis(200));
        match &code {
            Err(error) => launch::interrupted(error).map_or(code, Ok),
            Ok(_) => code,
        }
    }

    /// Probe, plan, question, measurement; the exit code, and where the run is if it has results.
    pub(crate) async fn make(self, clock: Clock) -> anyhow::Result<(u8, Option<PathBuf>)> {
        if let Some(resume) = &self.resume
            && resume.is_complete(&self.matrix)?
        {
            return Ok((self.nothing_left(resume)?, Some(resume.folder.path.clone())));
        }
        let (corpus_name, corpus) = prompts::corpus(&self.matrix)?.unzip();
        let url = match (&self.url, &self.machine.launch) {
            (Some(url), _) => url.clone(),
            (None, Some(command)) => launch::url(command)?,
            (None, None) => {
                server::find(&tokometer_target::USUAL_PORTS, self.may_ask, self.output.quiet).await?
            }
        };
        let idle = Duration::from_secs_f64(self.matrix.timeout);
        let server = server::reach(&url, &self.target, &self.matrix.source_address, idle, clock)?;
        // From here on every way out ends what was launched.
        let mut interrupt = self.sweep.as_ref().map(|place| place.interrupt.clone());
        let mut launched = match &self.machine.launch {
            None => None,
            Some(command) => {
                let flag = match &mut interrupt {
                    Some(flag) => flag,
                    none => none.insert(interrupt::flag(self.output.quiet)?),
                };
                Some(launch::Launch::start(&self, command, &server, &url, flag).await?)
            }
        };
        let target = self.probe(&server).await?;
        self.refuse_busy(&target, &server).await?;
        let (request, limits) = (settings::request(&self.matrix), settings::limits(&target, &self.matrix));
        let plan = match &self.resume {
            Some(resume) => resume.plan(&self.matrix)?,
            None => tokometer_plan::build(&request, &limits)
                .map_err(|error| Hinted::usage(error.to_string(), "see tokometer run --help"))?,
        };
        let threads = self.matrix.load_threads.map_or_else(LoadEngine::default_threads, usize::from);
        let mut run = settings::record(&self, &target, &plan, threads, clock);
        run.settings.corpus = corpus_name;
        if let Some(preset) = self.preset {
            run.remarks.push(format!("settings started from the preset {}", preset.name()));
        }
        match kept::last() {
            Ok(calibration) => run.calibration = Some(calibration),
            Err(why) => drop(run.unknown.insert("calibration".to_owned(), why)),
        }
        let looking = machine::look(&self.machine, &self.target, &mut run, clock);
        let mut observed = Box::pin(looking).await?;
        let mut todo: Vec<(u32, Step)> = plan.all_steps().collect();
        let (mut salt, mut segment) = (run.id.clone(), None);
        if let Some(resume) = &self.resume {
            run = resume.take_up(&run, clock)?;
            todo = resume.todo(&plan);
            segment = Some(resume.segment());
            salt = run.breaks.last().map_or(salt, |last| last.salt.clone());
        }
        if !self.output.quiet {
            if let Some(resume) = &self.resume {
                resume.say(&run, &plan, &todo);
            }
            out::say(&ask::plan_text(&run, &plan));
            machine::show(&run);
        }
        // Who launches a server has decided; and a signal could not be heard during the question.
        let sends = !self.output.dry_run && !plan.steps.is_empty() && launched.is_none();
        if sends && self.may_ask && !self.output.yes && out::can_ask() && !out::confirmed()? {
            out::say("nothing was measured");
            return Ok((failure::INTERRUPTED, None));
        }

        let interrupt = match interrupt {
            Some(flag) => flag,
            None => interrupt::flag(self.output.quiet)?,
        };
        let folder = self.folder(&run).with_context(|| {
            Hinted::new("the run could not be saved", "make room, or give another folder with --out")
        })?;
        // A resumed one is locked already.
        let _lock = if self.resume.is_none() { Some(folder.lock()?) } else { None };
        if let Some(launched) = &mut launched {
            launched.keep_log(&folder, segment)?;
        }
        if self.output.dry_run {
            drop(launched);
            return Ok((self.finish(&run, &folder)?, None));
        }
        observed.go_on(self.resume.as_ref().and_then(Resume::series), &run);
        observed.watch(&mut run, clock).await;
        let site = Site { server, target, plan, todo, segment, salt, corpus, threads, folder, observed };
        let measured = Box::pin(self.measure_at(&site, &mut run, interrupt, clock)).await;
        site.observed.finish(&mut run, &site.folder);
        if let Some(launched) = &mut launched {
            if measured.is_err() {
                launched.note_end(&mut run);
            }
            launched.stop().await;
        }
        site.folder.release_reserve();
        run.elapsed_seconds = Some(clock.now_ns() as f64 / 1e9);
        match measured.and_then(|()| Ok(site.folder.save_run(&run)?)) {
            Ok(()) => {
                machine::tidy(&run, &site.folder);
                Ok((self.finish(&run, &site.folder)?, Some(site.folder.path)))
            }
            Err(error) => Ok((self.end_early(&mut run, &site.folder, &error), Some(site.folder.path))),
        }
    }

    /// The run's folder, with the plan in it. A run that cannot be saved is not made.
    fn folder(&self, run: &Run) -> Result<RunFolder, RecordError> {
        if let Some(resume) = &self.resume {
            resume.folder.hold_reserve()?;
            resume.folder.save_run(run)?;
            return Ok(resume.folder.clone());
        }
        let name = self.sweep.as_ref().map_or(&run.id, |place| &place.folder);
        let folder = RunFolder::create(&self.output.out, name)?;
        let hold = || if self.output.dry_run { Ok(()) } else { folder.hold_reserve() };
        if let Err(error) = folder.save_run(run).and_then(|()| hold()) {
            // It holds nothing; and if it can't be removed, that is not the error to tell.
            std::fs::remove_dir_all(&folder.path).ok();
            return Err(error);
        }
        Ok(folder)
    }

    async fn probe(&self, server: &server::Server) -> anyhow::Result<Target> {
        let options = ProbeOptions { model: self.target.model.clone(), no_requests: self.output.dry_run };
        let probed = tokometer_target::probe(&server.control, &options).await;
        Ok(probed.map_err(|error| match &self.resume {
            Some(resume) if self.machine.launch.is_none() => advice::on_resumed(&error, &resume.folder),
            _ => advice::on(&error),
        })?)
    }

    async fn refuse_busy(&self, target: &Target, server: &server::Server) -> anyhow::Result<()> {
        if self.target.allow_busy {
            return Ok(());
        }
        // What the segment before has left on the server is being cut.
        for _ in 0..if self.resume.is_some() { LEFTOVER_LOOKS } else { 0 } {
            match target.busy(&server.control).await {
                Some(Busy { running, waiting }) if running + waiting > 0.0 => {
                    tokio::time::sleep(LEFTOVER_LOOK).await;
                }
                _ => return Ok(()),
            }
        }
        match target.busy(&server.control).await {
            Some(Busy { running, waiting }) if running + waiting > 0.0 => Err(Hinted::new(
                format!("the server has other requests: {running} running, {waiting} waiting"),
                "wait until it is idle, or measure all the same with --allow-busy",
            )
            .into()),
            _ => Ok(()),
        }
    }

    /// Builds the prompts and runs the plan. `run` holds what was measured whatever happens.
    async fn measure_at(
        &self,
        site: &Site,
        run: &mut Run,
        mut interrupt: watch::Receiver<bool>,
        clock: Clock,
    ) -> anyhow::Result<()> {
        if site.plan.steps.is_empty() {
            run.remarks.push("nothing of this plan fits the server: no request was sent".to_owned());
            run.state = RunState::Finished;
            return Ok(());
        }
        let largest = site.plan.concurrency.iter().copied().max().unwrap_or(1);
        LoadEngine::reserve_descriptors(largest)?;
        let live = Arc::new(Live::default());
        // Of one cell: it ends when the run ends, or when the user skips it.
        let (end_cell, cell_interrupt) = watch::channel(false);
        let skip = Skip::new(end_cell, interrupt.clone());
        let verbosity = Verbosity::of(self.output.quiet, self.output.plain);
        let board = Board::new(run, clock);
        let machine = site.observed.latest();
        let progress = Progress::new(verbosity, board, Arc::clone(&live), machine, skip.wishes());
        let building = Prompts::build(&self.matrix, site, run, &progress);
        let prompts = tokio::select! {
            prompts = building => prompts.map_err(|error| advice::on(&error))?,
            _ = interrupt.wait_for(|wanted| *wanted) => {
                run.state = RunState::Interrupted;
                return Ok(());
            }
        };
        if let Some(resume) = &self.resume {
            resume.check_requests(run)?;
        }
        let gauges = |names| Gauges::new(Arc::clone(&site.server.control), site.target.metrics_path, names);
        let conductor = Conductor {
            run: run.id.clone(),
            engine: LoadEngine::start(site.threads, &site.server.connector, clock)?,
            clock,
            gauges: site.target.metrics.map(gauges),
            expect: settings::expect(&self.matrix, &site.target),
            timing: Timing::default(),
            allow_busy: self.target.allow_busy,
            interrupt: cell_interrupt,
            live,
        };
        let rows = self.resume.as_ref().map(Resume::rows).transpose()?.unwrap_or_default();
        let prefill_output = std::cell::Cell::new(prompts::PREFILL_OUTPUT);
        let measuring = measure::Measuring {
            conductor: &conductor,
            prompts: &prompts,
            site,
            progress: &progress,
            skip: &skip,
            adaptive: self.matrix.adaptive,
            prefill_output,
            rows: std::cell::RefCell::new(rows),
        };
        Box::pin(measuring.all(run)).await
    }
}
