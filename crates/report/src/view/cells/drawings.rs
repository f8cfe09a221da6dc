//! Drawings of a cell's trace: the rate over time, and cumulative distributions.

use tokometer_record::{CellDetail, Curve, RateSeries};

use crate::number;
use crate::svg::{Axis, Band, Chart, Join, Point, Scale, Series};

const SIZE: (f64, f64) = (460.0, 210.0);

/// The drawings that there is something to draw for, as SVG elements.
pub(crate) fn of(detail: &CellDetail) -> Vec<String> {
    let rate = detail.rate.as_ref().and_then(|rate| over_time(&detail.cell, rate));
    let ttft = detail.ttft_ms.as_ref().and_then(|curve| cumulative(&detail.cell, "ttft", "TTFT", curve));
    let gap = detail
        .gap_ms
        .as_ref()
        .and_then(|curve| cumulative(&detail.cell, "gap", "Gaps between events in the window", curve));
    [rate, ttft, gap].into_iter().flatten().map(|chart| chart.inline(SIZE.0, SIZE.1, "")).collect()
}

fn over_time(cell: &str, rate: &RateSeries) -> Option<Chart> {
    let at = |bin: usize| rate.start_seconds + bin as f64 * rate.bin_seconds;
    let end = at(rate.rates.len());
    let mut points: Vec<Point> = rate
        .rates
        .iter()
        .enumerate()
        .map(|(bin, value)| Point { x: at(bin), y: *value, ..Point::default() })
        .collect();
    let last = points.last()?.y;
    points.push(Point { x: end, y: last, ..Point::default() });
    let seconds = |value: f64| number::plain(value);
    let mut x =
        Axis::over("Seconds since the cell's first request", Scale::Linear, [0.0, end].into_iter(), seconds)?;
    x.ends = (rate.start_seconds.min(0.0), end);
    x.ticks.retain(|(value, _)| *value <= end);
    let window = rate.window_seconds;
    let described = match window {
        Some([from, to]) => {
            format!("The window is from {} s to {} s.", number::seconds(from), number::seconds(to))
        }
        None => "The window was not reached.".to_owned(),
    };
    Some(Chart {
        id: format!("rate-{cell}"),
        title: format!("Rate over time, in bins of {} s", number::plain(rate.bin_seconds)),
        description: described,
        x,
        y: Axis::over("tok/s over all streams", Scale::Linear, rate.rates.iter().copied(), number::tick)?,
        series: vec![Series {
            name: String::new(),
            style: 0,
            points,
            join: Join::Steps,
            marks: false,
            labels: false,
        }],
        bands: window.map(|[from, to]| Band { from, to, name: "window".to_owned() }).into_iter().collect(),
        better: "",
    })
}

fn cumulative(cell: &str, kind: &str, name: &str, curve: &Curve) -> Option<Chart> {
    if curve.n < 2 {
        return None;
    }
    let (first, last) = (curve.points.first()?, curve.points.last()?);
    // A spread of less than a fifth is told apart better without a logarithm.
    let wide = first[1] > 0.0 && last[1] / first[1] > 1.2;
    let scale = if wide { Scale::Log10 } else { Scale::Linear };
    let mut points = vec![Point { x: first[1], y: 0.0, ..Point::default() }];
    // A share is reached at its value and holds until the next.
    points.extend(curve.points.iter().map(|[share, value]| Point {
        x: *value,
        y: 100.0 * share,
        ..Point::default()
    }));
    let label = format!("{name}, ms{}", if wide { " (log scale)" } else { "" });
    let mut x = Axis::over(&label, scale, curve.points.iter().map(|point| point[1]), number::plain)?;
    if !wide {
        let room = (last[1] - first[1]).max(last[1] * 0.02).max(1e-3) * 0.1;
        x.ends = (first[1] - room, last[1] + room);
        x.ticks =
            scale.ticks(x.ends.0, x.ends.1).into_iter().map(|value| (value, number::plain(value))).collect();
    }
    let percent = |value: f64| format!("{value:.0} %");
    let mut y = Axis::over("Share at or below", Scale::Linear, [0.0, 100.0].into_iter(), percent)?;
    y.ends = (0.0, 100.0);
    y.ticks = [0.0, 25.0, 50.0, 75.0, 100.0].map(|value| (value, percent(value))).to_vec();
    Some(Chart {
        id: format!("{kind}-{cell}"),
        title: format!("{name}: cumulative share of {} samples", number::count(curve.n)),
        description: format!(
            "Smallest {} ms, largest {} ms. The table of latencies has percentiles.",
            number::gap_ms(first[1]),
            number::gap_ms(last[1])
        ),
        x,
        y,
        series: vec![Series {
            name: String::new(),
            style: 0,
            points,
            join: Join::Steps,
            marks: false,
            labels: false,
        }],
        bands: Vec::new(),
        better: "",
    })
}
