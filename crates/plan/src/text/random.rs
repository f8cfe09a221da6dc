//! Seeded choices that stay the same from version to version.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// A seeded source of choices. The stream of numbers is PCG's, which is fixed; the way from a number to a
/// choice is our own, so that an update of a library cannot change a prompt.
#[derive(Debug, Clone)]
pub(crate) struct Random(Pcg64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(Pcg64::seed_from_u64(seed))
    }

    /// A number from 0 to `limit` − 1.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.0.next_u64()) * limit as u128) >> 64) as usize
    }

    /// One of `list`, which must not be empty.
    pub(crate) fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// `list` in a random order.
    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }
}
