//! A sweep for a terminal: a row for each entry, what is missing, where the pages are.

use tokometer_record::SweepSummary;

use super::grid::{self, Entry, Grid};
use super::ink::Style;
use super::{LEAST_WIDTH, Page};
use crate::Terminal;
use crate::view::sweep::{EntryRow, RateText, SweepView};

/// The whole summary.
pub(crate) fn render(summary: &SweepSummary, terminal: Terminal) -> String {
    let view = SweepView::of(summary);
    let width = terminal.width.max(LEAST_WIDTH);
    let mut page = Page { text: String::new(), width, colour: terminal.colour };
    let simulated = if view.simulated { "SIMULATED · " } else { "" };
    page.paragraph(&format!("{simulated}SWEEP  {}", view.title), 0, Style::Bold);
    let lines = table(&view).lines(width, terminal.colour);
    page.lines(&lines);
    for row in &view.rows {
        for why in &row.missing {
            page.paragraph(&format!("! {}: {why}", row.name), 2, Style::Warn);
        }
    }
    let legend = "Rates are tok/s over all requests, of valid cells. ÷ base is the geometric mean over paired decode cells.";
    page.paragraph(legend, 0, Style::Dim);
    page.text
}

fn table(view: &SweepView) -> Grid {
    let rate = |rate: &RateText| {
        let beside = [rate.plus_minus.as_str(), rate.place.as_str()];
        let beside = beside.iter().filter(|text| !text.is_empty()).copied().collect::<Vec<_>>().join(" at ");
        Entry { below: (!beside.is_empty()).then_some(beside), ..Entry::plain(&rate.value) }
    };
    let ratio = |row: &EntryRow| {
        if row.is_base {
            return Entry::dim("base");
        }
        let below = (!row.ratio_interval.is_empty()).then(|| row.ratio_interval.clone());
        Entry { below, ..Entry::plain(&row.ratio) }
    };
    Grid {
        title: None,
        corner: ("entry".to_owned(), String::new()),
        head: ["runs", "valid rows", "fastest", "one request", "÷ base"].map(str::to_owned).to_vec(),
        rows: view
            .rows
            .iter()
            .map(|row| grid::Row {
                label: row.name.clone(),
                aside: String::new(),
                entries: vec![
                    Entry::plain(&row.runs),
                    Entry::plain(&row.valid),
                    rate(&row.fastest),
                    rate(&row.single),
                    ratio(row),
                ],
            })
            .collect(),
    }
}
