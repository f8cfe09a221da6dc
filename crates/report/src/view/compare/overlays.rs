//! Charts with a line for each run.

use tokometer_record::{Phase, Run, Status, context_label};

use super::letter;
use crate::number;
use crate::svg::{Axis, Chart, Join, Point, SERIES, Scale, Series};
use crate::view::charts;
use crate::view::faces::accelerators;

/// Throughput against interactivity: a chart for each context that two runs or more have points of. Per accelerator
/// where every run tells how many it has.
pub(super) fn interactivity(runs: &[Run]) -> Vec<Chart> {
    let per_gpu = runs.iter().all(|run| accelerators(run).is_some());
    let unit = if per_gpu { "tok/s per GPU" } else { "tok/s in all" };
    let mut contexts: Vec<u64> = runs
        .iter()
        .flat_map(|run| &run.cells)
        .filter(|cell| cell.phase == Phase::Decode)
        .map(|cell| cell.context_nominal)
        .collect();
    contexts.sort_unstable();
    contexts.dedup();
    contexts.into_iter().filter_map(|context| chart(runs, context, per_gpu, unit)).collect()
}

fn chart(runs: &[Run], context: u64, per_gpu: bool, unit: &str) -> Option<Chart> {
    let series = lines(runs, |run| {
        let divisor = if per_gpu { accelerators(run).unwrap_or(1.0) } else { 1.0 };
        charts::points(run, context, divisor, unit)
    });
    if series.len() < 2 {
        return None;
    }
    let all = || series.iter().flat_map(|line| &line.points);
    let label = context_label(context);
    Some(Chart {
        id: format!("overlay-{context}"),
        title: format!("{label}: {unit} by tok/s per request"),
        description: said(&series),
        x: Axis::over(
            "tok/s per request, median (log)",
            Scale::Log10,
            all().map(|point| point.x),
            number::plain,
        )?,
        y: Axis::over(
            &format!("{label} · {unit} (log)"),
            Scale::Log10,
            all().map(|point| point.y),
            number::plain,
        )?,
        series,
        bands: Vec::new(),
        better: "better ↗",
    })
}

/// Prefill rate by context.
pub(super) fn prefill(runs: &[Run]) -> Option<Chart> {
    let series = lines(runs, |run| {
        let mut points: Vec<Point> = run
            .cells
            .iter()
            .filter(|cell| cell.phase == Phase::Prefill && cell.status == Status::Valid)
            .filter_map(|cell| {
                let rate = cell.prefill_rate?;
                Some(Point {
                    x: cell.context_nominal as f64,
                    y: rate,
                    title: format!("{}: {} tok/s", context_label(cell.context_nominal), number::rate(rate)),
                    ..Point::default()
                })
            })
            .collect();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        points
    });
    if series.len() < 2 {
        return None;
    }
    let mut contexts: Vec<u64> =
        series.iter().flat_map(|line| &line.points).map(|point| point.x as u64).collect();
    contexts.sort_unstable();
    contexts.dedup();
    let marks: Vec<(f64, String)> =
        contexts.iter().map(|&context| (context as f64, context_label(context))).collect();
    let rates = || series.iter().flat_map(|line| &line.points).map(|point| point.y);
    Some(Chart {
        id: "overlay-prefill".to_owned(),
        title: "Prefill rate by context".to_owned(),
        description: said(&series),
        x: Axis::at("Context, tokens (log scale)", Scale::Log2, &marks)?,
        y: Axis::over("Prompt tok/s, from 0", Scale::Linear, rates(), number::tick)?,
        series,
        bands: Vec::new(),
        better: "better ↑",
    })
}

/// A line for each run that has points.
fn lines(runs: &[Run], points: impl Fn(&Run) -> Vec<Point>) -> Vec<Series> {
    runs.iter()
        .enumerate()
        .map(|(place, run)| Series {
            name: letter(place).to_owned(),
            style: place % SERIES,
            points: points(run),
            join: Join::Line,
            marks: true,
            labels: false,
        })
        .filter(|line| !line.points.is_empty())
        .collect()
}

fn said(series: &[Series]) -> String {
    let lines: Vec<String> = series
        .iter()
        .map(|line| {
            let points: Vec<&str> = line.points.iter().map(|point| point.title.as_str()).collect();
            format!("{}: {}.", line.name, points.join("; "))
        })
        .collect();
    lines.join(" ")
}
