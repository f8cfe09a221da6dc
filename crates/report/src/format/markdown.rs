//! Markdown, for a README or a post.

use std::fmt::Write;

use tokometer_record::{Run, Status};

use crate::view::View;
use crate::view::matrix::{Figures, Matrix, MatrixCell, Median};
use crate::words::{clean_lines, short_word, shorten};

/// Longest text of others that is passed on.
const FOREIGN: usize = 400;

/// Headings, tables, the launch command. (Writing to a string cannot fail.)
pub(crate) fn render(run: &Run) -> String {
    let view = View::of(run);
    let mut text = format!("## {}\n\n", escape(&view.title));
    if !view.subtitle.is_empty() {
        let parts: Vec<String> = view.subtitle.iter().map(|part| escape(part)).collect();
        let _ = write!(text, "{}\n\n", parts.join(" · "));
    }
    let badges: Vec<String> =
        view.badges.iter().map(|badge| escape(&shorten(&badge.text, FOREIGN))).collect();
    let _ = write!(text, "{}\n\n", badges.join(" · "));
    answers(&mut text, &view);
    decode(&mut text, &view.matrix);
    prefill(&mut text, &view);
    notes(&mut text, &view);
    if let Some(command) = run.launch_command.as_deref() {
        let command = shorten(&clean_lines(command), 10 * FOREIGN);
        let fence = fence(&command);
        let _ = write!(text, "**Launch command**\n\n{fence}sh\n{command}\n{fence}\n\n");
    }
    let simulated =
        if view.simulated { " SIMULATED: these figures say nothing about real hardware." } else { "" };
    let _ = writeln!(text, "Table by tokometer {}.{simulated}", env!("CARGO_PKG_VERSION"));
    text
}

fn answers(text: &mut String, view: &View) {
    for headline in &view.answers.headlines {
        let half = headline.plus_minus.as_deref().map(|half| format!(" ± {half}")).unwrap_or_default();
        let crate::view::answers::Headline { title, value, unit, place, .. } = headline;
        let _ = writeln!(text, "- **{title}**: {value}{half} {unit} ({place})");
    }
    if !view.answers.users.is_empty() {
        let users: Vec<String> =
            view.answers.users.iter().map(|users| format!("{} {}", users.context, users.most)).collect();
        let _ = writeln!(
            text,
            "- **Users at ≥ {} tok/s each and TTFT ≤ {} s** (medians): {}",
            view.answers.least_rate,
            view.answers.most_ttft_s,
            users.join(" · ")
        );
    }
    if !view.answers.headlines.is_empty() || !view.answers.users.is_empty() {
        text.push('\n');
    }
}

fn decode(text: &mut String, matrix: &Matrix) {
    let any = |wanted: &dyn Fn(&Figures) -> bool| {
        matrix
            .rows
            .iter()
            .flat_map(|row| row.cells.iter().flatten())
            .filter_map(|cell| cell.figures.as_ref())
            .any(wanted)
    };
    if matrix.rows.is_empty() {
        return;
    }
    table(text, "Decode, total tok/s by context and requests at once", matrix, |cell| {
        cell.figures.as_ref().map(|figures| {
            let half = figures.plus_minus.as_deref().map(|half| format!(" ± {half}")).unwrap_or_default();
            format!("{}{half}", figures.total)
        })
    });
    let median =
        |median: Option<&Median>| median.map_or_else(|| "–".to_owned(), |median| median.value.clone());
    if any(&|figures| figures.ttft.is_some()) {
        table(text, "TTFT, median ms", matrix, |cell| {
            cell.figures.as_ref().map(|figures| median(figures.ttft.as_ref()))
        });
    }
    if any(&|figures| figures.gap.is_some()) {
        table(text, "Time between tokens, median ms", matrix, |cell| {
            cell.figures.as_ref().map(|figures| median(figures.gap.as_ref()))
        });
    }
}

fn table(text: &mut String, title: &str, matrix: &Matrix, entry: impl Fn(&MatrixCell) -> Option<String>) {
    let _ = write!(text, "**{title}**\n\n| Context |");
    for concurrency in &matrix.columns {
        let _ = write!(text, " ×{concurrency} |");
    }
    text.push_str("\n| :-- |");
    text.push_str(&" --: |".repeat(matrix.columns.len()));
    text.push('\n');
    for row in &matrix.rows {
        let _ = write!(text, "| {} |", row.label);
        for cell in &row.cells {
            let said = match cell {
                None => "–".to_owned(),
                Some(cell) => {
                    entry(cell).unwrap_or_else(|| format!("{} {}", cell.glyph(), short_word(cell.status)))
                }
            };
            let _ = write!(text, " {} |", escape(&said));
        }
        text.push('\n');
    }
    text.push('\n');
}

fn prefill(text: &mut String, view: &View) {
    if view.prefill.rows.is_empty() {
        return;
    }
    text.push_str("**Prefill**\n\n| Context | Prompt tok/s | TTFT, ms |\n| :-- | --: | --: |\n");
    for row in &view.prefill.rows {
        let rate = row.rate.clone().unwrap_or_else(|| format!("{} {}", row.glyph(), short_word(row.status)));
        let ttft = row.ttft.as_ref().map_or("–", |median| &median.value);
        let _ = writeln!(text, "| {} | {} | {ttft} |", row.label, escape(&rate));
    }
    text.push('\n');
}

fn notes(text: &mut String, view: &View) {
    let mut any = false;
    for note in view.notes.iter().filter(|note| note.title != Status::Planned.words()) {
        let _ = writeln!(text, "- {} **{}**: {}", note.mark, escape(&note.title), escape(note.meaning));
        any = true;
    }
    if any {
        text.push('\n');
    }
}

/// A fence that no run of backticks in the text can close.
fn fence(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    "`".repeat((longest + 1).max(3))
}

/// Text that stays text: what Markdown or the HTML in it would act on is escaped.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '\n' | '\r' => safe.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '>' | '~' | '#' | '!' | '$' | '@' => {
                safe.push('\\');
                safe.push(letter);
            }
            letter => safe.push(letter),
        }
    }
    // An address by itself would become a link.
    safe.replace("://", ":\\//").replace("www.", "www\\.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_text() {
        assert_eq!(escape("a|b <img> [x](y) `c`"), "a\\|b &lt;img\\> \\[x\\](y) \\`c\\`");
        assert_eq!(escape("https://x.y"), "https:\\//x.y");
        assert_eq!(fence("a ``` b"), "````");
    }
}
