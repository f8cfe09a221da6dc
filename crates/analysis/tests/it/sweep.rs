//! Entries of a sweep: from their runs, and side by side.

use tokometer_analysis::{EntryRuns, sweep};
use tokometer_record::comparison::Metric;
use tokometer_record::sweep::SweepRun;
use tokometer_record::{Cell, Run, RunState, Status};

use crate::compare::{decode, run};

/// An entry with a run for each of `rates`, of one request and eight.
fn entry(name: &str, rates: &[f64]) -> EntryRuns {
    let runs = rates.iter().zip(1..).map(|(rate, repeat)| {
        let id = format!("{name}-{repeat}");
        let cells = vec![decode(8192, 1, *rate, 0.001), decode(8192, 8, 6.0 * rate, 0.001)];
        let folder = format!("{name}-r{repeat}");
        (SweepRun { repeat, folder, id: id.clone(), state: RunState::Finished }, run(&id, cells))
    });
    EntryRuns {
        name: name.to_owned(),
        planned: rates.len() as u32,
        runs: runs.collect(),
        ..EntryRuns::default()
    }
}

fn total(run: &Run, place: usize) -> f64 {
    run.cells[place].throughput.as_ref().unwrap().total
}

#[test]
fn six_entries_have_one_page_and_more_have_several_that_begin_with_the_base() {
    let entries = |count: usize| -> Vec<EntryRuns> {
        (0..count).map(|index| entry(&format!("e{index}"), &[100.0 + index as f64])).collect()
    };
    let six = sweep("six", 0, &entries(6)).unwrap();
    assert_eq!(six.summary.pages.len(), 1);
    assert_eq!(six.summary.pages[0].file, "comparison.html");
    assert_eq!(six.pages[0].1.len(), 6);

    let twelve = sweep("twelve", 3, &entries(12)).unwrap();
    let pages: Vec<(&str, Vec<&str>)> = twelve
        .summary
        .pages
        .iter()
        .map(|page| (page.file.as_str(), page.entries.iter().map(String::as_str).collect()))
        .collect();
    assert_eq!(
        pages,
        [
            ("comparison-1.html", vec!["e3", "e0", "e1", "e2", "e4", "e5"]),
            ("comparison-2.html", vec!["e3", "e6", "e7", "e8", "e9", "e10"]),
            ("comparison-3.html", vec!["e3", "e11"]),
        ]
    );
    assert_eq!(twelve.summary.base.as_deref(), Some("e3"));
    for (index, entry) in twelve.summary.entries.iter().enumerate() {
        let ratio = entry.ratio.as_ref().map(|mean| mean.ratio);
        let expected = (index != 3).then(|| (100.0 + index as f64) / 103.0);
        assert_eq!(ratio.is_some(), expected.is_some(), "{}", entry.name);
        assert!(ratio.zip(expected).is_none_or(|(found, expected)| (found - expected).abs() < 1e-9));
        assert_eq!(entry.ratio_metric, ratio.map(|_| Metric::TotalRate));
    }
}

#[test]
fn several_runs_of_an_entry_are_one_with_intervals_over_them() {
    let result =
        sweep("repeats", 0, &[entry("a", &[99.0, 101.0, 100.0]), entry("b", &[199.0, 201.0, 200.0])]);
    let result = result.unwrap();
    let [a, b] = result.summary.entries.as_slice() else { panic!() };
    let fastest = a.fastest.as_ref().unwrap();
    assert_eq!((fastest.concurrency, (fastest.total - 0.99 * 600.0).abs() < 1e-9), (8, true));
    // The spread of the runs, with Student's t of two degrees of freedom, not that within one.
    let interval = fastest.interval.as_ref().unwrap();
    assert_eq!(interval.scope, "repeats");
    assert!(
        (interval.high - fastest.total - 4.302_652_7 * 0.99 * 6.0 / 3.0_f64.sqrt()).abs() < 1e-3,
        "{interval:?}"
    );
    assert_eq!(a.single.as_ref().unwrap().concurrency, 1);
    assert!((b.ratio.as_ref().unwrap().ratio - 2.0).abs() < 1e-9);
    let (comparison, runs) = &result.pages[0];
    assert_eq!(comparison.against[0].pairs[0].metrics[0].method.as_deref(), Some("welch_log_repeats"));
    assert!(runs[0].title.as_ref().unwrap().contains("3 runs"));
    assert!(runs[0].remarks.iter().any(|remark| remark.contains("a-1, a-2, a-3")));
    assert!((total(&runs[1], 0) - 0.99 * 200.0).abs() < 1e-9);
}

#[test]
fn an_entry_without_a_run_leaves_a_gap() {
    let mut lost = entry("lost", &[]);
    lost.planned = 1;
    lost.missing = vec!["repeat 1: it died".to_owned()];
    let one = sweep("one", 0, &[lost.clone(), entry("a", &[100.0])]).unwrap();
    assert_eq!((one.summary.base.as_deref(), one.pages.len()), (Some("a"), 0));
    assert_eq!(one.summary.entries[0].missing, ["repeat 1: it died"]);
    assert_eq!((one.summary.entries[0].rows, one.summary.entries[1].valid_rows), (0, 2));
    let none = sweep("none", 0, &[lost]).unwrap();
    assert_eq!((none.summary.base, none.pages.len()), (None, 0));
}

#[test]
fn what_is_not_valid_is_no_rate() {
    let mut entry = entry("a", &[100.0]);
    let cells: &mut Vec<Cell> = &mut entry.runs[0].1.cells;
    cells[1].status = Status::Unstable;
    let summary = sweep("a", 0, &[entry]).unwrap().summary;
    assert_eq!(summary.entries[0].fastest.as_ref().unwrap().concurrency, 1);
    assert_eq!((summary.entries[0].rows, summary.entries[0].valid_rows), (2, 1));
}
