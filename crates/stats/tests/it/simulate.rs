//! Noise with fixed seeds, for the tests and the example.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokometer_stats::batch_means;

/// Trials of every simulated share.
pub(crate) const TRIALS: usize = 4000;

/// Normal numbers by the polar method of Marsaglia.
pub(crate) fn normal(random: &mut Pcg64) -> f64 {
    loop {
        let (x, y) = (random.random_range(-1.0..1.0_f64), random.random_range(-1.0..1.0_f64));
        let square = x * x + y * y;
        if square > 0.0 && square < 1.0 {
            return x * (-2.0 * square.ln() / square).sqrt();
        }
    }
}

/// A series around 100 with a coefficient of variation of 3 %, each value `rho` times the one before plus noise.
pub(crate) fn series(random: &mut Pcg64, count: usize, rho: f64) -> Vec<f64> {
    let mut value = normal(random);
    (0..count)
        .map(|_| {
            let now = value;
            value = rho * value + (1.0 - rho * rho).sqrt() * normal(random);
            100.0 + 3.0 * now
        })
        .collect()
}

/// The share of trials in which something holds.
pub(crate) fn share(seed: u64, holds: impl FnMut(&mut Pcg64) -> bool) -> f64 {
    share_of(TRIALS, seed, holds)
}

/// The same with another number of trials.
pub(crate) fn share_of(trials: usize, seed: u64, mut holds: impl FnMut(&mut Pcg64) -> bool) -> f64 {
    let mut random = Pcg64::seed_from_u64(seed);
    (0..trials).filter(|_| holds(&mut random)).count() as f64 / trials as f64
}

/// Published coverage of nominal 95 % intervals: seconds of the window, ρ of one second, batches, share.
pub(crate) const TABLE: [(usize, f64, usize, f64); 20] = [
    (30, 0.0, 5, 0.96),
    (30, 0.0, 6, 0.94),
    (30, 0.0, 10, 0.95),
    (30, 0.0, 30, 0.95),
    (30, 0.5, 5, 0.93),
    (30, 0.5, 6, 0.92),
    (30, 0.5, 10, 0.88),
    (30, 0.5, 30, 0.73),
    (30, 0.8, 5, 0.86),
    (30, 0.8, 6, 0.81),
    (30, 0.8, 10, 0.68),
    (30, 0.8, 30, 0.48),
    (60, 0.5, 5, 0.94),
    (60, 0.5, 6, 0.94),
    (60, 0.5, 10, 0.93),
    (60, 0.5, 30, 0.85),
    (180, 0.8, 5, 0.94),
    (180, 0.8, 6, 0.95),
    (180, 0.8, 10, 0.92),
    (180, 0.8, 30, 0.83),
];

/// How often the interval of batch means holds the truth, with fresh noise of CV 3 % per second.
pub(crate) fn coverage(seconds: usize, rho: f64, batches: usize) -> f64 {
    share(20_261_130, |random| {
        let values = series(random, seconds, rho);
        let size = values.len() / batches;
        let means: Vec<f64> =
            values.chunks_exact(size).map(|chunk| chunk.iter().sum::<f64>() / size as f64).collect();
        batch_means(&means, 0.95).is_some_and(|interval| (interval.mean - 100.0).abs() <= interval.half_width)
    })
}
