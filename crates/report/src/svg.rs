//! Charts as SVG, drawn from the record: scales, axes, lines, points with whiskers, steps.
//!
//! A drawing names classes and no colours. Pages colour it by `assets/page.css`, for light and dark; pictures that
//! stand alone carry `assets/picture.css`. All text is escaped here.

mod axis;
mod chart;
mod scale;

use std::fmt::Write;

pub use axis::Axis;
pub use chart::{Band, Chart, Join, Point, Series, Shape};
pub use scale::Scale;

/// Most series that have a colour, a shape and a dash of their own; more begin again.
pub const SERIES: usize = 6;

/// Shapes on a sheet of some size.
#[derive(Debug, Default)]
pub struct Drawing {
    body: String,
}

impl Drawing {
    /// An empty sheet.
    pub fn new() -> Drawing {
        Drawing { body: String::new() }
    }

    /// What was drawn, without a root element.
    pub fn into_body(self) -> String {
        self.body
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            "<path class=\"{class}\" d=\"M{} {}L{} {}\"/>",
            short(x1),
            short(y1),
            short(x2),
            short(y2)
        ));
    }

    /// A rectangle; `radius` rounds its corners.
    pub fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), radius: f64) {
        let rounded = if radius > 0.0 { format!(" rx=\"{}\"", short(radius)) } else { String::new() };
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{rounded}/>",
            short(at.0),
            short(at.1),
            short(size.0.max(0.0)),
            short(size.1.max(0.0))
        ));
    }

    /// A line through points.
    pub fn polyline(&mut self, class: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        let path = path(points);
        if !path.is_empty() {
            self.put(format_args!("<path class=\"{class}\" d=\"{path}\"/>"));
        }
    }

    /// Text; `class` sets its anchor and size.
    pub fn text(&mut self, class: &str, at: (f64, f64), text: &str) {
        self.put(format_args!(
            "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
            short(at.0),
            short(at.1),
            escape(text)
        ));
    }

    /// A mark of a shape, with what it says when it is pointed at.
    pub fn mark(&mut self, class: &str, shape: Shape, at: (f64, f64), title: &str) {
        let path = shape.path(at);
        if title.is_empty() {
            self.put(format_args!("<path class=\"{class}\" d=\"{path}\"/>"));
        } else {
            self.put(format_args!(
                "<path class=\"{class}\" d=\"{path}\"><title>{}</title></path>",
                escape(title)
            ));
        }
    }

    /// Anything else; text in it must be escaped already.
    pub fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(element);
    }
}

/// A path through points, in whole tenths of a unit, each relative to the one before: short, and never off by more
/// than a twentieth.
fn path(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    let mut before: Option<(i64, i64)> = None;
    for (x, y) in points {
        let now = ((x * 10.0).round() as i64, (y * 10.0).round() as i64);
        match before {
            None => path = format!("M{} {}", tenths(now.0), tenths(now.1)),
            Some((x, y)) => {
                let _ = write!(path, "l{} {}", tenths(now.0 - x), tenths(now.1 - y));
            }
        }
        before = Some(now);
    }
    path
}

fn tenths(value: i64) -> String {
    short(value as f64 / 10.0)
}

/// A coordinate with one decimal at the most.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.1}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text as it may stand in XML: markup escaped, and what XML has no place for left out.
pub fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter
                if (letter.is_control() && !matches!(letter, '\n' | '\t'))
                    || ('\u{fffe}'..='\u{ffff}').contains(&letter) => {}
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_do_not_drift() {
        let made = path((0..1000).map(|step| (f64::from(step) * 0.333_333, 5.0)));
        let moved: f64 = made[1..]
            .split(['l', 'M'])
            .map(|step| step.split(' ').next().unwrap().parse::<f64>().unwrap())
            .sum();
        assert!((moved - 999.0 * 0.333_333).abs() <= 0.05, "{moved}");
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("<a b=\"c\">&'\u{0}\u{ffff}"), "&lt;a b=&quot;c&quot;&gt;&amp;&#39;");
        assert_eq!(short(f64::NAN), "0");
        assert_eq!(short(-0.01), "0");
    }
}
