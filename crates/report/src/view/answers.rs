//! The answer strip: what most readers come for, from valid cells only.

use tokometer_record::{Cell, Phase, Run, RunState, Status, context_label};

use super::matrix::{Median, interval, shown_rate};
use crate::number;
use crate::words::cell_label;

/// Lowest median per-request rate of a user who counts as served, tok/s.
const LEAST_RATE: f64 = 50.0;
/// Longest median TTFT of a user who counts as served, ms.
const MOST_TTFT_MS: f64 = 1000.0;

/// The headline figures.
#[derive(Debug)]
pub(crate) struct Answers {
    /// One user, peak, prefill.
    pub(crate) headlines: Vec<Headline>,
    /// Users served within the limits, by context.
    pub(crate) users: Vec<Users>,
    /// The lowest rate that counts, tok/s.
    pub(crate) least_rate: String,
    /// The longest TTFT that counts, s.
    pub(crate) most_ttft_s: String,
}

/// One figure.
#[derive(Debug)]
pub(crate) struct Headline {
    /// `Peak`, or `Peak so far` where the run did not get to all of its cells.
    pub(crate) title: &'static str,
    /// The figure, tok/s.
    pub(crate) value: String,
    /// Half of its interval, tok/s.
    pub(crate) plus_minus: Option<String>,
    /// Where it was measured, and its TTFT.
    pub(crate) place: String,
}

/// How many users one context serves.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Users {
    /// `8K`.
    pub(crate) context: String,
    /// Its tokens by label.
    pub(crate) context_tokens: u64,
    /// The highest concurrency within the limits; `none` if no measured one is, a dash if that is not known.
    pub(crate) most: String,
    /// The next concurrency and what stops it there; none if no higher one is in the record.
    pub(crate) next: Option<(u32, String)>,
}

impl Answers {
    /// Picks the headline figures of a run.
    pub(crate) fn of(run: &Run) -> Answers {
        let decode = || run.cells.iter().filter(|cell| cell.phase == Phase::Decode);
        let one_user = decode()
            .filter(|cell| cell.concurrency == 1 && shown_rate(cell).is_some())
            .min_by_key(|cell| cell.context_nominal)
            .map(|cell| headline("One user", cell));
        let peak = decode()
            .filter(|cell| shown_rate(cell).is_some())
            .reduce(|best, cell| if shown_rate(cell) > shown_rate(best) { cell } else { best })
            .map(|cell| headline(peak_title(run), cell));
        let prefill = run
            .cells
            .iter()
            .filter(|cell| cell.status == Status::Valid && cell.prefill_rate.is_some())
            .reduce(|best, cell| if cell.prefill_rate > best.prefill_rate { cell } else { best })
            .and_then(prefill_headline);
        let mut contexts: Vec<u64> = decode().map(|cell| cell.context_nominal).collect();
        contexts.sort_unstable();
        contexts.dedup();
        let any = decode().any(|cell| shown_rate(cell).is_some());
        Answers {
            headlines: [one_user, peak, prefill].into_iter().flatten().collect(),
            users: contexts
                .into_iter()
                .filter(|_| any)
                .map(|context| {
                    users(context, decode().filter(|cell| cell.context_nominal == context).collect())
                })
                .collect(),
            least_rate: number::plain(LEAST_RATE),
            most_ttft_s: number::plain(MOST_TTFT_MS / 1000.0),
        }
    }
}

fn peak_title(run: &Run) -> &'static str {
    let open = |cell: &Cell| matches!(cell.status, Status::Planned | Status::Interrupted);
    if run.state != RunState::Finished && run.cells.iter().any(open) { "Peak so far" } else { "Peak" }
}

fn headline(title: &'static str, cell: &Cell) -> Headline {
    let mut place = cell_label(cell);
    if cell.concurrency == 1 {
        place = format!("{} context", context_label(cell.context_nominal));
    }
    Headline {
        title,
        value: super::or_none(shown_rate(cell), number::rate),
        plus_minus: interval(cell),
        place: format!("{place}{}", ttft_words(cell)),
    }
}

fn prefill_headline(cell: &Cell) -> Option<Headline> {
    Some(Headline {
        title: "Prefill",
        value: number::rate_compact(cell.prefill_rate?),
        plus_minus: None,
        place: format!("{} prompt{}", context_label(cell.context_nominal), ttft_words(cell)),
    })
}

/// `, TTFT 154 ms (n 16)`.
fn ttft_words(cell: &Cell) -> String {
    let Some(median) = Median::of(cell.ttft_ms.as_ref(), number::ms) else { return String::new() };
    let n = median.n.map(|n| format!(" (n\u{a0}{n})")).unwrap_or_default();
    format!(", TTFT\u{a0}{}\u{a0}ms{n}", median.value)
}

fn users(context: u64, mut cells: Vec<&Cell>) -> Users {
    cells.sort_by_key(|cell| cell.concurrency);
    let best = cells.iter().rposition(|cell| is_served(cell));
    let next = cells.get(best.map_or(0, |best| best + 1)).map(|cell| (cell.concurrency, why_not(cell)));
    let most = match best {
        Some(best) => cells[best].concurrency.to_string(),
        None if is_settled(&cells) => "none".to_owned(),
        None => number::NONE.to_owned(),
    };
    Users { context: context_label(context), context_tokens: context, most, next }
}

/// True if cells of which none is served show that no user can be: the first one that has a result at all
/// says so.
fn is_settled(cells: &[&Cell]) -> bool {
    cells.first().is_some_and(|cell| cell.status == Status::Valid || cell.status.not_run_by_plan())
}

fn is_served(cell: &Cell) -> bool {
    shown_rate(cell).is_some()
        && median_rate(cell).is_some_and(|rate| rate >= LEAST_RATE)
        && median_ttft(cell).is_some_and(|ttft| ttft <= MOST_TTFT_MS)
}

/// Why a cell does not count, as short as can be.
fn why_not(cell: &Cell) -> String {
    if cell.status != Status::Valid {
        return cell.status.words().to_lowercase();
    }
    match (median_rate(cell), median_ttft(cell)) {
        (Some(rate), _) if rate < LEAST_RATE => format!("{} tok/s", number::rate(rate)),
        (_, Some(ttft)) if ttft > MOST_TTFT_MS => format!("TTFT {} s", number::plain(ttft / 1000.0)),
        _ => "no median".to_owned(),
    }
}

fn median_rate(cell: &Cell) -> Option<f64> {
    cell.per_request_rate.as_ref().and_then(|rate| rate.p50)
}

fn median_ttft(cell: &Cell) -> Option<f64> {
    cell.ttft_ms.as_ref().and_then(|ttft| ttft.p50)
}
