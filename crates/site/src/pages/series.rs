//! One set-up over the versions of its engine.

use std::cmp::Ordering;

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::StatusCode;
use tokometer_report::number;
use tokometer_report::svg::{Axis, Chart, Join, Point, Scale, Series};

use super::frame::{About, Frame, Here};
use super::index::Link;
use super::rows::{self, Row};
use super::{links, words};
use crate::account::Visitor;
use crate::app::App;
use crate::domain::{Filters, Goal, Headline, RunQuery, RunRow, Shelf};
use crate::problem::Problem;

/// Smallest change that is told as one, as a share.
const NOISE: f64 = 0.01;
/// Goals that a series can be seen by.
const GOALS: [Goal; 6] = rows::FIGURES;

/// One version.
struct Version {
    name: String,
    figure: String,
    n: usize,
    /// Against the version before.
    change: String,
    tone: &'static str,
}

#[derive(Template)]
#[template(path = "series.html")]
struct SeriesPage {
    setup: String,
    simulated: bool,
    goals: Vec<Link>,
    goal: &'static str,
    unit: &'static str,
    goal_meaning: &'static str,
    versions: Vec<Version>,
    drawings: Option<[String; 2]>,
    table: String,
}

/// `/series/HASH?goal=peak`.
pub(super) async fn series(
    State(app): State<App>,
    visitor: Visitor,
    Path(hash): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let text = query.unwrap_or_default();
    let asked = RunQuery::parse(&text, &[])
        .map_err(|why| Problem::bad("bad_query", why, "take ?goal=peak, or nothing"))?;
    // Numbers of users move in doublings, which tell little of a version.
    let is_asked = !text.is_empty() && GOALS.contains(&asked.goal);
    let goal = if is_asked { asked.goal } else { Goal::OneUser };
    let runs = found(&app, &hash).await?;
    let first = runs.first().ok_or_else(|| Problem::not_found("series"))?;
    let versions = versions(&runs, goal);
    let (name, unit) = words::column(goal);
    let rows: Vec<Row> = runs.iter().map(|row| Row::of(row, &rows::FIGURES, false)).collect();
    let setup =
        format!("{} · {} · {} · {}", first.model, rows::hardware(first), first.quantization, first.engine);
    let page = SeriesPage {
        simulated: first.shelf == Shelf::Simulated,
        goals: GOALS
            .into_iter()
            .map(|one| Link {
                text: words::goal(one).to_owned(),
                count: None,
                address: format!("/series/{}?goal={}", links::segment(&hash), one.code()),
                here: one == goal,
            })
            .collect(),
        goal: name,
        unit,
        goal_meaning: words::goal_meaning(goal),
        drawings: draw(&runs, goal, name, unit),
        versions,
        table: rows::table("Runs of the series, by version", &rows, &rows::FIGURES, None)?,
        setup: setup.clone(),
    };
    let about = About {
        description: format!("{setup}: speed over versions of the engine."),
        path: format!("/series/{}", links::segment(&hash)),
        title: setup,
        feed: format!("series={hash}"),
        ..About::default()
    };
    Frame::new(&app, &visitor, Here::Engines, &about)?.page(StatusCode::OK, "Over engine versions", &page)
}

/// The runs of a series, by version, then by time. A ranked run comes with no others than ranked ones.
async fn found(app: &App, hash: &str) -> Result<Vec<RunRow>, Problem> {
    let query = |shelf| RunQuery {
        shelf,
        fold: false,
        goal: Goal::Newest,
        limit: RunQuery::MOST,
        filters: Filters { series: Some(hash.to_owned()), ..Filters::default() },
        ..RunQuery::default()
    };
    for shelf in [Shelf::Ranked, Shelf::Simulated, Shelf::Reported] {
        let mut rows = app.store.list(&query(shelf)).await?.rows;
        if !rows.is_empty() {
            rows.sort_by(|one, other| {
                by_version(&one.engine_version, &other.engine_version)
                    .then(one.published_at.cmp(&other.published_at))
            });
            return Ok(rows);
        }
    }
    Ok(Vec::new())
}

/// The runs of each version, in order.
fn by_versions(runs: &[RunRow]) -> Vec<&[RunRow]> {
    runs.chunk_by(|one, other| one.engine_version == other.engine_version).collect()
}

fn versions(runs: &[RunRow], goal: Goal) -> Vec<Version> {
    let mut before: Option<Headline> = None;
    by_versions(runs)
        .into_iter()
        .map(|runs| {
            let (n, figure) = together(runs, goal);
            let (change, tone) = match (before, figure) {
                (Some(before), Some(now)) => change(before, now, goal),
                _ => (String::new(), ""),
            };
            before = figure.or(before);
            Version {
                name: runs[0].engine_version.clone(),
                figure: figure.map_or_else(|| number::NONE.to_owned(), |it| words::value(goal, it.value)),
                n,
                change,
                tone,
            }
        })
        .collect()
}

/// The middle run of a version, with the span of all of them, or of its own interval where it is alone.
fn together(runs: &[RunRow], goal: Goal) -> (usize, Option<Headline>) {
    let mut figures: Vec<Headline> = runs.iter().filter_map(|row| headline(row, goal)).collect();
    figures.sort_by(|one, other| one.value.total_cmp(&other.value));
    let n = figures.len();
    let middle = match figures.as_slice() {
        [] => None,
        [one] => Some(*one),
        many => Some(Headline {
            value: many[many.len() / 2].value,
            low: many.first().map(|it| it.low.unwrap_or(it.value)),
            high: many.last().map(|it| it.high.unwrap_or(it.value)),
        }),
    };
    (n, middle)
}

fn headline(row: &RunRow, goal: Goal) -> Option<Headline> {
    match goal {
        Goal::OneUser => row.one_user,
        Goal::Peak => row.peak,
        _ => row.figure(goal).map(|value| Headline { value, low: None, high: None }),
    }
}

fn change(before: Headline, now: Headline, goal: Goal) -> (String, &'static str) {
    let share = now.value / before.value - 1.0;
    if !share.is_finite() {
        return (String::new(), "");
    }
    let low = |it: Headline| it.low.unwrap_or(it.value);
    let high = |it: Headline| it.high.unwrap_or(it.value);
    let overlap = low(now) <= high(before) && low(before) <= high(now);
    if overlap || share.abs() < NOISE {
        return ("no detectable difference".to_owned(), "");
    }
    let better = (share > 0.0) == goal.higher_is_better();
    (format!("{} %", number::signed(share * 100.0, 1)), if better { "good" } else { "bad" })
}

fn draw(runs: &[RunRow], goal: Goal, name: &str, unit: &str) -> Option<[String; 2]> {
    let versions = by_versions(runs);
    if versions.len() < 2 {
        return None;
    }
    let marks: Vec<(f64, String)> = versions
        .iter()
        .enumerate()
        .map(|(place, runs)| (place as f64, cut(&runs[0].engine_version)))
        .collect();
    let mut points = Vec::new();
    let mut middles = Vec::new();
    for (place, runs) in versions.iter().enumerate() {
        let x = place as f64;
        middles.extend(together(runs, goal).1.map(|it| Point { x, y: it.value, ..Point::default() }));
        points.extend(runs.iter().filter_map(|row| headline(row, goal).map(|it| (row, it))).map(
            |(row, it)| Point {
                x,
                y: it.value,
                interval: it.low.zip(it.high).map(|(low, high)| [low, high]),
                title: format!(
                    "{}: {} {unit}, {}",
                    row.engine_version,
                    words::value(goal, it.value),
                    words::day(row.published_at)
                ),
                link: links::run(&row.id),
                ..Point::default()
            },
        ));
    }
    if middles.len() < 2 {
        return None;
    }
    let last = versions.len() as f64 - 1.0;
    let room = (last * 0.06).max(0.2);
    let y = Axis::over(
        &format!("{name}, {unit}"),
        Scale::Linear,
        points.iter().map(|point| point.y),
        number::tick,
    )?;
    let series = |name: &str, points, join, marks| Series {
        name: name.to_owned(),
        style: 0,
        points,
        join,
        marks,
        labels: false,
    };
    let chart = Chart {
        id: "chart-series".to_owned(),
        title: format!("{name} by version of the engine"),
        description: "A mark for each run, a line through the middle run of each version. The table has the same figures."
            .to_owned(),
        x: Axis { label: "version of the engine".to_owned(), scale: Scale::Linear, ends: (-room, last + room), ticks: marks },
        y,
        series: vec![series("middle run", middles, Join::Line, false), series("each run", points, Join::None, true)],
        bands: Vec::new(),
        better: if goal.higher_is_better() { "better ↑" } else { "better ↓" },
    };
    Some([chart.inline(900.0, 320.0, ""), chart.inline(360.0, 300.0, "-small")])
}

fn cut(version: &str) -> String {
    const MOST: usize = 14;
    if version.chars().count() <= MOST {
        version.to_owned()
    } else {
        version.chars().take(MOST - 1).chain(['…']).collect()
    }
}

/// Versions by their numbers: 0.9 comes before 0.10, b4500 before b10000.
fn by_version(one: &str, other: &str) -> Ordering {
    let parts = |text: &str| -> Vec<(String, u64, String)> {
        text.trim_start_matches('v')
            .split(['.', '-', '+', '_'])
            .map(|part| {
                let is_digit = |letter: char| letter.is_ascii_digit();
                let (word, rest) = part.split_at(part.find(is_digit).unwrap_or(part.len()));
                let (digits, rest) =
                    rest.split_at(rest.find(|letter| !is_digit(letter)).unwrap_or(rest.len()));
                (word.to_owned(), digits.parse().unwrap_or(0), rest.to_owned())
            })
            .collect()
    };
    parts(one).cmp(&parts(other)).then_with(|| one.cmp(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_go_by_their_numbers() {
        let mut versions = ["0.10.0", "0.9.1", "b10000", "v0.9.0", "0.9.1rc1", "b4500", "unknown"];
        versions.sort_by(|one, other| by_version(one, other));
        assert_eq!(versions, ["v0.9.0", "0.9.1", "0.9.1rc1", "0.10.0", "b4500", "b10000", "unknown"]);
    }

    #[test]
    fn a_change_is_told_where_intervals_are_apart() {
        let of =
            |value: f64, half: f64| Headline { value, low: Some(value - half), high: Some(value + half) };
        assert_eq!(change(of(100.0, 2.0), of(110.0, 2.0), Goal::Peak), ("+10.0 %".to_owned(), "good"));
        assert_eq!(change(of(100.0, 2.0), of(90.0, 2.0), Goal::Peak).1, "bad");
        assert_eq!(change(of(100.0, 2.0), of(103.0, 2.0), Goal::Peak).0, "no detectable difference");
        assert_eq!(change(of(1.0, 0.0), of(0.5, 0.0), Goal::Energy).1, "good", "less energy is better");
    }
}
