//! Noise with fixed seeds.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

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
pub(crate) fn share(seed: u64, mut holds: impl FnMut(&mut Pcg64) -> bool) -> f64 {
    let mut random = Pcg64::seed_from_u64(seed);
    (0..TRIALS).filter(|_| holds(&mut random)).count() as f64 / TRIALS as f64
}
