//! Counts as an event states them, and as they add up.

use crate::dialect::Count;

/// Places for counts: a power of two, so that a place needs no check.
const PLACES: usize = 8;

/// The counts that were told. One that was not told is zero here, so that most sums need no look at which were.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    values: [u64; PLACES],
    /// One bit a place.
    told: u8,
}

impl Counts {
    /// The count, if it was told.
    #[inline]
    pub(crate) fn get(&self, count: Count) -> Option<u64> {
        self.is_told(count).then_some(self.values[place(count)])
    }

    /// The count; zero if it was not told.
    #[inline]
    pub(crate) fn value(&self, count: Count) -> u64 {
        self.values[place(count)]
    }

    #[inline]
    pub(crate) fn is_told(&self, count: Count) -> bool {
        self.told & (1 << place(count)) != 0
    }

    #[inline]
    pub(crate) fn put(&mut self, count: Count, number: u64) {
        self.values[place(count)] = number;
        self.told |= 1 << place(count);
    }

    /// A count that was told before has another value now.
    #[inline]
    pub(crate) fn put_again(&mut self, count: Count, number: u64) {
        debug_assert!(self.is_told(count));
        self.values[place(count)] = number;
    }

    /// Takes over those of `counts` that `others` tell.
    pub(crate) fn take_over(&mut self, others: &Counts, counts: &[Count]) {
        for &count in counts {
            if let Some(number) = others.get(count) {
                self.put(count, number);
            }
        }
    }

    /// True if usage tells nothing: some servers put zeros on every event instead of leaving it out.
    #[inline]
    pub(crate) fn has_no_usage(&self) -> bool {
        self.value(Count::Prompt) | self.value(Count::Completion) == 0
    }
}

#[inline]
fn place(count: Count) -> usize {
    count as usize % PLACES
}
