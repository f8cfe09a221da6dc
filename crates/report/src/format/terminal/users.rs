//! Users within limits, for a terminal.

use tokometer_record::context_label;
use tokometer_record::reanalysis::{Reanalysis, SloCell};

use super::ink::Style;
use super::{LEAST_WIDTH, Page, compare};
use crate::Terminal;
use crate::number;

/// The answer, and the counts that it rests on; nothing where no limits were given.
pub(crate) fn render(result: &Reanalysis, terminal: Terminal) -> String {
    let width = terminal.width.max(LEAST_WIDTH);
    let mut page = Page { text: String::new(), width, colour: terminal.colour };
    let Some(users) = &result.users else { return String::new() };
    let share = number::plain(users.level.share * 100.0);
    let title = format!(
        "USERS  at {}, kept by {share} % of the requests with 95 % confidence",
        compare::limits(users.level)
    );
    page.blank();
    page.paragraph(&title, 0, Style::Bold);
    for context in &users.contexts {
        let Some(answer) = context.runs.first() else { continue };
        let entry = compare::served(answer);
        let label = context_label(context.context_nominal);
        let aside = entry.below.map(|below| format!("  {below}")).unwrap_or_default();
        page.paragraph(&format!("  {label:<8}{}{aside}", entry.text), 10, Style::Plain);
        let of_context = |cell: &&SloCell| cell.context_nominal == context.context_nominal;
        let counts: Vec<String> = result
            .slo_cells
            .iter()
            .filter(of_context)
            .map(|cell| counts(cell).replace(' ', "\u{a0}"))
            .collect();
        if !counts.is_empty() {
            page.paragraph(&format!("          {}", counts.join(" · ")), 10, Style::Dim);
        }
    }
    page.text
}

/// `× 8: 24 of 24 (≥ 88 %)`.
fn counts(cell: &SloCell) -> String {
    let bound = cell
        .lower_bound
        .map(|bound| format!(" (≥ {} %)", number::fixed(bound * 100.0, 0)))
        .unwrap_or_default();
    format!("× {}: {} of {}{bound}", cell.concurrency, cell.kept, cell.requests)
}
