//! Users that a server serves within limits.

use tokometer_record::comparison::{ServiceLevel, SloAnswer, SloBasis, SloContext, SloMiss, SloUsers};
use tokometer_record::{Cell, Distribution, Phase, Run, Status};

use crate::error::AnalysisError;
use crate::units;

/// What a fluent reader needs: 50 tok/s, and the first of them within a second. Where requests are counted, 90 % of
/// them.
pub const DEFAULT_LEVEL: ServiceLevel =
    ServiceLevel { most_ttft_ms: Some(1000.0), least_rate: Some(50.0), share: 0.9 };

/// Reads limits such as `ttft<=1s,rate>=50`, with a share of requests that must keep them: `share>=95%`
/// (default 90 %).
pub fn parse_service_level(text: &str) -> Result<ServiceLevel, AnalysisError> {
    let bad = |why: String| AnalysisError::ServiceLevel { text: text.to_owned(), why };
    let mut level = ServiceLevel { most_ttft_ms: None, least_rate: None, ..DEFAULT_LEVEL };
    for part in text.split(',').map(str::trim) {
        let limit = |sign: &str| part.split_once(sign).map(|(name, value)| (name.trim(), value.trim()));
        match (limit("<="), limit(">=")) {
            (Some(("ttft", value)), _) => {
                let ms = units::milliseconds(value).filter(|ms| *ms > 0.0);
                level.most_ttft_ms = Some(ms.ok_or_else(|| bad(format!("{value:?} is no time")))?);
            }
            (_, Some(("rate", value))) => {
                let rate = units::rate(value).filter(|rate| *rate > 0.0);
                level.least_rate = Some(rate.ok_or_else(|| bad(format!("{value:?} is no rate in tok/s")))?);
            }
            (_, Some(("share", value))) => {
                let share = value.strip_suffix('%').and_then(units::number).map(|share| share / 100.0);
                let share = share.filter(|share| *share > 0.0 && *share < 1.0);
                level.share = share.ok_or_else(|| bad(format!("{value:?} is no share below 100%")))?;
            }
            _ => return Err(bad(format!("{part:?} is no limit"))),
        }
    }
    if level.most_ttft_ms.is_none() && level.least_rate.is_none() {
        return Err(bad("it limits neither ttft nor rate".to_owned()));
    }
    Ok(level)
}

/// Users by the medians of the cells: what a record without traces can answer. `None` without any decode cell.
pub fn by_medians(runs: &[Run], level: ServiceLevel) -> Option<SloUsers> {
    let mut contexts: Vec<u64> = runs
        .iter()
        .flat_map(|run| &run.cells)
        .filter(|cell| is_decode(cell))
        .map(|cell| cell.context_nominal)
        .collect();
    contexts.sort_unstable();
    contexts.dedup();
    let of = |run: &Run, context: u64| {
        let cells = run.cells.iter().filter(|cell| is_decode(cell) && cell.context_nominal == context);
        answer(cells.map(|cell| (cell.concurrency, judged(cell).keeps(level))).collect())
    };
    let users = SloUsers {
        level,
        basis: SloBasis::Medians,
        contexts: contexts
            .into_iter()
            .map(|context_nominal| SloContext {
                context_nominal,
                runs: runs.iter().map(|run| of(run, context_nominal)).collect(),
            })
            .collect(),
    };
    (!users.contexts.is_empty()).then_some(users)
}

fn is_decode(cell: &Cell) -> bool {
    cell.phase == Phase::Decode
}

/// What a cell is judged by, with the words for it: all that is needed to judge it by other limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Median TTFT, ms, and `TTFT 1.23 s`; only of valid cells.
    pub ttft_ms: Option<(f64, String)>,
    /// Median per-request rate, tok/s, and `48.1 tok/s`; only of valid cells.
    pub rate: Option<(f64, String)>,
    /// Why it has no result: `looped`; none for valid cells.
    pub stopped: Option<String>,
    /// True if that settles that it serves nobody: it cannot be run.
    pub settled: bool,
}

/// What a cell is judged by.
pub fn judged(cell: &Cell) -> Judged {
    let valid = cell.status == Status::Valid;
    let median = |distribution: &Option<Distribution>| distribution.as_ref()?.p50.filter(|_| valid);
    Judged {
        ttft_ms: median(&cell.ttft_ms).map(|ttft| (ttft, format!("TTFT {}", time(ttft)))),
        rate: median(&cell.per_request_rate).map(|rate| (rate, format!("{rate:.1} tok/s"))),
        stopped: (!valid).then(|| cell.status.words().to_lowercase()),
        settled: cell.status.not_run_by_plan(),
    }
}

impl Judged {
    /// Whether the cell keeps the limits.
    fn keeps(self, level: ServiceLevel) -> Keeps {
        match self.stopped {
            Some(why) if self.settled => return Keeps::No(why),
            Some(why) => return Keeps::Unknown(why),
            None => {}
        }
        match (level.most_ttft_ms, self.ttft_ms) {
            (Some(most), Some((ttft, words))) if ttft > most => return Keeps::No(words),
            (Some(_), None) => return Keeps::Unknown("no median TTFT".to_owned()),
            _ => {}
        }
        match (level.least_rate, self.rate) {
            (Some(least), Some((rate, words))) if rate < least => Keeps::No(words),
            (Some(_), None) => Keeps::Unknown("no median rate".to_owned()),
            _ => Keeps::Yes,
        }
    }
}

/// Whether a cell keeps the limits.
pub(crate) enum Keeps {
    /// It does.
    Yes,
    /// It does not, and why.
    No(String),
    /// It has no result that could tell, and why.
    Unknown(String),
}

/// The answer of one context from its cells: concurrency, and whether it keeps the limits. The highest that does
/// counts; smaller ones that do not are told with it.
pub(crate) fn answer(mut cells: Vec<(u32, Keeps)>) -> SloAnswer {
    cells.sort_by_key(|(concurrency, _)| *concurrency);
    let best = cells.iter().rposition(|(_, keeps)| matches!(keeps, Keeps::Yes));
    let users = match (best, cells.first()) {
        (Some(best), _) => Some(cells[best].0),
        (None, Some((_, Keeps::No(_)))) => Some(0),
        _ => None,
    };
    let above = best.map_or(0, |best| best + 1);
    let miss = |(concurrency, keeps): &(u32, Keeps)| match keeps {
        Keeps::Yes => None,
        Keeps::No(why) | Keeps::Unknown(why) => Some(SloMiss { concurrency: *concurrency, why: why.clone() }),
    };
    SloAnswer {
        users,
        next: cells.get(above).and_then(miss),
        below: cells[..above].iter().filter_map(miss).collect(),
    }
}

/// `1.23 s`, `95 ms`.
fn time(ms: f64) -> String {
    if ms >= 1000.0 { format!("{:.2} s", ms / 1000.0) } else { format!("{ms:.0} ms") }
}
