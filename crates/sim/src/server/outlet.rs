//! The way of a stream's events to its socket.
//!
//! The thread that has the events writes them itself: no task is woken and nothing is queued as long as the socket
//! takes what it is given. What it does not take waits here, and the connection's task goes on once it is writable.
//! Each write is stamped before and after, where the truth is kept.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::{io, mem};

use bytes::Bytes;

use super::dialect::Frames;
use super::fault::{FaultKind, Lurking};
use super::line::Line;
use super::stream::Delivery;
use super::truth::{Send, TruthLog};
use crate::clock::Clock;

/// Room in front of a chunk for its length.
const CHUNK_HEAD: usize = 10;

/// How a stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pumped {
    /// All that there was has gone.
    Sent,
    /// The socket is full.
    Blocked,
}

/// How a stream came to its end.
#[derive(Debug)]
pub(super) enum Sent {
    /// All of it is out.
    Whole,
    /// The connection is to break, or has broken.
    Broken(io::Error),
}

/// How its events are put and written.
pub(super) struct OutletOptions {
    pub(super) line: Arc<Line>,
    pub(super) frames: Box<dyn Frames>,
    /// The body goes in chunks of HTTP/1.1.
    pub(super) chunked: bool,
    pub(super) lurking: Option<Lurking>,
    /// Events that are joined in one write; 0: as they come, those of tokens that come together in one.
    pub(super) events_per_write: u32,
    /// Where writes are noted, and the request's number there.
    pub(super) truth: Option<(Arc<TruthLog>, u32)>,
    pub(super) worker: usize,
    pub(super) clock: Clock,
}

/// A stream's events on their way.
pub(super) struct Outlet {
    options: OutletOptions,
    /// What is sent before there is any token.
    opening: Bytes,
    /// The head is out.
    is_open: bool,
    /// What the socket has not taken, and what is in it.
    rest: Vec<u8>,
    rest_of: Send,
    /// All tokens have been put into frames.
    has_all: bool,
    /// No frame follows.
    ends: bool,
    broken: Option<io::Error>,
    /// When something was last sent.
    sent_ns: u64,
    /// The connection's task.
    waker: Option<Waker>,
}

impl Outlet {
    pub(super) fn new(mut options: OutletOptions) -> Outlet {
        let opening = options.frames.open();
        let sent_ns = options.clock.now_ns();
        Outlet {
            options,
            opening,
            is_open: false,
            rest: Vec::new(),
            rest_of: Send::default(),
            has_all: false,
            ends: false,
            broken: None,
            sent_ns,
            waker: None,
        }
    }

    pub(super) fn events_per_write(&self) -> u32 {
        self.options.events_per_write
    }

    /// True once its last token is on its way.
    pub(super) fn has_all(&self) -> bool {
        self.has_all
    }

    /// The head is out.
    pub(super) fn open(&mut self) {
        self.is_open = true;
        let opening = mem::take(&mut self.opening);
        if !opening.is_empty() {
            self.write_bytes(&opening);
        }
    }

    /// Sends what `take` gives, until that is nothing or the socket is full.
    pub(super) fn pump(
        &mut self,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut() -> Option<Delivery>,
    ) -> Pumped {
        if !self.is_open {
            return Pumped::Sent;
        }
        while self.rest.is_empty() && self.broken.is_none() && !self.ends && !self.strikes() {
            let Some(mut delivery) = take() else { return Pumped::Sent };
            if let Some(lurking) = &mut self.options.lurking {
                delivery = lurking.pass(&delivery);
            }
            self.has_all = delivery.finish.is_some();
            self.ends = self.has_all;
            buffer.clear();
            self.put(&delivery, buffer);
            let send = Send { tokens: delivery.tokens(), due_ns: delivery.due_ns, ..Send::default() };
            self.write(buffer, send);
        }
        // The connection's task does the rest.
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
        if self.rest.is_empty() { Pumped::Sent } else { Pumped::Blocked }
    }

    /// Ready when the stream has come to its end.
    pub(super) fn poll_sent(
        &mut self,
        cx: &mut Context<'_>,
        mut take: impl FnMut() -> Option<Delivery>,
    ) -> Poll<Sent> {
        // It is set first, and not woken for what this very call does.
        self.waker = None;
        let mut buffer = Vec::new();
        loop {
            if let Some(error) = self.broken.take() {
                return Poll::Ready(Sent::Broken(error));
            }
            if !self.rest.is_empty() {
                match self.options.line.poll_writable(cx) {
                    Poll::Ready(Ok(())) => self.write_rest(),
                    Poll::Ready(Err(error)) => self.broken = Some(error),
                    Poll::Pending => break,
                }
            } else if !self.is_open {
                break;
            } else if self.ends {
                return Poll::Ready(Sent::Whole);
            } else if self.strikes() {
                match self.strike() {
                    Some(error) => return Poll::Ready(Sent::Broken(error)),
                    None if !self.ends => break,
                    None => {}
                }
            } else if self.pump(&mut buffer, &mut take) == Pumped::Sent
                && !self.ends
                && !self.strikes()
                && self.broken.is_none()
            {
                break;
            }
        }
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Sends a comment if nothing has been sent for `pause_ns`; how long it has been silent by now.
    pub(super) fn comment(&mut self, comment: &str, pause_ns: u64) -> u64 {
        let silent_ns = self.options.clock.now_ns().saturating_sub(self.sent_ns);
        if silent_ns < pause_ns || !self.is_open || !self.rest.is_empty() || self.ends {
            return silent_ns;
        }
        self.write_bytes(comment.as_bytes());
        0
    }

    fn strikes(&self) -> bool {
        self.options.lurking.as_ref().is_some_and(|lurking| lurking.strikes)
    }

    /// Lets the fault happen; an error breaks the connection.
    fn strike(&mut self) -> Option<io::Error> {
        let kind = self.options.lurking.as_ref().map(Lurking::kind);
        let frames = &mut self.options.frames;
        let last = match kind {
            Some(FaultKind::Stall) => return None,
            Some(FaultKind::Reset) => {
                self.options.line.cut();
                return Some(io::ErrorKind::ConnectionReset.into());
            }
            Some(FaultKind::Error) => frames.fail("the engine has failed"),
            Some(FaultKind::Tokenless) => frames.end(),
            _ => Bytes::new(),
        };
        if !last.is_empty() {
            self.write_bytes(&last);
        }
        self.ends = true;
        None
    }

    /// The frames of a delivery, in chunks.
    fn put(&mut self, delivery: &Delivery, buffer: &mut Vec<u8>) {
        let one_each = self.options.events_per_write > 0 || self.options.truth.is_some();
        let most = if one_each { 1 } else { u32::MAX };
        let mut left = Some(*delivery);
        while let Some(now) = left {
            let (one, more) = now.split(most);
            let start = self.open_chunk(buffer);
            self.options.frames.write(&one, buffer);
            self.close_chunk(buffer, start);
            left = more;
        }
    }

    fn open_chunk(&self, buffer: &mut Vec<u8>) -> usize {
        let start = buffer.len();
        if self.options.chunked {
            buffer.extend_from_slice(&[0; CHUNK_HEAD]);
        }
        start
    }

    fn close_chunk(&self, buffer: &mut Vec<u8>, start: usize) {
        if !self.options.chunked {
            return;
        }
        let length = buffer.len() - start - CHUNK_HEAD;
        if length == 0 {
            // An empty chunk would end the body.
            return buffer.truncate(start);
        }
        let digits = (usize::BITS - length.leading_zeros()).div_ceil(4) as usize;
        let begin = CHUNK_HEAD - 2 - digits;
        for (place, digit) in (0..digits).zip(buffer[start + begin..].iter_mut()) {
            let value = (length >> (4 * (digits - 1 - place))) & 15;
            *digit = b"0123456789abcdef"[value];
        }
        buffer[start + CHUNK_HEAD - 2..start + CHUNK_HEAD].copy_from_slice(b"\r\n");
        buffer.extend_from_slice(b"\r\n");
        buffer.drain(start..start + begin);
    }

    /// Writes bytes that are no tokens.
    fn write_bytes(&mut self, bytes: &[u8]) {
        let mut buffer = Vec::with_capacity(bytes.len() + CHUNK_HEAD + 2);
        let start = self.open_chunk(&mut buffer);
        buffer.extend_from_slice(bytes);
        self.close_chunk(&mut buffer, start);
        self.write(&buffer, Send::default());
    }

    fn write(&mut self, bytes: &[u8], send: Send) {
        self.rest_of = send;
        self.rest_of.before_ns = self.options.clock.now_ns();
        let taken = self.write_some(bytes);
        if taken < bytes.len() && self.broken.is_none() {
            self.rest.extend_from_slice(&bytes[taken..]);
            if let Some((truth, _)) = &self.options.truth {
                truth.note_full();
            }
        }
    }

    fn write_rest(&mut self) {
        let rest = mem::take(&mut self.rest);
        let taken = self.write_some(&rest);
        if taken < rest.len() && self.broken.is_none() {
            self.rest = rest;
            self.rest.drain(..taken);
        }
    }

    /// Writes as much as the socket takes, and notes the events if that is all.
    fn write_some(&mut self, bytes: &[u8]) -> usize {
        let taken = match self.options.line.write(bytes) {
            Ok(taken) => taken,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => {
                self.broken = Some(error);
                0
            }
        };
        if taken == bytes.len() {
            self.sent_ns = self.options.clock.now_ns();
            if let Some((truth, request)) = &self.options.truth
                && self.rest_of.tokens > 0
            {
                let send = Send { request: *request, after_ns: self.sent_ns, ..self.rest_of };
                truth.note(self.options.worker, send);
            }
        }
        taken
    }
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet")
            .field("is_open", &self.is_open)
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}
