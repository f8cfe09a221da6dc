//! The end of a run: the page, the result, the exit code.

use anyhow::Context;
use tokometer_record::{Run, RunFolder, RunState, Status};

use super::Session;
use crate::failure::{self, Hinted};
use crate::{details, out};

impl Session {
    /// Writes the page and shows the result; the exit code that the run deserves.
    pub(super) fn finish(&self, run: &Run, folder: &RunFolder) -> anyhow::Result<u8> {
        let page = folder.report_file();
        let made = || Ok(tokometer_report::page(run, &details::of(folder, run)?)?);
        let saved = made().and_then(|html: String| {
            folder.save_report(&html).with_context(|| {
                let record = folder.path.display();
                let hint =
                    format!("the record is whole: tokometer report {record} --format html > page.html");
                Hinted::new("the page could not be written", hint)
            })
        });
        // The result of a sweep is the sweep's.
        let alone = self.sweep.is_none();
        if alone && self.output.json {
            out::result_line(&tokometer_report::json(run)?)?;
        } else if alone && !self.output.quiet {
            out::result(&tokometer_report::terminal(run, out::width(), out::colour()))?;
        }
        if !self.output.quiet {
            if let Some(windows) = windows(run) {
                out::say(&windows);
            }
            out::say(&format!("record: {}", folder.run_file().display()));
        }
        saved?;
        if self.output.quiet {
            if alone {
                out::result_line(&page.display().to_string())?;
            }
        } else {
            out::say(&format!("page:   {}", page.display()));
        }
        Ok(tokometer_analysis::exit_code(run))
    }

    /// Ends a run that could not go on (a full disk, a server that went away): saves and shows what was
    /// measured, and then tells the error.
    ///
    /// Method section 8 has no code of its own for this. Once a cell was reached there is a run, with cells
    /// that are neither valid nor left out by plan: 3. Before that the run could not be made: 1.
    pub(super) fn end_early(&self, run: &mut Run, folder: &RunFolder, error: &anyhow::Error) -> u8 {
        run.state = RunState::Failed;
        run.state_reason = Some(format!("{error:#}"));
        let reached = |status: Status| status != Status::Planned && !status.not_run_by_plan();
        let reached = run.cells.iter().any(|cell| reached(cell.status));
        // Whatever fails now, the first error is the one to tell.
        let saved = folder.save_run(run).is_ok();
        if saved {
            super::machine::tidy(run, folder);
        }
        let shown = saved && reached && self.finish(run, folder).is_ok();
        let code = failure::print(error);
        if reached && !shown {
            out::say(&format!("what was measured before is in {}", folder.path.display()));
        }
        if reached { failure::UNSOUND } else { code }
    }
}

/// How long the windows of a run were in all: what adaptive windows save, and what repeats cost.
fn windows(run: &Run) -> Option<String> {
    let seconds: Vec<f64> = run
        .cells
        .iter()
        .flat_map(|cell| {
            let repeats = cell.repeats.iter().filter_map(|repeat| repeat.window.as_ref());
            // The row of a cell with repeats shows one of their windows.
            cell.window.iter().filter(|_| cell.repeats.is_empty()).chain(repeats)
        })
        .map(|window| window.seconds)
        .collect();
    let shortest = seconds.iter().copied().min_by(f64::total_cmp)?;
    let longest = seconds.iter().copied().max_by(f64::total_cmp)?;
    let each = match (seconds.len(), longest - shortest < 0.05) {
        (1, _) => String::new(),
        (_, true) => format!(" of {shortest:.1} s"),
        (_, false) => format!(" of {shortest:.1} to {longest:.1} s"),
    };
    let sum: f64 = seconds.iter().sum();
    Some(format!("windows: {sum:.1} s in all, {}{each}", out::count(seconds.len(), "window")))
}
