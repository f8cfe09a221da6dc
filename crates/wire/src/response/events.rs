//! What the events of one stream amount to.

use serde_json::Value;

use super::KEPT_BYTES;
use crate::delta::{Delta, Known, Rare, Scanner, Unreadable, error_message};
use crate::dialect::{Expect, Rules};
use crate::exchange::{Event, EventSink, TEXT_SHOWN};
use crate::failure::{Failure, FailureKind};
use crate::ledger::{Entry, Fell, Ledger};
use crate::loop_lag;
use crate::redact::excerpt;
use crate::repetition::Texts;
use crate::socket::Stamp;
use crate::sse::{Frame, Item};

#[derive(Debug)]
pub(super) struct Events {
    rules: &'static Rules,
    scanner: Scanner,
    pub(super) ledger: Ledger,
    pub(super) texts: Texts,
    /// The last event, until it is known whether another one came with the same read.
    held: Option<Event>,
    /// The present read carried an event.
    in_read: bool,
    pub(super) reads: u32,
    pub(super) count: u32,
    pub(super) unknown: u32,
    pub(super) finish_reason: Option<String>,
    pub(super) fingerprint: Option<String>,
    pub(super) done_marker: bool,
}

impl Events {
    pub(super) fn new(expect: Expect) -> Events {
        Events {
            rules: expect.dialect.rules(),
            scanner: Scanner::default(),
            ledger: Ledger::default(),
            texts: Texts::default(),
            held: None,
            in_read: false,
            reads: 0,
            count: 0,
            unknown: 0,
            finish_reason: None,
            fingerprint: None,
            done_marker: false,
        }
    }

    /// Makes ready for the next stream.
    pub(super) fn begin(&mut self, expect: Expect) {
        self.rules = expect.dialect.rules();
        self.scanner.reset();
        self.ledger = Ledger::default();
        self.texts.reset();
        self.held = None;
        self.in_read = false;
        self.reads = 0;
        self.count = 0;
        self.unknown = 0;
        self.finish_reason = None;
        self.fingerprint = None;
        self.done_marker = false;
    }

    /// Takes the events at the start of `input` that lie whole there and are like the one before; `input` moves on
    /// behind them.
    #[inline]
    pub(super) fn take_alike<S: EventSink>(
        &mut self,
        input: &mut &[u8],
        lines: bool,
        stamp: &Stamp,
        sink: &mut S,
    ) -> Result<(), Box<Failure>> {
        let Events { scanner, texts, ledger, held, .. } = self;
        while !input.is_empty() {
            let data = if lines { Some(*input) } else { data_of_event(input) };
            let Some(data) = data else { break };
            let close = |rest| if lines { end_of_line(rest) } else { end_of_event(rest) };
            let Some(Known { delta, again, rest }) = scanner.read_alike(data, close, texts) else { break };
            self.count += 1;
            self.in_read = true;
            release(held, sink);
            let (event, behind) = input.split_at(input.len() - rest.len());
            let entry = ledger.enter(delta, again).map_err(|fell| Box::new(fallen_in(fell, event)))?;
            *input = behind;
            hold(held, delta, entry, event.len() as u32, *stamp);
        }
        Ok(())
    }

    pub(super) fn take<S: EventSink>(
        &mut self,
        item: Item<'_>,
        stamp: Stamp,
        sink: &mut S,
    ) -> Result<(), Failure> {
        match item {
            Item::Event(frame) => self.take_event(&frame, stamp, sink),
            Item::Stray(line) => self.take_stray(line),
        }
    }

    pub(super) fn end_of_read<S: EventSink>(&mut self, sink: &mut S) {
        self.reads += u32::from(self.in_read);
        self.in_read = false;
        if let Some(event) = self.held.take() {
            sink.event(&event);
        }
        if sink.wants_text() {
            for (channel, tail) in self.texts.tails(TEXT_SHOWN) {
                sink.text(channel, tail);
            }
        }
    }

    fn take_event<S: EventSink>(
        &mut self,
        frame: &Frame<'_>,
        stamp: Stamp,
        sink: &mut S,
    ) -> Result<(), Failure> {
        self.count += 1;
        self.in_read = true;
        release(&mut self.held, sink);
        let data = frame.data.trim_ascii();
        match frame.event {
            b"" | b"message" => {}
            b"error" => return Err(error_event(data)),
            other => {
                let known = self.rules.annotations.iter().any(|name| name.as_bytes() == other);
                self.unknown += u32::from(!known);
                return Ok(());
            }
        }
        if data.is_empty() {
            return Ok(());
        }
        if data == b"[DONE]" {
            self.done_marker = true;
            return Ok(());
        }
        let Events { scanner, texts, ledger, held, .. } = self;
        let delta = scanner.read(data, self.rules, texts).map_err(|problem| unreadable(&problem, data))?;
        let entry = ledger.enter(delta, false).map_err(|fell| fallen(fell, data))?;
        hold(held, delta, entry, frame.bytes, stamp);
        match delta.rare.take() {
            Some(rare) => self.take_rare(*rare, data),
            None => Ok(()),
        }
    }

    fn take_rare(&mut self, rare: Rare, data: &[u8]) -> Result<(), Failure> {
        let Rare { finish_reason, fingerprint, error, done } = rare;
        self.finish_reason = finish_reason.or(self.finish_reason.take());
        self.done_marker |= done;
        if let Some(message) = error {
            return Err(failure(
                FailureKind::ErrorEvent,
                format!("the server sent an error: {message}"),
                data,
            ));
        }
        // It is the same on every event, and on some servers only on the last.
        self.fingerprint = self.fingerprint.take().or(fingerprint);
        Ok(())
    }

    /// A line without `data:`: some servers send an error so.
    fn take_stray(&mut self, line: &[u8]) -> Result<(), Failure> {
        let value: Option<Value> = serde_json::from_slice(line).ok();
        if let Some(message) = value.as_ref().and_then(error_message) {
            return Err(failure(
                FailureKind::ErrorEvent,
                format!("the server sent an error: {message}"),
                line,
            ));
        }
        self.unknown += 1;
        Ok(())
    }
}

/// Hands out the event that was held back, since another one came with the same read.
#[inline]
fn release<S: EventSink>(held: &mut Option<Event>, sink: &mut S) {
    if let Some(event) = held.take() {
        // Its stamp is that of the read's last segment. It may have come earlier, but not before anybody could
        // have noticed.
        let since_ns = loop_lag::waiting_since_ns().unwrap_or(event.arrival_ns);
        let lag_ns = event.lag_ns.max(event.handled_ns.saturating_sub(since_ns));
        sink.event(&Event { last_of_read: false, lag_ns, ..event });
    }
}

/// Holds an event back if the sink is to have it.
#[inline]
fn hold(held: &mut Option<Event>, delta: &Delta, entry: Entry, bytes: u32, stamp: Stamp) {
    if delta.payload.is_some() || entry.rose {
        *held = Some(Event {
            arrival_ns: stamp.arrival_ns,
            handled_ns: stamp.handled_ns,
            lag_ns: stamp.lag_ns,
            bytes,
            payload: delta.payload,
            tokens: entry.tokens,
            last_of_read: true,
        });
    }
}

/// What is behind the name of an event's data.
#[inline]
fn data_of_event(input: &[u8]) -> Option<&[u8]> {
    let data = input.strip_prefix(b"data:")?;
    Some(data.strip_prefix(b" ").unwrap_or(data))
}

#[inline]
fn end_of_line(rest: &[u8]) -> Option<&[u8]> {
    rest.strip_prefix(b"\n")
}

/// What is behind the end of an event's only line, and the empty line that closes it.
#[inline]
fn end_of_event(rest: &[u8]) -> Option<&[u8]> {
    rest.strip_prefix(b"\n\n").or_else(|| rest.strip_prefix(b"\r\n\r\n"))
}

fn error_event(data: &[u8]) -> Failure {
    let value: Option<Value> = serde_json::from_slice(data).ok();
    let message = value.as_ref().and_then(error_message).unwrap_or_else(|| excerpt(data, 200));
    failure(FailureKind::ErrorEvent, format!("the server sent an error: {message}"), data)
}

fn unreadable(problem: &Unreadable, data: &[u8]) -> Failure {
    failure(FailureKind::Malformed, format!("an event could not be read: {}", problem.0), data)
}

fn fallen(Fell { from, to }: Fell, data: &[u8]) -> Failure {
    let message = format!("the cumulative usage of the request fell from {from} to {to} tokens");
    failure(FailureKind::Malformed, message, data)
}

/// The same, of an event as it lies in the stream.
#[cold]
fn fallen_in(fell: Fell, event: &[u8]) -> Failure {
    fallen(fell, event.strip_prefix(b"data:").unwrap_or(event).trim_ascii())
}

fn failure(kind: FailureKind, message: String, data: &[u8]) -> Failure {
    Failure { body: Some(excerpt(data, KEPT_BYTES)), ..Failure::new(kind, message) }
}
