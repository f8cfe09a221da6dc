//! Learns the shape of an event: where its text and its numbers are.

use super::scan::{count_numbers, number_length, string_length, whole_number};
use super::{Hole, MAX_FIXED_BYTES, MAX_HOLES, Number, Piece, Template};
use crate::dialect::Rules;
use crate::exchange::Channel;

/// Deepest nesting that is learnt.
const MAX_DEPTH: usize = 10;

/// Cuts the holes of an event into an empty template. Tells which output it carries; none if the event is no
/// ordinary one.
pub(super) fn cut_holes(data: &[u8], rules: &Rules, template: &mut Template) -> Option<Channel> {
    let data = data.trim_ascii_end();
    let mut walk =
        Walk { data, rules, at: 0, keys: [b""; MAX_DEPTH], depth: 0, copied: 0, text: None, template };
    walk.value()?;
    let Walk { copied, text, .. } = walk;
    if data.len() - copied > MAX_FIXED_BYTES {
        return None;
    }
    template.fixed.extend_from_slice(&data[copied..]);
    template.pieces.push(Piece { length: (data.len() - copied) as u32, hole: Hole::End, count: None });
    let has_ids = template.pieces.iter().any(|piece| piece.hole == Hole::TokenIds);
    text.or(has_ids.then_some(Channel::TokenIds))
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
    /// The channel whose text was met.
    text: Option<Channel>,
    template: &'t mut Template,
}

impl<'a> Walk<'a, '_> {
    fn value(&mut self) -> Option<()> {
        match self.peek()? {
            b'{' => self.object(),
            b'[' => self.list(),
            b'"' => {
                let (start, end) = self.string()?;
                self.string_hole(start, end)
            }
            b't' | b'f' | b'n' => {
                let word = self.data[self.at..].iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                self.at += word;
                Some(())
            }
            _ => {
                let start = self.at;
                self.at += number_length(&self.data[start..]);
                if self.at > start { self.number(start) } else { None }
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
            let end = start + count_numbers(&self.data[start..])?.1;
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
        let Template { fixed, pieces, .. } = &mut *self.template;
        fixed.extend_from_slice(&self.data[self.copied..start]);
        pieces.push(Piece { length: (start - self.copied) as u32, hole, count: None });
        self.copied = end;
        (fixed.len() <= MAX_FIXED_BYTES && pieces.len() <= MAX_HOLES).then_some(())
    }

    /// Cuts a hole for the string from `start` to `end`, if it is one that differs.
    fn string_hole(&mut self, start: usize, end: usize) -> Option<()> {
        if self.rules.noise.iter().any(|path| self.is_at(path)) {
            return self.cut(start, end, Hole::AnyText);
        }
        let text = self.rules.texts.iter().find(|(path, _)| self.is_at(path));
        let Some(&(_, channel)) = text.filter(|_| start < end) else { return Some(()) };
        let hole = match self.text {
            None => Hole::Text,
            // Under a second name it is the same text once more.
            Some(Channel::Reasoning) if channel == Channel::Reasoning => Hole::AnyText,
            // Text of two kinds is for the slow way.
            Some(_) => return None,
        };
        self.text = Some(channel);
        self.cut(start, end, hole)
    }

    /// Notes the number from `start` up to here among the fixed bytes.
    fn number(&mut self, start: usize) -> Option<()> {
        // The index of a choice says whether it counts.
        if self.is_at(&["choices", "", "index"]) {
            return Some(());
        }
        let mut counts = self.rules.counts.iter().copied().flatten();
        let count = counts.find(|(path, _)| self.is_at(path)).map(|&(_, count)| count);
        let text = &self.data[start..self.at];
        let numbers = &mut self.template.still;
        // Of two values of a count the later one holds, and some are no counts: that is for the slow way.
        let odd = count.is_some()
            && (numbers.iter().any(|other| other.count == count) || whole_number(text).is_none());
        if odd || numbers.len() >= MAX_HOLES {
            return None;
        }
        let place = |at: usize| self.template.fixed.len() + at - self.copied;
        numbers.push(Number::new(place(start), place(self.at), count, text));
        Some(())
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
