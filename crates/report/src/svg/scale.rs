//! Scales: from the unit of a quantity to a place on the sheet.

/// How values are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, from zero on.
    Linear,
    /// By doubling: contexts and concurrency.
    Log2,
    /// By powers of ten: rates and latencies.
    Log10,
}

/// Most marks that an axis of its own choice gets.
const MOST_TICKS: usize = 7;

impl Scale {
    /// A value on the scale's own ruler.
    pub fn ruler(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log2 => value.max(f64::MIN_POSITIVE).log2(),
            Scale::Log10 => value.max(f64::MIN_POSITIVE).log10(),
        }
    }

    /// The ends of an axis that holds all of the values with a little room; none without a value that the scale has a
    /// place for.
    pub fn ends(self, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
        let fits = |value: &f64| value.is_finite() && (self == Scale::Linear || *value > 0.0);
        let (low, high) = values
            .filter(fits)
            .map(|value| (value, value))
            .reduce(|(low, high), (one, other)| (low.min(one), high.max(other)))?;
        Some(match self {
            Scale::Linear => (low.min(0.0), if high > 0.0 { high * 1.08 } else { 1.0 }),
            Scale::Log2 => (low / 1.25, high * 1.25),
            // Never less than half a decade, so that noise does not look like a slope.
            Scale::Log10 => {
                let room = ((high / low).log10() * 0.06).max((0.5 - (high / low).log10()) / 2.0).max(0.03);
                (low / 10_f64.powf(room), high * 10_f64.powf(room))
            }
        })
    }

    /// Round values between two ends: 1, 2, 5 and their tenfolds.
    pub fn ticks(self, low: f64, high: f64) -> Vec<f64> {
        match self {
            Scale::Linear => linear_ticks(low, high),
            Scale::Log2 | Scale::Log10 => log_ticks(low, high),
        }
    }
}

fn linear_ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / (MOST_TICKS as f64 - 1.0);
    if rough <= 0.0 || !rough.is_finite() {
        return vec![low];
    }
    let unit = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * unit).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * unit);
    let first = (low / step).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    (first..=last).map(|place| place as f64 * step).collect()
}

fn log_ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let inside = |value: &f64| *value >= low * (1.0 - 1e-9) && *value <= high * (1.0 + 1e-9);
    for times in [
        &[1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0][..],
        &[1.0, 2.0, 3.0, 5.0],
        &[1.0, 2.0, 5.0],
        &[1.0, 3.0],
        &[1.0],
    ] {
        let ticks: Vec<f64> = decades
            .clone()
            .flat_map(|decade| times.iter().map(move |times| times * 10_f64.powi(decade)))
            .filter(inside)
            .collect();
        if ticks.len() <= MOST_TICKS && !ticks.is_empty() {
            return ticks;
        }
    }
    let whole: Vec<f64> = decades.map(|decade| 10_f64.powi(decade)).filter(inside).collect();
    let every = whole.len().div_ceil(MOST_TICKS).max(1);
    whole.into_iter().step_by(every).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(Scale::Linear.ticks(0.0, 36_000.0), [0.0, 10_000.0, 20_000.0, 30_000.0]);
        assert_eq!(Scale::Linear.ticks(0.0, 12.0), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        assert_eq!(Scale::Log10.ticks(40.0, 2500.0), [50.0, 100.0, 200.0, 300.0, 500.0, 1000.0, 2000.0]);
        assert_eq!(Scale::Log10.ticks(1e-3, 1e9).len(), 7);
        assert_eq!(Scale::Linear.ticks(3.0, 3.0), [3.0]);
    }

    #[test]
    fn ends_hold_the_values() {
        for scale in [Scale::Linear, Scale::Log2, Scale::Log10] {
            let (low, high) = scale.ends([5.0, 80.0, f64::NAN].into_iter()).unwrap();
            assert!(low <= 5.0 && high >= 80.0);
            let (low, high) = scale.ends([5.0].into_iter()).unwrap();
            assert!(low < 5.0 && high > 5.0);
        }
        assert_eq!(Scale::Log10.ends([0.0, -1.0].into_iter()), None);
        let (low, high) = Scale::Log10.ends([100.0, 101.0].into_iter()).unwrap();
        assert!((high / low).log10() >= 0.5);
    }
}
