//! Gates: limits that a run must keep, for continuous integration.

use std::str::FromStr;

use tokometer_record::Phase;
use tokometer_record::comparison::{
    CellPair, GateFailure, GateKind, GateOutcome, Metric, MetricRatio, RunRatios, Verdict,
};

use crate::error::AnalysisError;
use crate::units;

/// A limit on one quantity of every paired cell: `total_rate<-3%`.
///
/// With `%` the limit is a change against the base as a share, with a sign (`ttft>+50ms`) a change in the unit of the
/// quantity, without either (`ttft>1s`, `total_rate<200`) the run's own figure. A cell fails where the estimate is
/// beyond the limit and the difference is detectable (a run's own figure: where its interval is beyond the limit);
/// without intervals the estimate alone decides. A gate without a cell to judge fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    text: String,
    metric: Metric,
    kind: GateKind,
    below: bool,
    or_equal: bool,
    limit: f64,
}

impl FromStr for Gate {
    type Err = AnalysisError;

    fn from_str(text: &str) -> Result<Gate, AnalysisError> {
        let bad = |why: String| AnalysisError::Gate { text: text.to_owned(), why };
        let at = text.find(['<', '>']).ok_or_else(|| bad("there is no < or >".to_owned()))?;
        let name = text[..at].trim().to_lowercase().replace('-', "_");
        let metric = Metric::ALL.into_iter().find(|metric| metric.code() == name).ok_or_else(|| {
            let names: Vec<&str> = Metric::ALL.iter().map(|metric| metric.code()).collect();
            bad(format!("{name:?} is no quantity; use one of {}", names.join(", ")))
        })?;
        let rest = &text[at + 1..];
        let (or_equal, rest) = match rest.strip_prefix('=') {
            Some(rest) => (true, rest.trim()),
            None => (false, rest.trim()),
        };
        let (kind, limit) = if let Some(share) = rest.strip_suffix('%') {
            (GateKind::RelativeChange, units::number(share).map(|share| share / 100.0))
        } else {
            let kind = if rest.starts_with(['+', '-']) { GateKind::Change } else { GateKind::Value };
            (kind, if metric.unit() == "ms" { units::milliseconds(rest) } else { units::rate(rest) })
        };
        let limit =
            limit.ok_or_else(|| bad(format!("{rest:?} is no limit for a quantity in {}", metric.unit())))?;
        Ok(Gate { text: text.to_owned(), metric, kind, below: text[at..].starts_with('<'), or_equal, limit })
    }
}

impl Gate {
    /// True if `value` is on the wrong side.
    fn is_beyond(&self, value: f64) -> bool {
        (self.or_equal && value == self.limit)
            || if self.below { value < self.limit } else { value > self.limit }
    }

    /// What is compared with the limit, whether that is tested, and whether it fails; `None` where the cell has
    /// nothing to compare.
    fn look(&self, ratio: &MetricRatio) -> Option<(f64, bool, bool)> {
        if self.kind == GateKind::Value {
            let new = ratio.new?;
            let fails = match new.interval {
                Some(interval) => interval.into_iter().all(|end| self.is_beyond(end)),
                None => self.is_beyond(new.value),
            };
            return Some((new.value, new.interval.is_some(), fails));
        }
        let found = match self.kind {
            GateKind::RelativeChange => ratio.ratio? - 1.0,
            GateKind::Change | GateKind::Value => ratio.new?.value - ratio.base?.value,
        };
        let (tested, counts) = match ratio.verdict {
            Verdict::Faster | Verdict::Slower => (true, true),
            Verdict::NoDetectableDifference => (true, false),
            Verdict::NotTested => (false, true),
            Verdict::NotComparable => return None,
        };
        Some((found, tested, counts && self.is_beyond(found)))
    }

    /// The quantity of a pair that the gate looks at.
    fn of<'a>(&self, pair: &'a CellPair) -> Option<&'a MetricRatio> {
        let by_decoding = self.metric == Metric::TotalRate && pair.headline == Metric::DecodingRate;
        // A run's own figure needs no partner.
        if by_decoding && self.kind != GateKind::Value { pair.headline() } else { pair.metric(self.metric) }
    }
}

/// Judges a gate on every pair that has its quantity: TTFT gates look at the decode matrix alone where there is one,
/// since a prefill row's TTFT is its rate turned over.
pub(super) fn judge(gate: &Gate, ratios: &RunRatios) -> GateOutcome {
    let has_decode = ratios.decode_pairs > 0 && gate.metric.is_of(Phase::Decode);
    let pairs = ratios.pairs.iter().filter(|pair| !has_decode || pair.phase == Phase::Decode);
    let mut outcome = GateOutcome {
        gate: gate.text.clone(),
        run: ratios.run,
        metric: gate.metric,
        kind: gate.kind,
        limit: gate.limit,
        failed: false,
        cells: 0,
        failures: Vec::new(),
        notes: Vec::new(),
    };
    let mut untested = 0;
    for pair in pairs {
        let Some(ratio) = gate.of(pair) else { continue };
        let Some((found, tested, fails)) = gate.look(ratio) else { continue };
        outcome.cells += 1;
        untested += u32::from(!tested);
        if fails {
            outcome.failures.push(GateFailure { cell: pair.name(), metric: ratio.metric, found, tested });
        }
    }
    if outcome.cells == 0 {
        outcome
            .notes
            .push("no pair of cells has this quantity, so nothing could be judged: failed".to_owned());
    }
    if untested > 0 {
        outcome.notes.push(format!("{untested} cells have no interval and were judged by the estimate"));
    }
    let phase = if gate.metric.is_of(Phase::Decode) { Phase::Decode } else { Phase::Prefill };
    let lost = ratios
        .unpaired
        .iter()
        .filter(|cell| cell.phase == phase && cell.status[0] == Some(tokometer_record::Status::Valid));
    let lost = lost.count();
    if lost > 0 {
        outcome
            .notes
            .push(format!("{lost} valid cells of the base have no valid partner and were not judged"));
    }
    outcome.failed = outcome.cells == 0 || !outcome.failures.is_empty();
    outcome
}
