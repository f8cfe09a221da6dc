//! The views of the matrix: the same cells by another quantity, each with a heat map of its own.

use tokometer_record::{Cell, Distribution, Run};

use super::matrix::{Step, interval, legend, shown_rate};
use crate::heat::Scale;
use crate::number;

/// A view of the matrix.
#[derive(Debug)]
pub(crate) struct Lens {
    /// Name in ids and classes: `total`.
    pub(crate) key: &'static str,
    /// On its button: `Total`.
    pub(crate) name: &'static str,
    /// Unit of its figures.
    pub(crate) unit: &'static str,
    /// What its figures are.
    pub(crate) what: String,
    /// The steps of the palette with the values at which they begin.
    pub(crate) legend: Vec<Step>,
    scale: Scale,
    quantity: &'static Quantity,
    accelerators: f64,
}

/// A cell in one view.
#[derive(Debug)]
pub(crate) struct Face {
    /// Key of the view.
    pub(crate) key: &'static str,
    /// Step of the palette; none where the cell lacks the figure.
    pub(crate) step: Option<usize>,
    /// The figure, or a dash.
    pub(crate) value: String,
    /// Unit, for those who hear the page.
    pub(crate) unit: &'static str,
    /// Half of its interval, where that is even.
    pub(crate) plus_minus: Option<String>,
    /// Lines below it.
    pub(crate) lines: Vec<String>,
}

/// What a view shows.
#[derive(Debug)]
struct Quantity {
    key: &'static str,
    name: &'static str,
    unit: &'static str,
    what: &'static str,
    get: fn(&Cell) -> Option<f64>,
    text: fn(f64) -> String,
    per_accelerator: bool,
    median: Option<fn(&Cell) -> Option<&Distribution>>,
}

static QUANTITIES: [Quantity; 6] = [
    Quantity {
        key: "total",
        name: "Total",
        unit: "tok/s",
        what: "Total tok/s over all streams (higher is better)",
        get: shown_rate,
        text: number::rate,
        per_accelerator: false,
        median: None,
    },
    Quantity {
        key: "request",
        name: "Per request",
        unit: "tok/s per request",
        what: "Median tok/s of a request, what one user sees (higher is better)",
        get: |cell| cell.per_request_rate.as_ref()?.p50,
        text: number::rate,
        per_accelerator: false,
        median: Some(|cell| cell.per_request_rate.as_ref()),
    },
    Quantity {
        key: "gpu",
        name: "Per GPU",
        unit: "tok/s per GPU",
        what: "Total tok/s ÷ accelerators (higher is better)",
        get: shown_rate,
        text: number::rate,
        per_accelerator: true,
        median: None,
    },
    Quantity {
        key: "ttft",
        name: "TTFT",
        unit: "ms",
        what: "Median time to the first token, ms (lower is better)",
        get: |cell| cell.ttft_ms.as_ref()?.p50,
        text: number::ms,
        per_accelerator: false,
        median: Some(|cell| cell.ttft_ms.as_ref()),
    },
    Quantity {
        key: "gap",
        name: "Time between tokens",
        unit: "ms per token",
        what: "Median time between the tokens of a request, ms (lower is better)",
        get: |cell| cell.time_between_tokens_ms.as_ref()?.p50,
        text: number::gap_ms,
        per_accelerator: false,
        median: Some(|cell| cell.time_between_tokens_ms.as_ref()),
    },
    Quantity {
        key: ENERGY,
        name: "Energy",
        unit: "J per token",
        what: "Energy of the accelerators' boards in the window ÷ output tokens, J (lower is better)",
        get: |cell| cell.telemetry.as_ref()?.joules_per_token,
        text: number::joules,
        per_accelerator: false,
        median: None,
    },
];

/// Key of the view by energy.
const ENERGY: &str = "energy";

/// The views that a run has figures for.
pub(crate) fn lenses(run: &Run, decode: &[&Cell]) -> Vec<Lens> {
    let accelerators = accelerators(run);
    QUANTITIES
        .iter()
        .filter_map(|quantity| {
            let divisor = if quantity.per_accelerator { accelerators? } else { 1.0 };
            let values = decode.iter().filter_map(|cell| figure(quantity, cell, divisor));
            let scale = Scale::over(values)?;
            let what = if quantity.per_accelerator {
                format!("{}: {divisor} of them", quantity.what)
            } else {
                quantity.what.to_owned()
            };
            Some(Lens {
                key: quantity.key,
                name: quantity.name,
                unit: quantity.unit,
                what,
                legend: legend(scale, quantity.text),
                scale,
                quantity,
                accelerators: divisor,
            })
        })
        .collect()
}

/// Accelerators that the server uses, where they are known.
pub(crate) fn accelerators(run: &Run) -> Option<f64> {
    let count: u32 = run.hardware.accelerators.iter().map(|alike| alike.count).sum();
    (count > 0).then(|| f64::from(count))
}

/// Only valid cells show figures.
fn figure(quantity: &Quantity, cell: &Cell, divisor: f64) -> Option<f64> {
    shown_rate(cell)?;
    (quantity.get)(cell).map(|value| value / divisor).filter(|value| value.is_finite() && *value > 0.0)
}

impl Lens {
    /// A valid cell in this view.
    pub(crate) fn face(&self, cell: &Cell) -> Face {
        let quantity = self.quantity;
        let value = figure(quantity, cell, self.accelerators);
        let median = quantity.median.and_then(|median| median(cell));
        Face {
            key: self.key,
            step: value.map(|value| self.scale.step(value)),
            value: value.map_or_else(|| number::NONE.to_owned(), quantity.text),
            unit: self.unit,
            plus_minus: self.plus_minus(cell),
            lines: match median {
                Some(median) => median_lines(median, quantity.text),
                None if self.key == ENERGY => power_lines(cell),
                None => Vec::new(),
            },
        }
    }

    fn plus_minus(&self, cell: &Cell) -> Option<String> {
        match self.key {
            "total" => interval(cell),
            "gpu" => {
                let throughput = cell.throughput.as_ref()?;
                let each = throughput.total / self.accelerators;
                Some(number::plus_minus(throughput.interval.as_ref()?.half_width_relative * each, each))
            }
            _ => None,
        }
    }
}

/// The power of the boards: the medians of each, from the smallest to the largest.
fn power_lines(cell: &Cell) -> Vec<String> {
    let devices = cell.telemetry.iter().flat_map(|telemetry| &telemetry.devices);
    let powers: Vec<f64> = devices.filter_map(|device| Some(device.power_watts?.p50)).collect();
    super::machine::spread(&powers, number::watts)
        .map(|power| format!("{power} W each"))
        .into_iter()
        .collect()
}

/// The interval of a median and its slow end, each with what it is made of.
fn median_lines(median: &Distribution, text: fn(f64) -> String) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some([low, high]) = median.p50_interval {
        lines.push(format!("{}–{}", text(low), text(high)));
    }
    let high = [("p99", median.p99), ("p95", median.p95), ("p90", median.p90), ("max", median.max)];
    if let Some((name, value)) = high.into_iter().find_map(|(name, value)| Some((name, value?))) {
        lines.push(format!("{name} {}", text(value)));
    }
    lines.extend(median.n.map(|n| format!("n {}", number::count(n))));
    lines
}
