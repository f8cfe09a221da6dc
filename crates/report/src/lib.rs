//! A run record as something to read: a terminal table, a one-file HTML page, Markdown, comma-separated values, or
//! the record's own JSON.
//!
//! Every format prints the same view of the run (the `view` module), which picks, groups and formats what
//! the record holds. No statistics are made here: a number that is not in the record is not in a report.
//! Output depends on the record alone, so the same record gives the same bytes.
//!
//! ```
//! use tokometer_record::{import, published};
//!
//! let run = import::published(published::H200_X4, "h200-x4.json").unwrap();
//! let table = tokometer_report::terminal(&run, 100, false);
//! assert!(table.starts_with("Qwen/Qwen3.8-Flash-Next"));
//! assert!(tokometer_report::html(&run).unwrap().starts_with("<!doctype html>"));
//! ```

mod compat;
mod csp;
mod definitions;
pub mod format;
mod heat;
mod launch;
pub mod number;
mod shell;
pub mod svg;
mod view;
mod words;

use tokometer_record::compat::Compat;
use tokometer_record::reanalysis::Reanalysis;
use tokometer_record::{CellDetail, Comparison, Run, SweepSummary, Verification};

pub use csp::base64;
pub use definitions::Definition;
pub use format::{Format, Picture, Terminal};
pub use shell::{Assets, COMMON_SCRIPT, COMPARE_SCRIPT, Data, EARLY, RUN_SCRIPT, STYLE, Shell};

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// No format has this name.
    #[error("no report format is called {name:?}; use one of {}", Format::names())]
    UnknownFormat {
        /// The name that was asked for.
        name: String,
    },
    /// No picture has this name.
    #[error("no picture is called {name:?}; use one of {}", Picture::names())]
    UnknownPicture {
        /// The name that was asked for.
        name: String,
    },
    /// The run has no figures for a picture.
    #[error("the run has too few figures for the picture {picture}; the card has whatever there is")]
    NothingToDraw {
        /// The picture's name.
        picture: &'static str,
    },
    /// An SVG of ours could not be made a PNG.
    #[error("the picture could not be drawn: {why}; write it as SVG instead, and please report this")]
    Raster {
        /// What went wrong.
        why: String,
    },
    /// The page's template failed.
    #[error("the page could not be written: {0}; this is a fault of tokometer, please report it")]
    Template(#[from] askama::Error),
    /// The record cannot be written as JSON.
    #[error("the record cannot be written as JSON: {0}; check `settings.request_json`")]
    Json(#[from] serde_json::Error),
}

/// The run as a table for a terminal of `width` columns; no escape codes unless `colour`.
pub fn terminal(run: &Run, width: usize, colour: bool) -> String {
    format::terminal::render(run, Terminal { width, colour })
}

/// A comparison as a table for a terminal of `width` columns; no escape codes unless `colour`.
pub fn compare_terminal(comparison: &Comparison, width: usize, colour: bool) -> String {
    format::terminal::compare::render(comparison, Terminal { width, colour })
}

/// Every word of a report and what it means, in the order of `docs/words.md`.
pub fn glossary() -> &'static [Definition] {
    definitions::all()
}

/// A run's numbers by the definitions of another tool, as text.
pub fn compat_terminal(table: &Compat) -> String {
    compat::terminal(table)
}

/// What a verification found, for a terminal of `width` columns; no escape codes unless `colour`.
pub fn verify_terminal(verification: &Verification, width: usize, colour: bool) -> String {
    format::terminal::verify::render(verification, Terminal { width, colour })
}

/// Users within limits from a re-analysis, for a terminal of `width` columns; empty where no limits were given.
pub fn users_terminal(result: &Reanalysis, width: usize, colour: bool) -> String {
    format::terminal::users::render(result, Terminal { width, colour })
}

/// What a sweep came to, for a terminal of `width` columns; no escape codes unless `colour`.
pub fn sweep_terminal(summary: &SweepSummary, width: usize, colour: bool) -> String {
    format::terminal::sweep::render(summary, Terminal { width, colour })
}

/// A sweep as one HTML file: a row for each entry, and links to the pages that compare them.
pub fn sweep_page(summary: &SweepSummary) -> Result<String, ReportError> {
    format::html::sweep(summary)
}

/// The run as one HTML file that needs no network, without the details of its cells.
pub fn html(run: &Run) -> Result<String, ReportError> {
    page(run, &[])
}

/// The run as one HTML file that needs no network, with the details of cells that are at hand: those that
/// `tokometer-analysis` makes of the run's traces.
pub fn page(run: &Run, details: &[CellDetail]) -> Result<String, ReportError> {
    run_page(run, details, &Shell::default())
}

/// The run's page in a shell: as [`page`], with what a web site puts around it.
pub fn run_page(run: &Run, details: &[CellDetail], shell: &Shell<'_>) -> Result<String, ReportError> {
    format::html::run(run, details, shell)
}

/// A comparison as one HTML file; `runs` are those that it was made of, in its order, for the charts that lay them
/// over each other.
pub fn compare_page(comparison: &Comparison, runs: &[Run]) -> Result<String, ReportError> {
    comparison_page(comparison, runs, &Shell::default())
}

/// The comparison's page in a shell: as [`compare_page`], with what a web site puts around it.
pub fn comparison_page(
    comparison: &Comparison,
    runs: &[Run],
    shell: &Shell<'_>,
) -> Result<String, ReportError> {
    format::html::compare(comparison, runs, shell)
}

/// The page of one cell of a run in a shell: its verdict, its figures, and the charts of its trace where the detail is
/// at hand. None where the run has no cell of this name.
pub fn cell_page(
    run: &Run,
    cell: &str,
    detail: Option<&CellDetail>,
    shell: &Shell<'_>,
) -> Result<Option<String>, ReportError> {
    format::html::cell(run, cell, detail, shell)
}

/// A page of a web site's own in a shell, of the same looks as those of runs. `content` is HTML, put in as it is; it has
/// an element `id="theme"` with one `id="theme-name"` inside where [`COMMON_SCRIPT`] is its script.
pub fn plain_page(title: &str, content: &str, shell: &Shell<'_>) -> Result<String, ReportError> {
    format::html::plain(title, content, shell)
}

/// The run as Markdown, for a README or a post.
pub fn markdown(run: &Run) -> String {
    format::markdown::render(run)
}

/// The run as comma-separated values: one row a cell, stable columns, units in names.
pub fn csv(run: &Run) -> String {
    format::csv::render(run)
}

/// A picture of the run as an SVG file.
pub fn svg(run: &Run, picture: Picture) -> Result<String, ReportError> {
    format::picture::svg(run, picture)
}

/// A picture of the run as a PNG file, drawn with fonts of our own.
pub fn png(run: &Run, picture: Picture) -> Result<Vec<u8>, ReportError> {
    format::picture::png(&svg(run, picture)?)
}

/// The record itself, as indented JSON.
pub fn json(run: &Run) -> Result<String, ReportError> {
    format::json::render(run)
}
