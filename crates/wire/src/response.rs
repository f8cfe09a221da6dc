//! Reads one response from bytes: head, body framing, events, counts, and the verdict on it. No sockets here.

mod body;
mod decode;
mod events;
mod head;
mod verdict;

use std::collections::BTreeMap;

use crate::dialect::Expect;
use crate::exchange::{Channel, EventSink, Exchange, Outcome};
use crate::failure::{Failure, FailureKind};
use crate::ndjson::Lines;
use crate::redact::excerpt;
use crate::socket::Stamp;
use crate::sse::{Frame, Framer, Item};

use decode::Decoder;
use events::Events;
use head::{Content, Encoding, Head};

/// Bytes of a body or an event that a failure keeps.
const KEPT_BYTES: usize = 4096;
/// Bytes of a body that is no event stream that are read at all.
const CAPTURE_BYTES: usize = 64 << 10;

/// Whether more of the response is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// There is more to come.
    More,
    /// The response is complete, or it failed.
    Complete,
}

/// Why a response ends before it is complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Close {
    /// The server closed the connection.
    Eof,
    /// Nothing more came, though the last event had come; the connection is as it was.
    Silence,
    /// We cut it.
    Cut,
    /// With an error, told in one sentence.
    Error(FailureKind, String),
}

/// Reads one response after another; buffers are kept in between.
#[derive(Debug)]
pub struct ResponseReader {
    mode: Mode,
    head_bytes: Vec<u8>,
    head: Option<Head>,
    /// The body is a stream of events or lines, and not compressed.
    is_plain_stream: bool,
    /// Only for a compressed body.
    decoder: Option<Box<Decoder>>,
    framer: Framer,
    lines: Lines,
    events: Events,
    captured: Vec<u8>,
    first_byte_ns: Option<u64>,
    last: Stamp,
    /// Bytes came that belong to no response.
    leftover: bool,
    outcome: Option<Outcome>,
    failure: Option<Box<Failure>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Head,
    /// Server-sent events.
    Stream,
    /// NDJSON.
    Lines,
    /// The body is no event stream: its start is kept.
    Capture,
}

impl ResponseReader {
    /// A reader for a first response.
    pub fn new(expect: Expect) -> ResponseReader {
        ResponseReader {
            mode: Mode::Head,
            head_bytes: Vec::new(),
            head: None,
            is_plain_stream: false,
            decoder: None,
            framer: Framer::default(),
            lines: Lines::default(),
            events: Events::new(expect),
            captured: Vec::new(),
            first_byte_ns: None,
            last: Stamp::default(),
            leftover: false,
            outcome: None,
            failure: None,
        }
    }

    /// Makes ready for the next response.
    pub fn begin(&mut self, expect: Expect) {
        self.mode = Mode::Head;
        self.head_bytes.clear();
        self.head = None;
        self.is_plain_stream = false;
        self.decoder = None;
        self.framer.reset();
        self.lines.reset();
        self.events.begin(expect);
        self.captured.clear();
        self.first_byte_ns = None;
        self.last = Stamp::default();
        self.leftover = false;
        self.outcome = None;
        self.failure = None;
    }

    /// Takes bytes that arrived together. Bytes of one read may be handed over in several calls;
    /// [`end_of_read`](Self::end_of_read) closes them.
    #[inline]
    pub fn feed<S: EventSink>(&mut self, bytes: &[u8], stamp: Stamp, sink: &mut S) -> Progress {
        if self.outcome.is_some() {
            self.leftover |= !bytes.is_empty();
            return Progress::Complete;
        }
        self.last = stamp;
        let rest = self.feed_whole_chunks(bytes, &stamp, sink);
        if self.outcome.is_none() && rest.is_empty() {
            Progress::More
        } else {
            self.feed_any(rest, stamp, sink)
        }
    }

    /// The common case: chunks of a plain stream that lie whole in what arrived. Returns what is behind them.
    #[inline]
    fn feed_whole_chunks<'a, S: EventSink>(
        &mut self,
        mut input: &'a [u8],
        stamp: &Stamp,
        sink: &mut S,
    ) -> &'a [u8] {
        while self.is_plain_stream
            && let Some(head) = &self.head
            && let Some(data) = head.body.next_whole(&mut input)
        {
            self.read_stream(data, stamp, sink);
            if input.is_empty() || self.outcome.is_some() {
                break;
            }
        }
        input
    }

    /// Takes data of the stream: the events like those before at once, all others step by step.
    #[inline]
    fn read_stream<S: EventSink>(&mut self, mut data: &[u8], stamp: &Stamp, sink: &mut S) {
        let lines = self.mode == Mode::Lines;
        if self.is_between(lines) {
            match self.events.take_alike(&mut data, lines, stamp, sink) {
                Ok(()) if data.is_empty() => return,
                Ok(()) => {}
                Err(failure) => return self.fail(*failure),
            }
        }
        self.read_plain(data, *stamp, sink);
    }

    fn feed_any<S: EventSink>(&mut self, bytes: &[u8], stamp: Stamp, sink: &mut S) -> Progress {
        if self.outcome.is_some() {
            self.leftover |= !bytes.is_empty();
            return Progress::Complete;
        }
        let mut input = bytes;
        if self.mode == Mode::Head {
            match self.read_head(input, stamp, sink) {
                Ok(Some(rest)) => input = rest,
                Ok(None) => return Progress::More,
                Err(message) => {
                    let body = excerpt(&self.head_bytes, KEPT_BYTES);
                    self.fail(Failure { body: Some(body), ..Failure::new(FailureKind::Malformed, message) });
                    return Progress::Complete;
                }
            }
        }
        self.read_body(&mut input, stamp, sink);
        self.leftover |= self.outcome.is_some() && !input.is_empty();
        if self.outcome.is_some() { Progress::Complete } else { Progress::More }
    }

    /// Hands out the event that was held back to see whether another one came with the same read.
    pub fn end_of_read<S: EventSink>(&mut self, sink: &mut S) {
        self.events.end_of_read(sink);
    }

    /// Ends a response that is not complete.
    pub fn close<S: EventSink>(&mut self, how: Close, sink: &mut S) {
        if self.outcome.is_some() {
            return;
        }
        match how {
            Close::Cut => self.outcome = Some(Outcome::Cut),
            Close::Eof if self.mode == Mode::Head => self.fail(Failure::new(
                FailureKind::Reset,
                "the server closed the connection before it answered".to_owned(),
            )),
            Close::Eof => {
                self.finish(sink);
                self.doubt_broken_end();
            }
            // What came was whole, whatever became of the connection afterwards.
            Close::Silence | Close::Error(..) if self.is_whole() => self.conclude(),
            Close::Silence => {
                self.fail(Failure::new(FailureKind::Truncated, "the stream stopped".to_owned()));
            }
            Close::Error(kind, message) => self.fail(Failure::new(kind, message)),
        }
    }

    /// True once the closing marker of the stream was read, so that only the end of the body is missing.
    pub fn is_whole(&self) -> bool {
        matches!(self.mode, Mode::Stream | Mode::Lines)
            && self.events.done_marker
            && self.events.finish_reason.is_some()
    }

    /// True if the connection can carry another request after this response.
    pub fn is_reusable(&self) -> bool {
        let head = self.head.as_ref().is_some_and(|head| head.keep_alive && head.body.is_done());
        head && !self.leftover && matches!(self.outcome, Some(Outcome::Ended | Outcome::Failed))
    }

    /// Headers of the response with lower-case names.
    pub(crate) fn headers(&self) -> BTreeMap<String, String> {
        head::header_map(&self.head_bytes)
    }

    /// Arrival of the last byte.
    pub fn last_ns(&self) -> u64 {
        self.last.arrival_ns
    }

    /// The whole text of a channel; none if it had none, or more than is kept.
    pub fn whole_text(&self, channel: Channel) -> Option<std::borrow::Cow<'_, str>> {
        self.events.texts.whole_text(channel).map(String::from_utf8_lossy)
    }

    /// The record of the request.
    pub fn exchange(&mut self, send_ns: u64, connect_ns: Option<u64>, end_ns: u64) -> Exchange {
        let events = &mut self.events;
        Exchange {
            send_ns,
            connect_ns,
            first_byte_ns: self.first_byte_ns,
            end_ns,
            outcome: self.outcome.unwrap_or(Outcome::Cut),
            finish_reason: events.finish_reason.take(),
            failure: self.failure.take().map(|failure| *failure),
            prompt_tokens: events.ledger.prompt_tokens(),
            cached_tokens: events.ledger.cached_tokens(),
            completion_tokens: events.ledger.completion_tokens(),
            reasoning_tokens: events.ledger.reasoning_tokens(),
            token_source: events.ledger.source(),
            reads: events.reads,
            events: events.count,
            payload_events: events.ledger.payload_events(),
            unknown_events: events.unknown,
            repetition: events.texts.evidence(),
            fingerprint: events.fingerprint.take(),
            done_marker: events.done_marker,
        }
    }

    /// Reads the head, and skips those of 1xx answers. Returns what is behind it, or none if it is not whole.
    fn read_head<'a, S: EventSink>(
        &mut self,
        input: &'a [u8],
        stamp: Stamp,
        sink: &mut S,
    ) -> Result<Option<&'a [u8]>, &'static str> {
        self.head_bytes.extend_from_slice(input);
        loop {
            let Some((head, length)) = head::read(&self.head_bytes).map_err(|head::Unreadable(why)| why)?
            else {
                return Ok(None);
            };
            if head.status == 101 {
                return Err("the server switches to another protocol, though nobody asked for that");
            }
            if head.status < 200 {
                self.head_bytes.drain(..length);
                continue;
            }
            let behind = self.head_bytes.len() - length;
            self.head_bytes.truncate(length);
            self.mode = match head.content {
                _ if !(200..300).contains(&head.status) || head.encoding == Encoding::Other => Mode::Capture,
                Content::EventStream => Mode::Stream,
                Content::Lines => Mode::Lines,
                Content::Json | Content::Html | Content::Other => Mode::Capture,
            };
            self.decoder = Decoder::new(head.encoding).map(Box::new);
            self.is_plain_stream = matches!(self.mode, Mode::Stream | Mode::Lines) && self.decoder.is_none();
            self.head = Some(head);
            self.first_byte_ns = Some(stamp.arrival_ns);
            sink.first_byte(stamp.arrival_ns);
            return Ok(Some(&input[input.len() - behind..]));
        }
    }

    fn read_body<S: EventSink>(&mut self, input: &mut &[u8], stamp: Stamp, sink: &mut S) {
        let Some(mut body) = self.head.as_ref().map(|head| head.body) else {
            return;
        };
        loop {
            let data = match body.next(input) {
                Ok(Some(data)) => data,
                Ok(None) => break,
                Err(body::Broken(message)) => {
                    return self.fail(Failure::new(FailureKind::Malformed, message));
                }
            };
            self.read_data(data, stamp, sink);
            if self.outcome.is_some() {
                break;
            }
        }
        if let Some(head) = &mut self.head {
            head.body = body;
        }
        if body.is_done() && self.outcome.is_none() {
            self.finish(sink);
        }
    }

    /// Takes data of the body as it came over the wire.
    fn read_data<S: EventSink>(&mut self, data: &[u8], stamp: Stamp, sink: &mut S) {
        let Some(mut decoder) = self.decoder.take() else {
            return self.read_plain(data, stamp, sink);
        };
        for piece in data.chunks(decode::PIECE_BYTES) {
            match decoder.decode(piece) {
                Ok(plain) => self.read_plain(plain, stamp, sink),
                Err(error) => {
                    let message = format!("the compressed body of the response cannot be read: {error}");
                    self.fail(Failure::new(FailureKind::Malformed, message));
                }
            }
            if self.outcome.is_some() {
                break;
            }
        }
        self.decoder = Some(decoder);
    }

    fn read_plain<S: EventSink>(&mut self, mut data: &[u8], stamp: Stamp, sink: &mut S) {
        match self.mode {
            Mode::Head => {}
            Mode::Stream | Mode::Lines => {
                if let Err(failure) = self.read_events(&mut data, stamp, sink) {
                    self.fail(failure);
                }
            }
            Mode::Capture => {
                let room = CAPTURE_BYTES - self.captured.len();
                self.captured.extend_from_slice(&data[..data.len().min(room)]);
                if data.len() > room {
                    self.conclude();
                }
            }
        }
    }

    /// Reads all events of a piece of the body.
    fn read_events<S: EventSink>(
        &mut self,
        data: &mut &[u8],
        stamp: Stamp,
        sink: &mut S,
    ) -> Result<(), Failure> {
        let lines = self.mode == Mode::Lines;
        loop {
            if self.is_between(lines) {
                self.events.take_alike(data, lines, &stamp, sink).map_err(|failure| *failure)?;
            }
            let next = match self.mode {
                Mode::Lines => self.lines.next(data).map(|frame| frame.map(Item::Event)),
                _ => self.framer.next(data),
            };
            match next {
                Ok(Some(item)) => self.events.take(item, stamp, sink)?,
                Ok(None) => return Ok(()),
                Err(too_long) => return Err(Failure::new(FailureKind::Malformed, too_long.to_string())),
            }
        }
    }

    /// True if what comes now begins a new event.
    #[inline]
    fn is_between(&self, lines: bool) -> bool {
        if lines { self.lines.is_between_lines() } else { self.framer.is_between_events() }
    }

    /// Ends the body: an event that lacks only its empty line is taken, half an event is not.
    fn finish<S: EventSink>(&mut self, sink: &mut S) {
        let last = match self.mode {
            Mode::Lines => self.lines.finish().map(Item::Event),
            _ => self.framer.finish(),
        };
        if let Some(item) = last {
            let (Item::Event(Frame { data, .. }) | Item::Stray(data)) = item;
            let is_whole = data == b"[DONE]" || serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok();
            if is_whole && let Err(failure) = self.events.take(item, self.last, sink) {
                return self.fail(failure);
            }
        }
        self.conclude();
    }

    /// Gives the verdict on what was read.
    fn conclude(&mut self) {
        let Some(head) = &self.head else {
            return;
        };
        let failure = match self.mode {
            Mode::Stream | Mode::Lines => verdict::of_stream(&self.events),
            Mode::Head | Mode::Capture => Some(verdict::of_body(head, &self.captured, &self.head_bytes)),
        };
        match failure {
            Some(failure) => self.fail(failure),
            None => self.outcome = Some(Outcome::Ended),
        }
    }

    /// A finish reason alone does not make a stream whole whose body then breaks off: its usage may be missing.
    fn doubt_broken_end(&mut self) {
        let proper = self.head.as_ref().is_none_or(|head| head.body.is_done() || head.body.ends_with_close());
        if !proper && self.outcome == Some(Outcome::Ended) && !self.events.done_marker {
            self.fail(Failure::new(
                FailureKind::Truncated,
                "the stream broke off behind its finish reason, before the end of the response",
            ));
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.outcome = Some(Outcome::Failed);
        let status = self.head.as_ref().map(|head| head.status);
        let headers = if status.is_some() { head::header_map(&self.head_bytes) } else { failure.headers };
        self.failure = Some(Box::new(Failure { http_status: status, headers, ..failure }));
    }
}
