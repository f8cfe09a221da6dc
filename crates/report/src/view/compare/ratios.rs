//! Ratios of one run's cells against those of the base.

use tokometer_record::comparison::{CellPair, Metric, MetricRatio, RunRatios, Unpaired, Verdict};
use tokometer_record::{Phase, context_label};

use super::{FOREIGN, letter};
use crate::number;
use crate::words::{clean, sentence, shorten};

/// One run against the base.
#[derive(Debug)]
pub(crate) struct Against {
    /// `B ÷ A`.
    pub(crate) name: String,
    /// `b`, for anchors.
    pub(crate) anchor: String,
    /// How many cells were compared.
    pub(crate) paired: String,
    /// Mean ratios in words.
    pub(crate) means: Vec<String>,
    /// A table for each quantity; the first is the cells' own.
    pub(crate) tables: Vec<RatioTable>,
    /// Cells that were not paired: cell and reason.
    pub(crate) unpaired: Vec<(String, String)>,
}

/// Ratios of one quantity.
#[derive(Debug)]
pub(crate) struct RatioTable {
    /// `Total rate`.
    pub(crate) name: String,
    /// `higher is better`.
    pub(crate) direction: &'static str,
    /// Requests at once; one empty heading for prefill.
    pub(crate) columns: Vec<String>,
    /// Context and its cells.
    pub(crate) rows: Vec<(String, Vec<RatioCell>)>,
}

/// One ratio.
#[derive(Debug)]
pub(crate) struct RatioCell {
    /// Step of the palette, `worse-3` to `better-3`, `same`, or `none`.
    pub(crate) step: String,
    /// `▲ 2.07`; or what stands for a number.
    pub(crate) ratio: String,
    /// `2.02–2.12`.
    pub(crate) interval: String,
    /// `224 → 463 tok/s`.
    pub(crate) figures: String,
    /// The verdict in words, or why there is no ratio.
    pub(crate) said: String,
}

impl Against {
    /// Lays the ratios of one run out.
    pub(crate) fn of(ratios: &RunRatios) -> Against {
        let new = letter(ratios.run as usize);
        let all = |phase: Phase| {
            let paired = ratios.pairs.iter().filter(|pair| pair.phase == phase).count();
            paired + ratios.unpaired.iter().filter(|cell| cell.phase == phase).count()
        };
        let mut tables: Vec<RatioTable> = Vec::new();
        for metric in Metric::ALL {
            for phase in [Phase::Decode, Phase::Prefill] {
                let wanted = metric.is_of(phase)
                    && ratios.pairs.iter().any(|pair| pair.phase == phase && pair.metric(metric).is_some());
                if wanted {
                    tables.push(table(ratios, metric, phase));
                }
            }
        }
        Against {
            name: format!("{new} ÷ {}", letter(0)),
            anchor: new.to_lowercase(),
            paired: format!(
                "{} of {} decode cells and {} of {} prefill contexts were compared",
                ratios.decode_pairs,
                all(Phase::Decode),
                ratios.prefill_pairs,
                all(Phase::Prefill)
            ),
            means: ratios
                .means
                .iter()
                .map(|mean| {
                    let interval = mean
                        .interval
                        .map(|[low, high]| format!(" ({}–{})", ratio_text(low), ratio_text(high)))
                        .unwrap_or_default();
                    let bare = mean.phase == Phase::Prefill && mean.metric != Metric::PrefillRate;
                    let phase = if bare { " of cold prompts" } else { "" };
                    let said = format!(
                        "{}{phase}: × {}{interval}, geometric mean of {}",
                        mean.metric.words(),
                        ratio_text(mean.ratio),
                        crate::words::counted(u64::from(mean.n), "cell")
                    );
                    sentence(&said)
                })
                .collect(),
            tables,
            unpaired: ratios.unpaired.iter().map(unpaired).collect(),
        }
    }
}

fn table(ratios: &RunRatios, metric: Metric, phase: Phase) -> RatioTable {
    let cells = || {
        let paired = ratios.pairs.iter().map(|pair| (pair.phase, pair.context_nominal, pair.concurrency));
        let rest = ratios.unpaired.iter().map(|cell| (cell.phase, cell.context_nominal, cell.concurrency));
        paired.chain(rest).filter(move |cell| cell.0 == phase)
    };
    let mut contexts: Vec<u64> = cells().map(|cell| cell.1).collect();
    let mut columns: Vec<u32> = cells().map(|cell| cell.2).collect();
    contexts.sort_unstable();
    contexts.dedup();
    columns.sort_unstable();
    columns.dedup();
    let name = metric.words();
    let prefill = if phase == Phase::Prefill && metric == Metric::Ttft { " of cold prompts" } else { "" };
    RatioTable {
        name: format!("{}{}{prefill}", name[..1].to_uppercase(), &name[1..]),
        direction: if metric.higher_is_better() {
            "a ratio over 1 is better"
        } else {
            "a ratio under 1 is better"
        },
        columns: columns
            .iter()
            .map(
                |concurrency| {
                    if phase == Phase::Prefill { "alone".to_owned() } else { format!("×{concurrency}") }
                },
            )
            .collect(),
        rows: contexts
            .iter()
            .map(|&context| {
                let row = columns.iter().map(|&concurrency| {
                    let unpaired = ratios.unpaired.iter().find(|cell| {
                        (cell.phase, cell.context_nominal, cell.concurrency) == (phase, context, concurrency)
                    });
                    ratio_cell(ratios.pair(phase, context, concurrency), unpaired, metric)
                });
                (context_label(context), row.collect())
            })
            .collect(),
    }
}

fn ratio_cell(pair: Option<&CellPair>, unpaired: Option<&Unpaired>, metric: Metric) -> RatioCell {
    let nothing = |said: String| RatioCell {
        step: "none".to_owned(),
        ratio: number::NONE.to_owned(),
        interval: String::new(),
        figures: String::new(),
        said,
    };
    let Some(found) = pair.and_then(|pair| pair.metric(metric)) else {
        return nothing(unpaired.map_or_else(String::new, |unpaired| shorten(&clean(&unpaired.reason), 60)));
    };
    let Some(ratio) = found.ratio else {
        let why = found.reason.as_deref().map_or_else(|| found.verdict.words().to_owned(), clean);
        return nothing(shorten(&why, 80));
    };
    let figure = match metric.unit() {
        "ms" => number::ms,
        "J/tok" => number::joules,
        _ => number::rate,
    };
    RatioCell {
        step: step(found, ratio),
        ratio: format!("{} {}", glyph(found.verdict), ratio_text(ratio)).trim().to_owned(),
        interval: found
            .interval
            .map(|[low, high]| format!("{}–{}", ratio_text(low), ratio_text(high)))
            .unwrap_or_default(),
        figures: match (found.base, found.new) {
            (Some(base), Some(new)) => {
                format!("{} → {} {}", figure(base.value), figure(new.value), metric.unit())
            }
            _ => String::new(),
        },
        said: found.verdict.words().to_owned(),
    }
}

/// The palette's step: by how far the ratio is off 1, on a logarithm; better and worse by what the quantity is.
fn step(found: &MetricRatio, ratio: f64) -> String {
    if found.verdict == Verdict::NoDetectableDifference || ratio <= 0.0 {
        return "same".to_owned();
    }
    let off = ratio.ln().abs();
    let far = match off {
        off if off < 1.01_f64.ln() => return "same".to_owned(),
        off if off < 1.1_f64.ln() => 1,
        off if off < 1.5_f64.ln() => 2,
        _ => 3,
    };
    let better = (ratio > 1.0) == found.metric.higher_is_better();
    format!("{}-{far}", if better { "better" } else { "worse" })
}

fn glyph(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "▲",
        Verdict::Slower => "▼",
        Verdict::NoDetectableDifference => "≈",
        Verdict::NotTested => "",
        Verdict::NotComparable => "✕",
    }
}

/// A ratio with three digits at least where it is near 1: `0.985`, `1.02`, `2.07`, `12.4`.
fn ratio_text(ratio: f64) -> String {
    let decimals = match ratio {
        ratio if ratio >= 10.0 => 1,
        ratio if ratio >= 1.0 => 2,
        _ => 3,
    };
    number::fixed(ratio, decimals)
}

fn unpaired(cell: &Unpaired) -> (String, String) {
    let context = context_label(cell.context_nominal);
    let label = match cell.phase {
        Phase::Prefill => format!("prefill\u{a0}{context}"),
        Phase::Decode => format!("{context}\u{a0}×\u{a0}{}", cell.concurrency),
    };
    (label, shorten(&clean(&cell.reason), FOREIGN))
}
