//! NDJSON: one JSON object a line, cut out of bytes as they come.

use memchr::memchr;

use crate::sse::{Frame, MAX_EVENT_BYTES, TooLong};

/// Cuts lines out of bytes. A line that lies whole in one read is handed out where it lies.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// The start of a line whose end has not come.
    line: Vec<u8>,
    handed_out: bool,
}

impl Lines {
    /// Forgets everything but its buffer.
    pub(crate) fn reset(&mut self) {
        self.line.clear();
        self.handed_out = false;
    }

    /// True if the bytes that come now begin a new line.
    #[inline]
    pub(crate) fn is_between_lines(&self) -> bool {
        self.line.is_empty() || self.handed_out
    }

    /// The next line of `input` that is not empty; `input` moves on behind it. None if the input is used up.
    pub(crate) fn next<'s, 'i: 's>(&'s mut self, input: &mut &'i [u8]) -> Result<Option<Frame<'s>>, TooLong> {
        if self.handed_out {
            self.reset();
        }
        while let Some(end) = memchr(b'\n', input) {
            let (piece, rest) = (&input[..end], &input[end + 1..]);
            *input = rest;
            if !self.line.is_empty() {
                self.line.extend_from_slice(piece);
                if self.line.len() > MAX_EVENT_BYTES {
                    return Err(TooLong);
                }
                if !self.line.trim_ascii().is_empty() {
                    self.handed_out = true;
                    return Ok(Some(frame(&self.line)));
                }
                self.line.clear();
            } else if !piece.trim_ascii().is_empty() {
                return Ok(Some(frame(piece)));
            }
        }
        self.line.extend_from_slice(input);
        *input = &[];
        if self.line.len() > MAX_EVENT_BYTES { Err(TooLong) } else { Ok(None) }
    }

    /// A last line without its line feed.
    pub(crate) fn finish(&mut self) -> Option<Frame<'_>> {
        if self.handed_out {
            self.reset();
        }
        self.handed_out = true;
        (!self.line.trim_ascii().is_empty()).then(|| frame(&self.line))
    }
}

fn frame(line: &[u8]) -> Frame<'_> {
    Frame { event: b"", data: line, bytes: line.len() as u32 + 1 }
}

#[cfg(test)]
mod tests {
    use super::Lines;
    use crate::sse::{MAX_EVENT_BYTES, TooLong};

    fn lines(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut lines = Lines::default();
        let mut out = Vec::new();
        for piece in pieces {
            let mut input = *piece;
            while let Some(frame) = lines.next(&mut input).unwrap() {
                out.push(frame.data.trim_ascii().to_vec());
            }
        }
        out.extend(lines.finish().map(|frame| frame.data.to_vec()));
        out
    }

    #[test]
    fn however_the_bytes_are_cut() {
        let bytes = b"{\"a\":1}\r\n\n{\"b\":2}\n{\"c\":3}";
        let expected: [&[u8]; 3] = [b"{\"a\":1}", b"{\"b\":2}", b"{\"c\":3}"];
        for cut in 0..=bytes.len() {
            let (front, back) = bytes.split_at(cut);
            assert_eq!(lines(&[front, back]), expected, "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(lines(&single), expected);
    }

    #[test]
    fn a_line_over_the_limit_is_refused() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; MAX_EVENT_BYTES];
        assert_eq!(lines.next(&mut &piece[..]), Ok(None));
        assert_eq!(lines.next(&mut &b"y"[..]), Err(TooLong));
    }
}
