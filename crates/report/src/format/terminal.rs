//! A table for a terminal: the answers, the prefill row, the decode matrix, footnotes.

pub(crate) mod compare;
mod grid;
mod ink;
pub(crate) mod users;
pub(crate) mod verify;

use tokometer_record::{Run, Status};

use super::Terminal;
use crate::number;
use crate::view::View;
use crate::view::matrix::{Figures, Matrix, MatrixCell, Median};
use crate::view::notes::{Mark, Note};
use crate::view::prefill::{Prefill, PrefillRow};
use crate::words::short_word;
use grid::{Entry, Grid, Line};
use ink::Style;

/// Narrowest terminal that tables are made for; narrower ones wrap by themselves.
const LEAST_WIDTH: usize = 40;
/// A space that lines are not broken at; printed as a plain one.
const NO_BREAK: &str = "\u{a0}";
/// Columns between tables side by side.
const BETWEEN: usize = 4;
/// Most lines that a flag's footnote takes; the page has them all.
const FLAG_LINES: usize = 6;

/// The whole report.
pub(crate) fn render(run: &Run, terminal: Terminal) -> String {
    let view = View::of(run);
    let width = terminal.width.max(LEAST_WIDTH);
    let mut page = Page { text: String::new(), width, colour: terminal.colour };
    page.heading(&view);
    page.answers(&view);
    let simulated = if view.simulated { "SIMULATED · " } else { "" };
    page.prefill(&view.prefill, simulated);
    page.decode(&view.matrix, simulated);
    page.notes(&view);
    page.text
}

/// What is written so far.
struct Page {
    text: String,
    width: usize,
    colour: bool,
}

impl Page {
    fn heading(&mut self, view: &View) {
        self.paragraph(&view.title, 0, Style::Bold);
        self.paragraph(&view.subtitle.join(" · "), 0, Style::Plain);
        let badges: Vec<String> = view.badges.iter().map(|badge| badge.text.replace(' ', NO_BREAK)).collect();
        self.paragraph(&badges.join(" · "), 0, Style::Dim);
        for line in view.note.iter().flat_map(|note| note.lines()) {
            self.paragraph(line, 0, Style::Plain);
        }
        for remark in &view.remarks {
            self.paragraph(&format!("! {remark}"), 2, Style::Warn);
        }
    }

    fn answers(&mut self, view: &View) {
        let answers = &view.answers;
        if answers.headlines.is_empty() {
            return;
        }
        self.blank();
        let figures: Vec<String> = answers
            .headlines
            .iter()
            .map(|headline| {
                let half = headline.plus_minus.as_deref().map(|half| format!(" ±{half}")).unwrap_or_default();
                format!("{}{half} {}", headline.value, headline.unit)
            })
            .collect();
        let widest = figures.iter().map(|figure| ink::width(figure)).max().unwrap_or(0);
        let title = answers.headlines.iter().map(|headline| headline.title.len() + 1).max();
        let title = title.unwrap_or(0).max(9);
        for (headline, figure) in answers.headlines.iter().zip(&figures) {
            let space = " ".repeat(widest - ink::width(figure));
            self.paragraph(
                &format!("{:<title$}{space}{figure}  {}", headline.title, headline.place),
                title,
                Style::Plain,
            );
        }
        if !answers.users.is_empty() {
            let served: Vec<String> =
                answers.users.iter().map(|row| format!("{}{NO_BREAK}{}", row.context, row.most)).collect();
            let limits = format!(
                "at ≥ {} tok/s each and TTFT ≤ {} s (medians)",
                answers.least_rate, answers.most_ttft_s
            );
            self.paragraph(
                &format!("{:<title$}{limits}: {}", "Users", served.join(" · ")),
                title,
                Style::Plain,
            );
        }
    }

    fn prefill(&mut self, prefill: &Prefill, simulated: &str) {
        if prefill.rows.is_empty() {
            return;
        }
        self.blank();
        let made_of = prefill.made_of.map(|made_of| format!("{made_of} · ")).unwrap_or_default();
        self.paragraph(&format!("{simulated}PREFILL  {made_of}{}", prefill.mode), 0, Style::Bold);
        let lines = prefill_grid(prefill).lines(self.width, self.colour);
        self.lines(&lines);
    }

    fn decode(&mut self, matrix: &Matrix, simulated: &str) {
        if matrix.rows.is_empty() {
            return;
        }
        self.blank();
        let half = if matrix.has_intervals {
            format!(" ± 95 % interval {}", matrix.interval_scope)
        } else {
            String::new()
        };
        self.paragraph(
            &format!("{simulated}DECODE  total tok/s{half} · rows: context, columns: requests at once"),
            0,
            Style::Bold,
        );
        let lines = total_grid(matrix).lines(self.width, self.colour);
        self.lines(&lines);
        if !matrix.rows.iter().flat_map(|row| row.cells.iter().flatten()).any(|cell| cell.figures.is_some()) {
            return;
        }
        if matrix.has_speculation {
            self.blank();
            let title = format!(
                "{simulated}SPECULATIVE DECODING tokens per step (verify steps/s), by the server's figures"
            );
            let lines = speculation_grid(matrix, title).lines(self.width, self.colour);
            self.lines(&lines);
        }
        let n = if matrix.has_counts { "median (n)" } else { "median, n not in the record" };
        let ttft = median_grid(matrix, format!("{simulated}TTFT ms, {n}"), |figures| figures.ttft.as_ref());
        let gap = median_grid(matrix, format!("{simulated}TIME BETWEEN TOKENS ms, {n}"), |figures| {
            figures.gap.as_ref()
        });
        let (left, right) = (ttft.lines(self.width, self.colour), gap.lines(self.width, self.colour));
        let widest = |lines: &[Line]| lines.iter().map(|line| line.width).max().unwrap_or(0);
        self.blank();
        if left.len() == right.len() && widest(&left) + BETWEEN + widest(&right) <= self.width {
            let indent = widest(&left) + BETWEEN;
            for (one, other) in left.iter().zip(&right) {
                self.text.push_str(&one.text);
                self.text.push_str(&" ".repeat(indent - one.width));
                self.text.push_str(&other.text);
                self.end_line();
            }
        } else {
            self.lines(&left);
            self.blank();
            self.lines(&right);
        }
    }

    fn notes(&mut self, view: &View) {
        self.blank();
        for note in &view.notes {
            self.note(note);
        }
        if let Some(foreign) = &view.foreign_method {
            self.paragraph(foreign, 0, Style::Dim);
        }
        self.paragraph(
            "K is 1024 tokens in contexts and 1000 in rates. Only valid cells show figures.",
            0,
            Style::Dim,
        );
    }

    fn note(&mut self, note: &Note) {
        let mark = if note.raised.is_empty() { &note.mark } else { note.raised };
        let where_ = if note.everywhere { " (every row with figures)" } else { "" };
        self.paragraph(&format!("{mark} {}{where_}. {}", note.title, note.meaning), 2, Style::Plain);
        let most = if note.flag { FLAG_LINES } else { usize::MAX };
        for group in note.groups.iter().take(most) {
            let cells = group.cells.join(", ");
            let text = if group.text.is_empty() { cells } else { format!("{cells}: {}", group.text) };
            self.paragraph(&format!("  {text}"), 4, Style::Dim);
        }
        if note.groups.len() > most {
            let rest =
                format!("  … {} more; the page and the record have them all", note.groups.len() - most);
            self.paragraph(&rest, 4, Style::Dim);
        }
    }

    /// Text over as many lines as it takes; those after the first are set in by `hang`.
    fn paragraph(&mut self, text: &str, hang: usize, style: Style) {
        for line in ink::wrap(text, self.width, hang) {
            self.text.push_str(&ink::paint(&line.replace(NO_BREAK, " "), style, self.colour));
            self.end_line();
        }
    }

    fn lines(&mut self, lines: &[Line]) {
        for line in lines {
            self.text.push_str(&line.text);
            self.end_line();
        }
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    fn end_line(&mut self) {
        let end = self.text.trim_end_matches(' ').len();
        self.text.truncate(end);
        self.text.push('\n');
    }
}

fn total_grid(matrix: &Matrix) -> Grid {
    matrix_grid(matrix, None, |cell| match &cell.figures {
        Some(figures) => Entry {
            text: figures.total.clone(),
            below: figures.plus_minus.as_ref().map(|half| format!("±{half}")),
            marks: raised(&cell.marks),
            style: Style::Heat(figures.step),
            ..Entry::default()
        },
        None => no_number(cell.status, cell.glyph(), raised(&cell.marks)),
    })
}

fn median_grid(matrix: &Matrix, title: String, median: fn(&Figures) -> Option<&Median>) -> Grid {
    matrix_grid(matrix, Some(title), |cell| match &cell.figures {
        Some(figures) => match median(figures) {
            Some(median) => Entry {
                text: median.value.clone(),
                below: median.n.as_ref().map(|n| format!("({n})")),
                ..Entry::default()
            },
            None => Entry::plain(number::NONE),
        },
        None => Entry { text: cell.glyph().to_owned(), style: Style::Dim, ..Entry::default() },
    })
}

fn speculation_grid(matrix: &Matrix, title: String) -> Grid {
    matrix_grid(matrix, Some(title), |cell| match &cell.figures {
        Some(Figures { speculation: Some((length, steps)), .. }) => Entry {
            text: length.clone(),
            below: steps.as_ref().map(|steps| format!("({steps})")),
            ..Entry::default()
        },
        Some(_) => Entry::plain(number::NONE),
        None => Entry { text: cell.glyph().to_owned(), style: Style::Dim, ..Entry::default() },
    })
}

fn matrix_grid(matrix: &Matrix, title: Option<String>, entry: impl Fn(&MatrixCell) -> Entry) -> Grid {
    Grid {
        title,
        corner: ("context".to_owned(), "tokens".to_owned()),
        head: matrix.columns.iter().map(u32::to_string).collect(),
        rows: matrix
            .rows
            .iter()
            .map(|row| grid::Row {
                label: row.label.clone(),
                aside: row.tokens.clone().unwrap_or_default(),
                entries: row
                    .cells
                    .iter()
                    .map(|cell| cell.as_ref().map_or_else(|| Entry::plain(number::NONE), &entry))
                    .collect(),
            })
            .collect(),
    }
}

fn prefill_grid(prefill: &Prefill) -> Grid {
    let row = |label: &str, entry: fn(&PrefillRow) -> Entry| grid::Row {
        label: label.to_owned(),
        aside: String::new(),
        entries: prefill.rows.iter().map(entry).collect(),
    };
    let mut rows = vec![
        row("prompt tok/s", |row| match &row.rate {
            Some(rate) => Entry {
                text: rate.clone(),
                marks: raised(&row.marks),
                style: Style::Bold,
                ..Entry::default()
            },
            None => no_number(row.status, row.glyph(), raised(&row.marks)),
        }),
        row("TTFT ms", |row| Entry::plain(row.ttft.as_ref().map_or(number::NONE, |ttft| &ttft.value))),
    ];
    if prefill.has_tokens {
        rows.push(row("actual tokens", |row| Entry::dim(row.tokens.as_deref().unwrap_or(number::NONE))));
    }
    if prefill.has_counts {
        rows.push(row("n", |row| Entry::dim(row.n.as_deref().unwrap_or(number::NONE))));
    }
    Grid {
        title: None,
        corner: ("context".to_owned(), String::new()),
        head: prefill.rows.iter().map(|row| row.label.clone()).collect(),
        rows,
    }
}

/// A cell without a number: symbol and word, or the symbol alone where the terminal is narrow.
fn no_number(status: Status, glyph: &str, marks: String) -> Entry {
    let style = match status {
        Status::Planned | Status::OverLimit | Status::OverCapacity | Status::Skipped => Style::Dim,
        Status::Error => Style::Bad,
        _ => Style::Warn,
    };
    Entry {
        text: format!("{glyph} {}", short_word(status)),
        narrow: Some(glyph.to_owned()),
        marks,
        style,
        ..Entry::default()
    }
}

fn raised(marks: &[Mark]) -> String {
    marks.iter().map(|mark| mark.raised).collect()
}
