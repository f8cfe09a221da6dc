//! The learnt shape of an event: bytes that stay, and holes for text and numbers.
//!
//! Comparing bytes is the cheapest way to read them, so a number counts as bytes that stay until an event comes in
//! which it differs. Many never do: the prompt's tokens, the time of creation. Those that rise by the same step
//! from event to event are expected to do so again ([`numbers`]); only what cannot be foretold becomes a hole.

mod learn;
mod numbers;
mod scan;

use super::Delta;
use crate::dialect::{Count, Rules};
use numbers::{Foretold, Number};
use scan::{count_numbers, number_length, string_length, whole_number};

/// Most holes and most fixed bytes that are learnt: longer events are rare ones.
const MAX_HOLES: usize = 64;
const MAX_FIXED_BYTES: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Template {
    /// The bytes between the holes, one after another, with the numbers that are expected next.
    fixed: Vec<u8>,
    /// The holes; the last one is the end.
    pieces: Vec<Piece>,
    /// Numbers among the fixed bytes that never differed.
    still: Vec<Number>,
    /// Numbers among the fixed bytes that rise.
    rising: Vec<Number>,
    /// What an event says, by the fixed bytes and by the holes of the one that was read last.
    says: Delta,
    /// The numbers that rise were met, so that others are expected next.
    behind: bool,
    /// Events of this shape.
    events: u32,
    /// All counts but those of the output stand still.
    steady: bool,
    /// The event before was of this shape.
    met: bool,
}

/// So many fixed bytes, and the hole behind them.
#[derive(Debug, Clone, Copy)]
struct Piece {
    length: u32,
    hole: Hole,
    /// What a number counts.
    count: Option<Count>,
}

/// What fills a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    /// The inside of a string that is output.
    Text,
    /// The inside of a string that does not matter.
    AnyText,
    /// A number.
    Number,
    /// The inside of a list of token ids.
    TokenIds,
    /// Nothing: the event ends.
    End,
}

/// An event that has the shape.
#[derive(Debug)]
pub(super) struct Alike<'a> {
    /// Its text, as it stands in JSON, and whether there are escapes in it.
    pub(super) text: &'a [u8],
    pub(super) escaped: bool,
    /// What is behind it.
    pub(super) rest: &'a [u8],
}

/// Why an event does not have the shape.
enum Misfit {
    /// Its last bytes, so many, do not begin with the last fixed ones, so many.
    Fixed {
        behind: usize,
        left: usize,
    },
    Hole,
}

impl Template {
    pub(super) fn clear(&mut self) {
        self.fixed.clear();
        self.pieces.clear();
        self.still.clear();
        self.rising.clear();
        self.says = Delta::default();
        self.behind = false;
        self.events = 0;
        self.met = false;
    }

    /// An event of any other shape comes in between.
    pub(super) fn begin_anew(&mut self) {
        self.met = false;
    }

    /// True if the event before was of this shape, and all counts but those of the output are as they were in it.
    #[inline]
    pub(super) fn is_known_again(&mut self) -> bool {
        std::mem::replace(&mut self.met, true) && self.steady
    }

    /// What the event that was read last says.
    pub(super) fn says(&self) -> &Delta {
        &self.says
    }

    /// Reads an event of this shape at the start of `data`; none if something else is there.
    pub(super) fn read<'a>(&mut self, data: &'a [u8]) -> Option<Alike<'a>> {
        self.read_next(data)
    }

    /// The same where it is done at every event.
    #[expect(clippy::inline_always, reason = "a call costs a fifth of what it does")]
    #[inline(always)]
    pub(super) fn read_next<'a>(&mut self, data: &'a [u8]) -> Option<Alike<'a>> {
        if self.behind {
            self.expect_next();
        }
        let alike = match self.fill(data) {
            Ok(alike) => alike,
            Err(misfit) => self.read_adapted(data, misfit)?,
        };
        self.behind = true;
        Some(alike)
    }

    #[expect(clippy::inline_always, reason = "a call costs a tenth of what it does")]
    #[inline(always)]
    fn fill<'a>(&mut self, data: &'a [u8]) -> Result<Alike<'a>, Misfit> {
        let mut text = &data[..0];
        let mut escaped = false;
        let mut rest = data;
        let mut fixed = self.fixed.as_slice();
        for piece in &self.pieces {
            let Some((own, next)) = fixed.split_at_checked(piece.length as usize) else { break };
            let Some(found) = rest.strip_prefix(own) else {
                return Err(Misfit::Fixed { behind: rest.len(), left: fixed.len() });
            };
            (fixed, rest) = (next, found);
            let length = match piece.hole {
                Hole::Text => {
                    let length;
                    (length, escaped) = string_length(rest).ok_or(Misfit::Hole)?;
                    text = &rest[..length];
                    if length == 0 {
                        return Err(Misfit::Hole);
                    }
                    length
                }
                Hole::AnyText => string_length(rest).ok_or(Misfit::Hole)?.0,
                Hole::Number => match piece.count {
                    None => match number_length(rest) {
                        0 => return Err(Misfit::Hole),
                        length => length,
                    },
                    Some(count) => {
                        let (number, length) = whole_number(rest).ok_or(Misfit::Hole)?;
                        self.says.counts.put(count, number);
                        length
                    }
                },
                Hole::TokenIds => {
                    let (ids, length) = count_numbers(rest).ok_or(Misfit::Hole)?;
                    self.says.token_ids = ids;
                    length
                }
                Hole::End => return Ok(Alike { text, escaped, rest }),
            };
            rest = &rest[length..];
        }
        // Nothing is learnt.
        Err(Misfit::Hole)
    }

    /// Takes each number at which an event differs as it is; none if the event differs elsewhere.
    #[cold]
    fn read_adapted<'a>(&mut self, data: &'a [u8], mut misfit: Misfit) -> Option<Alike<'a>> {
        loop {
            let Misfit::Fixed { behind, left } = misfit else { return None };
            let found = &data[data.len() - behind..];
            let from = self.fixed.len() - left;
            let same = found.iter().zip(&self.fixed[from..]).take_while(|(a, b)| a == b).count();
            // An event that only ends too early differs in nothing.
            found.get(same)?;
            self.adapt(from, from + same, found)?;
            match self.fill(data) {
                Ok(alike) => return Some(alike),
                Err(other) => misfit = other,
            }
        }
    }

    /// Learns the shape of an event that serde_json took. An event that is no ordinary one leaves nothing.
    pub(super) fn learn(&mut self, data: &[u8], rules: &Rules) {
        self.clear();
        let channel = learn::cut_holes(data, rules, self);
        // Within a line there is no line feed, and where the event ends is looked for in no other way.
        if channel.is_none() || memchr::memchr2(b'\n', b'\r', data).is_some() {
            return self.clear();
        }
        self.says.payload = channel;
        // Of two counts of reasoning only the one in the details holds.
        let detailed = self.still.iter().any(|number| number.count == Some(Count::Reasoning));
        for number in self.still.iter_mut().filter(|number| number.count == Some(Count::FlatReasoning)) {
            number.count = (!detailed).then_some(Count::Reasoning);
        }
        // From here on the counts of this shape are told; only their values change.
        for number in &self.still {
            if let (Some(count), Foretold { value, .. }) = (number.count, number.foretold) {
                self.says.counts.put(count, value);
            }
        }
        self.steady = true;
        self.make_room();
    }
}

/// Counts that any event may change; all others are told once and again.
fn is_of_output(count: Count) -> bool {
    matches!(count, Count::Completion | Count::EngineGenerated)
}
