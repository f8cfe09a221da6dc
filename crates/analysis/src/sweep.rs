//! The entries of a sweep: each from its runs, and side by side.

use std::collections::BTreeMap;

use tokometer_record::comparison::{Comparison, Metric};
use tokometer_record::sweep::{SweepEntry, SweepPage, SweepRate, SweepRun, SweepSummary};
use tokometer_record::{Cell, Phase, Run, Status};

use crate::compare::{CompareOptions, compare};
use crate::error::AnalysisError;
use crate::repeats::combine;

/// An entry of a sweep, and what was measured of it.
#[derive(Debug, Clone, Default)]
pub struct EntryRuns {
    /// Its name.
    pub name: String,
    /// The values of the grid that it stands for, secrets removed.
    pub variables: BTreeMap<String, String>,
    /// Runs that it was to have.
    pub planned: u32,
    /// Its finished runs with their folders, by repeat.
    pub runs: Vec<(SweepRun, Run)>,
    /// Why others are missing.
    pub missing: Vec<String>,
}

/// What a sweep came to.
#[derive(Debug, Clone)]
pub struct SweepResult {
    /// Everything in short.
    pub summary: SweepSummary,
    /// The pages, as `summary` names them: a comparison, and the runs that it was made of. With repeats these are made
    /// of several runs each.
    pub pages: Vec<(Comparison, Vec<Run>)>,
}

/// Lays the entries of a sweep side by side: up to six on one page, more on several that all begin with the base.
///
/// The base is entry number `base`, or where it has no finished run, the first that has one.
pub fn sweep(title: &str, base: usize, entries: &[EntryRuns]) -> Result<SweepResult, AnalysisError> {
    let runs: Vec<Option<Run>> = entries.iter().map(merged).collect();
    let base = Some(base)
        .filter(|base| runs.get(*base).is_some_and(Option::is_some))
        .or_else(|| runs.iter().position(Option::is_some));
    let mut summary = SweepSummary {
        schema: SweepSummary::SCHEMA.to_owned(),
        title: title.to_owned(),
        simulated: runs.iter().flatten().any(|run| run.simulated),
        base: base.map(|base| entries[base].name.clone()),
        entries: entries.iter().zip(&runs).map(|(entry, run)| described(entry, run.as_ref())).collect(),
        pages: Vec::new(),
    };
    let mut pages = Vec::new();
    let Some(base) = base else { return Ok(SweepResult { summary, pages }) };
    let others: Vec<usize> =
        (0..entries.len()).filter(|index| *index != base && runs[*index].is_some()).collect();
    let groups: Vec<&[usize]> = others.chunks(Comparison::MOST_RUNS - 1).collect();
    for (number, group) in groups.iter().enumerate() {
        let members: Vec<usize> = std::iter::once(base).chain(group.iter().copied()).collect();
        let of_page: Vec<Run> = members.iter().filter_map(|index| runs[*index].clone()).collect();
        let comparison = compare(&of_page, &CompareOptions::default())?;
        for (index, against) in group.iter().zip(&comparison.against) {
            let entry = &mut summary.entries[*index];
            let mean = [Metric::TotalRate, Metric::DecodingRate].into_iter().find_map(|metric| {
                against.means.iter().find(|mean| mean.metric == metric && mean.phase == Phase::Decode)
            });
            entry.ratio = mean.cloned();
            entry.ratio_metric = mean.map(|mean| mean.metric);
        }
        let file = match groups.len() {
            1 => "comparison.html".to_owned(),
            _ => format!("comparison-{}.html", number + 1),
        };
        let names = members.iter().map(|index| entries[*index].name.clone()).collect();
        summary.pages.push(SweepPage { file, entries: names });
        pages.push((comparison, of_page));
    }
    Ok(SweepResult { summary, pages })
}

/// The runs of an entry as one: with several, its rows are made over them as those of repeats within a run are.
fn merged(entry: &EntryRuns) -> Option<Run> {
    let ((_, first), more) = entry.runs.split_first()?;
    let mut run = first.clone();
    if more.is_empty() {
        return Some(run);
    }
    run.cells = first
        .cells
        .iter()
        .filter_map(|cell| {
            let place = (cell.phase, cell.context_nominal, cell.concurrency);
            let rows: Vec<(u32, Cell)> = entry
                .runs
                .iter()
                .filter_map(|(which, run)| {
                    let same = |cell: &&Cell| (cell.phase, cell.context_nominal, cell.concurrency) == place;
                    Some((which.repeat, run.cells.iter().find(same)?.clone()))
                })
                .collect();
            combine(&rows)
        })
        .collect();
    let count = entry.runs.len();
    run.title = Some(format!("{} ({count} runs)", entry.name));
    let ids: Vec<&str> = entry.runs.iter().map(|(which, _)| which.id.as_str()).collect();
    run.remarks.push(format!("made of {count} runs: {}", ids.join(", ")));
    Some(run)
}

fn described(entry: &EntryRuns, run: Option<&Run>) -> SweepEntry {
    let cells = run.map_or(&[][..], |run| run.cells.as_slice());
    let rates = || cells.iter().filter_map(rate);
    SweepEntry {
        name: entry.name.clone(),
        variables: entry.variables.clone(),
        planned: entry.planned,
        runs: entry.runs.iter().map(|(run, _)| run.clone()).collect(),
        missing: entry.missing.clone(),
        launch_command: run.and_then(|run| run.launch_command.clone()),
        rows: cells.iter().filter(|cell| !cell.status.not_run_by_plan()).count() as u32,
        valid_rows: cells.iter().filter(|cell| cell.status == Status::Valid).count() as u32,
        fastest: rates().max_by(|one, other| one.total.total_cmp(&other.total)),
        single: rates().filter(|rate| rate.concurrency == 1).min_by_key(|rate| rate.context_nominal),
        ratio: None,
        ratio_metric: None,
    }
}

fn rate(cell: &Cell) -> Option<SweepRate> {
    let rates = cell.throughput.as_ref().filter(|_| cell.status == Status::Valid)?;
    Some(SweepRate {
        context_nominal: cell.context_nominal,
        concurrency: cell.concurrency,
        total: rates.total,
        interval: rates.interval.clone(),
    })
}
