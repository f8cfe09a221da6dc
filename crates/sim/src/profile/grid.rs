//! Values over (context, concurrency), with what lies between and beside the measured cells.

/// One measured value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    pub(super) context: u64,
    pub(super) concurrency: u32,
    pub(super) value: f64,
}

/// A full grid: log2 of context × log2 of concurrency, on the logarithms of the values.
///
/// A cell that was not measured takes the value of the nearest context at the same concurrency. A concurrency
/// that no context has is no line of the grid, so it is interpolated between its neighbours. Outside of the
/// grid the nearest edge holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    contexts: Vec<f64>,
    concurrency: Vec<f64>,
    /// Row by row: one row per context.
    logs: Vec<f64>,
}

impl Grid {
    /// The grid of these points; none where there is no positive value. Of equal points the last one holds.
    pub(super) fn new(points: &[Point]) -> Option<Grid> {
        let points: Vec<(f64, f64, f64)> = points
            .iter()
            .filter(|point| point.value.is_finite() && point.value > 0.0)
            .filter(|point| point.context > 0 && point.concurrency > 0)
            .map(|point| (log2(point.context), log2(point.concurrency.into()), point.value.ln()))
            .collect();
        let contexts = axis(points.iter().map(|point| point.0));
        let concurrency = axis(points.iter().map(|point| point.1));
        if contexts.is_empty() {
            return None;
        }
        let mut logs = Vec::with_capacity(contexts.len() * concurrency.len());
        for &context in &contexts {
            for &column in &concurrency {
                let nearest = points
                    .iter()
                    .filter(|point| point.1 == column)
                    .rev()
                    .min_by(|a, b| (a.0 - context).abs().total_cmp(&(b.0 - context).abs()))?;
                logs.push(nearest.2);
            }
        }
        Some(Grid { contexts, concurrency, logs })
    }

    /// The value at this point.
    pub(super) fn at(&self, context: u64, concurrency: u32) -> f64 {
        let (row, row_share) = locate(&self.contexts, log2(context.max(1)));
        let (column, column_share) = locate(&self.concurrency, log2(concurrency.max(1).into()));
        let width = self.concurrency.len();
        let in_row = |row: usize| {
            let row = row.min(self.contexts.len() - 1) * width;
            let low = self.logs[row + column];
            let high = self.logs[row + (column + 1).min(width - 1)];
            low + (high - low) * column_share
        };
        let low = in_row(row);
        let value = if row_share > 0.0 { low + (in_row(row + 1) - low) * row_share } else { low };
        value.exp()
    }
}

fn log2(value: u64) -> f64 {
    (value as f64).log2()
}

/// Sorted, without doubles.
fn axis(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// The line at or below `x`, and the share of the way to the next one; at the edges the edge itself.
fn locate(axis: &[f64], x: f64) -> (usize, f64) {
    let above = axis.partition_point(|&line| line <= x);
    if above == 0 {
        return (0, 0.0);
    }
    match axis.get(above) {
        Some(&next) => (above - 1, (x - axis[above - 1]) / (next - axis[above - 1])),
        None => (above - 1, 0.0),
    }
}
