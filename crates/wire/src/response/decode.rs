//! Compressed bodies. They are not asked for, but some proxies send them all the same.
//!
//! What a read brought is decoded at once, so that the stamps of its events are those of that read.

use std::io::{self, Write};

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::head::Encoding;

/// Bytes that are decoded at a time: they may become a thousand times as many.
pub(super) const PIECE_BYTES: usize = 4096;

#[derive(Debug)]
pub(super) struct Decoder {
    state: State,
    out: Vec<u8>,
}

#[derive(Debug)]
enum State {
    /// `deflate` is meant to be zlib's format, but some send it bare: the first two bytes tell.
    Unsure(Vec<u8>),
    Gzip(MultiGzDecoder<Vec<u8>>),
    Zlib(ZlibDecoder<Vec<u8>>),
    Bare(DeflateDecoder<Vec<u8>>),
}

impl Decoder {
    /// None if the body is not compressed, or cannot be read.
    pub(super) fn new(encoding: Encoding) -> Option<Decoder> {
        let state = match encoding {
            Encoding::Gzip => State::Gzip(MultiGzDecoder::new(Vec::new())),
            Encoding::Deflate => State::Unsure(Vec::new()),
            Encoding::Identity | Encoding::Other => return None,
        };
        Some(Decoder { state, out: Vec::new() })
    }

    /// All that can be decoded with `data`.
    pub(super) fn decode(&mut self, data: &[u8]) -> io::Result<&[u8]> {
        self.out.clear();
        if let State::Unsure(start) = &mut self.state {
            start.extend_from_slice(data);
            let &[first, second, ..] = start.as_slice() else {
                return Ok(&self.out);
            };
            let start = std::mem::take(start);
            let is_zlib = first & 0x0f == 8 && (u16::from(first) << 8 | u16::from(second)) % 31 == 0;
            self.state = if is_zlib {
                State::Zlib(ZlibDecoder::new(Vec::new()))
            } else {
                State::Bare(DeflateDecoder::new(Vec::new()))
            };
            self.push(&start)?;
        } else {
            self.push(data)?;
        }
        Ok(&self.out)
    }

    fn push(&mut self, data: &[u8]) -> io::Result<()> {
        let out = &mut self.out;
        match &mut self.state {
            State::Unsure(_) => Ok(()),
            State::Gzip(decoder) => {
                write_to_end(decoder, data)?;
                out.append(decoder.get_mut());
                Ok(())
            }
            State::Zlib(decoder) => {
                write_to_end(decoder, data)?;
                out.append(decoder.get_mut());
                Ok(())
            }
            State::Bare(decoder) => {
                write_to_end(decoder, data)?;
                out.append(decoder.get_mut());
                Ok(())
            }
        }
    }
}

/// Writes all of `data`, or up to the end of the compressed stream: what is behind it is no data.
fn write_to_end(decoder: &mut impl Write, mut data: &[u8]) -> io::Result<()> {
    while !data.is_empty() {
        match decoder.write(data)? {
            0 => break,
            written => data = &data[written..],
        }
    }
    decoder.flush()
}
