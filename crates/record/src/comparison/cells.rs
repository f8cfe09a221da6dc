//! Cells of two runs, side by side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cell::Phase;
use crate::verdict::Status;

/// A quantity that is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Output tokens per second of the window over all streams, tok/s.
    TotalRate,
    /// The rate without restarts, tok/s.
    DecodingRate,
    /// Prompt tokens per second of a cold request, tok/s.
    PrefillRate,
    /// Median time to the first token, ms.
    Ttft,
    /// Median time between tokens of a request, ms.
    TimeBetweenTokens,
    /// Median rate of a request, tok/s.
    PerRequestRate,
    /// Total rate ÷ accelerators that the server uses, tok/s; only where two runs differ in how many they have.
    PerGpuRate,
    /// Total rate ÷ tokens of a verification step: the speed without the luck of speculative decoding, step/s.
    VerifyStepsRate,
    /// Energy of the accelerators' boards ÷ output tokens, J.
    EnergyPerToken,
}

impl Metric {
    /// All of them, in the order of pages.
    pub const ALL: [Metric; 9] = [
        Metric::TotalRate,
        Metric::DecodingRate,
        Metric::PerGpuRate,
        Metric::VerifyStepsRate,
        Metric::PerRequestRate,
        Metric::TimeBetweenTokens,
        Metric::Ttft,
        Metric::EnergyPerToken,
        Metric::PrefillRate,
    ];

    /// The word in files, and in gates: `total_rate`.
    pub fn code(self) -> &'static str {
        match self {
            Metric::TotalRate => "total_rate",
            Metric::DecodingRate => "decoding_rate",
            Metric::PrefillRate => "prefill_rate",
            Metric::Ttft => "ttft",
            Metric::TimeBetweenTokens => "time_between_tokens",
            Metric::PerRequestRate => "per_request_rate",
            Metric::PerGpuRate => "per_gpu_rate",
            Metric::VerifyStepsRate => "verify_steps_rate",
            Metric::EnergyPerToken => "energy_per_token",
        }
    }

    /// The name on pages: `total rate`.
    pub fn words(self) -> &'static str {
        match self {
            Metric::TotalRate => "total rate",
            Metric::DecodingRate => "decoding rate",
            Metric::PrefillRate => "prefill rate",
            Metric::Ttft => "TTFT",
            Metric::TimeBetweenTokens => "time between tokens",
            Metric::PerRequestRate => "per-request rate",
            Metric::PerGpuRate => "rate per GPU",
            Metric::VerifyStepsRate => "verification steps",
            Metric::EnergyPerToken => "energy per token",
        }
    }

    /// Its unit.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Ttft | Metric::TimeBetweenTokens => "ms",
            Metric::VerifyStepsRate => "step/s",
            Metric::EnergyPerToken => "J/tok",
            Metric::TotalRate
            | Metric::DecodingRate
            | Metric::PrefillRate
            | Metric::PerRequestRate
            | Metric::PerGpuRate => "tok/s",
        }
    }

    /// True if more is better.
    pub fn higher_is_better(self) -> bool {
        matches!(self.unit(), "tok/s" | "step/s")
    }

    /// Which rows of a run have it: TTFT is in both.
    pub fn is_of(self, phase: Phase) -> bool {
        match self {
            Metric::PrefillRate => phase == Phase::Prefill,
            Metric::Ttft => true,
            _ => phase == Phase::Decode,
        }
    }
}

/// What two cells were paired by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairedBy {
    /// Their prompts' actual token counts agree.
    ActualTokens,
    /// Only their labels agree: one of the records has no actual counts.
    Label,
}

/// What a ratio means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better than the base, detectably: a higher rate, a shorter time.
    Faster,
    /// Worse than the base, detectably.
    Slower,
    /// The difference can't be told from noise: a result, not a gap.
    NoDetectableDifference,
    /// There is a ratio, but no interval to test it with.
    NotTested,
    /// There is no ratio that means anything; the reason says why.
    NotComparable,
}

impl Verdict {
    /// The words on a page.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::NoDetectableDifference => "no detectable difference",
            Verdict::NotTested => "not tested",
            Verdict::NotComparable => "not comparable",
        }
    }
}

/// A figure of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// The estimate, in the unit of the metric.
    pub value: f64,
    /// Its own 95 % interval, where the record has one.
    pub interval: Option<[f64; 2]>,
    /// Samples that it rests on: batches of a rate, requests of a median; null where the record does not tell.
    pub n: Option<u64>,
}

/// One quantity of a pair of cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricRatio {
    /// The quantity.
    pub metric: Metric,
    /// The base's figure.
    pub base: Option<Measured>,
    /// The other run's figure.
    pub new: Option<Measured>,
    /// New ÷ base.
    pub ratio: Option<f64>,
    /// 95 % interval of the ratio; null where the records have nothing to make it from.
    pub interval: Option<[f64; 2]>,
    /// How it was made: `welch_log_batches`, `welch_log_repeats`, `median_intervals`.
    pub method: Option<String>,
    /// Probability of a ratio at least so far from 1 where there is no difference.
    pub p_value: Option<f64>,
    /// The smallest change that counts, as a share: the noise floor, or twice the spread of repeats.
    pub noise_floor: f64,
    /// What it means.
    pub verdict: Verdict,
    /// Why it is not comparable or not tested, or what the difference failed on.
    pub reason: Option<String>,
}

/// Two cells that can be laid side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellPair {
    /// Phase.
    pub phase: Phase,
    /// Context by label, tokens.
    pub context_nominal: u64,
    /// Requests at once.
    pub concurrency: u32,
    /// Median prompt tokens of base and new, as the servers counted them.
    pub actual_tokens: [Option<f64>; 2],
    /// What they were paired by.
    pub paired_by: PairedBy,
    /// The quantity that stands for the cell: total rate (decoding rate where the windows differ in length), or
    /// prefill rate.
    pub headline: Metric,
    /// Every quantity that either cell has.
    pub metrics: Vec<MetricRatio>,
}

impl CellPair {
    /// The cell's name in file names and anchors: `decode-8192-32`, `prefill-8192`.
    pub fn name(&self) -> String {
        self.phase.cell_name(self.context_nominal, self.concurrency)
    }

    /// One of its quantities.
    pub fn metric(&self, metric: Metric) -> Option<&MetricRatio> {
        self.metrics.iter().find(|ratio| ratio.metric == metric)
    }

    /// The quantity that stands for the cell.
    pub fn headline(&self) -> Option<&MetricRatio> {
        self.metric(self.headline)
    }
}

/// A cell that has no partner, or none that it may be compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unpaired {
    /// Phase.
    pub phase: Phase,
    /// Context by label, tokens.
    pub context_nominal: u64,
    /// Requests at once.
    pub concurrency: u32,
    /// Status in base and new; null where the run has no such cell.
    pub status: [Option<Status>; 2],
    /// One sentence: which of both has no result and why, or which token counts differ.
    pub reason: String,
}

/// The mean ratio over the paired cells of one quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeometricMean {
    /// The quantity.
    pub metric: Metric,
    /// Phase of the cells.
    pub phase: Phase,
    /// Cells.
    pub n: u32,
    /// Geometric mean of their ratios.
    pub ratio: f64,
    /// 95 % interval over cells: how much the ratio changes from cell to cell; null below 3 cells.
    pub interval: Option<[f64; 2]>,
    /// How it was made.
    pub method: Option<String>,
}

/// The cells of one run against those of the base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRatios {
    /// Which run, as an index into the comparison's runs.
    pub run: u32,
    /// Cells that were paired, in the order of the matrix.
    pub pairs: Vec<CellPair>,
    /// Cells of either run that were not, each with its reason.
    pub unpaired: Vec<Unpaired>,
    /// Pairs of the decode matrix.
    pub decode_pairs: u32,
    /// Pairs of the prefill row.
    pub prefill_pairs: u32,
    /// Mean ratios, one for each quantity and phase that has pairs.
    pub means: Vec<GeometricMean>,
}

impl RunRatios {
    /// The pair of one cell.
    pub fn pair(&self, phase: Phase, context_nominal: u64, concurrency: u32) -> Option<&CellPair> {
        self.pairs.iter().find(|pair| {
            (pair.phase, pair.context_nominal, pair.concurrency) == (phase, context_nominal, concurrency)
        })
    }
}
