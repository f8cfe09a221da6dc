//! The end of a sweep: pages, summary, exit code.

use std::path::Path;

use anyhow::Context;
use tokometer_analysis::{EntryRuns, SweepResult};
use tokometer_record::sweep::SweepRun;
use tokometer_record::{Run, SweepSummary};

use super::{Missing, Prepared};
use crate::failure::{self, Hinted};
use crate::out;

/// Name of the summary in a sweep's folder.
const SUMMARY: &str = "sweep.json";
/// Name of the page that has all entries, where one comparison does not hold them.
const INDEX: &str = "index.html";

impl Prepared {
    /// Lays what is there side by side; the exit code that the sweep deserves.
    pub(super) fn finish(&self, missing: Missing, quiet: bool, json: bool) -> anyhow::Result<u8> {
        let entries: Vec<EntryRuns> =
            missing.into_iter().enumerate().map(|(index, missing)| self.entry_runs(index, missing)).collect();
        let lacking = entries.iter().any(|entry| entry.runs.len() < entry.planned as usize);
        let runs = || entries.iter().flat_map(|entry| &entry.runs);
        let unsound = runs().any(|(_, run)| tokometer_analysis::exit_code(run) != 0);
        let SweepResult { summary, pages } =
            tokometer_analysis::sweep(&self.title, self.sweep.base, &entries)?;

        let text = serde_json::to_string_pretty(&summary)?;
        write(&self.folder.join(SUMMARY), &format!("{text}\n"))?;
        for (page, (comparison, runs)) in summary.pages.iter().zip(&pages) {
            write(&self.folder.join(&page.file), &tokometer_report::compare_page(comparison, runs)?)?;
        }
        if summary.pages.len() > 1 {
            write(&self.folder.join(INDEX), &tokometer_report::sweep_page(&summary)?)?;
        }
        let page = main_page(&summary).map(|name| self.folder.join(name));
        if json {
            out::result_line(&text)?;
        } else if quiet {
            if let Some(page) = &page {
                out::result_line(&page.display().to_string())?;
            }
        } else {
            out::say("");
            out::result(&tokometer_report::sweep_terminal(&summary, out::width(), out::colour()))?;
        }
        if !quiet {
            out::say(&format!("summary: {}", self.folder.join(SUMMARY).display()));
            match page {
                Some(page) => out::say(&format!("page:    {}", page.display())),
                None => out::say("no page: fewer than two entries have a finished run"),
            }
        }
        Ok(match (lacking, unsound) {
            (true, _) => failure::NO_RUN,
            (_, true) => failure::UNSOUND,
            _ => 0,
        })
    }

    fn entry_runs(&self, index: usize, missing: Vec<String>) -> EntryRuns {
        let entry = &self.sweep.entries[index];
        let jobs = self.jobs.iter().filter(|job| job.entry == index);
        let mut runs: Vec<(SweepRun, Run)> = jobs
            .filter_map(|job| {
                let part = self.done(&self.found, *job)?;
                let run = SweepRun {
                    repeat: job.repeat,
                    folder: part.folder.clone(),
                    id: part.run.id.clone(),
                    state: part.run.state,
                };
                Some((run, part.run.clone()))
            })
            .collect();
        runs.sort_by_key(|(run, _)| run.repeat);
        EntryRuns {
            name: entry.name.clone(),
            variables: self.entries[index].variables.clone(),
            planned: self.sweep.repeats,
            runs,
            missing,
        }
    }
}

/// The page to begin with; none where nothing is compared.
fn main_page(summary: &SweepSummary) -> Option<&str> {
    match summary.pages.as_slice() {
        [] => None,
        [page] => Some(&page.file),
        _ => Some(INDEX),
    }
}

/// Writes beside its place and renames: a file is whole or not there.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".tmp");
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    written.with_context(|| {
        Hinted::new(format!("cannot write {}", path.display()), "make room, and call it again")
    })
}
