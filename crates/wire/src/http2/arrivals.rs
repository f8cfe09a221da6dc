//! When the frames of each HTTP/2 stream arrived: told by the bytes below the HTTP/2 library.
//!
//! Several streams share a socket, and a stream's task gets to its data only after the connection's task has
//! read it. So the frames are followed where they are read, and each keeps the stamp of the read that completed
//! it. Only headers and data of streams that somebody waits for are kept.

use std::collections::{HashMap, VecDeque};

use crate::socket::Stamp;

const FRAME_HEAD_BYTES: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const CONTINUATION: u8 = 9;
const ACK: u8 = 1;
const PADDED: u8 = 8;

/// Follows the frames of one connection.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    streams: HashMap<u32, Track>,
    /// The server's settings were read.
    pub(super) settled: bool,
    head: [u8; FRAME_HEAD_BYTES],
    head_length: usize,
    frame: Option<Frame>,
}

/// The frame that is being read.
#[derive(Debug, Clone, Copy)]
struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    left: u32,
    /// Its data, padding left out.
    data: u64,
    /// The length of the padding is still to be read.
    padding_ahead: bool,
}

/// What arrived of one stream and was not yet taken.
#[derive(Debug, Default)]
struct Track {
    head: Option<Arrival>,
    data: VecDeque<(u64, Arrival)>,
    received: u64,
    taken: u64,
    last: Arrival,
}

/// When a frame was complete, and with which read of the socket.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) stamp: Stamp,
    pub(crate) read: u64,
}

impl Arrivals {
    /// Begins to keep what arrives of a stream.
    pub(crate) fn watch(&mut self, stream: u32) {
        self.streams.insert(stream, Track::default());
    }

    /// Forgets a stream.
    pub(crate) fn forget(&mut self, stream: u32) {
        self.streams.remove(&stream);
    }

    /// When the head of the stream's response arrived.
    pub(crate) fn of_head(&self, stream: u32) -> Arrival {
        self.streams.get(&stream).and_then(|track| track.head).unwrap_or_default()
    }

    /// When the next `length` bytes of the stream's data had arrived.
    pub(crate) fn of_data(&mut self, stream: u32, length: usize) -> Arrival {
        let Some(track) = self.streams.get_mut(&stream) else {
            return Arrival::default();
        };
        track.taken += length as u64;
        while let Some(&(end, arrival)) = track.data.front()
            && end <= track.taken
        {
            track.last = arrival;
            track.data.pop_front();
        }
        track.last
    }

    /// Follows bytes as they were read from the connection.
    pub(super) fn follow(&mut self, mut bytes: &[u8], arrival: Arrival) {
        while !bytes.is_empty() {
            let Some(mut frame) = self.frame else {
                let taken = bytes.len().min(FRAME_HEAD_BYTES - self.head_length);
                self.head[self.head_length..][..taken].copy_from_slice(&bytes[..taken]);
                self.head_length += taken;
                bytes = &bytes[taken..];
                if self.head_length == FRAME_HEAD_BYTES {
                    self.head_length = 0;
                    self.begin(arrival);
                }
                continue;
            };
            if frame.padding_ahead {
                frame.padding_ahead = false;
                frame.data = frame.data.saturating_sub(1 + u64::from(bytes[0]));
                frame.left -= 1;
                bytes = &bytes[1..];
            } else {
                let taken = bytes.len().min(frame.left as usize);
                frame.left -= taken as u32;
                bytes = &bytes[taken..];
            }
            self.frame = Some(frame);
            if frame.left == 0 {
                self.complete(frame, arrival);
            }
        }
    }

    fn begin(&mut self, arrival: Arrival) {
        // Length in 24 bits, type, flags, and the stream's number in 31 bits.
        let [.., kind, flags, _, _, _, _] = self.head;
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte));
        let left = number(&self.head[..3]);
        let frame = Frame {
            kind,
            flags,
            stream: number(&self.head[5..]) & 0x7fff_ffff,
            left,
            data: u64::from(left),
            padding_ahead: kind == DATA && flags & PADDED != 0 && left > 0,
        };
        self.frame = Some(frame);
        if left == 0 {
            self.complete(frame, arrival);
        }
    }

    fn complete(&mut self, frame: Frame, arrival: Arrival) {
        self.frame = None;
        match frame.kind {
            SETTINGS => self.settled |= frame.flags & ACK == 0,
            DATA if frame.data > 0 => {
                if let Some(track) = self.streams.get_mut(&frame.stream) {
                    track.received += frame.data;
                    track.data.push_back((track.received, arrival));
                }
            }
            // The last head in front of the data is that of the response: 1xx answers may come before it.
            HEADERS | CONTINUATION => {
                if let Some(track) = self.streams.get_mut(&frame.stream)
                    && track.received == 0
                {
                    track.head = Some(arrival);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrival, Arrivals, CONTINUATION, DATA, HEADERS, PADDED, SETTINGS};
    use crate::socket::Stamp;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        bytes
    }

    fn at(read: u64) -> Arrival {
        Arrival { stamp: Stamp { arrival_ns: 10 * read, ..Stamp::default() }, read }
    }

    #[test]
    fn each_frame_has_the_stamp_of_the_read_that_completed_it() {
        let bytes = [
            frame(SETTINGS, 0, 0, &[0; 6]),
            frame(HEADERS, 0, 1, b"head"),
            frame(CONTINUATION, 4, 1, b"more"),
            frame(DATA, 0, 1, b"first"),
            frame(DATA, 0, 3, b"of another"),
            frame(DATA, PADDED, 1, b"\x03second\0\0\0"),
            frame(DATA, 1, 1, b""),
        ]
        .concat();
        for width in [1, 2, 5, 7, bytes.len()] {
            let mut arrivals = Arrivals::default();
            arrivals.watch(1);
            let mut read_of_byte = Vec::new();
            for (number, piece) in bytes.chunks(width).enumerate() {
                arrivals.follow(piece, at(number as u64));
                read_of_byte.extend(piece.iter().map(|_| number as u64));
            }
            assert!(arrivals.settled);
            let ends = [15 + 13 + 13, 15 + 26 + 14, 15 + 26 + 14 + 19 + 19];
            let reads = ends.map(|end: usize| read_of_byte[end - 1]);
            assert_eq!(arrivals.of_head(1), at(reads[0]), "width {width}");
            assert_eq!(arrivals.of_data(1, 5), at(reads[1]), "width {width}");
            assert_eq!(arrivals.of_data(1, 6), at(reads[2]), "width {width}");
            arrivals.forget(1);
            assert!(arrivals.streams.is_empty());
        }
    }
}
