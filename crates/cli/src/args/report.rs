//! `report`, `import` and `schema`: a run shown, a result brought in, documents described.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tokometer_report::{Format, Picture};

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tokometer report runs/<id>\n  tokometer report runs/<id> --format html > page.html\n  \
                  tokometer report runs/<id> --format png --chart matrix > matrix.png\n  \
                  tokometer report runs/<id> --format compat       by the definitions of llm-inference-bench 0.6.2"
)]
pub(crate) struct ReportArgs {
    /// Folder of a run, its run.json, or its report.html
    pub(crate) run: PathBuf,
    /// What to print
    #[arg(long, value_enum, default_value = "terminal")]
    pub(crate) format: FormatArg,
    /// Print what would leave this machine if the run were published: every text of its record, and its files
    #[arg(long, conflicts_with_all = ["format", "chart"])]
    pub(crate) preview: bool,
    /// What a picture shows (svg, png) [default: card]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) chart: Option<ChartArg>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tokometer import benchmark_results.json\n  \
                  tokometer compare $(tokometer import theirs.json --quiet) runs/<id>")]
pub(crate) struct ImportArgs {
    /// Result file of llm-inference-bench, vllm bench serve, AIPerf or GuideLLM, or a published matrix
    pub(crate) file: PathBuf,
    /// Folder for runs
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub(crate) out: PathBuf,
    /// Print only the path of the page
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The document: run.json, what compare, verify and analyse print with --json, or a sweep's summary
    #[arg(value_name = "NAME", default_value = "run", value_parser = names())]
    pub(crate) name: String,
}

fn names() -> clap::builder::PossibleValuesParser {
    tokometer_record::schema::ALL.map(|(name, _)| name).into()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// Table for a terminal
    Terminal,
    /// One-file page
    Html,
    /// The record
    Json,
    /// Tables for a README or a post
    Markdown,
    /// One row a cell, units in the columns' names
    Csv,
    /// Picture as SVG
    Svg,
    /// Picture as PNG
    Png,
    /// The numbers by the definitions of llm-inference-bench 0.6.2, from the run's traces
    Compat,
}

impl FormatArg {
    /// The format of our own report; none for another tool's definitions.
    pub(crate) fn own(self) -> Option<Format> {
        Some(match self {
            FormatArg::Compat => return None,
            FormatArg::Terminal => Format::Terminal,
            FormatArg::Html => Format::Html,
            FormatArg::Json => Format::Json,
            FormatArg::Markdown => Format::Markdown,
            FormatArg::Csv => Format::Csv,
            FormatArg::Svg => Format::Svg,
            FormatArg::Png => Format::Png,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChartArg {
    /// Title, headline figures, the matrix in small: 1200 × 630
    Card,
    /// The decode matrix
    Matrix,
    /// TTFT of cold prompts by context
    Prefill,
    /// Throughput against interactivity
    Interactivity,
}

impl From<ChartArg> for Picture {
    fn from(chart: ChartArg) -> Picture {
        match chart {
            ChartArg::Card => Picture::Card,
            ChartArg::Matrix => Picture::Matrix,
            ChartArg::Prefill => Picture::Prefill,
            ChartArg::Interactivity => Picture::Interactivity,
        }
    }
}
