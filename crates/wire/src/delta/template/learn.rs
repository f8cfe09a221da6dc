//! Learns the shape of an event: where its text and its numbers are.

use super::{
    Hole, MAX_FIXED_BYTES, MAX_PIECES, Piece, Template, count_numbers, number_length, string_length,
};
use crate::dialect::Rules;
use crate::exchange::Channel;

/// Deepest nesting that is learnt.
const MAX_DEPTH: usize = 10;

/// Cuts the holes of an event into an empty template. Tells whether the event is an ordinary one, and up to
/// where its bytes are in the template or in a hole.
pub(super) fn cut_holes(data: &[u8], rules: &Rules, template: &mut Template) -> (bool, usize) {
    let mut walk = Walk { data, rules, at: 0, keys: [b""; MAX_DEPTH], depth: 0, copied: 0, template };
    let is_ordinary = walk.value().is_some();
    (is_ordinary, walk.copied)
}

/// Walks over a JSON text that is known to be whole, and cuts holes where its values differ from event to
/// event. Steps return none where something is not ordinary.
struct Walk<'a, 't> {
    data: &'a [u8],
    rules: &'t Rules,
    at: usize,
    /// The way to the present value; a list is an empty key.
    keys: [&'a [u8]; MAX_DEPTH],
    depth: usize,
    /// Bytes up to here are in the template, or in its holes.
    copied: usize,
    template: &'t mut Template,
}

impl<'a> Walk<'a, '_> {
    fn value(&mut self) -> Option<()> {
        match self.peek()? {
            b'{' => self.object(),
            b'[' => self.list(),
            b'"' => {
                let (start, end) = self.string()?;
                match self.string_hole(&self.data[start..end]) {
                    Some(hole) => self.cut(start, end, hole),
                    None => Some(()),
                }
            }
            b't' | b'f' | b'n' => {
                let word = self.data[self.at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                self.at += word;
                Some(())
            }
            _ => {
                let start = self.at;
                self.at += number_length(&self.data[start..]);
                match self.number_hole() {
                    Some(hole) if self.at > start => self.cut(start, self.at, hole),
                    _ if self.at > start => Some(()),
                    _ => None,
                }
            }
        }
    }

    fn object(&mut self) -> Option<()> {
        self.at += 1;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        loop {
            self.peek()?;
            let (start, end) = self.string()?;
            self.enter(&self.data[start..end])?;
            self.expect(b':')?;
            self.value()?;
            self.depth -= 1;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    fn list(&mut self) -> Option<()> {
        let is_choices = self.way() == [&b"choices"[..]];
        self.at += 1;
        if self.rules.token_ids.is_some_and(|path| self.is_at(path)) && self.peek()? != b']' {
            let start = self.at;
            let end = start + memchr::memchr(b']', &self.data[start..])?;
            count_numbers(&self.data[start..end])?;
            self.cut(start, end, Hole::TokenIds)?;
            self.at = end + 1;
            return Some(());
        }
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        self.enter(b"")?;
        loop {
            self.value()?;
            match self.peek()? {
                // Of several choices only one counts: that is for the slow way.
                b',' if is_choices => return None,
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    self.depth -= 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    }

    /// Ends the fixed bytes at `start`, and leaves out what is up to `end`.
    fn cut(&mut self, start: usize, end: usize, hole: Hole) -> Option<()> {
        self.template.fixed.extend_from_slice(&self.data[self.copied..start]);
        let end_of_fixed = self.template.fixed.len();
        self.template.pieces.push(Piece { end: end_of_fixed as u32, hole });
        self.copied = end;
        (end_of_fixed <= MAX_FIXED_BYTES && self.template.pieces.len() <= MAX_PIECES).then_some(())
    }

    fn string_hole(&self, text: &[u8]) -> Option<Hole> {
        if self.rules.noise.iter().any(|path| self.is_at(path)) {
            return Some(Hole::AnyText);
        }
        let &(_, channel) = self.rules.texts.iter().find(|(path, _)| self.is_at(path))?;
        if text.is_empty() {
            return None;
        }
        let reasoning = Hole::Text(Channel::Reasoning);
        let again = self.template.pieces.iter().any(|piece| piece.hole == reasoning);
        // Under a second name it is the same text once more.
        Some(if channel == Channel::Reasoning && again { Hole::AnyText } else { Hole::Text(channel) })
    }

    fn number_hole(&self) -> Option<Hole> {
        // The index of a choice says whether it counts.
        if self.is_at(&["choices", "", "index"]) {
            return None;
        }
        let mut counts = self.rules.counts.iter().copied().flatten();
        let count = counts.find(|(path, _)| self.is_at(path)).map(|&(_, count)| count);
        Some(count.map_or(Hole::AnyNumber, Hole::Count))
    }

    fn is_at(&self, path: &[&str]) -> bool {
        path.len() == self.depth && path.iter().zip(self.way()).all(|(key, step)| key.as_bytes() == *step)
    }

    fn way(&self) -> &[&'a [u8]] {
        &self.keys[..self.depth]
    }

    fn enter(&mut self, key: &'a [u8]) -> Option<()> {
        *self.keys.get_mut(self.depth)? = key;
        self.depth += 1;
        Some(())
    }

    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        let blank = self.data[self.at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.at += blank;
        self.data.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    /// Start and end of the inside of the string here.
    fn string(&mut self) -> Option<(usize, usize)> {
        let start = self.at + 1;
        let end = start + string_length(self.data.get(start..)?)?.0;
        self.at = end + 1;
        Some((start, end))
    }
}
