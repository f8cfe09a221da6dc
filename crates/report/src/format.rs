//! The formats of a report, each in a file of its own.

pub(crate) mod csv;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod picture;
pub(crate) mod terminal;

use std::fmt;
use std::str::FromStr;

use tokometer_record::Run;

pub use picture::Picture;

use crate::{ReportError, Shell};

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
    /// A card to share, as SVG.
    Svg,
    /// The same card as PNG.
    Png,
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
    pub const ALL: [Format; 7] = [
        Format::Html,
        Format::Terminal,
        Format::Json,
        Format::Markdown,
        Format::Csv,
        Format::Svg,
        Format::Png,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Terminal => "terminal",
            Format::Html => "html",
            Format::Json => "json",
            Format::Markdown => "markdown",
            Format::Csv => "csv",
            Format::Svg => "svg",
            Format::Png => "png",
        }
    }

    /// The run in this format; `terminal` matters to the terminal's format only, and pictures are the card.
    pub fn render(self, run: &Run, terminal: Terminal) -> Result<Vec<u8>, ReportError> {
        let text = match self {
            Format::Terminal => terminal::render(run, terminal),
            Format::Html => html::run(run, &[], &Shell::default())?,
            Format::Json => json::render(run)?,
            Format::Markdown => markdown::render(run),
            Format::Csv => csv::render(run),
            Format::Svg => picture::svg(run, Picture::Card)?,
            Format::Png => return picture::png(&picture::svg(run, Picture::Card)?),
        };
        Ok(text.into_bytes())
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
