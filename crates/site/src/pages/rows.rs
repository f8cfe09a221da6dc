//! Runs as rows of a table.

use askama::Template;
use tokometer_report::number;

use super::frame::render;
use super::{links, words};
use crate::clock;
use crate::domain::{Goal, Headline, RunQuery, RunRow, Shelf};
use crate::problem::Problem;

/// The figures of a row, in their order.
pub(super) const FIGURES: [Goal; 6] =
    [Goal::Users, Goal::OneUser, Goal::Peak, Goal::PeakPerAccelerator, Goal::Prefill, Goal::Energy];

/// A run in a table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) link: String,
    /// Model, or what the run is called where that is not known.
    pub(super) name: String,
    pub(super) hardware: String,
    pub(super) quantization: Option<String>,
    pub(super) engine: String,
    pub(super) version: Option<String>,
    pub(super) speculative: String,
    /// One for each of the table's columns.
    pub(super) figures: Vec<Option<Figure>>,
    pub(super) level: &'static str,
    pub(super) level_words: &'static str,
    pub(super) level_tone: &'static str,
    pub(super) submitter: String,
    pub(super) published: String,
    pub(super) published_at: String,
    /// What the runs folded into this row are, and where they are.
    pub(super) replicates: Option<(String, String)>,
    pub(super) simulated: bool,
}

/// A figure with what is known of its spread.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) value: String,
    /// Half of the interval's width.
    pub(super) half: Option<String>,
    /// Lowest and highest of the group, and how many: only where replicates are folded.
    pub(super) spread: Option<String>,
}

impl Row {
    pub(super) fn of(row: &RunRow, goals: &[Goal], folded: bool) -> Row {
        let known = |text: &str| (text != "unknown").then(|| text.to_owned());
        let simulated = row.shelf == Shelf::Simulated;
        Row {
            id: row.id.clone(),
            link: links::run(&row.id),
            name: known(&row.model).unwrap_or_else(|| row.title.clone()),
            hardware: hardware(row),
            quantization: known(&row.quantization),
            engine: known(&row.engine).unwrap_or_else(|| "engine unknown".to_owned()),
            version: known(&row.engine_version),
            speculative: row.speculative.clone(),
            figures: goals.iter().map(|goal| figure(row, *goal, folded)).collect(),
            level: row.evidence.level.code(),
            level_words: row.evidence.level.words(),
            level_tone: words::tone(row.evidence.level),
            submitter: row.submitter.clone(),
            published: words::day(row.published_at),
            published_at: clock::text(row.published_at),
            replicates: (folded && row.replicates > 1).then(|| replicates(row)),
            simulated,
        }
    }
}

/// `H200 SXM × 4`.
pub(super) fn hardware(row: &RunRow) -> String {
    match row.accelerators {
        Some(count) => format!("{} × {count}", row.hardware),
        None if row.hardware == "unknown" => "hardware unknown".to_owned(),
        None => row.hardware.clone(),
    }
}

/// Short name for charts and lists: `Qwen3 · H200 SXM × 4 · vllm 0.33.0`.
pub(super) fn label(row: &RunRow) -> String {
    let model = row.model.rsplit('/').next().unwrap_or_default();
    format!("{model} · {} · {} {}", hardware(row), row.engine, row.engine_version)
}

fn replicates(row: &RunRow) -> (String, String) {
    let by = match row.submitters {
        1 => String::new(),
        users => format!(" by {users}"),
    };
    let query = RunQuery { fold: false, shelf: row.shelf, ..RunQuery::default() };
    let query = RunQuery {
        filters: crate::domain::Filters { group: Some(row.group_hash.clone()), ..query.filters },
        ..query
    };
    (format!("{} runs{by}", row.replicates), links::list(&query))
}

fn figure(row: &RunRow, goal: Goal, folded: bool) -> Option<Figure> {
    let value = row.figure(goal)?;
    let headline = match goal {
        Goal::OneUser => row.one_user,
        Goal::Peak => row.peak,
        Goal::PeakPerAccelerator => row.peak.zip(row.accelerators).map(|(peak, count)| {
            let each = |value: f64| value / f64::from(count);
            Headline { value: each(peak.value), low: peak.low.map(each), high: peak.high.map(each) }
        }),
        _ => None,
    };
    let half = headline.and_then(|it| it.low.zip(it.high)).map(|(low, high)| (high - low) / 2.0);
    let spread = row
        .spread
        .get(&goal)
        .filter(|_| folded)
        .map(|it| format!("{}–{}, n {}", words::value(goal, it.low), words::value(goal, it.high), it.n));
    Some(Figure {
        value: words::value(goal, value),
        half: half.filter(|half| *half > 0.0).map(|half| number::plus_minus(half, value)),
        spread,
    })
}

#[derive(Template)]
#[template(path = "table.html")]
struct Table<'a> {
    caption: &'a str,
    /// A run that every choice goes with; empty: none.
    beside: &'a str,
    columns: Vec<Column>,
    rows: &'a [Row],
}

struct Column {
    name: &'static str,
    unit: &'static str,
    sort: Option<&'static str>,
}

/// A table of runs, to be chosen from for a comparison.
pub(super) fn table(
    caption: &str,
    rows: &[Row],
    goals: &[Goal],
    sorted: Option<Goal>,
) -> Result<String, Problem> {
    table_beside(caption, rows, goals, sorted, "")
}

/// The same; what is chosen is compared with this run.
pub(super) fn table_beside(
    caption: &str,
    rows: &[Row],
    goals: &[Goal],
    sorted: Option<Goal>,
    beside: &str,
) -> Result<String, Problem> {
    let columns = goals
        .iter()
        .map(|goal| {
            let (name, unit) = words::column(*goal);
            let order = if goal.higher_is_better() { "descending" } else { "ascending" };
            Column { name, unit, sort: (sorted == Some(*goal)).then_some(order) }
        })
        .collect();
    render(&Table { caption, beside, columns, rows })
}
