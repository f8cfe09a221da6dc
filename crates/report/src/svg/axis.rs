//! Axes: what they measure, their ends, and where their marks stand.

use super::Scale;

/// One axis of a chart.
#[derive(Debug, Clone)]
pub struct Axis {
    /// What it measures, with its unit: `tok/s per request`.
    pub label: String,
    /// How values are spread.
    pub scale: Scale,
    /// Lowest and highest value.
    pub ends: (f64, f64),
    /// Marks: value and text, in rising order.
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis over values, with round marks; none without a value.
    pub fn over(
        label: &str,
        scale: Scale,
        values: impl Iterator<Item = f64>,
        text: fn(f64) -> String,
    ) -> Option<Axis> {
        let ends = scale.ends(values)?;
        let ticks = scale.ticks(ends.0, ends.1).into_iter().map(|value| (value, text(value))).collect();
        Some(Axis { label: label.to_owned(), scale, ends, ticks })
    }

    /// An axis with marks at the measured values themselves.
    pub fn at(label: &str, scale: Scale, marks: &[(f64, String)]) -> Option<Axis> {
        let ends = scale.ends(marks.iter().map(|mark| mark.0))?;
        Some(Axis { label: label.to_owned(), scale, ends, ticks: marks.to_vec() })
    }

    /// Where a value stands between the ends, 0 to 1 for those within.
    pub fn share(&self, value: f64) -> f64 {
        let (low, high) = (self.scale.ruler(self.ends.0), self.scale.ruler(self.ends.1));
        (self.scale.ruler(value) - low) / (high - low)
    }
}
