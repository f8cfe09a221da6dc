//! A chart: axes, lines with marks and whiskers, and the words that say what it shows.

use super::{Axis, Drawing, SERIES, escape, short};

/// A chart of one quantity against another.
#[derive(Debug)]
pub struct Chart {
    /// Name in `id`s; unique on a page.
    pub id: String,
    /// What it shows, in short.
    pub title: String,
    /// What a reader who cannot see it should know.
    pub description: String,
    /// Left to right.
    pub x: Axis,
    /// Bottom to top.
    pub y: Axis,
    /// Lines.
    pub series: Vec<Series>,
    /// Spans of the x axis with a name, such as the window.
    pub bands: Vec<Band>,
    /// Which way is better: `better ↗`; empty where it has no say.
    pub better: &'static str,
}

/// A line.
#[derive(Debug)]
pub struct Series {
    /// Its name; written at its last point.
    pub name: String,
    /// Colour, shape and dash: 0 to 5.
    pub style: usize,
    /// In order.
    pub points: Vec<Point>,
    /// How its points are joined.
    pub join: Join,
    /// True if points have marks.
    pub marks: bool,
    /// True if the labels of its points are written.
    pub labels: bool,
}

/// How the points of a line are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// Each with the next.
    Line,
    /// By steps: each point holds until the next.
    Steps,
    /// Not at all.
    None,
}

/// A point.
#[derive(Debug, Clone, Default)]
pub struct Point {
    /// Where it is, left to right.
    pub x: f64,
    /// Where it is, bottom to top.
    pub y: f64,
    /// Ends of its interval on the y axis.
    pub interval: Option<[f64; 2]>,
    /// Written beside it; empty for none.
    pub label: String,
    /// Shown when it is pointed at; empty for none.
    pub title: String,
    /// Address that it leads to; empty for none.
    pub link: String,
}

/// A span of the x axis.
#[derive(Debug)]
pub struct Band {
    /// Its left end.
    pub from: f64,
    /// Its right end.
    pub to: f64,
    /// Written at its top, or at its foot where it has no width.
    pub name: String,
}

/// The shape of a mark.
#[derive(Debug, Clone, Copy)]
pub struct Shape(pub(crate) usize);

impl Shape {
    /// The outline around a centre.
    pub fn path(self, at: (f64, f64)) -> String {
        let (x, y) = (short(at.0), short(at.1));
        match self.0 % SERIES {
            0 => format!("M{x} {y}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z"),
            1 => format!("M{x} {y}m-3.5 -3.5h7v7h-7z"),
            2 => format!("M{x} {y}m0 -5l5 5l-5 5l-5 -5z"),
            3 => format!("M{x} {y}m0 -4.8l4.8 8.3h-9.6z"),
            4 => format!("M{x} {y}m0 4.8l4.8 -8.3h-9.6z"),
            _ => format!("M{x} {y}m-1.5 -4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z"),
        }
    }
}

/// Room around the plot.
const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;
const LEFT: f64 = 52.0;
/// Least height of a line of text.
const LINE: f64 = 14.0;
/// About the width of a letter.
const LETTER: f64 = 6.6;
/// The same of bold ones.
const BOLD: f64 = 8.0;

impl Chart {
    /// The chart as an `<svg>` element of this size, to stand in a page. `variant` keeps ids apart where a page has the
    /// chart in several sizes.
    pub fn inline(&self, width: f64, height: f64, variant: &str) -> String {
        let id = format!("{}{variant}", self.id);
        // What is inside of an image can't be reached.
        let links = self.series.iter().flat_map(|series| &series.points).any(|point| !point.link.is_empty());
        let role = if links { "group" } else { "img" };
        format!(
            "<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"{role}\" aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>{}</svg>",
            short(width),
            short(height),
            escape(&self.title),
            escape(&self.description),
            self.body(width, height)
        )
    }

    /// What stands in the `<svg>` element.
    pub fn body(&self, width: f64, height: f64) -> String {
        let names = self.names();
        let right = names.iter().map(|name| name.chars().count() as f64 * BOLD + 24.0).fold(14.0, f64::max);
        let plot = Plot { left: LEFT, right: width - right, top: TOP, bottom: height - BOTTOM };
        let mut drawing = Drawing::new();
        self.bands(&mut drawing, &plot);
        self.axes(&mut drawing, &plot);
        for series in &self.series {
            self.series(&mut drawing, &plot, series);
        }
        self.labels(&mut drawing, &plot, &names);
        drawing.into_body()
    }

    /// Names at the lines' ends; one line alone needs none.
    fn names(&self) -> Vec<&str> {
        if self.series.len() < 2 {
            Vec::new()
        } else {
            self.series.iter().map(|series| &*series.name).collect()
        }
    }

    fn bands(&self, drawing: &mut Drawing, plot: &Plot) {
        for band in &self.bands {
            let (from, to) = (plot.x(&self.x, band.from), plot.x(&self.x, band.to));
            if from == to {
                // A limit: its name stands beside its foot, clear of the lines that begin above it.
                drawing.line("edge", (from, plot.top), (from, plot.bottom));
                drawing.text("note end", (from - 5.0, plot.bottom - 7.0), &band.name);
                continue;
            }
            drawing.rect("band", (from, plot.top), (to - from, plot.bottom - plot.top), 0.0);
            for edge in [from, to] {
                drawing.line("edge", (edge, plot.top), (edge, plot.bottom));
            }
            drawing.text("note mid", (f64::midpoint(from, to), plot.top - 6.0), &band.name);
        }
    }

    fn axes(&self, drawing: &mut Drawing, plot: &Plot) {
        let mut free = f64::INFINITY;
        for (value, text) in &self.y.ticks {
            let y = plot.y(&self.y, *value);
            drawing.line("grid", (plot.left, y), (plot.right, y));
            if y <= free {
                drawing.text("tick end", (plot.left - 7.0, y + 4.0), text);
                free = y - LINE;
            }
        }
        let mut free = f64::NEG_INFINITY;
        for (value, text) in &self.x.ticks {
            let x = plot.x(&self.x, *value);
            drawing.line("grid", (x, plot.top), (x, plot.bottom));
            let half = text.chars().count() as f64 * LETTER / 2.0;
            if x - half >= free {
                drawing.text("tick mid", (x, plot.bottom + 16.0), text);
                free = x + half + 4.0;
            }
        }
        drawing.line("axis", (plot.left, plot.bottom), (plot.right, plot.bottom));
        drawing.text("name mid", (f64::midpoint(plot.left, plot.right), plot.bottom + 35.0), &self.x.label);
        drawing.text("name", (4.0, 14.0), &self.y.label);
        if !self.better.is_empty() {
            drawing.text("note end", (plot.right, 14.0), self.better);
        }
    }

    fn series(&self, drawing: &mut Drawing, plot: &Plot, series: &Series) {
        let style = series.style % SERIES;
        let at = |point: &Point| (plot.x(&self.x, point.x), plot.y(&self.y, point.y));
        let line = format!("line s{style}");
        if series.join == Join::Steps {
            let mut corners = Vec::with_capacity(series.points.len() * 2);
            for (place, point) in series.points.iter().enumerate() {
                let (x, y) = at(point);
                corners.push((x, y));
                if let Some(next) = series.points.get(place + 1) {
                    corners.push((at(next).0, y));
                }
            }
            drawing.polyline(&line, corners);
        } else if series.join == Join::Line && series.points.len() > 1 {
            drawing.polyline(&line, series.points.iter().map(at));
        }
        // Where the last label ends, so that none is written over another.
        let mut written: Option<(f64, f64)> = None;
        for point in series.points.iter().filter(|_| series.marks) {
            let (x, y) = at(point);
            let mut whisker = None;
            if let Some([low, high]) = point.interval {
                let (low, high) =
                    (plot.y(&self.y, low).min(plot.bottom), plot.y(&self.y, high).max(plot.top));
                // A whisker that its mark hides says nothing.
                if low - high > 9.0 {
                    whisker = Some(high);
                    drawing.polyline(
                        &format!("whisker s{style}"),
                        [
                            (x - 3.0, low),
                            (x + 3.0, low),
                            (x, low),
                            (x, high),
                            (x - 3.0, high),
                            (x + 3.0, high),
                        ],
                    );
                }
            }
            if !point.link.is_empty() {
                // The table behind the chart has the same links: there is no stop for Tab at each mark.
                let (link, title) = (escape(&point.link), escape(&point.title));
                drawing.put(format_args!("<a href=\"{link}\" tabindex=\"-1\" aria-label=\"{title}\">"));
            }
            drawing.mark(&format!("mark s{style}"), Shape(style), (x, y), &point.title);
            if !point.link.is_empty() {
                drawing.put(format_args!("</a>"));
            }
            if series.labels && !point.label.is_empty() {
                let half = point.label.chars().count() as f64 * LETTER / 2.0;
                let free = written.is_none_or(|(end, height): (f64, f64)| {
                    (x - end).abs() > 2.0 * half || (y - height).abs() > LINE
                });
                if free {
                    let above = whisker.map_or(y, |end| end.min(y));
                    drawing.text("note mid", (x, above - 9.0), &point.label);
                    written = Some((x, y));
                }
            }
        }
    }

    /// Names of lines beside the plot, at the height of each line's last point as far as they leave each other room.
    fn labels(&self, drawing: &mut Drawing, plot: &Plot, names: &[&str]) {
        if names.is_empty() {
            return;
        }
        let mut wanted: Vec<(f64, &Series, &str)> = self
            .series
            .iter()
            .filter_map(|series| {
                let last = series.points.last()?;
                Some((plot.y(&self.y, last.y), series, &*series.name))
            })
            .collect();
        // Lines that end far from the edge get a list of their names, in their order; others have them at their ends.
        let ends = self.series.iter().filter_map(|series| series.points.last());
        if ends.map(|last| self.x.share(last.x)).fold(0.0, f64::max) < 0.9 {
            for name in &mut wanted {
                name.0 = plot.top + LINE / 2.0;
            }
        } else {
            wanted.sort_by(|one, other| one.0.total_cmp(&other.0));
        }
        let mut free = plot.top;
        let lines = wanted.len() as f64;
        for (place, (y, series, name)) in wanted.into_iter().enumerate() {
            // What comes below must still fit.
            let latest = plot.bottom - (lines - 1.0 - place as f64) * LINE;
            let y = y.max(free).min(latest.max(free));
            free = y + LINE;
            let style = series.style % SERIES;
            if series.marks {
                drawing.mark(&format!("mark s{style}"), Shape(style), (plot.right + 9.0, y), "");
            } else {
                drawing.line(&format!("line s{style}"), (plot.right + 3.0, y), (plot.right + 15.0, y));
            }
            drawing.text("direct", (plot.right + 18.0, y + 4.0), name);
        }
    }
}

/// The rectangle between the axes.
struct Plot {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Plot {
    fn x(&self, axis: &Axis, value: f64) -> f64 {
        self.left + axis.share(value) * (self.right - self.left)
    }

    fn y(&self, axis: &Axis, value: f64) -> f64 {
        self.bottom - axis.share(value) * (self.bottom - self.top)
    }
}
