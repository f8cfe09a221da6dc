//! One row from the repeats of a cell (method section 6): the headline is the mean over repeats, its interval is
//! over repeats, and the worst verdict is the cell's.
//!
//! What can't be averaged without its samples (latencies, counts, the window, the gauges) is that of one repeat,
//! which the record names: the one whose rate lies nearest to the mean, or, where the cell is not valid, the one
//! that decided its status.

use tokometer_record::{Cell, Flag, FlagCode, Interval, Reason, RepeatSummary, Status, Throughput};
use tokometer_stats::{mean, repeat_interval};

use crate::samples::LEVEL;

/// The row of a cell from the rows of its repeats, with their numbers, in order; `None` of none.
///
/// A repeat that the user interrupted decides nothing where another one is whole.
pub fn combine(rows: &[(u32, Cell)]) -> Option<Cell> {
    let whole: Vec<&(u32, Cell)> = {
        let whole: Vec<_> = rows.iter().filter(|(_, row)| row.status != Status::Interrupted).collect();
        if whole.is_empty() { rows.iter().collect() } else { whole }
    };
    // Of equals the first.
    let (worst, worst_row) = whole.iter().min_by_key(|(_, row)| severity(row.status))?;
    let totals = all(&whole, |row| Some(row.throughput.as_ref()?.total));
    let prefills = all(&whole, |row| row.prefill_rate);
    let rates = totals.as_ref().or(prefills.as_ref());
    let chosen = match rates {
        Some(rates) if worst_row.status == Status::Valid => whole[nearest_to_mean(rates)],
        _ => whole.iter().find(|(repeat, _)| repeat == worst).copied()?,
    };

    let mut cell = chosen.1.clone();
    cell.trace = None;
    cell.status = worst_row.status;
    cell.reason = worst_row.reason.clone().map(|reason| {
        let text = format!("repeat {worst} of {}: {}", rows.len(), reason.text);
        Reason { text, ..reason }
    });
    cell.flags = flags(&whole);
    if let (Some(rates), Some(totals)) = (&mut cell.throughput, &totals) {
        *rates = throughput(rates, &whole, totals);
    }
    if let Some(rates) = &prefills {
        cell.prefill_rate = mean(rates);
        cell.prefill_interval = interval(rates);
        cell.prefill_samples = whole.iter().flat_map(|(_, row)| row.prefill_samples.clone()).collect();
    }
    if let (Some(figures), Some(rates)) = (&mut cell.speculative, &cell.throughput) {
        figures.verify_steps_rate = Some(rates.total / figures.acceptance_length);
    }
    cell.repeats = rows
        .iter()
        .map(|(repeat, row)| RepeatSummary {
            represents: *repeat == chosen.0,
            ..RepeatSummary::of(*repeat, row)
        })
        .collect();
    Some(cell)
}

/// How bad a status is, the worst first: the order of method section 7, behind those that were not measured.
fn severity(status: Status) -> usize {
    const WORST_FIRST: [Status; 14] = [
        Status::Interrupted,
        Status::Error,
        Status::Looped,
        Status::ClientLimited,
        Status::Contaminated,
        Status::Queued,
        Status::Short,
        Status::Throttled,
        Status::Unstable,
        Status::OverLimit,
        Status::OverCapacity,
        Status::Skipped,
        Status::Planned,
        Status::Valid,
    ];
    WORST_FIRST.iter().position(|other| *other == status).unwrap_or(0)
}

/// A figure that every row has.
fn all(rows: &[&(u32, Cell)], figure: impl Fn(&Cell) -> Option<f64>) -> Option<Vec<f64>> {
    rows.iter().map(|(_, row)| figure(row)).collect()
}

fn nearest_to_mean(rates: &[f64]) -> usize {
    let mean = mean(rates).unwrap_or(0.0);
    let distance = |rate: &f64| (rate - mean).abs();
    let nearest = rates.iter().enumerate().min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
    nearest.map_or(0, |(index, _)| index)
}

/// The rates over repeats. With one, the interval stays that within the run.
fn throughput(chosen: &Throughput, rows: &[&(u32, Cell)], totals: &[f64]) -> Throughput {
    if totals.len() < 2 {
        return chosen.clone();
    }
    let over = |figure: fn(&Throughput) -> Option<f64>| {
        mean(&all(rows, |row| row.throughput.as_ref().and_then(figure))?)
    };
    Throughput {
        total: mean(totals).unwrap_or(chosen.total),
        interval: interval(totals),
        decoding: over(|rates| rates.decoding),
        restart_share: over(|rates| rates.restart_share),
        // The batches of one repeat did not make this interval.
        batches: Vec::new(),
        lag1: None,
    }
}

/// Student's t over repeats.
fn interval(rates: &[f64]) -> Option<Interval> {
    let estimate = repeat_interval(rates, LEVEL)?;
    let half_width_relative = estimate.half_width / estimate.mean;
    half_width_relative.is_finite().then(|| Interval {
        low: estimate.mean - estimate.half_width,
        high: estimate.mean + estimate.half_width,
        half_width_relative,
        level: LEVEL,
        method: "repeats_t".to_owned(),
        scope: "repeats".to_owned(),
    })
}

/// Every flag that any repeat raised, with the figures of the first that did.
fn flags(rows: &[&(u32, Cell)]) -> Vec<Flag> {
    let mut codes: Vec<FlagCode> =
        rows.iter().flat_map(|(_, row)| row.flags.iter().map(|flag| flag.code)).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.into_iter().filter_map(|code| merged(code, rows)).collect()
}

fn merged(code: FlagCode, rows: &[&(u32, Cell)]) -> Option<Flag> {
    let raised: Vec<(u32, &Flag)> =
        rows.iter().filter_map(|(repeat, row)| Some((*repeat, row.flag(code)?))).collect();
    let (repeat, first) = *raised.first()?;
    let same = raised.len() == rows.len() && raised.iter().all(|(_, flag)| flag.detail == first.detail);
    if same {
        return Some(first.clone());
    }
    let detail = format!("in {} of {} repeats, repeat {repeat}: {}", raised.len(), rows.len(), first.detail);
    Some(Flag { detail, ..first.clone() })
}
