//! `report` and `import`: a run shown, a result brought in.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tokometer_report::{Format, Picture};

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Folder of a run, its run.json, or its report.html
    pub(crate) run: PathBuf,
    /// What to print
    #[arg(long, value_enum, default_value = "terminal")]
    pub(crate) format: FormatArg,
    /// What a picture shows (svg, png) [default: card]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) chart: Option<ChartArg>,
}

#[derive(Debug, Args)]
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
}

impl From<FormatArg> for Format {
    fn from(format: FormatArg) -> Format {
        match format {
            FormatArg::Terminal => Format::Terminal,
            FormatArg::Html => Format::Html,
            FormatArg::Json => Format::Json,
            FormatArg::Markdown => Format::Markdown,
            FormatArg::Csv => Format::Csv,
            FormatArg::Svg => Format::Svg,
            FormatArg::Png => Format::Png,
        }
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
