//! A sweep's summary, as a terminal and a page show it.

use std::collections::BTreeMap;

use tokometer_record::comparison::{GeometricMean, Metric};
use tokometer_record::sweep::{SweepEntry, SweepPage, SweepRate, SweepRun, SweepSummary};
use tokometer_record::{Interval, Phase, RunState};
use tokometer_report::{sweep_page, sweep_terminal};

fn rate(concurrency: u32, total: f64) -> SweepRate {
    let interval = Interval {
        low: total - 4.0,
        high: total + 4.0,
        half_width_relative: 4.0 / total,
        level: 0.95,
        method: "repeats_t".to_owned(),
        scope: "repeats".to_owned(),
    };
    SweepRate { context_nominal: 8192, concurrency, total, interval: Some(interval) }
}

fn entry(name: &str, ratio: Option<f64>) -> SweepEntry {
    SweepEntry {
        name: name.to_owned(),
        variables: BTreeMap::new(),
        planned: 2,
        runs: vec![SweepRun {
            repeat: 1,
            folder: "a-r1".to_owned(),
            id: "id".to_owned(),
            state: RunState::Finished,
        }],
        missing: Vec::new(),
        launch_command: Some("vllm serve <m>".to_owned()),
        rows: 4,
        valid_rows: 3,
        fastest: Some(rate(64, 1234.0)),
        single: Some(rate(1, 99.5)),
        ratio: ratio.map(|ratio| GeometricMean {
            metric: Metric::TotalRate,
            phase: Phase::Decode,
            n: 3,
            ratio,
            interval: Some([ratio - 0.01, ratio + 0.01]),
            method: Some("bootstrap_cells".to_owned()),
        }),
        ratio_metric: ratio.map(|_| Metric::TotalRate),
    }
}

fn summary() -> SweepSummary {
    let mut lost = entry("lost <b>", None);
    lost.runs.clear();
    (lost.fastest, lost.single, lost.valid_rows, lost.rows) = (None, None, 0, 0);
    lost.missing = vec!["repeat 1: the launched server ended before it answered".to_owned()];
    SweepSummary {
        schema: SweepSummary::SCHEMA.to_owned(),
        title: "Parallelism".to_owned(),
        simulated: true,
        base: Some("tp=1".to_owned()),
        entries: vec![entry("tp=1", None), entry("tp=2", Some(1.5)), lost],
        pages: ["comparison-1.html", "comparison-2.html"]
            .map(|file| SweepPage {
                file: file.to_owned(),
                entries: vec!["tp=1".to_owned(), "tp=2".to_owned()],
            })
            .to_vec(),
    }
}

#[test]
fn a_terminal_has_a_row_for_each_entry() {
    let text = sweep_terminal(&summary(), 110, false);
    let row =
        |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
    assert!(text.starts_with("SIMULATED · SWEEP  Parallelism\n"), "{text}");
    for words in ["1 of 2", "3 of 4", "1,234", "±4", "8K × 64", "99.5", "base"] {
        assert!(row("tp=1").contains(words), "{words}: {text}");
    }
    assert!(row("tp=2").contains("1.500×") && row("tp=2").contains("[1.490, 1.510]"), "{text}");
    assert!(row("lost").contains("0 of 2"), "{text}");
    assert!(text.contains("! lost <b>: repeat 1: the launched server ended"), "{text}");
    let narrow = sweep_terminal(&summary(), 50, false);
    assert!(narrow.lines().all(|line| line.chars().count() <= 50), "{narrow}");
}

#[test]
fn the_page_has_all_entries_and_leads_to_the_comparisons() {
    let page = sweep_page(&summary()).unwrap();
    for words in [
        "href=\"comparison-2.html\"",
        "SIMULATED",
        "1.500×",
        "lost &#60;b&#62;",
        "vllm serve &#60;m&#62;",
        "the launched server ended before it answered",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains("lost <b>"));
    assert!(page.contains(SweepSummary::SCHEMA));
}
