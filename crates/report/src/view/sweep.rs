//! A sweep, ready to print: a row for each entry.

use tokometer_record::comparison::Metric;
use tokometer_record::context_label;
use tokometer_record::sweep::{SweepEntry, SweepRate, SweepSummary};

use crate::number;
use crate::words::{clean, shorten};

/// Longest foreign text that is shown whole.
const FOREIGN: usize = 300;

/// All entries of a sweep.
#[derive(Debug)]
pub(crate) struct SweepView {
    pub(crate) title: String,
    pub(crate) simulated: bool,
    pub(crate) rows: Vec<EntryRow>,
    /// Pages: file, and what is on it.
    pub(crate) pages: Vec<(String, String)>,
}

/// One entry.
#[derive(Debug)]
pub(crate) struct EntryRow {
    pub(crate) name: String,
    pub(crate) is_base: bool,
    /// `2 of 3`.
    pub(crate) runs: String,
    /// `7 of 8`.
    pub(crate) valid: String,
    pub(crate) fastest: RateText,
    pub(crate) single: RateText,
    /// `1.24×`.
    pub(crate) ratio: String,
    /// `[1.20, 1.28]`.
    pub(crate) ratio_interval: String,
    pub(crate) missing: Vec<String>,
    pub(crate) command: String,
}

/// A rate and where it was measured.
#[derive(Debug)]
pub(crate) struct RateText {
    /// `1,145`, without a unit.
    pub(crate) value: String,
    /// `±3.1`, or nothing.
    pub(crate) plus_minus: String,
    /// `8K × 64`.
    pub(crate) place: String,
}

impl SweepView {
    pub(crate) fn of(summary: &SweepSummary) -> SweepView {
        SweepView {
            title: shorten(&clean(&summary.title), FOREIGN),
            simulated: summary.simulated,
            rows: summary.entries.iter().map(|entry| row(entry, summary.base.as_deref())).collect(),
            pages: summary
                .pages
                .iter()
                .map(|page| (page.file.clone(), shorten(&clean(&page.entries.join(", ")), FOREIGN)))
                .collect(),
        }
    }
}

fn row(entry: &SweepEntry, base: Option<&str>) -> EntryRow {
    let ratio = entry.ratio.as_ref();
    let of_decoding = if entry.ratio_metric == Some(Metric::DecodingRate) { " (decoding)" } else { "" };
    EntryRow {
        name: shorten(&clean(&entry.name), FOREIGN),
        is_base: base == Some(entry.name.as_str()),
        runs: format!("{} of {}", entry.runs.len(), entry.planned),
        valid: if entry.runs.is_empty() {
            number::NONE.to_owned()
        } else {
            format!("{} of {}", entry.valid_rows, entry.rows)
        },
        fastest: rate(entry.fastest.as_ref()),
        single: rate(entry.single.as_ref()),
        ratio: ratio.map_or_else(
            || number::NONE.to_owned(),
            |ratio| format!("{}×{of_decoding}", number::fixed(ratio.ratio, 3)),
        ),
        ratio_interval: ratio.and_then(|ratio| ratio.interval).map_or_else(String::new, |[low, high]| {
            format!("[{}, {}]", number::fixed(low, 3), number::fixed(high, 3))
        }),
        missing: entry.missing.iter().map(|why| shorten(&clean(why), FOREIGN)).collect(),
        command: entry
            .launch_command
            .as_deref()
            .map_or_else(String::new, |line| shorten(&clean(line), FOREIGN)),
    }
}

fn rate(rate: Option<&SweepRate>) -> RateText {
    let Some(rate) = rate else {
        return RateText { value: number::NONE.to_owned(), plus_minus: String::new(), place: String::new() };
    };
    let half = rate.interval.as_ref().map(|interval| (interval.high - interval.low) / 2.0);
    RateText {
        value: number::rate(rate.total),
        plus_minus: half.map_or_else(String::new, |half| plus_minus(half, rate.total)),
        place: format!("{} × {}", context_label(rate.context_nominal), rate.concurrency),
    }
}

fn plus_minus(half: f64, total: f64) -> String {
    // Equal repeats.
    if half == 0.0 { "±0".to_owned() } else { format!("±{}", number::plus_minus(half, total)) }
}
