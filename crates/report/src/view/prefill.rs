//! The prefill row: cold requests alone on the server, by context.

use tokometer_record::{Phase, Run, Status, context_label};

use super::matrix::{Median, actual_tokens};
use super::notes::{Mark, Notes};
use super::reason;
use crate::number;
use crate::words::{self, glyph};

/// Prefill by context.
#[derive(Debug)]
pub(crate) struct Prefill {
    /// How it was measured.
    pub(crate) mode: String,
    /// In order of the context.
    pub(crate) rows: Vec<PrefillRow>,
    /// True if a row tells its actual prompt tokens.
    pub(crate) has_tokens: bool,
    /// True if a row tells how many requests its medians are made of.
    pub(crate) has_counts: bool,
    /// What the figures are made of: `medians over n requests`; none without a figure.
    pub(crate) made_of: Option<&'static str>,
}

/// One context.
#[derive(Debug)]
pub(crate) struct PrefillRow {
    /// `8K`.
    pub(crate) label: String,
    /// Actual prompt tokens.
    pub(crate) tokens: Option<String>,
    /// Its verdict.
    pub(crate) status: Status,
    /// Prefill rate, tok/s, in `K` where large; only of valid rows.
    pub(crate) rate: Option<String>,
    /// Length of its bar, in percent of the longest.
    pub(crate) bar: String,
    /// Median TTFT, ms; only of valid rows.
    pub(crate) ttft: Option<Median>,
    /// How many requests the medians are made of.
    pub(crate) n: Option<String>,
    /// Smallest and largest sample, where there are several.
    pub(crate) range: Option<String>,
    /// Why there is no number.
    pub(crate) why: String,
    /// Flags.
    pub(crate) marks: Vec<Mark>,
}

impl PrefillRow {
    /// The verdict's symbol.
    pub(crate) fn glyph(&self) -> &'static str {
        glyph(self.status)
    }

    /// The verdict in words.
    pub(crate) fn word(&self) -> &'static str {
        self.status.words()
    }
}

impl Prefill {
    /// Lays the prefill rows of a run out.
    pub(crate) fn of(run: &Run, notes: &Notes) -> Prefill {
        let mut cells: Vec<_> = run.cells.iter().filter(|cell| cell.phase == Phase::Prefill).collect();
        cells.sort_by_key(|cell| cell.context_nominal);
        let shown =
            |cell: &tokometer_record::Cell| cell.prefill_rate.filter(|_| cell.status == Status::Valid);
        let longest = cells.iter().filter_map(|cell| shown(cell)).fold(0.0, f64::max);
        let rows: Vec<PrefillRow> = cells
            .iter()
            .map(|cell| {
                let valid = cell.status == Status::Valid;
                let ttft = Median::of(cell.ttft_ms.as_ref().filter(|_| valid), number::ms);
                // Imports tell how many requests a rate is made of by their completed requests.
                let samples = (!cell.prefill_samples.is_empty()).then_some(cell.prefill_samples.len() as u64);
                PrefillRow {
                    label: context_label(cell.context_nominal),
                    tokens: actual_tokens(std::iter::once(*cell)),
                    status: cell.status,
                    rate: shown(cell).map(number::rate_compact),
                    bar: shown(cell)
                        .filter(|_| longest > 0.0)
                        .map_or_else(|| "0".to_owned(), |rate| format!("{:.2}", 100.0 * rate / longest)),
                    n: samples
                        .or(cell.ttft_ms.as_ref().and_then(|ttft| ttft.n))
                        .or(cell.requests.ended)
                        .map(number::count),
                    ttft,
                    range: range(&cell.prefill_samples),
                    why: reason::full(cell),
                    marks: notes.marks(cell),
                }
            })
            .collect();
        let figures = || rows.iter().filter(|row| row.rate.is_some() || row.ttft.is_some());
        let made_of = if figures().next().is_none() {
            None
        } else if figures().all(|row| row.n.is_none()) {
            Some("medians; the record does not tell over how many requests (n)")
        } else if figures().all(|row| row.n.as_deref() == Some("1")) {
            Some("one request each")
        } else {
            Some("medians over n requests")
        };
        Prefill {
            made_of,
            mode: words::code(&run.settings.prefill_mode),
            has_tokens: rows.iter().any(|row| row.tokens.is_some()),
            has_counts: rows.iter().any(|row| row.n.is_some()),
            rows,
        }
    }
}

/// `28.0K–28.3K` of several samples.
fn range(samples: &[f64]) -> Option<String> {
    let low = samples.iter().copied().reduce(f64::min)?;
    let high = samples.iter().copied().reduce(f64::max)?;
    (samples.len() > 1).then(|| format!("{}–{}", number::rate_compact(low), number::rate_compact(high)))
}
