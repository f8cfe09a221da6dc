//! A run record as something to read: a terminal table, a one-file HTML page, or the record's own JSON.
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

mod csp;
mod definitions;
pub mod format;
mod heat;
mod number;
mod view;
mod words;

use tokometer_record::reanalysis::Reanalysis;
use tokometer_record::{Comparison, Run, Verification};

pub use format::{Format, Terminal};

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// No format has this name.
    #[error("no report format is called {name:?}; use one of {}", Format::names())]
    UnknownFormat {
        /// The name that was asked for.
        name: String,
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

/// What a verification found, for a terminal of `width` columns; no escape codes unless `colour`.
pub fn verify_terminal(verification: &Verification, width: usize, colour: bool) -> String {
    format::terminal::verify::render(verification, Terminal { width, colour })
}

/// Users within limits from a re-analysis, for a terminal of `width` columns; empty where no limits were given.
pub fn users_terminal(result: &Reanalysis, width: usize, colour: bool) -> String {
    format::terminal::users::render(result, Terminal { width, colour })
}

/// The run as one HTML file that needs no network and no script.
pub fn html(run: &Run) -> Result<String, ReportError> {
    format::html::render(run)
}

/// The record itself, as indented JSON.
pub fn json(run: &Run) -> Result<String, ReportError> {
    format::json::render(run)
}
