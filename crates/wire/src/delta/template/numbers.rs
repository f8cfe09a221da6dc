//! Numbers among the fixed bytes of a shape: what is expected of them, and what becomes of those that differ.

use super::scan::{number_length, whole_number};
use super::{Hole, Piece, Template, is_of_output};
use crate::dialect::Count;

/// A number that was foretold wrongly so much more often than rightly is foretold no more.
const MAX_DOUBT: u32 = 32;
/// A wrong one weighs as much as so many right ones.
const WRONG: u32 = 4;

/// Digits of the largest number.
const MAX_DIGITS: usize = 20;

/// A number among the fixed bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) count: Option<Count>,
    pub(super) foretold: Foretold,
}

/// What a number will be.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Foretold {
    /// As it stands among the fixed bytes; 0 if it is no whole number.
    pub(super) value: u64,
    step: u64,
    /// How little it is trusted, and up to which event.
    doubt: u32,
    weighed: u32,
}

impl Number {
    pub(super) fn new(start: usize, end: usize, count: Option<Count>, text: &[u8]) -> Number {
        let value = whole_number(text).map_or(0, |(value, _)| value);
        let foretold = Foretold { value, ..Foretold::default() };
        Number { start: start as u32, end: end as u32, count, foretold }
    }
}

impl Template {
    /// Puts the numbers that are expected next among the fixed bytes.
    #[inline]
    pub(super) fn expect_next(&mut self) {
        self.behind = false;
        self.events = self.events.wrapping_add(1);
        let Template { rising, fixed, says, .. } = self;
        let mut grows = false;
        for number in rising {
            let Number { start, end, count, foretold } = number;
            let Foretold { value, step, .. } = foretold;
            *value += *step;
            if let Some(count) = *count {
                says.counts.put_again(count, *value);
            }
            let Some(last) = fixed.get_mut((*end as usize).wrapping_sub(1)) else { continue };
            let sum = u64::from(*last) + *step;
            if sum <= u64::from(b'9') {
                *last = sum as u8;
            } else {
                grows |= !add(&mut fixed[*start as usize..*end as usize], *step);
            }
        }
        if grows {
            self.spell_all();
        }
    }

    /// Spells out the numbers that rise, some of which have grown by a digit.
    #[cold]
    fn spell_all(&mut self) {
        for index in 0..self.rising.len() {
            let number = self.rising[index];
            self.spell(number, digits(number.foretold.value, &mut [0; MAX_DIGITS]));
        }
    }

    /// Adapts to an event whose bytes `found` differ at `at` from the fixed ones that begin at `from`: none if
    /// there is no number.
    pub(super) fn adapt(&mut self, from: usize, at: usize, found: &[u8]) -> Option<()> {
        let is_here = |number: &Number| number.start as usize <= at && at <= number.end as usize;
        let number = if let Some(index) = self.rising.iter().position(is_here) {
            self.rising.swap_remove(index)
        } else {
            let index = self.still.iter().position(is_here)?;
            self.still.swap_remove(index)
        };
        let text = found.get((number.start as usize).checked_sub(from)?..)?;
        match number.foretold.corrected(text, self.events) {
            Some((foretold, length)) => {
                self.spell(number, &text[..length]);
                let end = number.start + length as u32;
                self.rising.push(Number { end, foretold, ..number });
                if let Some(count) = number.count {
                    self.says.counts.put(count, foretold.value);
                }
            }
            None => self.open(number),
        }
        self.met = false;
        self.steady &= number.count.is_none_or(is_of_output);
        Some(())
    }

    /// Makes room for all that numbers may become, so that nothing is allocated once events come.
    pub(super) fn make_room(&mut self) {
        let numbers = self.still.len();
        self.rising.reserve_exact(numbers);
        self.pieces.reserve_exact(numbers);
        let longer = |number: &Number| MAX_DIGITS.saturating_sub((number.end - number.start) as usize);
        // A number is spelled before the old one is taken out.
        let room = self.still.iter().map(longer).sum::<usize>() + MAX_DIGITS;
        self.fixed.reserve_exact(room);
    }

    /// Makes a hole of a number.
    fn open(&mut self, number: Number) {
        self.spell(number, b"");
        let mut before = number.start;
        let mut place = 0;
        while let Some(piece) = self.pieces.get(place).filter(|piece| piece.length < before) {
            before -= piece.length;
            place += 1;
        }
        if let Some(next) = self.pieces.get_mut(place) {
            next.length -= before;
        }
        self.pieces.insert(place, Piece { length: before, hole: Hole::Number, count: number.count });
    }

    /// Replaces the bytes of a number. `number` itself stays as it was.
    fn spell(&mut self, number: Number, text: &[u8]) {
        let Number { start, end, .. } = number;
        let (old, new) = (end - start, text.len() as u32);
        if old != new {
            let behind = self.fixed.len() - end as usize;
            self.fixed.resize(self.fixed.len() + text.len(), 0);
            let tail = end as usize..end as usize + behind;
            self.fixed.copy_within(tail, start as usize + text.len());
            self.fixed.truncate(start as usize + text.len() + behind);
        }
        self.fixed[start as usize..][..text.len()].copy_from_slice(text);
        if old == new {
            return;
        }
        for other in self.rising.iter_mut().chain(&mut self.still) {
            if other.start > start {
                other.start = other.start + new - old;
            }
            if other.end >= end && other.end > start {
                other.end = other.end + new - old;
            }
        }
        let mut reached = 0;
        for piece in &mut self.pieces {
            reached += piece.length;
            if reached >= end {
                piece.length = piece.length + new - old;
                break;
            }
        }
    }
}

impl Foretold {
    /// What is to be expected after the number at the start of `text`, and its length; none if nothing is.
    fn corrected(self, text: &[u8], events: u32) -> Option<(Foretold, usize)> {
        let (value, length) = whole_number(text)?;
        let before = self.value.checked_sub(self.step)?;
        // A step of zero is one too: a time of creation rises once in many events.
        let step = value.checked_sub(before).filter(|_| before > 0)?;
        let doubt = self.doubt.saturating_sub(events.wrapping_sub(self.weighed)) + WRONG;
        let foretold = Foretold { value, step, doubt, weighed: events };
        (doubt <= MAX_DOUBT && length == number_length(text)).then_some((foretold, length))
    }
}

/// A number in decimal digits.
fn digits(mut number: u64, room: &mut [u8; MAX_DIGITS]) -> &[u8] {
    let mut at = MAX_DIGITS;
    loop {
        at -= 1;
        room[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &room[at..];
        }
    }
}

/// Adds to a number in decimal digits; false if it would take another digit, with the digits in any state.
fn add(digits: &mut [u8], mut carry: u64) -> bool {
    for digit in digits.iter_mut().rev() {
        let sum = u64::from(*digit - b'0') + carry;
        *digit = b'0' + (sum % 10) as u8;
        carry = sum / 10;
        if carry == 0 {
            return true;
        }
    }
    carry == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MAX_DIGITS, add, digits};

    proptest! {
        #[test]
        fn digits_as_they_are_written(number: u64) {
            let mut room = [0; MAX_DIGITS];
            prop_assert_eq!(digits(number, &mut room).to_vec(), number.to_string().into_bytes());
        }

        #[test]
        fn adding_in_digits(number in 0u64..1_000_000_000, step in 0u64..2000) {
            let mut digits = number.to_string().into_bytes();
            let sum = (number + step).to_string().into_bytes();
            let fits = sum.len() == digits.len();
            prop_assert_eq!(add(&mut digits, step), fits);
            if fits {
                prop_assert_eq!(digits, sum);
            }
        }
    }
}
