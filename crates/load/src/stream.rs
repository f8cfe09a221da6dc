//! One stream: a virtual user that sends a request, reads its response to the end, and sends the next.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Semaphore;
use tokometer_record::{EventRow, Outcome, RequestKind};
use tokometer_wire::clock::Clock;
use tokometer_wire::{
    Channel, Connection, Connector, Event, EventSink, Exchange, Expect, Failure, FailureKind, PreparedRequest,
};

use crate::convert;
use crate::flight::{CellState, StreamState};
use crate::live::Tap;
use crate::recording::Recording;
use crate::signal::{LocalSignal, Signal};

/// What one stream sends.
pub(crate) struct Stream {
    pub(crate) index: u32,
    pub(crate) kind: RequestKind,
    pub(crate) request: PreparedRequest,
    /// One request only (scouts, prefill samples).
    pub(crate) once: bool,
}

/// What the streams of one worker share.
pub(crate) struct Shared {
    pub(crate) connector: Connector,
    pub(crate) clock: Clock,
    pub(crate) expect: Expect,
    pub(crate) state: Arc<CellState>,
    pub(crate) signal: Rc<LocalSignal>,
    pub(crate) recording: RefCell<Recording>,
    /// Connections that may be opened at once: a burst would overrun the server's queue for them.
    pub(crate) openings: Semaphore,
    /// True as long as the server keeps connections open as it should.
    pub(crate) keeps: Cell<bool>,
}

/// Runs one stream until it is told to end, or one of its requests fails: nothing is sent again in its place.
/// `place` is its number on its worker.
///
/// Thousands of streams wait in here: each variable is there once for each of them.
#[expect(clippy::manual_async_fn, reason = "an async function holds its arguments twice over")]
pub(crate) fn run(stream: Stream, place: usize, shared: Rc<Shared>) -> impl Future<Output = ()> {
    async move {
        let state = &shared.state.streams[stream.index as usize];
        let _stopped = StopMark { cell: &shared.state, stream: state };
        let mut connection: Option<Connection> = None;
        // The number of a request that must be sent again.
        let mut unanswered = None;
        while shared.signal.now() <= Signal::Go {
            connection = connection.filter(|kept| shared.keeps.get() && kept.is_reusable());
            if connection.is_none() {
                match shared.open(place).await {
                    Some(Ok(opened)) => connection = Some(opened),
                    Some(Err(failure)) => return shared.take_unsent(&stream, failure),
                    None => return,
                }
            }
            let Some(open) = &mut connection else { return };
            shared.state.set_connected(state);
            if shared.signal.reached(place, Signal::Go).await != Signal::Go {
                return;
            }
            let number = unanswered.take().unwrap_or_else(|| shared.state.next_request());
            let tap = &shared.state.tap;
            let mut sink = Sink { number, index: stream.index, recording: &shared.recording, state, tap };
            let cut = shared.signal.cut(place);
            let exchange = open.stream(&stream.request, shared.expect, &mut sink, cut).await;
            if met_a_closed_connection(&exchange) {
                // Some servers close each connection a moment after their answer, whatever they announced. The
                // request never reached them; it goes on a new connection, and so do all later ones.
                shared.keeps.set(false);
                shared.recording.borrow_mut().resent += 1;
                unanswered = Some(number);
                connection = None;
                continue;
            }
            let outcome = shared.take(number, &stream, &exchange, open);
            if outcome == Outcome::Ended {
                state.ended.fetch_add(1, Ordering::Release);
            }
            if stream.once || outcome != Outcome::Ended {
                return;
            }
        }
    }
}

/// A close that comes later than this after the send is the server's answer to the request, not to the one before.
const CLOSED_WITHIN_NS: u64 = 1_000_000_000;

/// True if a kept connection turned out to be closed before anything of an answer came.
fn met_a_closed_connection(exchange: &Exchange) -> bool {
    let closed = |failure: &Failure| matches!(failure.kind, FailureKind::Reset | FailureKind::Connect);
    exchange.connect_ns.is_none()
        && exchange.first_byte_ns.is_none()
        && exchange.end_ns.saturating_sub(exchange.send_ns) < CLOSED_WITHIN_NS
        && exchange.failure.as_ref().is_some_and(closed)
}

impl Shared {
    /// A new connection; none if the stream is cut meanwhile.
    async fn open(&self, place: usize) -> Option<Result<Connection, Failure>> {
        let opening = async {
            // The semaphore is never closed.
            let _turn = self.openings.acquire().await;
            // In a box, and only now: what opening needs (TLS, HTTP/2) would be room that every stream holds.
            Box::pin(self.connector.connect()).await
        };
        tokio::select! {
            biased;
            _ = self.signal.reached(place, Signal::Cut) => None,
            opened = opening => Some(opened),
        }
    }

    fn take(&self, number: u32, stream: &Stream, exchange: &Exchange, connection: &Connection) -> Outcome {
        let row = convert::request_row(number, stream, exchange);
        let outcome = row.outcome;
        let mut recording = self.recording.borrow_mut();
        recording.note_stamps(connection.stamp_source());
        recording.loops.extend(convert::loop_evidence(number, stream, exchange));
        recording.requests.push(row);
        if outcome == Outcome::Failed {
            self.state.fail();
        }
        outcome
    }

    /// A request that could not be sent is a row all the same.
    fn take_unsent(&self, stream: &Stream, failure: Failure) {
        let row = convert::unsent(self.state.next_request(), stream, self.clock.now_ns(), failure);
        self.recording.borrow_mut().requests.push(row);
        self.state.fail();
    }
}

/// Says that a stream has stopped, however it did.
struct StopMark<'a> {
    cell: &'a CellState,
    stream: &'a StreamState,
}

impl Drop for StopMark<'_> {
    fn drop(&mut self) {
        self.cell.set_stopped(self.stream);
    }
}

struct Sink<'a> {
    number: u32,
    index: u32,
    recording: &'a RefCell<Recording>,
    state: &'a StreamState,
    tap: &'a Tap,
}

impl EventSink for Sink<'_> {
    fn event(&mut self, event: &Event) {
        if event.payload.is_some() {
            self.state.had_token.store(true, Ordering::Release);
        }
        self.state.events.fetch_add(1, Ordering::Relaxed);
        self.state.lag_ns.store(event.lag_ns, Ordering::Relaxed);
        self.recording.borrow_mut().events.push(EventRow {
            request: self.number,
            arrival_ns: event.arrival_ns,
            lag_ns: event.lag_ns,
            tokens: event.tokens,
            bytes: event.bytes,
            payload: event.payload.is_some(),
            answer: event.payload.is_some_and(Channel::is_answer),
            last_of_read: event.last_of_read,
        });
    }

    #[inline]
    fn wants_text(&self) -> bool {
        self.tap.is_at(self.index)
    }

    #[cold]
    fn text(&mut self, channel: Channel, tail: &[u8]) {
        self.tap.show(self.number, channel, tail);
    }
}
