//! A verification for a terminal: the answer, what was found, what nobody can check.

use tokometer_record::Verification;
use tokometer_record::verification::{Finding, Level, Reach};

use super::ink::Style;
use super::{LEAST_WIDTH, Page};
use crate::Terminal;
use crate::number;
use crate::words::clean;

/// Most warnings that are shown; the JSON has them all.
const MOST_WARNINGS: usize = 30;
/// Longest text of a value that is shown.
const MOST_LETTERS: usize = 120;

/// The whole verification.
pub(crate) fn render(verification: &Verification, terminal: Terminal) -> String {
    let width = terminal.width.max(LEAST_WIDTH);
    let mut page = Page { text: String::new(), width, colour: terminal.colour };
    page.verdict(verification);
    page.findings(verification, Level::Failure, usize::MAX);
    page.findings(verification, Level::Warning, MOST_WARNINGS);
    page.not_checked(verification);
    page.text
}

impl Page {
    fn verdict(&mut self, verification: &Verification) {
        let count = |level: Level| verification.of_level(level).count();
        let (failures, warnings) = (count(Level::Failure), count(Level::Warning));
        let (word, style) =
            if verification.passed { ("PASSED", Style::Bold) } else { ("FAILED", Style::Bad) };
        let figures = format!("{}, {}", counted(failures, "failure"), counted(warnings, "warning"));
        self.paragraph(&format!("{word}  {}  {figures}", clean(&verification.title)), 8, style);
        let of = |reach: Reach| verification.cells.iter().filter(|cell| cell.reach == reach).count();
        let compared: u64 = verification.cells.iter().map(|cell| cell.compared).sum();
        let mut parts =
            vec![format!("{} computed again from their traces", counted(of(Reach::Recomputed), "row"))];
        for (reach, words) in [
            (Reach::NotMeasured, "not measured"),
            (Reach::NoTrace, "without a trace at hand"),
            (Reach::BadTrace, "with a trace that is missing, changed or unreadable"),
        ] {
            if of(reach) > 0 {
                parts.push(format!("{} {words}", of(reach)));
            }
        }
        self.paragraph(
            &format!("{}; {} values compared.", parts.join(", "), number::count(compared)),
            0,
            Style::Plain,
        );
    }

    fn findings(&mut self, verification: &Verification, level: Level, most: usize) {
        let found: Vec<&Finding> = verification.of_level(level).collect();
        if found.is_empty() {
            return;
        }
        let (title, style) = match level {
            Level::Failure => ("FAILURES", Style::Bad),
            Level::Warning => ("WARNINGS", Style::Warn),
        };
        self.blank();
        self.paragraph(title, 0, style);
        for finding in found.iter().take(most) {
            let place: Vec<String> =
                [&finding.cell, &finding.path].into_iter().flatten().map(|part| clean(part)).collect();
            let place = if place.is_empty() { "run".to_owned() } else { place.join(" ") };
            let recorded =
                finding.recorded.as_ref().map(|value| format!(" (recorded: {})", short(&value.to_string())));
            self.paragraph(
                &format!("  {place}: {}{}", clean(&finding.text), recorded.unwrap_or_default()),
                4,
                Style::Plain,
            );
        }
        if found.len() > most {
            self.paragraph(&format!("  … {} more; --json has them all", found.len() - most), 4, Style::Dim);
        }
    }

    fn not_checked(&mut self, verification: &Verification) {
        if verification.not_checked.is_empty() {
            return;
        }
        self.blank();
        self.paragraph("NOT CHECKED", 0, Style::Dim);
        let mut by_reason: Vec<(String, Vec<String>)> = Vec::new();
        for one in &verification.not_checked {
            match by_reason.iter_mut().find(|(why, _)| *why == one.why) {
                Some((_, list)) => list.push(clean(&one.what)),
                None => by_reason.push((one.why.clone(), vec![clean(&one.what)])),
            }
        }
        for (why, list) in by_reason {
            self.paragraph(&format!("  {}: {}", list.join(", "), clean(&why)), 4, Style::Dim);
        }
    }
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn short(text: &str) -> String {
    let text = clean(text);
    match text.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
