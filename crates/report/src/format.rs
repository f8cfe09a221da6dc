//! The formats of a report, each in a file of its own.

pub(crate) mod csv;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod terminal;

use std::fmt;
use std::str::FromStr;

use tokometer_record::Run;

use crate::ReportError;

/// What a report can be written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// A table for a terminal.
    Terminal,
    /// One HTML file.
    Html,
    /// The record itself.
    Json,
    /// Tables for a README or a post.
    Markdown,
    /// One row a cell.
    Csv,
}

/// The terminal that a table is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Columns.
    pub width: usize,
    /// Whether escape codes for colours may be used.
    pub colour: bool,
}

impl Format {
    /// Every format, in the order in which help texts name them.
    pub const ALL: [Format; 5] =
        [Format::Html, Format::Terminal, Format::Json, Format::Markdown, Format::Csv];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Terminal => "terminal",
            Format::Html => "html",
            Format::Json => "json",
            Format::Markdown => "markdown",
            Format::Csv => "csv",
        }
    }

    /// The run in this format; `terminal` matters to the terminal's format only.
    pub fn render(self, run: &Run, terminal: Terminal) -> Result<String, ReportError> {
        match self {
            Format::Terminal => Ok(terminal::render(run, terminal)),
            Format::Html => html::render(run, &[]),
            Format::Json => json::render(run),
            Format::Markdown => Ok(markdown::render(run)),
            Format::Csv => Ok(csv::render(run)),
        }
    }

    /// All names, for messages.
    pub(crate) fn names() -> String {
        Format::ALL.map(Format::name).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = ReportError;

    fn from_str(name: &str) -> Result<Format, ReportError> {
        Format::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| ReportError::UnknownFormat { name: name.to_owned() })
    }
}
