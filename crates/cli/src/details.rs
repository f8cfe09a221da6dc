//! The details of a run's cells for its page: from the page that was read, else from the traces beside the record.

use tokometer_record::{Cell, CellDetail, Run, RunFolder, TraceFile};

use crate::out;

/// What is at hand; a trace that cannot be used is told, and its cell goes without. Traces are read one at a time.
pub(crate) fn of(folder: &RunFolder, run: &Run) -> anyhow::Result<Vec<CellDetail>> {
    if let Some(details) = folder.load_details()? {
        return Ok(details);
    }
    let mut details = Vec::new();
    for trace in run.cells.iter().filter_map(trace_of) {
        match folder.load_trace(trace) {
            Ok(trace) => details.push(tokometer_analysis::detail(&trace)),
            Err(error) => out::say(&format!("the page shows this cell without its trace: {error}")),
        }
    }
    Ok(details)
}

/// The cell's trace, or that of the repeat whose figures stand for it.
pub(crate) fn trace_of(cell: &Cell) -> Option<&TraceFile> {
    let represents = || cell.repeats.iter().find(|repeat| repeat.represents)?.trace.as_ref();
    cell.trace.as_ref().or_else(represents)
}
