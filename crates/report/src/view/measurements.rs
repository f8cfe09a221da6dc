//! All measurements: a row for each row of the record, with every figure that a matrix is made of.

use std::collections::BTreeMap;

use tokometer_record::{Cell, Distribution, Phase, Run, Status, context_label};

use super::{notes, reason};
use crate::number::{self, exact};
use crate::words::{self, clean};

/// The table of all measurements.
#[derive(Debug)]
pub(crate) struct Measurements {
    /// Headers.
    pub(crate) columns: Vec<Column>,
    /// A row for each row of the record, in its order.
    pub(crate) rows: Vec<Row>,
    /// Fields that are null though one would expect a value, with the reason and the number of rows.
    pub(crate) missing: Vec<Missing>,
}

/// A header.
#[derive(Debug)]
pub(crate) struct Column {
    /// The record's name of the figure: `throughput.total`.
    pub(crate) key: &'static str,
    /// `Total`.
    pub(crate) title: &'static str,
    /// `tok/s`; empty for words.
    pub(crate) unit: &'static str,
    /// The record's field that is null without the figure.
    field: &'static str,
    /// The phase that has it; none for both.
    phase: Option<Phase>,
    get: fn(&Cell) -> Option<f64>,
}

/// A row of the record.
#[derive(Debug)]
pub(crate) struct Row {
    /// `decode-8192-32`.
    pub(crate) name: String,
    /// `Decode`.
    pub(crate) phase: &'static str,
    /// `8K`.
    pub(crate) context: String,
    /// The label's tokens.
    pub(crate) context_tokens: u64,
    /// Actual prompt tokens, where told: the median.
    pub(crate) actual: Option<String>,
    /// Their smallest and largest, where they differ.
    pub(crate) actual_range: Option<String>,
    /// Streams.
    pub(crate) concurrency: u32,
    /// The verdict's code: `over_capacity`.
    pub(crate) status: &'static str,
    /// The verdict in words.
    pub(crate) word: &'static str,
    /// The verdict's symbol.
    pub(crate) glyph: &'static str,
    /// True for valid rows.
    pub(crate) valid: bool,
    /// Figures, one for each column.
    pub(crate) values: Vec<Value>,
    /// Why the row has its verdict; empty for valid ones.
    pub(crate) why: String,
    /// Codes of the flags, and `resent`, with their details.
    pub(crate) flags: Vec<(&'static str, String)>,
}

/// A figure.
#[derive(Debug)]
pub(crate) struct Value {
    /// Rounded and grouped for reading, a dash where it is missing, nothing where the phase has no such figure.
    pub(crate) text: String,
    /// Every digit of the record; none where it has no figure.
    pub(crate) exact: Option<String>,
    /// Why there is none, where the record says so.
    pub(crate) why: Option<String>,
}

/// A field that is null in some rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// The record's name of the field.
    pub(crate) field: String,
    /// Why.
    pub(crate) why: String,
    /// `55 rows`.
    pub(crate) rows: String,
}

const COLUMNS: [Column; 17] = [
    Column {
        key: "prefill_rate",
        title: "Prompt",
        unit: "tok/s",
        field: "prefill_rate",
        phase: Some(Phase::Prefill),
        get: |cell| cell.prefill_rate,
    },
    Column {
        key: "throughput.total",
        title: "Total",
        unit: "tok/s",
        field: "throughput",
        phase: Some(Phase::Decode),
        get: |cell| cell.throughput.as_ref().map(|throughput| throughput.total),
    },
    Column {
        key: "throughput.interval",
        title: "± 95 %",
        unit: "tok/s",
        field: "throughput.interval",
        phase: Some(Phase::Decode),
        get: |cell| {
            let throughput = cell.throughput.as_ref()?;
            Some(throughput.interval.as_ref()?.half_width_relative * throughput.total)
        },
    },
    Column {
        key: "repeats",
        title: "Repeats",
        unit: "",
        field: "repeats",
        phase: None,
        get: |cell| (!cell.repeats.is_empty()).then_some(cell.repeats.len() as f64),
    },
    Column {
        key: "speculative.acceptance_length",
        title: "Tokens per step",
        unit: "tok/step",
        field: "speculative",
        phase: Some(Phase::Decode),
        get: |cell| Some(cell.speculative.as_ref()?.acceptance_length),
    },
    Column {
        key: "speculative.verify_steps_rate",
        title: "Verify steps",
        unit: "step/s",
        field: "speculative",
        phase: Some(Phase::Decode),
        get: |cell| cell.speculative.as_ref()?.verify_steps_rate,
    },
    Column {
        key: "per_request_rate.p50",
        title: "Per request, p50",
        unit: "tok/s",
        field: "per_request_rate",
        phase: Some(Phase::Decode),
        get: |cell| median(cell.per_request_rate.as_ref()),
    },
    Column {
        key: "time_between_tokens_ms.p50",
        title: "Time between tokens, p50",
        unit: "ms",
        field: "time_between_tokens_ms",
        phase: Some(Phase::Decode),
        get: |cell| median(cell.time_between_tokens_ms.as_ref()),
    },
    Column {
        key: "time_between_tokens_ms.n",
        title: "n of both",
        unit: "requests",
        field: "time_between_tokens_ms.n",
        phase: Some(Phase::Decode),
        get: |cell| samples(cell.time_between_tokens_ms.as_ref()),
    },
    Column {
        key: "ttft_ms.p50",
        title: "TTFT, p50",
        unit: "ms",
        field: "ttft_ms",
        phase: None,
        get: |cell| median(cell.ttft_ms.as_ref()),
    },
    Column {
        key: "ttft_ms.n",
        title: "n of TTFT",
        unit: "requests",
        field: "ttft_ms.n",
        phase: None,
        get: |cell| samples(cell.ttft_ms.as_ref()),
    },
    Column {
        key: "average_active_requests",
        title: "Active on average",
        unit: "requests",
        field: "average_active_requests",
        phase: Some(Phase::Decode),
        get: |cell| cell.average_active_requests,
    },
    Column {
        key: "requests.ended",
        title: "Completed",
        unit: "requests",
        field: "requests.ended",
        phase: None,
        get: |cell| cell.requests.ended.map(|ended| ended as f64),
    },
    Column {
        key: "tokens.out",
        title: "Output",
        unit: "tokens",
        field: "tokens.out",
        phase: Some(Phase::Decode),
        get: |cell| cell.tokens.out.map(|tokens| tokens as f64),
    },
    Column {
        key: "window.seconds",
        title: "Measured for",
        unit: "s",
        field: "window",
        phase: Some(Phase::Decode),
        get: |cell| cell.window.as_ref().map(|window| window.seconds),
    },
    Column {
        key: "longest_gap_ms",
        title: "Longest gap",
        unit: "ms",
        field: "longest_gap_ms",
        phase: Some(Phase::Decode),
        get: |cell| cell.longest_gap_ms,
    },
    Column {
        key: "telemetry.joules_per_token",
        title: "Energy",
        unit: "J/tok",
        field: "telemetry",
        phase: Some(Phase::Decode),
        get: |cell| cell.telemetry.as_ref()?.joules_per_token,
    },
];

impl Measurements {
    /// Collects every row of a run. Columns that no row fills and no published table has are left out.
    pub(crate) fn of(run: &Run) -> Measurements {
        let optional = [
            "throughput.interval",
            "repeats",
            "speculative.acceptance_length",
            "speculative.verify_steps_rate",
            "time_between_tokens_ms.n",
            "ttft_ms.n",
            "longest_gap_ms",
            "telemetry.joules_per_token",
        ];
        let columns: Vec<Column> = COLUMNS
            .into_iter()
            .filter(|column| {
                !optional.contains(&column.key) || run.cells.iter().any(|cell| (column.get)(cell).is_some())
            })
            .collect();
        let decimals: Vec<usize> = columns.iter().map(|column| decimals(column, &run.cells)).collect();
        let rows = run.cells.iter().map(|cell| row(cell, &columns, &decimals)).collect();
        Measurements { columns, rows, missing: missing(&run.cells) }
    }
}

/// Digits that a column needs so that its rounded figures line up.
fn decimals(column: &Column, cells: &[Cell]) -> usize {
    cells
        .iter()
        .filter_map(column.get)
        .map(|value| number::decimals(value, number::useful_decimals(value)))
        .max()
        .unwrap_or(0)
}

fn row(cell: &Cell, columns: &[Column], decimals: &[usize]) -> Row {
    Row {
        name: cell.name(),
        phase: words::phase(cell.phase),
        context: context_label(cell.context_nominal),
        context_tokens: cell.context_nominal,
        actual: cell.context_actual.map(|actual| number::plain(actual.p50)),
        actual_range: cell
            .context_actual
            .filter(|actual| actual.min != actual.max)
            .map(|actual| format!("{}–{}", number::count(actual.min), number::count(actual.max))),
        concurrency: cell.concurrency,
        status: cell.status.code(),
        word: cell.status.words(),
        glyph: words::glyph(cell.status),
        valid: cell.status == Status::Valid,
        values: columns
            .iter()
            .zip(decimals)
            .map(|(column, &decimals)| value(cell, column, decimals))
            .collect(),
        why: reason::full(cell),
        flags: cell
            .flags
            .iter()
            .map(|flag| (flag.code.code(), clean(&flag.detail)))
            .chain(notes::resent(cell).map(|detail| (notes::RESENT, detail)))
            .collect(),
    }
}

fn value(cell: &Cell, column: &Column, decimals: usize) -> Value {
    match (column.get)(cell).filter(|value| value.is_finite()) {
        Some(value) => Value { text: number::fixed(value, decimals), exact: Some(exact(value)), why: None },
        None if column.phase.is_some_and(|phase| phase != cell.phase) => {
            Value { text: String::new(), exact: None, why: None }
        }
        None => Value {
            text: number::NONE.to_owned(),
            exact: None,
            why: cell
                .unknown
                .get(column.field)
                .or_else(|| cell.unknown.get(column.key))
                .map(|why| clean(why)),
        },
    }
}

/// Reasons of null fields, alike ones together.
fn missing(cells: &[Cell]) -> Vec<Missing> {
    let mut counted: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (field, why) in cells.iter().flat_map(|cell| &cell.unknown) {
        *counted.entry((field, why)).or_default() += 1;
    }
    counted
        .into_iter()
        .map(|((field, why), rows)| Missing {
            field: clean(field),
            why: clean(why),
            rows: words::counted(rows, "row"),
        })
        .collect()
}

fn median(distribution: Option<&Distribution>) -> Option<f64> {
    distribution?.p50
}

fn samples(distribution: Option<&Distribution>) -> Option<f64> {
    distribution?.n.map(|n| n as f64)
}
