//! The charts of a run: prefill by context, and throughput against interactivity.

use tokometer_analysis::DEFAULT_LEVEL;
use tokometer_record::{Cell, Distribution, Phase, Run, Status, context_label};

use super::faces::accelerators;
use super::matrix::shown_rate;
use crate::number;
use crate::svg::{Axis, Band, Chart, Join, Point, SERIES, Scale, Series};

/// TTFT of a cold prompt by context, the other side of the prefill rate; none with fewer than two.
pub(crate) fn prefill(run: &Run) -> Option<Chart> {
    let mut cells: Vec<(&Cell, &Distribution, f64)> = run
        .cells
        .iter()
        .filter(|cell| cell.phase == Phase::Prefill && cell.status == Status::Valid)
        .filter_map(|cell| {
            let ttft = cell.ttft_ms.as_ref()?;
            Some((cell, ttft, ttft.p50.filter(|ms| *ms > 0.0)?))
        })
        .collect();
    cells.sort_by_key(|(cell, ..)| cell.context_nominal);
    if cells.len() < 2 {
        return None;
    }
    let marks: Vec<(f64, String)> = cells
        .iter()
        .map(|(cell, ..)| (cell.context_nominal as f64, context_label(cell.context_nominal)))
        .collect();
    let points: Vec<Point> = cells
        .iter()
        .map(|(cell, ttft, median)| Point {
            x: cell.context_nominal as f64,
            y: *median,
            interval: ttft.min.zip(ttft.max).filter(|_| ttft.n > Some(1)).map(|(low, high)| [low, high]),
            label: time(*median),
            title: format!("{} prompt: {}", context_label(cell.context_nominal), time(*median)),
            ..Point::default()
        })
        .collect();
    let said: Vec<String> = points.iter().map(|point| point.title.clone()).collect();
    Some(Chart {
        id: "chart-prefill".to_owned(),
        title: "Time to the first token of a cold prompt, by context".to_owned(),
        description: format!("{}. The table below it has the same figures.", said.join("; ")),
        x: Axis::at("Context, tokens (log scale)", Scale::Log2, &marks)?,
        y: Axis::over(
            "TTFT of a cold prompt (log scale)",
            Scale::Log10,
            points.iter().map(|point| point.y),
            time,
        )?,
        series: vec![Series {
            name: "Prefill".to_owned(),
            style: 0,
            points,
            join: Join::Line,
            marks: true,
            labels: true,
        }],
        bands: Vec::new(),
        better: "better ↓",
    })
}

/// `292 ms`, `1.81 s`.
fn time(ms: f64) -> String {
    if ms < 1000.0 { format!("{} ms", number::ms(ms)) } else { format!("{} s", number::plain(ms / 1000.0)) }
}

/// Rate of a request against the rate of a GPU, a line for each context, a point for each concurrency. Against the
/// total rate where the accelerators are not known.
pub(crate) fn interactivity(run: &Run) -> Option<Chart> {
    let count = accelerators(run);
    let unit = unit(run);
    let mut contexts: Vec<u64> = run
        .cells
        .iter()
        .filter(|cell| cell.phase == Phase::Decode)
        .map(|cell| cell.context_nominal)
        .collect();
    contexts.sort_unstable();
    contexts.dedup();
    let series: Vec<Series> = contexts
        .iter()
        .enumerate()
        .map(|(place, &context)| Series {
            name: context_label(context),
            style: place % SERIES,
            points: points(run, context, count.unwrap_or(1.0), unit),
            join: Join::Line,
            marks: true,
            labels: false,
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let all = || series.iter().flat_map(|series| &series.points);
    if all().count() < 2 {
        return None;
    }
    let longest = series.iter().map(|line| line.points.len()).max()?;
    let widest = series.iter().position(|line| line.points.len() == longest)?;
    let said: Vec<String> = all().map(|point| point.title.clone()).collect();
    let x = Axis::over(
        "tok/s per request, median (log scale)",
        Scale::Log10,
        all().map(|point| point.x),
        number::plain,
    )?;
    let label = format!("{unit} (log scale)");
    let y = Axis::over(&label, Scale::Log10, all().map(|point| point.y), number::plain)?;
    let least = DEFAULT_LEVEL.least_rate.filter(|rate| (x.ends.0..=x.ends.1).contains(rate));
    let served = least
        .map(|rate| Band { from: rate, to: rate, name: format!("≥ {} served", number::plain(rate)) })
        .into_iter()
        .collect();
    let description = format!("A line for each context, a point for each concurrency. {}.", said.join("; "));
    let mut series = series;
    // The concurrency is written along one line; the others have the same order.
    for (place, line) in series.iter_mut().enumerate() {
        line.labels = place == widest;
    }
    Some(Chart {
        id: "chart-interactivity".to_owned(),
        title: format!("Throughput against interactivity: {unit} by tok/s per request"),
        description,
        x,
        y,
        series,
        bands: served,
        better: "better ↗",
    })
}

/// What the upper axis measures.
pub(crate) fn unit(run: &Run) -> &'static str {
    if accelerators(run).is_some() { "tok/s per GPU" } else { "tok/s in all" }
}

/// The points of that chart as rows: context, requests at once, and both rates.
pub(crate) fn rows(chart: &Chart) -> Vec<[String; 4]> {
    chart
        .series
        .iter()
        .flat_map(|line| line.points.iter().map(move |point| (&line.name, point)))
        .map(|(context, point)| {
            let half = point.interval.map(|[low, high]| number::plus_minus((high - low) / 2.0, point.y));
            let half = half.map(|half| format!(" ± {half}")).unwrap_or_default();
            [
                context.clone(),
                point.label.trim_start_matches('×').to_owned(),
                number::rate(point.x),
                format!("{}{half}", number::rate(point.y)),
            ]
        })
        .collect()
}

/// The points of one context, by concurrency.
pub(crate) fn points(run: &Run, context: u64, accelerators: f64, unit: &str) -> Vec<Point> {
    let mut cells: Vec<&Cell> = run
        .cells
        .iter()
        .filter(|cell| cell.phase == Phase::Decode && cell.context_nominal == context)
        .collect();
    cells.sort_by_key(|cell| cell.concurrency);
    cells
        .into_iter()
        .filter_map(|cell| {
            let total = shown_rate(cell)?;
            let each = cell.per_request_rate.as_ref()?.p50.filter(|rate| *rate > 0.0)?;
            let interval = cell.throughput.as_ref().and_then(|rates| rates.interval.as_ref());
            (total > 0.0).then(|| Point {
                x: each,
                y: total / accelerators,
                interval: interval.map(|ends| [ends.low / accelerators, ends.high / accelerators]),
                label: format!("×{}", cell.concurrency),
                title: format!(
                    "{} × {}: {} tok/s per request, {} {unit}",
                    context_label(context),
                    cell.concurrency,
                    number::rate(each),
                    number::rate(total / accelerators)
                ),
                ..Point::default()
            })
        })
        .collect()
}
