//! Server-sent events, cut out of bytes as they come.
//!
//! Lines end with LF, CR or CRLF; an event ends at an empty line; several `data:` lines join with LF; one space
//! after the colon is dropped; lines that begin with a colon are comments; a byte order mark may open the stream.
//! Bytes may be cut anywhere. An event that lies whole in one read is handed out where it lies, without a copy.

use memchr::memchr2;

/// The longest event that is taken.
pub const MAX_EVENT_BYTES: usize = 16 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What the framer found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item<'a> {
    /// A whole event.
    Event(Frame<'a>),
    /// A line that holds JSON without `data:` in front, as some servers send their errors.
    Stray(&'a [u8]),
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its type; empty if none is given.
    pub event: &'a [u8],
    /// Its data.
    pub data: &'a [u8],
    /// Bytes that it took on the wire, comments left out.
    pub bytes: u32,
}

/// An event is longer than [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than 16 MB")]
pub struct TooLong;

/// Cuts events out of bytes.
#[derive(Debug, Default)]
pub struct Framer {
    /// The start of a line whose end has not come.
    line: Vec<u8>,
    /// Data of the event whose end has not come.
    data: Vec<u8>,
    event: Vec<u8>,
    has_data: bool,
    bytes: usize,
    /// The first line is behind us, and so is a byte order mark.
    begun: bool,
    /// A line ended with CR at the very end of the bytes: an LF that follows belongs to it.
    skip_line_feed: bool,
    /// `data` and `event` were handed out and are no longer needed.
    handed_out: bool,
}

impl Framer {
    /// Forgets everything but its buffers.
    pub fn reset(&mut self) {
        self.line.clear();
        self.clear_event();
        self.begun = false;
        self.skip_line_feed = false;
    }

    /// True if the bytes that come now begin a new event.
    #[inline]
    pub fn is_between_events(&self) -> bool {
        self.line.is_empty() && (self.bytes == 0 || self.handed_out) && !self.skip_line_feed && self.begun
    }

    /// The next item of `input`, which moves on behind it; none if the input is used up.
    pub fn next<'s, 'i: 's>(&'s mut self, input: &mut &'i [u8]) -> Result<Option<Item<'s>>, TooLong> {
        if self.handed_out {
            self.clear_event();
        }
        loop {
            if self.skip_line_feed && !input.is_empty() {
                self.skip_line_feed = false;
                if input[0] == b'\n' {
                    *input = &input[1..];
                }
            }
            if self.line.is_empty()
                && self.bytes == 0
                && let Some(frame) = whole_event(input)
            {
                self.begun = true;
                return Ok(Some(Item::Event(frame)));
            }
            let Some(end) = memchr2(b'\n', b'\r', input) else {
                self.line.extend_from_slice(input);
                *input = &[];
                return if self.is_too_long() { Err(TooLong) } else { Ok(None) };
            };
            let piece = &input[..end];
            let is_return = input[end] == b'\r';
            *input = &input[end + 1..];
            self.skip_line_feed = is_return;
            let step = if self.line.is_empty() {
                self.take_line(piece)
            } else {
                self.line.extend_from_slice(piece);
                let line = std::mem::take(&mut self.line);
                let step = self.take_line(&line);
                self.line = line;
                self.line.clear();
                step
            };
            if self.is_too_long() {
                return Err(TooLong);
            }
            match step {
                Step::More => {}
                Step::Event => return Ok(Some(self.hand_out())),
                Step::Stray => {
                    self.handed_out = true;
                    return Ok(Some(Item::Stray(&self.data)));
                }
            }
        }
    }

    /// What the end of the stream leaves: an event whose empty line never came.
    pub fn finish(&mut self) -> Option<Item<'_>> {
        if self.handed_out {
            self.clear_event();
        }
        if !self.line.is_empty() {
            let line = std::mem::take(&mut self.line);
            if let Step::Stray = self.take_line(&line) {
                self.handed_out = true;
                return Some(Item::Stray(&self.data));
            }
        }
        if self.has_data { Some(self.hand_out()) } else { None }
    }

    fn take_line(&mut self, line: &[u8]) -> Step {
        let length = line.len() + 1;
        let line = if self.begun { line } else { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) };
        self.begun = true;
        let (field, value) = match memchr::memchr(b':', line) {
            Some(0) => {
                // Dynamo tells the message of an error in a comment below its type.
                if self.event == b"error" && !self.has_data {
                    let comment = &line[1..];
                    self.data.extend_from_slice(comment.strip_prefix(b" ").unwrap_or(comment));
                }
                return Step::More;
            }
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"" => {
                self.bytes += length;
                if self.has_data || self.event == b"error" {
                    return Step::Event;
                }
                self.clear_event();
            }
            b"data" => {
                self.bytes += length;
                if self.has_data {
                    self.data.push(b'\n');
                } else {
                    self.data.clear();
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.bytes += length;
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            _ if line.starts_with(b"{") && !self.has_data => {
                self.data.clear();
                self.data.extend_from_slice(line);
                return Step::Stray;
            }
            // `id`, `retry` and what nobody knows.
            _ => self.bytes += length,
        }
        Step::More
    }

    fn hand_out(&mut self) -> Item<'_> {
        self.handed_out = true;
        Item::Event(Frame { event: &self.event, data: &self.data, bytes: self.bytes as u32 })
    }

    fn clear_event(&mut self) {
        self.data.clear();
        self.event.clear();
        self.has_data = false;
        self.bytes = 0;
        self.handed_out = false;
    }

    fn is_too_long(&self) -> bool {
        self.line.len() + self.data.len() > MAX_EVENT_BYTES
    }
}

enum Step {
    More,
    Event,
    Stray,
}

/// The common case: the input begins with one `data:` line and the empty line behind it.
fn whole_event<'a>(input: &mut &'a [u8]) -> Option<Frame<'a>> {
    let value = input.strip_prefix(b"data:")?;
    let end = memchr2(b'\n', b'\r', value)?;
    let close: &[u8] = if value[end] == b'\n' { b"\n\n" } else { b"\r\n\r\n" };
    let rest = value[end..].strip_prefix(close)?;
    let data = &value[..end];
    let data = data.strip_prefix(b" ").unwrap_or(data);
    let bytes = (input.len() - rest.len()) as u32;
    *input = rest;
    Some(Frame { event: b"", data, bytes })
}
