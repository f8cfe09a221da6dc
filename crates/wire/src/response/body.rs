//! The framing of a response body: chunked, of a stated length, or until the connection closes.

/// Where in its framing a body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Body {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Bytes that are still to come.
    Sized(u64),
    UntilClose,
    /// In the size line of a chunk, before any extension.
    Size {
        value: u64,
        digits: u8,
    },
    /// Behind the size, up to the end of the line.
    Extension {
        value: u64,
    },
    /// Bytes of a chunk that are still to come.
    Chunk(u64),
    /// Between the data of a chunk and the next size line.
    ChunkEnd,
    /// In the trailers behind the last chunk; true at the start of a line.
    Trailer {
        line_start: bool,
    },
    Done,
}

/// The framing is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken(pub(super) &'static str);

impl Body {
    pub(super) fn sized(length: u64) -> Body {
        Body { state: if length == 0 { State::Done } else { State::Sized(length) } }
    }

    pub(super) fn until_close() -> Body {
        Body { state: State::UntilClose }
    }

    pub(super) fn chunked() -> Body {
        Body { state: State::Size { value: 0, digits: 0 } }
    }

    /// True when the last byte was read.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// True if the close of the connection is its proper end.
    pub(super) fn ends_with_close(&self) -> bool {
        self.state == State::UntilClose
    }

    /// The data of the next chunk, if it lies whole in `input` and is not the last; `input` moves on behind it.
    #[inline]
    pub(super) fn next_whole<'a>(&self, input: &mut &'a [u8]) -> Option<&'a [u8]> {
        if !matches!(self.state, State::Size { digits: 0, .. }) {
            return None;
        }
        let (size, length) = plain_size(input)?;
        let (data, rest) = input[length..].split_at_checked(usize::try_from(size).ok()?)?;
        *input = rest.strip_prefix(b"\r\n")?;
        Some(data)
    }

    /// The next piece of data in `input`, which moves on behind it; none if the input is used up or the body
    /// is done.
    pub(super) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Broken> {
        while !input.is_empty() {
            match self.state {
                State::UntilClose => return Ok(Some(take(input, u64::MAX).0)),
                State::Sized(left) => {
                    let (data, left) = take(input, left);
                    self.state = if left == 0 { State::Done } else { State::Sized(left) };
                    return Ok(Some(data));
                }
                State::Chunk(left) => {
                    let (data, left) = take(input, left);
                    self.state = if left == 0 { State::ChunkEnd } else { State::Chunk(left) };
                    return Ok(Some(data));
                }
                State::Done => return Ok(None),
                State::Size { digits: 0, .. } if let Some((size, length)) = plain_size(input) => {
                    self.state = State::Chunk(size);
                    *input = &input[length..];
                }
                State::ChunkEnd if input.starts_with(b"\r\n") => {
                    self.state = State::Size { value: 0, digits: 0 };
                    *input = &input[2..];
                }
                framing => {
                    self.state = framing.step(input[0])?;
                    *input = &input[1..];
                }
            }
        }
        Ok(None)
    }
}

impl State {
    fn step(self, byte: u8) -> Result<State, Broken> {
        Ok(match (self, byte) {
            (State::Size { value, digits }, _) if byte.is_ascii_hexdigit() => {
                if digits == 15 {
                    return Err(Broken("a chunk of the response is larger than any memory"));
                }
                let digit = char::from(byte).to_digit(16).unwrap_or(0);
                State::Size { value: value << 4 | u64::from(digit), digits: digits + 1 }
            }
            (State::Size { digits: 0, .. }, _) => {
                return Err(Broken("the response is chunked, but a chunk has no size"));
            }
            (State::Size { value, .. } | State::Extension { value }, b'\n') => {
                if value == 0 {
                    State::Trailer { line_start: true }
                } else {
                    State::Chunk(value)
                }
            }
            (State::Size { value, .. }, b'\r' | b';' | b' ' | b'\t') | (State::Extension { value }, _) => {
                State::Extension { value }
            }
            (State::ChunkEnd, b'\r') => State::ChunkEnd,
            (State::ChunkEnd, b'\n') => State::Size { value: 0, digits: 0 },
            (State::Trailer { line_start: true }, b'\n') => State::Done,
            (State::Trailer { line_start }, b'\r') => State::Trailer { line_start },
            (State::Trailer { .. }, _) => State::Trailer { line_start: byte == b'\n' },
            _ => return Err(Broken("the response is chunked, but a chunk does not end where it should")),
        })
    }
}

/// The value of a hexadecimal digit; 255 for any other byte.
const HEX: [u8; 256] = {
    let mut table = [255; 256];
    let mut value = 0;
    while value < 16 {
        let digit = b"0123456789abcdef"[value as usize];
        table[digit as usize] = value;
        table[digit.to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    table
};

/// The common case: a whole size line of a chunk that is not the last, without an extension. Its size, and its
/// length.
#[inline]
fn plain_size(input: &[u8]) -> Option<(u64, usize)> {
    let mut size = 0;
    let mut at = 0;
    loop {
        let digit = HEX[usize::from(*input.get(at)?)];
        if digit > 15 {
            break;
        }
        size = size << 4 | u64::from(digit);
        at += 1;
        if at > 8 {
            return None;
        }
    }
    (size > 0 && input[at..].starts_with(b"\r\n")).then_some((size, at + 2))
}

/// Up to `left` bytes of the input, and how many are left then.
fn take<'a>(input: &mut &'a [u8], left: u64) -> (&'a [u8], u64) {
    let length = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
    let (data, rest) = input.split_at(length);
    *input = rest;
    (data, left - length as u64)
}

#[cfg(test)]
mod tests {
    use super::Body;

    fn read(mut body: Body, pieces: &[&[u8]]) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        for piece in pieces {
            let mut input = *piece;
            while let Some(data) = body.next(&mut input).unwrap() {
                out.extend_from_slice(data);
            }
        }
        (out, body.is_done())
    }

    #[test]
    fn chunks_with_extensions_and_trailers() {
        let bytes = b"3;x=y\r\nabc\r\nA \r\n0123456789\r\n0\r\nX: y\r\n\r\n";
        assert_eq!(read(Body::chunked(), &[bytes]), (b"abc0123456789".to_vec(), true));
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(read(Body::chunked(), &single), (b"abc0123456789".to_vec(), true));
    }

    #[test]
    fn a_stated_length_ends_by_itself() {
        assert_eq!(read(Body::sized(4), &[b"ab", b"cdef"]), (b"abcd".to_vec(), true));
        assert_eq!(read(Body::sized(0), &[]), (Vec::new(), true));
        assert_eq!(read(Body::until_close(), &[b"ab"]), (b"ab".to_vec(), false));
    }

    #[test]
    fn broken_chunks_are_errors() {
        for bytes in [&b"\r\nabc"[..], b"zz\r\n", b"3\r\nabcd\r\n", b"11111111111111111\r\n"] {
            let mut body = Body::chunked();
            let mut input = bytes;
            let result = loop {
                match body.next(&mut input) {
                    Ok(Some(_)) => {}
                    other => break other,
                }
            };
            assert!(result.is_err(), "{bytes:?}");
        }
    }
}
