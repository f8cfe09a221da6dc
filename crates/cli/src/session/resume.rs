//! A run taken up again: the same plan, what was measured kept, the rest measured under new salts.

mod changes;
mod left;
mod restore;

use std::fs::File;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tokometer_plan::{Plan, SpeedGuess, Step};
use tokometer_record::{Break, Difference, Run, RunFolder, RunState, Status, Telemetry};
use tokometer_wire::clock::Clock;

use super::measure::RowsSoFar;
use super::{Session, settings};
use crate::args::matrix::MatrixArgs;
use crate::args::resume::{Redo, ResumeArgs};
use crate::failure::Hinted;
use crate::out;

/// What starts a remark that a resumed run no longer deserves.
pub(super) const CUT_SHORT: &str = "the run was cut short: ";

/// A run that is taken up.
pub(crate) struct Resume {
    pub(super) folder: RunFolder,
    /// As it was left.
    run: Run,
    redo: Vec<Redo>,
    allow_changed: bool,
    /// True if the server's address is another one each time.
    address_changes: bool,
    /// Held until the session ends.
    _lock: File,
}

impl Resume {
    /// Opens the run that is to go on, if one is, and puts its settings into `session`.
    pub(crate) fn open(args: &ResumeArgs, session: &mut Session) -> anyhow::Result<Option<Resume>> {
        let Some(path) = &args.resume else { return Ok(None) };
        let folder = RunFolder::open(path)?;
        if folder.run_file().file_name().is_none_or(|name| name != "run.json") {
            return Err(Hinted::usage(
                format!("{} is no folder of a run", path.display()),
                "give the folder that holds run.json and the traces",
            )
            .into());
        }
        let lock = folder.lock()?;
        let run = folder.load_run()?;
        if let Some(imported) = &run.imported {
            return Err(Hinted::usage(
                format!("this run was imported from {}: tokometer did not measure it", imported.file),
                "measure one with tokometer run",
            )
            .into());
        }
        if session.output.dry_run {
            return Err(Hinted::usage(
                "--dry-run and --resume exclude each other",
                "leave --dry-run out: the plan of a resumed run is shown before it goes on",
            )
            .into());
        }
        unknown_cells(&args.redo, &run)?;
        // Where the session starts a server of its own, that one has an address already.
        let address_changes = session.url.is_some() && run.simulated;
        session.url = session.url.take().or_else(|| run.target.url.clone());
        session.matrix = restore::matrix(&run, &session.matrix)?;
        let (redo, allow_changed) = (args.redo.clone(), args.allow_changed);
        Ok(Some(Resume { folder, run, redo, allow_changed, address_changes, _lock: lock }))
    }

    /// The run's clock, which went on meanwhile.
    pub(super) fn clock(&self) -> Clock {
        let start = self.run.created_at.as_ref().and_then(|text| text.parse::<jiff::Timestamp>().ok());
        let known = Duration::from_secs_f64(self.run.elapsed_seconds.unwrap_or(0.0).max(0.0));
        let start = start.and_then(|start| u64::try_from(start.as_nanosecond()).ok());
        Clock::resume(known, start.map(|start| SystemTime::UNIX_EPOCH + Duration::from_nanos(start)))
    }

    /// True if nothing is left to measure.
    pub(super) fn is_complete(&self, matrix: &MatrixArgs) -> anyhow::Result<bool> {
        Ok(self.todo(&self.plan(matrix)?).is_empty())
    }

    /// The run as it was left, its state mended if only its end is missing.
    pub(super) fn completed(&self) -> Run {
        let mut run = self.run.clone();
        let cut_short =
            run.cells.iter().any(|cell| matches!(cell.status, Status::Planned | Status::Interrupted));
        if !cut_short {
            run.state = RunState::Finished;
            run.state_reason = None;
        }
        run
    }

    /// The plan of the run: its own rows, whatever the server says of itself now.
    pub(super) fn plan(&self, matrix: &MatrixArgs) -> anyhow::Result<Plan> {
        let not_run = self.run.cells.iter().filter(|cell| cell.status.not_run_by_plan()).cloned().collect();
        let limits = restore::limits(&self.run);
        Ok(tokometer_plan::again(&settings::request(matrix), &limits, not_run)
            .map_err(|error| Hinted::usage(error.to_string(), "the record's settings can't be planned"))?)
    }

    /// What is left to measure, in the order of the plan, each with its round from 0 on.
    pub(super) fn todo(&self, plan: &Plan) -> Vec<(u32, Step)> {
        left::steps(&self.run, &self.folder, &self.redo, plan)
    }

    /// The rows of each repeat that stay, for a run with repeats.
    pub(super) fn rows(&self) -> anyhow::Result<RowsSoFar> {
        left::rows(&self.run, &self.folder)
    }

    /// What the machine did in earlier segments, as far as it can be read.
    pub(super) fn series(&self) -> Option<Telemetry> {
        self.folder.load_series(&self.run).ok().flatten()
    }

    /// Names what earlier segments have read as a piece of the series: the whole is written anew at the end.
    fn keep_series(&self, run: &mut Run) -> anyhow::Result<()> {
        if run.telemetry.is_none() {
            return Ok(());
        }
        if let Some(series) = self.series() {
            let piece = self.folder.save_telemetry_piece(1, &series)?;
            let mut sampling = series.meta.sampling;
            sampling.pieces = vec![piece];
            run.sampling = Some(sampling);
        }
        run.telemetry = None;
        Ok(())
    }

    /// The number of the new segment.
    pub(super) fn segment(&self) -> u32 {
        self.run.breaks.last().map_or(2, |last| last.segment + 1)
    }

    /// The record that goes on: as it was, and what `fresh`, which was made from the server as it is now, differs in.
    pub(super) fn take_up(&self, fresh: &Run, clock: Clock) -> anyhow::Result<Run> {
        let changes = changes::between(&self.run, fresh, self.address_changes);
        self.refuse(changes.deciding())?;
        let mut run = self.run.clone();
        let resumed_seconds = clock.now_ns() as f64 / 1e9;
        let now = settings::wall_time(clock.wall_start() + Duration::from_secs_f64(resumed_seconds));
        let segment = self.segment();
        let how = match run.state {
            RunState::Running => "its process was killed",
            RunState::Interrupted => "the user ended it",
            RunState::Failed => "it failed",
            RunState::DryRun => "it was a plan only",
            RunState::Finished => "it was finished",
        };
        run.remarks.retain(|remark| !remark.starts_with(CUT_SHORT));
        let left =
            run.elapsed_seconds.map_or_else(String::new, |left| format!(" {left:.0} s after its start"));
        let at = now.as_ref().map_or_else(String::new, |now| format!(" at {now}"));
        run.remarks.push(format!(
            "the run was left{left} ({how}) and resumed{at} as segment {segment}: prompts measured from then on \
             have new salts"
        ));
        let differences: Vec<Difference> = changes.all();
        for difference in &differences {
            run.remarks.push(format!("segment {segment}: {}", changes::words(difference)));
        }
        run.breaks.push(Break {
            segment,
            left_state: run.state,
            left_seconds: run.elapsed_seconds,
            resumed_at: now,
            resumed_seconds,
            salt: format!("{}/{segment}", run.id),
            redo: self.redo.iter().map(Redo::words).collect(),
            differences,
        });
        self.keep_series(&mut run)?;
        run.state = RunState::Running;
        run.state_reason = None;
        run.elapsed_seconds = Some(resumed_seconds);
        if run.calibration.is_none() {
            run.calibration.clone_from(&fresh.calibration);
        }
        if fresh.title.is_some() {
            run.title.clone_from(&fresh.title);
        }
        if fresh.note.is_some() {
            run.note.clone_from(&fresh.note);
        }
        Ok(run)
    }

    /// What requests hold is known only once prompts are built.
    pub(super) fn check_requests(&self, run: &mut Run) -> anyhow::Result<()> {
        let difference = |field: &str, before: serde_json::Value, after: serde_json::Value| {
            (!before.is_null() && before != after).then(|| Difference {
                field: field.to_owned(),
                before,
                after,
            })
        };
        let (old, new) = (&self.run.settings, &run.settings);
        let found: Vec<Difference> = [
            difference("settings.request_fields", json!(old.request_fields), json!(new.request_fields)),
            difference("settings.prompt_sizing", json!(old.prompt_sizing), json!(new.prompt_sizing)),
        ]
        .into_iter()
        .flatten()
        .collect();
        self.refuse(&found)?;
        if let Some(last) = run.breaks.last_mut() {
            last.differences.extend(found);
        }
        Ok(())
    }

    fn refuse(&self, differences: &[Difference]) -> anyhow::Result<()> {
        if differences.is_empty() || self.allow_changed {
            return Ok(());
        }
        let list: Vec<String> = differences.iter().map(changes::words).collect();
        Err(Hinted::new(
            format!("this is not what the run measured: {}", list.join("; ")),
            "start the same server in the same way, or resume all the same with --allow-changed",
        )
        .into())
    }

    /// What will be done, in a line.
    pub(super) fn say(&self, run: &Run, plan: &Plan, todo: &[(u32, Step)]) {
        let guess = SpeedGuess::default();
        let seconds = plan.warm_up_seconds(&guess) + plan.seconds_of(todo.iter().copied(), &guess);
        out::say(&format!(
            "resuming {}: {} kept, {} to measure, about {}",
            self.folder.path.display(),
            plan.step_count() - todo.len(),
            todo.len(),
            crate::progress::time(seconds)
        ));
        for difference in run.breaks.last().iter().flat_map(|last| &last.differences) {
            out::say(&format!("  differs: {}", changes::words(difference)));
        }
    }
}

/// Names of cells that the run does not have.
fn unknown_cells(redo: &[Redo], run: &Run) -> anyhow::Result<()> {
    for redo in redo {
        let Redo::Cells(names) = redo else { continue };
        if let Some(name) = names.iter().find(|name| !run.cells.iter().any(|cell| cell.name() == **name)) {
            let known: Vec<String> = run.cells.iter().map(tokometer_record::Cell::name).collect();
            let hint = format!("its cells are {}", known.join(", "));
            return Err(Hinted::usage(format!("the run has no cell {name:?}"), hint).into());
        }
    }
    Ok(())
}
