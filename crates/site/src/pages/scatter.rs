//! The chart of a list: what a user gets against what an accelerator gives, a mark for each run.

use std::collections::BTreeMap;

use tokometer_report::number;
use tokometer_report::svg::{Axis, Band, Chart, Join, Point, SERIES, Scale, Series};

use super::{links, rows};
use crate::domain::RunRow;

/// Kinds of hardware with a colour and a shape of their own; others share the last.
const KINDS: usize = SERIES - 2;
/// Fronts that are drawn: of the kinds of runs that most rows are of.
const FRONTS: usize = 2;
/// Rate that a fluent reader needs, tok/s.
const FLUENT: f64 = 50.0;

/// A chart and what it leaves out.
#[derive(Debug)]
pub(super) struct Scatter {
    /// For desks and for phones.
    pub(super) drawings: [String; 2],
    /// Runs in it.
    pub(super) shown: usize,
    /// What its dotted lines are.
    pub(super) fronts: String,
}

/// A run's place in the chart.
struct Place<'a> {
    row: &'a RunRow,
    user: f64,
    each: f64,
}

/// Draws it; none with fewer than two runs that have both figures.
pub(super) fn draw(rows: &[RunRow]) -> Option<Scatter> {
    let places: Vec<Place<'_>> = rows
        .iter()
        .filter_map(|row| {
            let (user, each) = (row.one_user?.value, row.peak_per_accelerator?);
            (user > 0.0 && each > 0.0).then_some(Place { row, user, each })
        })
        .collect();
    if places.len() < 2 {
        return None;
    }
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for place in &places {
        *kinds.entry(&place.row.hardware).or_default() += 1;
    }
    let mut kinds: Vec<(&str, usize)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<&str> =
        kinds.iter().take(if kinds.len() > KINDS { KINDS - 1 } else { KINDS }).map(|kind| kind.0).collect();
    let style = |row: &RunRow| named.iter().position(|name| *name == row.hardware).unwrap_or(KINDS - 1);
    let marks = |number: usize, name: &str| Series {
        name: short(name),
        style: number,
        points: places.iter().filter(|place| style(place.row) == number).map(point).collect(),
        join: Join::None,
        marks: true,
        labels: false,
    };
    let (fronts, told) = fronts(&places);
    let mut series = fronts;
    series.extend(named.iter().enumerate().map(|(number, name)| marks(number, name)));
    if kinds.len() > named.len() {
        series.push(marks(KINDS - 1, "others"));
    }
    series.retain(|line| !line.points.is_empty());
    let x = Axis::over(
        "one user, tok/s (log scale)",
        Scale::Log10,
        places.iter().map(|it| it.user),
        number::tick,
    )?;
    let y = Axis::over(
        "peak, tok/s per GPU (log scale)",
        Scale::Log10,
        places.iter().map(|it| it.each),
        number::tick,
    )?;
    let fluent = (x.ends.0..=x.ends.1).contains(&FLUENT);
    let chart = Chart {
        id: "chart-runs".to_owned(),
        title: "What one user gets, against what an accelerator gives at its peak".to_owned(),
        description: format!(
            "{} runs; marks differ by hardware and lead to the run. The table below has the same figures.",
            places.len()
        ),
        x,
        y,
        series,
        bands: fluent
            .then(|| Band { from: FLUENT, to: FLUENT, name: "50 tok/s".to_owned() })
            .into_iter()
            .collect(),
        better: "better ↗",
    };
    Some(Scatter {
        drawings: [chart.inline(900.0, 380.0, ""), chart.inline(360.0, 330.0, "-small")],
        shown: places.len(),
        fronts: told,
    })
}

fn point(place: &Place<'_>) -> Point {
    let count = place.row.accelerators.map(f64::from);
    let ends = place.row.peak.and_then(|peak| peak.low.zip(peak.high)).zip(count);
    Point {
        x: place.user,
        y: place.each,
        interval: ends.map(|((low, high), count)| [low / count, high / count]),
        title: format!(
            "{}: {} tok/s for one user, {} tok/s per GPU at peak",
            rows::label(place.row),
            number::rate(place.user),
            number::rate(place.each)
        ),
        link: links::run(&place.row.id),
        ..Point::default()
    }
}

/// Lines through the runs that no other of their kind beats in both figures; a kind is a precision, with speculative
/// decoding or without, since these are not the same work.
fn fronts(places: &[Place<'_>]) -> (Vec<Series>, String) {
    let mut kinds: BTreeMap<(&str, bool), Vec<&Place<'_>>> = BTreeMap::new();
    for place in places {
        let speculates = !matches!(place.row.speculative.as_str(), "off" | "unknown");
        kinds.entry((&place.row.quantization, speculates)).or_default().push(place);
    }
    let mut kinds: Vec<_> = kinds.into_iter().filter(|(_, places)| places.len() > 1).collect();
    kinds.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
    let mut told = Vec::new();
    let lines = kinds
        .into_iter()
        .filter_map(|((precision, speculates), places)| {
            let front = front(&places);
            let name = match (precision, speculates) {
                ("unknown", false) => "precision unknown".to_owned(),
                ("unknown", true) => "speculative".to_owned(),
                (precision, false) => precision.to_owned(),
                (precision, true) => format!("{precision}, speculative"),
            };
            (front.len() > 1).then_some((name, front))
        })
        .take(FRONTS)
        .enumerate()
        .map(|(number, (name, points))| {
            told.push(name.clone());
            Series {
                name: short(&format!("best {name}")),
                style: KINDS + number,
                points,
                join: Join::Line,
                marks: false,
                labels: false,
            }
        })
        .collect();
    (lines, told.join(" and of "))
}

fn front(places: &[&Place<'_>]) -> Vec<Point> {
    let mut sorted: Vec<&&Place<'_>> = places.iter().collect();
    sorted.sort_by(|one, other| other.user.total_cmp(&one.user).then(other.each.total_cmp(&one.each)));
    let mut best = 0.0;
    let mut points: Vec<Point> = Vec::new();
    for place in sorted {
        if place.each > best {
            best = place.each;
            points.push(Point { x: place.user, y: place.each, ..Point::default() });
        }
    }
    points.reverse();
    points
}

/// A name that leaves the plot room.
fn short(name: &str) -> String {
    const MOST: usize = 18;
    if name.chars().count() <= MOST {
        name.to_owned()
    } else {
        name.chars().take(MOST - 1).chain(['…']).collect()
    }
}
