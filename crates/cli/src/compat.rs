//! A run's numbers by the definitions of llm-inference-bench 0.6.2.

use tokometer_analysis::CompatBuilder;
use tokometer_record::{Run, RunFolder};

use crate::details;
use crate::failure::Hinted;

/// The tables. They need the traces, which are read one at a time.
pub(crate) fn text(folder: &RunFolder, run: &Run) -> anyhow::Result<String> {
    let mut traces = run.cells.iter().flat_map(tokometer_record::Cell::traces);
    let there = |file: &tokometer_record::TraceFile| folder.path.join(&file.file).is_file();
    if !traces.any(there) {
        return Err(Hinted::new(
            "other definitions need the traces of the run, and they are not here",
            "give the folder of a run that was measured by tokometer",
        )
        .into());
    }
    let mut table = CompatBuilder::new(run);
    for cell in &run.cells {
        let trace = details::trace_of(cell).map(|file| folder.load_trace(file)).transpose()?;
        table.add(cell, trace.as_ref());
    }
    Ok(tokometer_report::compat_terminal(&table.finish()))
}
