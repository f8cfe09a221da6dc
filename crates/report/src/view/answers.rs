//! The answer strip: what most readers come for, from valid cells only.

use serde_json::{Value, json};
use tokometer_analysis::{DEFAULT_LEVEL, judged, users_by_medians};
use tokometer_record::comparison::{SloContext, SloMiss};
use tokometer_record::{Cell, Phase, Run, RunState, Status, context_label};

use super::matrix::{Median, interval, shown_rate};
use crate::number;
use crate::words::{cell_label, counted, missed_below};

/// Unit of rates.
const RATE: &str = "tok/s";

/// The headline figures.
#[derive(Debug)]
pub(crate) struct Answers {
    /// One user, peak, prefill, and energy where it was measured.
    pub(crate) headlines: Vec<Headline>,
    /// Users served within the limits, by context.
    pub(crate) users: Vec<Users>,
    /// The lowest rate that counts, tok/s.
    pub(crate) least_rate: String,
    /// The longest TTFT that counts, s.
    pub(crate) most_ttft_s: String,
    /// What each decode cell is judged by, for the page's script: a reader may ask for other limits.
    pub(crate) judged: Vec<Value>,
}

/// One figure.
#[derive(Debug)]
pub(crate) struct Headline {
    /// `Peak`, or `Peak so far` where the run did not get to all of its cells.
    pub(crate) title: &'static str,
    /// The figure.
    pub(crate) value: String,
    /// Its unit: `tok/s`.
    pub(crate) unit: &'static str,
    /// Half of its interval, in the same unit.
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
    /// Smaller ones that are not within the limits: `not at 2: TTFT 1.23 s`.
    pub(crate) below: Option<String>,
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
        let energy = decode()
            .filter(|cell| shown_rate(cell).is_some())
            .filter_map(|cell| Some((cell, cell.telemetry.as_ref()?.joules_per_token?)))
            .filter(|(_, joules)| joules.is_finite() && *joules > 0.0)
            .reduce(|best, one| if one.1 < best.1 { one } else { best })
            .map(|(cell, joules)| energy_headline(cell, joules));
        let any = decode().any(|cell| shown_rate(cell).is_some());
        let served = users_by_medians(std::slice::from_ref(run), DEFAULT_LEVEL).filter(|_| any);
        Answers {
            headlines: [one_user, peak, prefill, energy].into_iter().flatten().collect(),
            users: served.iter().flat_map(|served| &served.contexts).map(users).collect(),
            least_rate: super::or_none(DEFAULT_LEVEL.least_rate, number::plain),
            most_ttft_s: super::or_none(DEFAULT_LEVEL.most_ttft_ms, |ms| number::plain(ms / 1000.0)),
            judged: decode().map(judged_cell).collect(),
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
        unit: RATE,
        plus_minus: interval(cell),
        place: format!("{place}{}", ttft_words(cell)),
    }
}

fn prefill_headline(cell: &Cell) -> Option<Headline> {
    Some(Headline {
        title: "Prefill",
        value: number::rate_compact(cell.prefill_rate?),
        unit: RATE,
        plus_minus: None,
        place: format!("{} prompt{}", context_label(cell.context_nominal), ttft_words(cell)),
    })
}

/// The least energy that a token took.
fn energy_headline(cell: &Cell, joules: f64) -> Headline {
    let devices = cell.telemetry.as_ref().map_or(0, |telemetry| telemetry.devices.len() as u64);
    Headline {
        title: "Least energy",
        value: number::joules(joules),
        unit: "J/tok",
        plus_minus: None,
        place: format!("{}, {} measured", cell_label(cell), counted(devices, "board")),
    }
}

/// `, TTFT 154 ms (n 16)`.
fn ttft_words(cell: &Cell) -> String {
    let Some(median) = Median::of(cell.ttft_ms.as_ref(), number::ms) else { return String::new() };
    let n = median.n.map(|n| format!(" (n\u{a0}{n})")).unwrap_or_default();
    format!(", TTFT\u{a0}{}\u{a0}ms{n}", median.value)
}

fn users(context: &SloContext) -> Users {
    let answer = context.runs.first();
    let said = |miss: &SloMiss| (miss.concurrency, miss.why.clone());
    Users {
        context: context_label(context.context_nominal),
        context_tokens: context.context_nominal,
        most: match answer.and_then(|answer| answer.users) {
            Some(0) => "none".to_owned(),
            most => super::or_none(most, |most| most.to_string()),
        },
        next: answer.and_then(|answer| answer.next.as_ref()).map(said),
        below: answer.and_then(|answer| missed_below(&answer.below)),
    }
}

fn judged_cell(cell: &Cell) -> Value {
    let judged = judged(cell);
    json!({
        "context": cell.context_nominal,
        "concurrency": cell.concurrency,
        "ttft_ms": judged.ttft_ms,
        "rate": judged.rate,
        "stopped": judged.stopped,
        "settled": judged.settled,
    })
}
