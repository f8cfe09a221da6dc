//! The learnt shape of an event: bytes that stay, and holes for text and numbers.

mod learn;

use super::Delta;
use crate::dialect::{Count, Rules};
use crate::exchange::Channel;
use crate::repetition::Texts;

/// Most holes and most fixed bytes that are learnt: longer events are rare ones.
const MAX_PIECES: usize = 64;
const MAX_FIXED_BYTES: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Template {
    /// The bytes between the holes, one after another, closed by those behind the last hole.
    fixed: Vec<u8>,
    pieces: Vec<Piece>,
    channel: Option<Channel>,
}

/// Fixed bytes up to `end`, and the hole behind them.
#[derive(Debug, Clone, Copy)]
struct Piece {
    end: u32,
    hole: Hole,
}

/// What fills a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    /// The inside of a string that is output.
    Text(Channel),
    /// The inside of a string that does not matter.
    AnyText,
    /// A number that does not matter.
    AnyNumber,
    /// A count.
    Count(Count),
    /// The inside of a list of token ids.
    TokenIds,
}

impl Template {
    pub(super) fn clear(&mut self) {
        self.fixed.clear();
        self.pieces.clear();
        self.channel = None;
    }

    /// Reads an event of this shape into `delta`; false, with `delta` in any state, if it has any other.
    pub(super) fn read(&self, data: &[u8], texts: &mut Texts, delta: &mut Delta) -> bool {
        self.channel.is_some() && self.fill(data, texts, delta).is_some()
    }

    fn fill(&self, data: &[u8], texts: &mut Texts, delta: &mut Delta) -> Option<()> {
        delta.clear();
        let mut text = None;
        let mut rest = data;
        let mut start = 0;
        for piece in &self.pieces {
            rest = rest.strip_prefix(&self.fixed[start..piece.end as usize])?;
            start = piece.end as usize;
            rest = match piece.hole {
                Hole::Text(channel) => {
                    let (length, escaped) = string_length(rest).filter(|&(length, _)| length > 0)?;
                    text = Some((channel, &rest[..length], escaped));
                    &rest[length..]
                }
                Hole::AnyText => &rest[string_length(rest)?.0..],
                Hole::AnyNumber => match number_length(rest) {
                    0 => return None,
                    length => &rest[length..],
                },
                Hole::Count(count) => {
                    let (number, rest) = whole_number(rest)?;
                    delta.put(count, number);
                    rest
                }
                Hole::TokenIds => {
                    let end = memchr::memchr(b']', rest)?;
                    delta.token_ids = count_numbers(&rest[..end])?;
                    &rest[end..]
                }
            };
        }
        if rest.strip_prefix(&self.fixed[start..])?.iter().any(|byte| !byte.is_ascii_whitespace()) {
            return None;
        }
        if let Some((channel, text, escaped)) = text {
            texts.push(channel, text, escaped);
        }
        delta.payload = self.channel;
        delta.usage.drop_zeros();
        Some(())
    }

    /// Learns the shape of an event that serde_json took. An event that is no ordinary one leaves nothing.
    pub(super) fn learn(&mut self, data: &[u8], rules: &Rules) {
        self.clear();
        let (learnt, copied) = learn::cut_holes(data, rules, self);
        let texts = self.pieces.iter().filter(|piece| matches!(piece.hole, Hole::Text(_))).count();
        let has_ids = self.pieces.iter().any(|piece| piece.hole == Hole::TokenIds);
        let too_long = data.len() - copied > MAX_FIXED_BYTES;
        if !learnt || too_long || texts > 1 || (texts == 0 && !has_ids) {
            self.clear();
            return;
        }
        self.fixed.extend_from_slice(data[copied..].trim_ascii_end());
        self.channel = self.pieces.iter().find_map(|piece| match piece.hole {
            Hole::Text(channel) => Some(channel),
            _ => None,
        });
        self.channel = self.channel.or(Some(Channel::TokenIds));
    }
}

/// Length of a string's inside up to its closing quote, and whether it holds escapes.
fn string_length(text: &[u8]) -> Option<(usize, bool)> {
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b'"', b'\\', &text[from..])?;
        if text[at] == b'"' {
            return Some((at, from > 0));
        }
        from = at + 2;
        if from > text.len() {
            return None;
        }
    }
}

/// Length of the number at the start.
fn number_length(text: &[u8]) -> usize {
    text.iter().take_while(|&&byte| is_number_byte(byte)).count()
}

fn is_number_byte(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
}

/// The whole number at the start, and what is behind it; none for `1.5`, `1e3` and the like.
fn whole_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0u64;
    let mut length = 0;
    while let Some(&byte @ b'0'..=b'9') = text.get(length) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        length += 1;
    }
    let rest = &text[length..];
    let is_whole = length > 0 && length <= 18 && !rest.first().is_some_and(|&byte| is_number_byte(byte));
    is_whole.then_some((number, rest))
}

/// Counts a list of whole numbers; none if it holds anything else, or nothing.
fn count_numbers(list: &[u8]) -> Option<u32> {
    let mut count = 0;
    for item in list.split(|&byte| byte == b',') {
        let item = item.trim_ascii();
        if item.is_empty() || !item.iter().all(u8::is_ascii_digit) {
            return None;
        }
        count += 1;
    }
    Some(count)
}
