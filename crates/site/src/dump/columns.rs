//! The columns of a dump: names, units, meanings. A name is never given another meaning.

use schemars::JsonSchema;
use serde::Serialize;
use tokometer_record::columnar::table::{Kind, Values};

use crate::domain::{CellRow, Headline, RunRow};

/// A column as it is described.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Described {
    /// Its name.
    name: &'static str,
    /// `text`, `real`, `whole`, `time`.
    kind: &'static str,
    /// The unit; empty where it has none.
    unit: &'static str,
    /// What it says.
    text: &'static str,
}

/// A column of rows `R`.
pub(super) struct Column<R: 'static> {
    name: &'static str,
    unit: &'static str,
    text: &'static str,
    of: Of<R>,
}

/// How the value is taken from a row.
enum Of<R: 'static> {
    Text(fn(&R) -> Option<String>),
    Real(fn(&R) -> Option<f64>),
    Whole(fn(&R) -> Option<i64>),
    Time(fn(&R) -> Option<i64>),
}

const fn column<R>(name: &'static str, unit: &'static str, text: &'static str, of: Of<R>) -> Column<R> {
    Column { name, unit, text, of }
}

fn value(headline: Option<Headline>) -> Option<f64> {
    headline.map(|it| it.value)
}

fn low(headline: Option<Headline>) -> Option<f64> {
    headline.and_then(|it| it.low)
}

fn high(headline: Option<Headline>) -> Option<f64> {
    headline.and_then(|it| it.high)
}

/// Columns of `runs`: one row a run.
pub(super) const RUNS: &[Column<RunRow>] = &[
    column("run_id", "", "UUID of the run.", Of::Text(|row| Some(row.id.clone()))),
    column("submitter", "", "Public name of who published it.", Of::Text(|row| Some(row.submitter.clone()))),
    column("revision", "", "Newest revision, from 1 on.", Of::Whole(|row| Some(i64::from(row.revision)))),
    column(
        "shelf",
        "",
        "ranked: computed again from traces; reported: as it was given.",
        Of::Text(|row| Some(row.shelf.code().to_owned())),
    ),
    column(
        "evidence",
        "",
        "What stands behind the numbers: T0 to T3.",
        Of::Text(|row| Some(row.evidence.level.code().to_owned())),
    ),
    column("measured_at", "ms since 1970, UTC", "When it was measured.", Of::Time(|row| row.measured_at)),
    column(
        "published_at",
        "ms since 1970, UTC",
        "When it was published.",
        Of::Time(|row| Some(row.published_at)),
    ),
    column(
        "revised_at",
        "ms since 1970, UTC",
        "When its newest revision came.",
        Of::Time(|row| Some(row.revised_at)),
    ),
    column("title", "", "Title of its page.", Of::Text(|row| Some(row.title.clone()))),
    column("model", "", "Full name of the model.", Of::Text(|row| Some(row.model.clone()))),
    column("hardware", "", "Accelerators, without their number.", Of::Text(|row| Some(row.hardware.clone()))),
    column("accelerators", "", "How many accelerators.", Of::Whole(|row| row.accelerators.map(i64::from))),
    column("engine", "", "Name of the engine.", Of::Text(|row| Some(row.engine.clone()))),
    column("engine_version", "", "Its version.", Of::Text(|row| Some(row.engine_version.clone()))),
    column("quantization", "", "Precision of the weights.", Of::Text(|row| Some(row.quantization.clone()))),
    column(
        "speculative",
        "",
        "Speculative decoding: off, or what it is.",
        Of::Text(|row| Some(row.speculative.clone())),
    ),
    column("method", "", "Name and version of the method.", Of::Text(|row| Some(row.method.clone()))),
    column(
        "group_hash",
        "",
        "The same for replicates: same set-up and plan.",
        Of::Text(|row| Some(row.group_hash.clone())),
    ),
    column(
        "series_hash",
        "",
        "The same for runs that differ in the engine's version alone.",
        Of::Text(|row| Some(row.series_hash.clone())),
    ),
    column(
        "content_sha256",
        "",
        "SHA-256 of the record (RFC 8785).",
        Of::Text(|row| Some(row.content_sha256.clone())),
    ),
    column(
        "one_user_tok_s",
        "tok/s",
        "Rate of one user at the shortest context.",
        Of::Real(|row| value(row.one_user)),
    ),
    column(
        "one_user_low_tok_s",
        "tok/s",
        "Lower end of its 95 % interval.",
        Of::Real(|row| low(row.one_user)),
    ),
    column(
        "one_user_high_tok_s",
        "tok/s",
        "Upper end of its 95 % interval.",
        Of::Real(|row| high(row.one_user)),
    ),
    column(
        "peak_tok_s",
        "tok/s",
        "Highest total rate of a valid decode cell.",
        Of::Real(|row| value(row.peak)),
    ),
    column("peak_low_tok_s", "tok/s", "Lower end of its 95 % interval.", Of::Real(|row| low(row.peak))),
    column("peak_high_tok_s", "tok/s", "Upper end of its 95 % interval.", Of::Real(|row| high(row.peak))),
    column(
        "peak_per_accelerator_tok_s",
        "tok/s",
        "That rate by accelerator.",
        Of::Real(|row| row.peak_per_accelerator),
    ),
    column("prefill_tok_s", "tok/s", "Highest prefill rate.", Of::Real(|row| row.prefill)),
    column(
        "users_at_50_tok_s_and_1_s",
        "users",
        "Users at the shortest context, each with at least 50 tok/s and a median TTFT of at most 1 s.",
        Of::Whole(|row| row.users_at_limits.map(i64::from)),
    ),
    column(
        "joules_per_token",
        "J/tok",
        "Energy per token of the cell with the highest total rate, accelerators only.",
        Of::Real(|row| row.joules_per_token),
    ),
    column("valid_cells", "", "Valid cells.", Of::Whole(|row| Some(i64::from(row.valid_cells)))),
    column("all_cells", "", "Cells of the plan.", Of::Whole(|row| Some(i64::from(row.all_cells)))),
    column(
        "replicates",
        "",
        "Runs of the group, itself included.",
        Of::Whole(|row| Some(i64::from(row.replicates))),
    ),
    column(
        "submitters",
        "",
        "Different submitters of these.",
        Of::Whole(|row| Some(i64::from(row.submitters))),
    ),
];

/// A cell with its run's id.
type OfRun = (String, CellRow);

/// Columns of `cells`: one row a cell.
pub(super) const CELLS: &[Column<OfRun>] = &[
    column("run_id", "", "UUID of the run.", Of::Text(|(run, _)| Some(run.clone()))),
    column("cell", "", "Name of the cell: decode-8192-32.", Of::Text(|(_, cell)| Some(cell.name.clone()))),
    column("phase", "", "prefill or decode.", Of::Text(|(_, cell)| Some(cell.phase.to_owned()))),
    column(
        "context_tokens",
        "tok",
        "Context by label.",
        Of::Whole(|(_, cell)| i64::try_from(cell.context).ok()),
    ),
    column("concurrency", "", "Requests at once.", Of::Whole(|(_, cell)| Some(i64::from(cell.concurrency)))),
    column(
        "status",
        "",
        "The verdict. Only a valid cell's figures are what they are called.",
        Of::Text(|(_, cell)| Some(cell.status.to_owned())),
    ),
    column("total_tok_s", "tok/s", "Total rate of all requests.", Of::Real(|(_, cell)| value(cell.total))),
    column(
        "total_low_tok_s",
        "tok/s",
        "Lower end of its 95 % interval.",
        Of::Real(|(_, cell)| low(cell.total)),
    ),
    column(
        "total_high_tok_s",
        "tok/s",
        "Upper end of its 95 % interval.",
        Of::Real(|(_, cell)| high(cell.total)),
    ),
    column(
        "prefill_tok_s",
        "tok/s",
        "Rate at which a cold prompt is read.",
        Of::Real(|(_, cell)| cell.prefill_rate),
    ),
    column("ttft_p50_ms", "ms", "Median time to the first token.", Of::Real(|(_, cell)| cell.ttft_p50)),
    column(
        "per_request_p50_tok_s",
        "tok/s",
        "Median rate of one request.",
        Of::Real(|(_, cell)| cell.per_request_p50),
    ),
    column(
        "joules_per_token",
        "J/tok",
        "Energy per token, accelerators only.",
        Of::Real(|(_, cell)| cell.joules_per_token),
    ),
    column(
        "acceptance_length",
        "tok/step",
        "Tokens of one step of speculative decoding.",
        Of::Real(|(_, cell)| cell.acceptance_length),
    ),
];

impl<R> Column<R> {
    fn kind(&self) -> (Kind, &'static str) {
        match self.of {
            Of::Text(_) => (Kind::Text, "text"),
            Of::Real(_) => (Kind::Real, "real"),
            Of::Whole(_) => (Kind::Whole, "whole"),
            Of::Time(_) => (Kind::Time, "time"),
        }
    }

    fn described(&self) -> Described {
        Described { name: self.name, kind: self.kind().1, unit: self.unit, text: self.text }
    }
}

/// Names and kinds, for a new table.
pub(super) fn kinds<R>(columns: &'static [Column<R>]) -> Vec<(&'static str, Kind)> {
    columns.iter().map(|column| (column.name, column.kind().0)).collect()
}

/// The values of a column.
pub(super) fn values<R>(columns: &[Column<R>], name: &str, rows: &[R]) -> Option<Values> {
    let column = columns.iter().find(|column| column.name == name)?;
    Some(match column.of {
        Of::Text(of) => Values::Text(rows.iter().map(of).collect()),
        Of::Real(of) => Values::Real(rows.iter().map(of).collect()),
        Of::Whole(of) | Of::Time(of) => Values::Whole(rows.iter().map(of).collect()),
    })
}

/// What is said of the columns of a table.
pub(crate) fn described(table: &str) -> Vec<Described> {
    match table {
        "runs" => RUNS.iter().map(Column::described).collect(),
        "cells" => CELLS.iter().map(Column::described).collect(),
        _ => Vec::new(),
    }
}
