//! How much may be asked of an agent: a bucket of requests that fills up at a steady rate.

use std::sync::{Mutex, PoisonError};

/// A bucket.
pub(super) struct Bucket {
    /// How many it holds, and at first has.
    most: f64,
    /// How many come back each second.
    rate: f64,
    /// How many are left, and when that was, ns.
    state: Mutex<(f64, u64)>,
}

impl Bucket {
    pub(super) fn new(most: f64, rate: f64) -> Bucket {
        Bucket { most, rate, state: Mutex::new((most, 0)) }
    }

    /// Takes one out; false if there is none left.
    pub(super) fn take(&self, now_ns: u64) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (left, then_ns) = *state;
        let left = (left + now_ns.saturating_sub(then_ns) as f64 / 1e9 * self.rate).min(self.most);
        let taken = left >= 1.0;
        *state = (if taken { left - 1.0 } else { left }, now_ns.max(then_ns));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::Bucket;

    #[test]
    fn a_bucket_gives_what_it_has_and_fills_up_again() {
        let bucket = Bucket::new(3.0, 2.0);
        let second = 1_000_000_000;
        let taken = |now: u64| (0..10).filter(|_| bucket.take(now)).count();
        assert_eq!((taken(0), taken(0)), (3, 0));
        assert_eq!((taken(second / 2), taken(second)), (1, 1));
        // Never more than it holds, and no more for a clock that stands still.
        assert_eq!((taken(100 * second), taken(100 * second)), (3, 0));
    }
}
