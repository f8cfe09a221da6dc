//! Users that a server serves within limits.

use tokometer_record::comparison::{ServiceLevel, SloAnswer, SloBasis, SloContext, SloUsers};
use tokometer_record::{Cell, Phase, Run, Status};

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
        .filter(|cell| cell.phase == Phase::Decode)
        .map(|cell| cell.context_nominal)
        .collect();
    contexts.sort_unstable();
    contexts.dedup();
    let of = |run: &Run, context: u64| {
        let cells =
            run.cells.iter().filter(|cell| cell.phase == Phase::Decode && cell.context_nominal == context);
        answer(cells.map(|cell| (cell.concurrency, keeps(cell, level))).collect())
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

/// Whether a cell keeps the limits.
pub(crate) enum Keeps {
    /// It does.
    Yes,
    /// It does not, and why.
    No(String),
    /// It has no result that could tell, and why.
    Unknown(String),
}

/// The answer of one context from its cells: concurrency, and whether it keeps the limits.
pub(crate) fn answer(mut cells: Vec<(u32, Keeps)>) -> SloAnswer {
    cells.sort_by_key(|(concurrency, _)| *concurrency);
    let kept = |keeps: &Keeps| matches!(keeps, Keeps::Yes);
    let passing = cells.iter().take_while(|(_, keeps)| kept(keeps)).count();
    let users = match (passing.checked_sub(1), cells.first()) {
        (Some(last), _) => Some(cells[last].0),
        (None, Some((_, Keeps::No(_)))) => Some(0),
        _ => None,
    };
    let next = cells.get(passing);
    SloAnswer {
        users,
        next: next.map(|(concurrency, _)| *concurrency),
        why: next.and_then(|(_, keeps)| match keeps {
            Keeps::No(why) | Keeps::Unknown(why) => Some(why.clone()),
            Keeps::Yes => None,
        }),
        highest: cells[passing..].iter().rfind(|(_, keeps)| kept(keeps)).map(|(concurrency, _)| *concurrency),
    }
}

fn keeps(cell: &Cell, level: ServiceLevel) -> Keeps {
    if cell.status.not_run_by_plan() {
        return Keeps::No(cell.status.words().to_lowercase());
    }
    if cell.status != Status::Valid {
        return Keeps::Unknown(cell.status.words().to_lowercase());
    }
    let median =
        |distribution: &Option<tokometer_record::Distribution>| distribution.as_ref().and_then(|it| it.p50);
    if let Some(most) = level.most_ttft_ms {
        match median(&cell.ttft_ms) {
            Some(ttft) if ttft > most => return Keeps::No(format!("TTFT {}", time(ttft))),
            Some(_) => {}
            None => return Keeps::Unknown("no median TTFT".to_owned()),
        }
    }
    if let Some(least) = level.least_rate {
        match median(&cell.per_request_rate) {
            Some(rate) if rate < least => return Keeps::No(format!("{rate:.1} tok/s")),
            Some(_) => {}
            None => return Keeps::Unknown("no median rate".to_owned()),
        }
    }
    Keeps::Yes
}

/// `1.23 s`, `95 ms`.
pub(crate) fn time(ms: f64) -> String {
    if ms >= 1000.0 { format!("{:.2} s", ms / 1000.0) } else { format!("{ms:.0} ms") }
}
