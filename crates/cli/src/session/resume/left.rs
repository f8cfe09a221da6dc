//! What of a run is measured, and what is left.

use tokometer_analysis::{Context, summarise};
use tokometer_plan::{Plan, Step};
use tokometer_record::{Cell, Phase, Run, RunFolder, Status, Telemetry, TraceFile};

use super::super::measure::RowsSoFar;
use crate::args::resume::Redo;

/// The steps of the plan that have no measurement that stays, in order.
pub(super) fn steps(run: &Run, folder: &RunFolder, redo: &[Redo], plan: &Plan) -> Vec<(u32, Step)> {
    let repeats = plan.request.repeats > 1;
    let is_left = |(round, step): &(u32, Step)| {
        let Some(cell) = row(run, step) else { return true };
        let verdict = if repeats { of_repeat(cell, round + 1) } else { of_cell(cell) };
        match verdict {
            Some((status, trace)) => {
                redo.iter().any(|redo| redo.chooses(cell, status))
                    || trace.is_some_and(|it| !is_there(folder, it))
            }
            None => true,
        }
    };
    plan.all_steps().filter(is_left).collect()
}

/// The rows of each repeat, made again from their traces as `verify` does.
pub(super) fn rows(run: &Run, folder: &RunFolder) -> anyhow::Result<RowsSoFar> {
    let series = folder.load_series(run).ok().flatten();
    let mut rows = RowsSoFar::default();
    for cell in run.cells.iter().filter(|cell| !cell.repeats.is_empty()) {
        let mut of_cell = Vec::new();
        for repeat in &cell.repeats {
            let Some(file) = repeat.trace.as_ref().filter(|file| is_there(folder, file)) else { continue };
            of_cell.push((repeat.repeat, again(run, cell, folder, file, series.as_ref())?));
        }
        rows.insert((cell.phase, cell.context_nominal, cell.concurrency), of_cell);
    }
    Ok(rows)
}

fn again(
    run: &Run,
    cell: &Cell,
    folder: &RunFolder,
    file: &TraceFile,
    series: Option<&Telemetry>,
) -> anyhow::Result<Cell> {
    let trace = folder.load_trace(file)?;
    // Without the series, that of the repeat which stands for the cell, as `verify` has it.
    let machine = match series {
        Some(series) => tokometer_analysis::telemetry::machine(series, &trace),
        None => cell.telemetry.clone(),
    };
    let context = Context {
        telemetry: machine.as_ref().map(Into::into),
        ..Context::of(run, cell.phase, cell.context_nominal)
    };
    let mut row = summarise(&trace, &context);
    if let Some(machine) = machine {
        tokometer_analysis::telemetry::attach(&mut row, machine);
    }
    row.trace = Some(file.clone());
    Ok(row)
}

fn row<'a>(run: &'a Run, step: &Step) -> Option<&'a Cell> {
    let place = match *step {
        Step::Prefill { context, .. } => (Phase::Prefill, context, 1),
        Step::Cell { context, concurrency } => (Phase::Decode, context, concurrency),
    };
    run.cells.iter().find(|cell| (cell.phase, cell.context_nominal, cell.concurrency) == place)
}

/// The verdict of a row that was measured to its end, or that the user skipped; its trace.
fn of_cell(cell: &Cell) -> Option<(Status, Option<&TraceFile>)> {
    match cell.status {
        Status::Planned | Status::Interrupted => None,
        Status::Skipped => Some((Status::Skipped, None)),
        status => Some((status, Some(cell.trace.as_ref()?))),
    }
}

fn of_repeat(cell: &Cell, repeat: u32) -> Option<(Status, Option<&TraceFile>)> {
    if cell.status == Status::Skipped {
        return Some((Status::Skipped, None));
    }
    let found = cell.repeats.iter().find(|one| one.repeat == repeat)?;
    (found.status != Status::Interrupted).then_some((found.status, Some(found.trace.as_ref()?)))
}

/// A trace that the record names and that is not there whole measured nothing.
fn is_there(folder: &RunFolder, file: &TraceFile) -> bool {
    std::fs::metadata(folder.path.join(&file.file)).is_ok_and(|meta| meta.len() == file.bytes)
}
