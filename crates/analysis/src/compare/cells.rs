//! Cells of two runs, paired, and their ratios.

use tokometer_record::comparison::{
    CellPair, GeometricMean, Measured, Metric, MetricRatio, PairedBy, RunRatios, Unpaired, Verdict,
};
use tokometer_record::{Cell, Distribution, Phase, Run, Status};
use tokometer_stats::{
    Estimate, benjamini_hochberg, geometric_mean, geometric_mean_interval, ratio, t_quantile,
};

use super::{FALSE_DISCOVERY_RATE, NOISE_FLOOR, TOKEN_TOLERANCE};
use crate::samples::LEVEL;

/// How far windows may differ in length, as a share, for total rates to be compared.
const WINDOW_TOLERANCE: f64 = 0.05;
/// Cells from which a mean ratio has an interval.
const MEAN_FROM: usize = 3;

/// The cells of `new`, which is run number `index` of the comparison, against those of `base`.
pub(super) fn against(base: &Run, new: &Run, index: u32) -> RunRatios {
    let accelerators = [accelerators(base), accelerators(new)];
    let mut pairs = Vec::new();
    let mut unpaired = Vec::new();
    for (phase, context, concurrency) in places(base, new) {
        let cells = [cell(base, phase, context, concurrency), cell(new, phase, context, concurrency)];
        match pair(cells, accelerators) {
            Ok(pair) => pairs.push(pair),
            Err(reason) => unpaired.push(Unpaired {
                phase,
                context_nominal: context,
                concurrency,
                status: cells.map(|cell| cell.map(|cell| cell.status)),
                reason,
            }),
        }
    }
    for metric in Metric::ALL {
        judge(&mut pairs, metric);
    }
    let count = |phase: Phase| pairs.iter().filter(|pair| pair.phase == phase).count() as u32;
    RunRatios {
        run: index,
        decode_pairs: count(Phase::Decode),
        prefill_pairs: count(Phase::Prefill),
        means: means(&pairs),
        pairs,
        unpaired,
    }
}

type Place = (Phase, u64, u32);

/// Every place of either matrix, prefill first, by context and concurrency.
fn places(base: &Run, new: &Run) -> Vec<Place> {
    let of = |run: &Run| -> Vec<Place> {
        run.cells.iter().map(|cell| (cell.phase, cell.context_nominal, cell.concurrency)).collect()
    };
    let mut places = of(base);
    places.extend(of(new));
    places.sort_unstable();
    places.dedup();
    places
}

fn cell(run: &Run, phase: Phase, context: u64, concurrency: u32) -> Option<&Cell> {
    run.cells
        .iter()
        .find(|cell| (cell.phase, cell.context_nominal, cell.concurrency) == (phase, context, concurrency))
}

/// Two cells as a pair, or why they are none.
fn pair(cells: [Option<&Cell>; 2], accelerators: [Option<u32>; 2]) -> Result<CellPair, String> {
    let [Some(base), Some(new)] = cells else {
        let missing = if cells[0].is_none() { "the base" } else { "the new run" };
        return Err(format!("{missing} has no such cell"));
    };
    match (base.status, new.status) {
        (Status::Valid, Status::Valid) => {}
        (one, other) if one == other => return Err(format!("both: {}", words(one))),
        (Status::Valid, other) => return Err(format!("new run: {}", words(other))),
        (one, Status::Valid) => return Err(format!("base: {}", words(one))),
        (one, other) => return Err(format!("base: {}, new run: {}", words(one), words(other))),
    }
    let actual_tokens = [base, new].map(|cell| cell.context_actual.map(|spread| spread.p50));
    let paired_by = match actual_tokens {
        [Some(one), Some(other)] if (other - one).abs() > TOKEN_TOLERANCE * one => {
            return Err(format!("the prompts had {one} and {other} tokens"));
        }
        [Some(_), Some(_)] => PairedBy::ActualTokens,
        _ => PairedBy::Label,
    };
    let by_decoding = other_windows(base, new) && decoding(base).is_some() && decoding(new).is_some();
    let headline = match base.phase {
        Phase::Prefill => Metric::PrefillRate,
        Phase::Decode if by_decoding => Metric::DecodingRate,
        Phase::Decode => Metric::TotalRate,
    };
    let metrics = Metric::ALL
        .into_iter()
        .filter(|metric| metric.is_of(base.phase))
        .filter_map(|metric| compared(metric, [base, new], accelerators, by_decoding))
        .collect();
    Ok(CellPair {
        phase: base.phase,
        context_nominal: base.context_nominal,
        concurrency: base.concurrency,
        actual_tokens,
        paired_by,
        headline,
        metrics,
    })
}

fn words(status: Status) -> String {
    status.words().to_lowercase()
}

/// True if the windows are not of the same length, so that restarts weigh differently in the total rates.
fn other_windows(base: &Cell, new: &Cell) -> bool {
    if base.adaptive.is_some() != new.adaptive.is_some() {
        return true;
    }
    match (&base.window, &new.window) {
        (Some(one), Some(other)) => (one.seconds - other.seconds).abs() > WINDOW_TOLERANCE * one.seconds,
        _ => false,
    }
}

fn decoding(cell: &Cell) -> Option<f64> {
    cell.throughput.as_ref()?.decoding
}

/// A figure of a cell, and how far it may be off.
struct Figure {
    measured: Measured,
    estimate: Option<Estimate>,
    /// How a ratio of such figures is made.
    method: &'static str,
    /// Spread of its repeats: standard deviation ÷ mean.
    replicate_spread: Option<f64>,
}

fn figure(metric: Metric, cell: &Cell) -> Option<Figure> {
    match metric {
        Metric::TotalRate | Metric::PerGpuRate => {
            let rates = cell.throughput.as_ref()?;
            let interval = rates.interval.as_ref().map(|interval| [interval.low, interval.high]);
            let of_repeats = repeats(cell, |repeat| repeat.total);
            Some(rate(rates.total, interval, &of_repeats, &rates.batches))
        }
        Metric::DecodingRate => {
            let rates = cell.throughput.as_ref()?;
            let of_repeats = repeats(cell, |repeat| repeat.decoding);
            Some(rate(rates.decoding?, None, &of_repeats, &rates.batches))
        }
        Metric::PrefillRate => {
            let interval = cell.prefill_interval.as_ref().map(|interval| [interval.low, interval.high]);
            let of_repeats = repeats(cell, |repeat| repeat.prefill_rate);
            let mut figure = rate(cell.prefill_rate?, interval, &of_repeats, &[]);
            if figure.estimate.is_none() {
                let samples = &cell.prefill_samples;
                figure.measured.n = (!samples.is_empty()).then_some(samples.len() as u64);
                figure.estimate =
                    Estimate::of_means(samples).map(|estimate| estimate.around(figure.measured.value));
                figure.method = "welch_log_samples";
            }
            Some(figure)
        }
        Metric::Ttft => median(cell.ttft_ms.as_ref()),
        Metric::TimeBetweenTokens => median(cell.time_between_tokens_ms.as_ref()),
        Metric::PerRequestRate => median(cell.per_request_rate.as_ref()),
        Metric::VerifyStepsRate => cell.speculative.as_ref()?.verify_steps_rate.map(single),
        Metric::EnergyPerToken => cell.telemetry.as_ref()?.joules_per_token.map(single),
    }
}

/// Accelerators that the server of a run uses, where they are known.
fn accelerators(run: &Run) -> Option<u32> {
    let count: u32 = run.hardware.accelerators.iter().map(|alike| alike.count).sum();
    (count > 0).then_some(count)
}

/// A figure that there is no error of.
fn single(value: f64) -> Figure {
    Figure {
        measured: Measured { value, interval: None, n: None },
        estimate: None,
        method: "single",
        replicate_spread: None,
    }
}

impl Figure {
    /// The same of one of so many parts.
    fn divided(mut self, parts: u32) -> Figure {
        let parts = f64::from(parts);
        self.measured.value /= parts;
        self.measured.interval = self.measured.interval.map(|ends| ends.map(|end| end / parts));
        self.estimate = self.estimate.map(|estimate| estimate.around(self.measured.value));
        self
    }
}

fn repeats(cell: &Cell, get: impl Fn(&tokometer_record::RepeatSummary) -> Option<f64>) -> Vec<f64> {
    cell.repeats.iter().filter_map(get).collect()
}

/// A rate with the error of its repeats, else of the batches of its window.
fn rate(value: f64, interval: Option<[f64; 2]>, repeats: &[f64], batches: &[f64]) -> Figure {
    let (values, method) =
        if repeats.len() > 1 { (repeats, "welch_log_repeats") } else { (batches, "welch_log_batches") };
    let spread = Estimate::of_means(repeats)
        .map(|estimate| estimate.standard_error * (repeats.len() as f64).sqrt() / estimate.value);
    Figure {
        measured: Measured { value, interval, n: (!values.is_empty()).then_some(values.len() as u64) },
        estimate: Estimate::of_means(values).map(|estimate| estimate.around(value)),
        method,
        replicate_spread: spread.filter(|spread| spread.is_finite()),
    }
}

/// A median: the error of its logarithm is taken from its order-statistic interval.
fn median(distribution: Option<&Distribution>) -> Option<Figure> {
    let distribution = distribution?;
    let value = distribution.p50?;
    let estimate = match (distribution.p50_interval, distribution.n) {
        (Some([low, high]), Some(n)) if low > 0.0 && n > 1 => {
            let degrees_of_freedom = (n - 1) as f64;
            t_quantile(f64::midpoint(1.0, LEVEL), degrees_of_freedom).map(|t| Estimate {
                value,
                standard_error: value * (high / low).ln() / (2.0 * t),
                degrees_of_freedom,
            })
        }
        _ => None,
    };
    Some(Figure {
        measured: Measured { value, interval: distribution.p50_interval, n: distribution.n },
        estimate,
        method: "median_intervals",
        replicate_spread: None,
    })
}

/// One quantity of a pair, its verdict still open: tests wait until all cells are known.
fn compared(
    metric: Metric,
    [base, new]: [&Cell; 2],
    accelerators: [Option<u32>; 2],
    by_decoding: bool,
) -> Option<MetricRatio> {
    let [mut of_base, mut of_new] = [base, new].map(|cell| figure(metric, cell));
    if metric == Metric::PerGpuRate {
        // With the same number on both sides it says no more than the total rate.
        let [Some(one), Some(other)] = accelerators else { return None };
        if one == other {
            return None;
        }
        of_base = of_base.map(|figure| figure.divided(one));
        of_new = of_new.map(|figure| figure.divided(other));
    }
    if of_base.is_none() && of_new.is_none() {
        return None;
    }
    let mut result = MetricRatio {
        metric,
        base: of_base.as_ref().map(|figure| figure.measured),
        new: of_new.as_ref().map(|figure| figure.measured),
        ratio: None,
        interval: None,
        method: None,
        p_value: None,
        noise_floor: NOISE_FLOOR,
        verdict: Verdict::NotComparable,
        reason: None,
    };
    let (Some(of_base), Some(of_new)) = (of_base, of_new) else {
        let missing = if result.base.is_none() { "the base" } else { "the new run" };
        result.reason = Some(format!("{missing} has no such figure"));
        return Some(result);
    };
    let plain = of_new.measured.value / of_base.measured.value;
    if !plain.is_finite() || plain <= 0.0 {
        result.reason = Some("a figure is zero".to_owned());
        return Some(result);
    }
    result.ratio = Some(plain);
    if matches!(metric, Metric::TotalRate | Metric::PerGpuRate) && by_decoding {
        result.reason = Some("the windows differ in length: the decoding rate is compared".to_owned());
        return Some(result);
    }
    let spreads = [of_base.replicate_spread, of_new.replicate_spread].into_iter().flatten();
    result.noise_floor = spreads.map(|spread| 2.0 * spread).fold(NOISE_FLOOR, f64::max);
    let (Some(one), Some(other)) = (of_base.estimate, of_new.estimate) else {
        result.verdict = Verdict::NotTested;
        let which = match (of_base.estimate, of_new.estimate) {
            (None, None) => "neither record has",
            (None, _) => "the base does not have",
            _ => "the new run does not have",
        };
        result.reason = Some(format!("{which} the samples for an interval"));
        return Some(result);
    };
    if let Some(found) = ratio(one, other, LEVEL) {
        result.interval = Some([found.low, found.high]);
        result.p_value = Some(found.p_value);
        let both_repeats = of_base.method == of_new.method;
        result.method = Some(if both_repeats { of_base.method } else { "welch_log_batches" }.to_owned());
        // Until all cells of the quantity are looked at.
        result.verdict = Verdict::NoDetectableDifference;
    }
    Some(result)
}

/// Tests one quantity over all cells at once.
fn judge(pairs: &mut [CellPair], metric: Metric) {
    let mut tested: Vec<&mut MetricRatio> = pairs
        .iter_mut()
        .flat_map(|pair| &mut pair.metrics)
        .filter(|ratio| ratio.metric == metric && ratio.p_value.is_some())
        .collect();
    let p_values: Vec<f64> = tested.iter().filter_map(|ratio| ratio.p_value).collect();
    let stand = benjamini_hochberg(&p_values, FALSE_DISCOVERY_RATE);
    let count = p_values.len();
    for (result, stands) in tested.iter_mut().zip(stand) {
        let Some(ratio) = result.ratio else { continue };
        let change = ratio.max(1.0 / ratio) - 1.0;
        let holds_one = result.interval.is_some_and(|[low, high]| low <= 1.0 && high >= 1.0);
        if stands && change > result.noise_floor {
            let better = (ratio > 1.0) == metric.higher_is_better();
            result.verdict = if better { Verdict::Faster } else { Verdict::Slower };
            continue;
        }
        result.reason = Some(if holds_one {
            "the interval holds 1".to_owned()
        } else if stands {
            format!(
                "the change of {:.2} % is below the floor of {:.1} %",
                change * 100.0,
                result.noise_floor * 100.0
            )
        } else {
            format!("one of {count} cells may look so by chance (Benjamini–Hochberg at 5 %)")
        });
    }
}

/// Mean ratios of every quantity and phase.
fn means(pairs: &[CellPair]) -> Vec<GeometricMean> {
    let mut means = Vec::new();
    for phase in [Phase::Decode, Phase::Prefill] {
        for metric in Metric::ALL.into_iter().filter(|metric| metric.is_of(phase)) {
            let ratios: Vec<f64> = pairs
                .iter()
                .filter(|pair| pair.phase == phase)
                .filter_map(|pair| pair.metric(metric))
                .filter(|ratio| ratio.verdict != Verdict::NotComparable)
                .filter_map(|ratio| ratio.ratio)
                .collect();
            let Some(centre) = geometric_mean(&ratios) else { continue };
            let interval =
                if ratios.len() >= MEAN_FROM { geometric_mean_interval(&ratios, LEVEL) } else { None };
            means.push(GeometricMean {
                metric,
                phase,
                n: ratios.len() as u32,
                ratio: centre,
                interval: interval.map(|interval| [interval.low, interval.high]),
                method: interval.map(|_| "bootstrap_cells".to_owned()),
            });
        }
    }
    means
}
