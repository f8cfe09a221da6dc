//! The plan, step by step: measure, save, judge, show.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context;
use tokometer_analysis::Context as Judging;
use tokometer_load::{CellSpec, Conductor, PrefillSpec};
use tokometer_plan::{SpeedGuess, Step};
use tokometer_record::{
    Cell, CellTrace, Failure, FailureKind, Outcome, Phase, Prompts as PromptsKind, Run, RunState, Status,
};

use super::prompts::{PREFILL_OUTPUT, Prompts};
use super::{Site, adaptive};
use crate::failure::Hinted;
use crate::progress::{self, Progress};

/// Between two cells.
const PAUSE: Duration = Duration::from_secs(2);
/// Decode before the first measurement.
const WARM_UP: Duration = Duration::from_secs(3);
/// Output of the request that calibrates a server which counts only whole responses.
const CALIBRATION_OUTPUT: u64 = 256;

/// Output of requests that only read their prompt, where one token shows nothing.
const HIDDEN_OUTPUT: u64 = 8;

/// Everything that measuring needs.
pub(super) struct Measuring<'a> {
    pub(super) conductor: &'a Conductor,
    pub(super) prompts: &'a Prompts,
    pub(super) site: &'a Site,
    pub(super) progress: &'a Progress,
    /// True if windows end by what they find.
    pub(super) adaptive: bool,
    /// Output of requests that only read their prompt: 1, or 8 once one token has shown nothing.
    pub(super) prefill_output: std::cell::Cell<u64>,
    /// Of a run with repeats: the rows that each cell has so far, with the number of their round from 1 on.
    pub(super) rows: RefCell<RowsSoFar>,
}

/// By phase, context and concurrency.
type RowsSoFar = HashMap<(Phase, u64, u32), Vec<(u32, Cell)>>;

impl Measuring<'_> {
    /// Runs every step. `run` holds what was measured whatever happens; an error is one of this machine (a
    /// full disk) or of a server that went away.
    pub(super) async fn all(&self, run: &mut Run) -> anyhow::Result<()> {
        Box::pin(self.warm_up()).await?;
        let mut guess = SpeedGuess::default();
        let plan = &self.site.plan;
        let (of, repeats) = (plan.step_count(), plan.request.repeats);
        let steps =
            (0..repeats).flat_map(|round| plan.round(round).into_iter().map(move |step| (round, step)));
        let mut reached = 0;
        for (done, (round, step)) in steps.enumerate() {
            if self.interrupted() {
                break;
            }
            let repeat = (repeats > 1).then_some(round + 1);
            let left = plan.remaining_seconds(done, &guess);
            let measuring = Box::pin(self.step(&step, repeat));
            let trace = self.progress.during(&label(&step), done, of, left, measuring).await;
            self.note_hidden(run);
            let cell = self.keep(run, &trace)?;
            learn(&mut guess, &cell);
            reached = done + 1;
            self.progress.finished(&cell, repeat, reached, of);
            if cell.status == Status::Error {
                self.still_there(run).await?;
            }
            if reached < of && matches!(step, Step::Cell { .. }) {
                self.conductor.pause(PAUSE).await;
            }
        }
        let cut_short = |cell: &Cell| matches!(cell.status, Status::Planned | Status::Interrupted);
        let complete = reached == of && !run.cells.iter().any(cut_short);
        if !complete && repeats > 1 {
            run.remarks.push(format!(
                "the run was cut short: {reached} of {of} measurements were reached, so cells have fewer than the \
                 {repeats} repeats that were asked"
            ));
        }
        run.state = if complete { RunState::Finished } else { RunState::Interrupted };
        Ok(())
    }

    fn interrupted(&self) -> bool {
        *self.conductor.interrupt.borrow()
    }

    fn note_hidden(&self, run: &mut Run) {
        let remark = format!(
            "one output token showed nothing (held back by a parser, or part of a character): prefill samples ask \
             for {HIDDEN_OUTPUT} from then on, and their TTFT is that of the first one that shows"
        );
        if self.prefill_output.get() == HIDDEN_OUTPUT && !run.remarks.contains(&remark) {
            run.remarks.push(remark);
        }
    }

    /// A short request, one prefill, some decode: thrown away. What fails here would fail everywhere.
    async fn warm_up(&self) -> anyhow::Result<()> {
        let Some(plan) = self.site.plan.warm_up() else { return Ok(()) };
        let work = async {
            let short = self.prompts.short_request(64);
            let prefill = self.prompts.cold(plan.prefill_tokens, PREFILL_OUTPUT);
            for request in [short, prefill] {
                let trace = self.conductor.run_single(&request).await;
                if hides_first_token(&trace) {
                    self.prefill_output.set(HIDDEN_OUTPUT);
                    continue;
                }
                if let Some(failure) = first_failure(&trace) {
                    return Some(failure);
                }
            }
            let request = self.prompts.cold(plan.decode_context?, self.site.plan.request.max_output_tokens);
            self.conductor.warm_up(&request, WARM_UP).await
        };
        let left = self.site.plan.estimate_seconds(&SpeedGuess::default());
        let failure = self.progress.during("warm-up", 0, self.site.plan.steps.len(), left, work).await;
        match failure {
            Some(failure) if !self.interrupted() => Err(Hinted::new(
                format!("the warm-up failed: {}", failure.message),
                "the server answered probes but not a request of this run; its log may say why",
            )
            .into()),
            _ => Ok(()),
        }
    }

    async fn step(&self, step: &Step, repeat: Option<u32>) -> CellTrace {
        match *step {
            Step::Prefill { context, prompt_tokens } => {
                let trace = self.prefill(context, prompt_tokens, self.prefill_output.get(), repeat).await;
                if self.prefill_output.get() < HIDDEN_OUTPUT && hides_first_token(&trace) {
                    self.prefill_output.set(HIDDEN_OUTPUT);
                    return self.prefill(context, prompt_tokens, HIDDEN_OUTPUT, repeat).await;
                }
                trace
            }
            Step::Cell { context, concurrency } => {
                self.conductor.run_cell(&self.cell(context, concurrency, repeat)).await
            }
        }
    }

    async fn prefill(&self, context: u64, prompt_tokens: u64, output: u64, repeat: Option<u32>) -> CellTrace {
        let repeats = self.site.plan.request.prefill_repeats;
        let spec = PrefillSpec {
            context_nominal: context,
            repeat,
            max_output_tokens: output,
            requests: (0..repeats).map(|_| self.prompts.cold(prompt_tokens, output)).collect(),
        };
        self.conductor.run_prefill(&spec).await
    }

    fn cell(&self, context: u64, concurrency: u32, repeat: Option<u32>) -> CellSpec {
        let asked = &self.site.plan.request;
        let prompts = match asked.prompts {
            PromptsKind::Shared => vec![self.prompts.shared(context)],
            PromptsKind::Unique => self.prompts.unique(context, concurrency, asked.cold),
        };
        let with =
            |output| prompts.iter().map(|prompt| self.prompts.request(prompt, output)).collect::<Vec<_>>();
        CellSpec {
            context_nominal: context,
            concurrency,
            max_output_tokens: asked.max_output_tokens,
            duration: Duration::from_secs_f64(asked.duration_seconds),
            adaptive: self.adaptive.then(|| adaptive::windows(asked.duration_seconds)),
            repeat,
            requests: with(asked.max_output_tokens),
            scouts: if asked.cold { Vec::new() } else { with(self.prefill_output.get()) },
            calibration: Some(self.prompts.request(&prompts[0], CALIBRATION_OUTPUT)),
            at_end: asked.at_end,
        }
    }

    /// Saves the trace, judges the measurement and, with repeats, its cell, saves the record: in this order, so
    /// that the record never names a file that is not there.
    fn keep(&self, run: &mut Run, trace: &CellTrace) -> anyhow::Result<Cell> {
        let meta = &trace.meta;
        let machine = self.site.observed.over(trace);
        let judging = Judging {
            telemetry: machine.as_ref().map(Into::into),
            ..Judging::of(run, meta.phase, meta.context_nominal)
        };
        let mut cell = tokometer_analysis::summarise(trace, &judging);
        if let Some(machine) = machine {
            tokometer_analysis::telemetry::attach(&mut cell, machine);
        }
        let saved = self.site.folder.save_trace(trace);
        match &saved {
            Ok(file) => cell.trace = Some(file.clone()),
            Err(error) => {
                cell.unknown.insert("trace".to_owned(), error.to_string());
            }
        }
        let key = |cell: &Cell| (cell.phase, cell.context_nominal, cell.concurrency);
        if let Some(row) = run.cells.iter_mut().find(|other| key(other) == key(&cell)) {
            *row = match trace.meta.repeat {
                None => cell.clone(),
                Some(repeat) => {
                    let mut rows = self.rows.borrow_mut();
                    let rows = rows.entry(key(&cell)).or_default();
                    rows.push((repeat, cell.clone()));
                    tokometer_analysis::combine(rows).unwrap_or_else(|| cell.clone())
                }
            };
        }
        self.site.observed.save_piece(run, &self.site.folder);
        // A process that is killed later leaves the time until here.
        run.elapsed_seconds = Some(self.conductor.clock.now_ns() as f64 / 1e9);
        let unsaved = || {
            let name = progress::name(cell.phase, cell.context_nominal, cell.concurrency);
            let hint = "make room, or give another folder with --out, and run again; finished cells are kept";
            Hinted::new(format!("{name} was measured, but could not be saved"), hint)
        };
        self.site.folder.save_run(run).with_context(unsaved)?;
        saved.with_context(unsaved)?;
        Ok(cell)
    }

    /// After an error: ends the run if nothing answers any more, instead of failing cell by cell.
    async fn still_there(&self, run: &mut Run) -> anyhow::Result<()> {
        for _ in 0..3 {
            if self.site.server.control.get("/v1/models", Duration::from_secs(5)).await.is_ok() {
                return Ok(());
            }
            if !self.conductor.pause(Duration::from_secs(2)).await {
                return Ok(());
            }
        }
        run.remarks.push("the server stopped answering during the run".to_owned());
        Err(Hinted::new(
            "the server stopped answering; the run ends here",
            "start it again and look at its log: it may have run out of memory",
        )
        .into())
    }
}

/// True if a request ended well and yet showed nothing: a parser held its token back, or it was part of a
/// character.
fn hides_first_token(trace: &CellTrace) -> bool {
    let shown = |request: u32| trace.events.iter().any(|event| event.request == request && event.payload);
    let bare = |failure: &Option<Failure>| failure.as_ref().is_none_or(|it| it.kind == FailureKind::NoToken);
    trace.requests.iter().any(|row| bare(&row.failure) && row.outcome != Outcome::Cut && !shown(row.request))
}

fn first_failure(trace: &CellTrace) -> Option<Failure> {
    trace.requests.iter().find_map(|row| row.failure.clone()).or_else(|| trace.meta.failure.clone())
}

fn label(step: &Step) -> String {
    match *step {
        Step::Prefill { context, .. } => progress::name(Phase::Prefill, context, 1),
        Step::Cell { context, concurrency } => progress::name(Phase::Decode, context, concurrency),
    }
}

/// Better figures for the time that is left.
fn learn(guess: &mut SpeedGuess, cell: &Cell) {
    match cell.phase {
        Phase::Prefill => {
            if let Some(rate) = cell.prefill_rate {
                guess.prefill_rate = rate;
            }
        }
        Phase::Decode => {
            if let Some(rate) = cell.per_request_rate.as_ref().and_then(|rate| rate.p50) {
                guess.per_request_rate = rate;
            }
        }
    }
}
