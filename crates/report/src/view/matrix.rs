//! The decode matrix: a row for each context, a column for each concurrency.

use tokometer_record::{Cell, Distribution, Phase, Run, Status, context_label};

use super::faces::{Face, Lens, lenses};
use super::notes::{Mark, Notes};
use super::reason;
use crate::heat::{STEPS, Scale};
use crate::number;
use crate::words::glyph;

/// The decode matrix of a run.
#[derive(Debug)]
pub(crate) struct Matrix {
    /// Concurrency of each column.
    pub(crate) columns: Vec<u32>,
    /// A row for each context.
    pub(crate) rows: Vec<Row>,
    /// The views of it that there are figures for; the first is by total rate.
    pub(crate) lenses: Vec<Lens>,
    /// True if a cell has an interval.
    pub(crate) has_intervals: bool,
    /// What the intervals cover: `within this run`, or `over repeats`.
    pub(crate) interval_scope: &'static str,
    /// True if a cell tells of speculative decoding.
    pub(crate) has_speculation: bool,
    /// True if a row tells its actual prompt tokens.
    pub(crate) has_tokens: bool,
    /// True if a cell tells how many requests its medians are made of.
    pub(crate) has_counts: bool,
}

/// A step of the palette.
#[derive(Debug)]
pub(crate) struct Step {
    /// 0 to 6.
    pub(crate) step: usize,
    /// Value at which it begins, in the unit of the view.
    pub(crate) start: String,
}

/// One context.
#[derive(Debug)]
pub(crate) struct Row {
    /// `8K`.
    pub(crate) label: String,
    /// Actual prompt tokens: `8,181`, or `8,180–8,196`; none where the record does not tell.
    pub(crate) tokens: Option<String>,
    /// A cell for each column; none where the record has no such row.
    pub(crate) cells: Vec<Option<MatrixCell>>,
}

/// One cell.
#[derive(Debug)]
pub(crate) struct MatrixCell {
    /// Name of its anchor on a page.
    pub(crate) name: String,
    /// Its verdict.
    pub(crate) status: Status,
    /// What is shown of a valid cell.
    pub(crate) figures: Option<Figures>,
    /// The cell in each further view of the matrix, behind the total rate.
    pub(crate) faces: Vec<Face>,
    /// Streams.
    pub(crate) concurrency: u32,
    /// Why there is no number, in short lines with figures.
    pub(crate) why: Vec<String>,
    /// Flags.
    pub(crate) marks: Vec<Mark>,
}

/// The figures of a valid cell.
#[derive(Debug)]
pub(crate) struct Figures {
    /// Step of the palette.
    pub(crate) step: usize,
    /// Total rate, tok/s.
    pub(crate) total: String,
    /// Half of the 95 % interval, tok/s.
    pub(crate) plus_minus: Option<String>,
    /// Median TTFT, ms.
    pub(crate) ttft: Option<Median>,
    /// Median time between tokens, ms.
    pub(crate) gap: Option<Median>,
    /// Speculative decoding: tokens of a verification step, and such steps a second.
    pub(crate) speculation: Option<(String, Option<String>)>,
}

/// A median and how many samples it is made of.
#[derive(Debug)]
pub(crate) struct Median {
    /// The median.
    pub(crate) value: String,
    /// Number of samples, where told.
    pub(crate) n: Option<String>,
}

impl Median {
    /// The median of a distribution that has one.
    pub(crate) fn of(distribution: Option<&Distribution>, format: fn(f64) -> String) -> Option<Median> {
        let distribution = distribution?;
        Some(Median { value: format(distribution.p50?), n: distribution.n.map(number::count) })
    }
}

impl MatrixCell {
    /// The verdict's symbol.
    pub(crate) fn glyph(&self) -> &'static str {
        glyph(self.status)
    }

    /// The verdict in words.
    pub(crate) fn word(&self) -> &'static str {
        self.status.words()
    }
}

impl Matrix {
    /// Lays the decode cells of a run out.
    pub(crate) fn of(run: &Run, notes: &Notes) -> Matrix {
        let decode: Vec<&Cell> = run.cells.iter().filter(|cell| cell.phase == Phase::Decode).collect();
        let contexts = sorted(decode.iter().map(|cell| cell.context_nominal));
        let columns = sorted(decode.iter().map(|cell| cell.concurrency));
        let scale = Scale::over(decode.iter().filter_map(|cell| shown_rate(cell)));
        let lenses = lenses(run, &decode);
        let find = |context: u64, concurrency: u32| {
            decode.iter().find(|cell| cell.context_nominal == context && cell.concurrency == concurrency)
        };
        let rows: Vec<Row> = contexts
            .iter()
            .map(|&context| Row {
                label: context_label(context),
                tokens: actual_tokens(decode.iter().copied().filter(|cell| cell.context_nominal == context)),
                cells: columns
                    .iter()
                    .map(|&concurrency| {
                        find(context, concurrency).map(|cell| matrix_cell(cell, scale, &lenses, notes))
                    })
                    .collect(),
            })
            .collect();
        Matrix {
            has_tokens: rows.iter().any(|row| row.tokens.is_some()),
            rows,
            lenses,
            has_intervals: decode.iter().any(|cell| interval(cell).is_some()),
            interval_scope: interval_scope(&decode),
            has_speculation: decode.iter().any(|cell| cell.speculative.is_some()),
            has_counts: decode.iter().any(|cell| cell.ttft_ms.as_ref().is_some_and(|ttft| ttft.n.is_some())),
            columns,
        }
    }
}

impl Matrix {
    /// A class that tells the style sheet how many columns there are; it knows up to 16.
    pub(crate) fn width_class(&self) -> String {
        match self.columns.len() {
            many @ 17.. => format!("many columns-{many}"),
            few => format!("columns-{few}"),
        }
    }

    /// What its rows and columns are.
    pub(crate) fn axes(&self) -> &'static str {
        if self.has_tokens {
            "Rows: context. Columns: requests at once."
        } else {
            "Rows: context (actual prompt tokens are not in the record). Columns: requests at once."
        }
    }
}

/// The rate that a cell may show: only valid cells have a headline.
pub(crate) fn shown_rate(cell: &Cell) -> Option<f64> {
    let valid = cell.status == Status::Valid;
    cell.throughput.as_ref().filter(|_| valid).map(|throughput| throughput.total)
}

/// What the intervals of a run cover.
fn interval_scope(cells: &[&Cell]) -> &'static str {
    let over_repeats = |cell: &&Cell| {
        let interval = cell.throughput.as_ref().and_then(|throughput| throughput.interval.as_ref());
        interval.is_some_and(|interval| interval.scope == "repeats")
    };
    if cells.iter().any(over_repeats) { "over repeats" } else { "within this run" }
}

/// Half of the interval's width, as text.
pub(crate) fn interval(cell: &Cell) -> Option<String> {
    let throughput = cell.throughput.as_ref()?;
    let interval = throughput.interval.as_ref()?;
    Some(number::plus_minus(interval.half_width_relative * throughput.total, throughput.total))
}

/// Actual prompt tokens over cells: one figure, or the smallest and the largest.
pub(crate) fn actual_tokens<'a>(cells: impl Iterator<Item = &'a Cell>) -> Option<String> {
    let (min, max) = cells
        .filter_map(|cell| cell.context_actual)
        .map(|actual| (actual.min, actual.max))
        .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))?;
    let text = number::count(min);
    Some(if min == max { text } else { format!("{text}–{}", number::count(max)) })
}

fn matrix_cell(cell: &Cell, scale: Option<Scale>, lenses: &[Lens], notes: &Notes) -> MatrixCell {
    let figures = shown_rate(cell).map(|total| Figures {
        step: scale.map_or(0, |scale| scale.step(total)),
        total: number::rate(total),
        plus_minus: interval(cell),
        ttft: Median::of(cell.ttft_ms.as_ref(), number::ms),
        gap: Median::of(cell.time_between_tokens_ms.as_ref(), number::gap_ms),
        speculation: cell.speculative.as_ref().map(|figures| {
            (number::fixed(figures.acceptance_length, 2), figures.verify_steps_rate.map(number::rate))
        }),
    });
    MatrixCell {
        name: cell.name(),
        status: cell.status,
        faces: match figures {
            Some(_) => lenses.iter().skip(1).map(|lens| lens.face(cell)).collect(),
            None => Vec::new(),
        },
        figures,
        concurrency: cell.concurrency,
        why: reason::short(cell),
        marks: notes.marks(cell),
    }
}

/// The steps of a scale; one where all values are the same.
pub(crate) fn legend(scale: Scale, text: fn(f64) -> String) -> Vec<Step> {
    let (low, high) = scale.ends();
    if low >= high {
        return vec![Step { step: scale.step(low), start: text(low) }];
    }
    (0..STEPS).map(|step| Step { step, start: text(scale.start(step)) }).collect()
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}
