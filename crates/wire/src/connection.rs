//! One open connection, used by one request after another.

use std::cell::Cell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::clock::Clock;
use crate::connector::{PreparedRequest, Shared};
use crate::dialect::{Dialect, Endpoint, Expect};
use crate::exchange::{Channel, EventSink, Exchange, Outcome, StampSource};
use crate::failure::FailureKind;
use crate::response::{Close, Progress, ResponseReader};
use crate::transport::Transport;

/// Size of the read buffer that all connections of a thread share.
const BUFFER_BYTES: usize = 64 << 10;
/// How long the end of a body is waited for once the closing marker of its stream was read.
const END_GRACE: Duration = Duration::from_secs(1);
/// Reads that a cut request may still take from the kernel.
const LAST_READS: u32 = 256;

/// One open connection.
pub struct Connection {
    shared: Arc<Shared>,
    /// None once it is closed.
    transport: Option<Transport>,
    source: StampSource,
    connect_ns: u64,
    used: bool,
    reusable: bool,
    reader: ResponseReader,
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, transport: Transport, connect_ns: u64) -> Connection {
        let expect = Expect { endpoint: Endpoint::Chat, dialect: Dialect::OpenAi };
        Connection {
            source: transport.socket().source(),
            shared,
            transport: Some(transport),
            connect_ns,
            used: false,
            reusable: true,
            reader: ResponseReader::new(expect),
        }
    }

    /// How long its set-up took, TLS included.
    pub fn connect_ns(&self) -> u64 {
        self.connect_ns
    }

    /// True if another request may be sent on it: the last response was read to its end, and the server has
    /// not closed it since.
    pub fn is_reusable(&self) -> bool {
        self.reusable && self.transport.as_ref().is_some_and(|transport| !transport.is_stale())
    }

    /// Where its arrival stamps come from.
    pub fn stamp_source(&self) -> StampSource {
        self.transport.as_ref().map_or(self.source, |transport| transport.socket().source())
    }

    /// The whole text of a channel of the last response; none if it had none, or more than is kept.
    pub fn received_text(&self, channel: Channel) -> Option<std::borrow::Cow<'_, str>> {
        self.reader.whole_text(channel)
    }

    /// Sends one request and reads its response to the end, or until `cancel` resolves: then the request is
    /// `Cut` and the connection closed. What had arrived before the cut is still read.
    pub async fn stream<S: EventSink>(
        &mut self,
        request: &PreparedRequest,
        expect: Expect,
        sink: &mut S,
        cancel: impl Future<Output = ()>,
    ) -> Exchange {
        let clock = self.shared.clock;
        let connect_ns = (!self.used).then_some(self.connect_ns);
        self.used = true;
        self.reusable = false;
        self.reader.begin(expect);
        let send_ns = clock.now_ns();
        let mut undisturbed = false;
        let close = match self.transport.as_mut() {
            None => Some(Close::Error(
                FailureKind::Connect,
                "the connection was closed after its last request: open another one".to_owned(),
            )),
            Some(transport) => {
                let mut attempt = Attempt {
                    transport,
                    reader: &mut self.reader,
                    sink: &mut *sink,
                    clock,
                    read: None,
                    send: Send::new(request),
                    active_ns: send_ns,
                    cut: false,
                };
                let idle = self.shared.timeouts.idle;
                let end = attempt.run(idle, cancel).await;
                undisturbed = attempt.send.is_done() && !attempt.cut;
                end
            }
        };
        if let Some(close) = close {
            self.reader.close(close, sink);
        }
        self.reader.end_of_read(sink);
        let whole_ns = self.reader.last_ns();
        let mut exchange = self.reader.exchange(send_ns, connect_ns, whole_ns);
        if exchange.outcome != Outcome::Ended {
            exchange.end_ns = clock.now_ns();
        }
        exchange.failure = exchange.failure.map(|failure| self.shared.redactor.failure(failure));
        self.source = self.stamp_source();
        self.reusable = undisturbed && self.reader.is_reusable();
        if !self.reusable {
            self.transport = None;
        }
        exchange
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("target", &self.shared.target.display())
            .field("open", &self.transport.is_some())
            .field("reusable", &self.reusable)
            .finish_non_exhaustive()
    }
}

/// One request on its way.
struct Attempt<'a, S> {
    transport: &'a mut Transport,
    reader: &'a mut ResponseReader,
    sink: &'a mut S,
    clock: Clock,
    /// The number of the socket's read that the last bytes came with.
    read: Option<u64>,
    send: Send<'a>,
    /// When something last moved.
    active_ns: u64,
    /// We cut it: the socket no longer waits for bytes.
    cut: bool,
}

impl<S: EventSink> Attempt<'_, S> {
    /// Runs to the end; says why, unless the response came to its own.
    async fn run(&mut self, idle: Duration, cancel: impl Future<Output = ()>) -> Option<Close> {
        let mut cancel = pin!(cancel);
        let mut watch = Watch { limit: idle, waker: None };
        let mut timer = pin!(sleep(idle));
        poll_fn(|cx| {
            if cancel.as_mut().poll(cx).is_ready() {
                return Poll::Ready(self.cut(cx));
            }
            let moved = self.send(cx);
            match self.receive(cx) {
                Poll::Ready(end) => return Poll::Ready(end),
                Poll::Pending if self.reader.is_whole() && watch.limit != END_GRACE => {
                    watch.shorten(&mut timer);
                }
                Poll::Pending => {}
            }
            match watch.poll(cx, &mut timer, moved, self.active_ns, self.clock) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(()) if self.reader.is_whole() => Poll::Ready(Some(Close::Silence)),
                Poll::Ready(()) => Poll::Ready(Some(Close::Error(
                    FailureKind::Timeout,
                    format!("nothing came from the server for {} s", idle.as_secs_f64()),
                ))),
            }
        })
        .await
    }

    /// Writes what can be written; true if anything could.
    fn send(&mut self, cx: &mut Context<'_>) -> bool {
        if self.send.is_idle() {
            return false;
        }
        let moved = self.send.poll(cx, self.transport);
        if moved {
            self.active_ns = self.clock.now_ns();
        }
        moved
    }

    /// Reads what is there.
    fn receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Close>> {
        with_buffer(|buffer| {
            loop {
                match self.read_once(cx, buffer, u64::MAX) {
                    Poll::Ready(Step::More) => {}
                    Poll::Ready(Step::End(end)) => return Poll::Ready(end),
                    Poll::Pending => {
                        self.reader.end_of_read(self.sink);
                        return Poll::Pending;
                    }
                }
            }
        })
    }

    /// Takes what had arrived by now, and no more.
    fn cut(&mut self, cx: &mut Context<'_>) -> Option<Close> {
        let cut_ns = self.clock.now_ns();
        self.cut = true;
        self.transport.socket_mut().read_immediately();
        with_buffer(|buffer| {
            for _ in 0..LAST_READS {
                match self.read_once(cx, buffer, cut_ns) {
                    Poll::Ready(Step::More) => {}
                    Poll::Ready(Step::End(end)) => return end,
                    Poll::Pending => break,
                }
            }
            Some(Close::Cut)
        })
    }

    /// One read, unless it arrived after `until_ns`.
    fn read_once(&mut self, cx: &mut Context<'_>, buffer: &mut [u8], until_ns: u64) -> Poll<Step> {
        let mut unread = ReadBuf::new(buffer);
        let result = std::task::ready!(Pin::new(&mut *self.transport).poll_read(cx, &mut unread));
        if let Err(error) = result {
            return Poll::Ready(Step::End(Some(read_error(&error))));
        }
        let bytes = unread.filled();
        if bytes.is_empty() {
            return Poll::Ready(Step::End(Some(self.send.end_of_file())));
        }
        let socket = self.transport.socket();
        let (stamp, read) = (socket.stamp(), Some(socket.reads()));
        if stamp.arrival_ns > until_ns {
            return Poll::Ready(Step::End(Some(Close::Cut)));
        }
        // Under TLS one read of the socket may come in several pieces.
        if read != self.read {
            self.reader.end_of_read(self.sink);
            self.read = read;
        }
        self.active_ns = stamp.handled_ns;
        match self.reader.feed(bytes, stamp, self.sink) {
            Progress::More => Poll::Ready(Step::More),
            Progress::Complete => Poll::Ready(Step::End(None)),
        }
    }
}

enum Step {
    More,
    End(Option<Close>),
}

fn read_error(error: &io::Error) -> Close {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
            Close::Error(FailureKind::Reset, "the server reset the connection".to_owned())
        }
        io::ErrorKind::TimedOut => {
            Close::Error(FailureKind::Timeout, "the connection to the server timed out".to_owned())
        }
        io::ErrorKind::InvalidData => {
            Close::Error(FailureKind::Tls, format!("the TLS session broke: {error}"))
        }
        _ => Close::Error(FailureKind::Reset, format!("the connection broke: {error}")),
    }
}

/// The request's bytes on their way out.
struct Send<'a> {
    head: &'a [u8],
    body: &'a [u8],
    flushed: bool,
    broken: Option<io::ErrorKind>,
}

impl<'a> Send<'a> {
    fn new(request: &'a PreparedRequest) -> Send<'a> {
        Send { head: &request.head, body: &request.body, flushed: false, broken: None }
    }

    /// True once everything is out.
    fn is_done(&self) -> bool {
        self.flushed
    }

    /// True if there is nothing to do any more.
    fn is_idle(&self) -> bool {
        self.flushed || self.broken.is_some()
    }

    /// Writes what can be written; true if anything could. An error is kept: the server may have answered
    /// before it closed.
    fn poll(&mut self, cx: &mut Context<'_>, transport: &mut Transport) -> bool {
        let mut moved = false;
        while !(self.head.is_empty() && self.body.is_empty()) {
            let parts = [IoSlice::new(self.head), IoSlice::new(self.body)];
            // Empty slices in front make some writers stop short.
            let parts = if self.head.is_empty() { &parts[1..] } else { &parts[..] };
            match Pin::new(&mut *transport).poll_write_vectored(cx, parts) {
                Poll::Ready(Ok(written)) if written > 0 => {
                    moved = true;
                    let of_head = written.min(self.head.len());
                    self.head = &self.head[of_head..];
                    self.body = &self.body[written - of_head..];
                }
                Poll::Ready(Ok(_)) => self.broken = Some(io::ErrorKind::WriteZero),
                Poll::Ready(Err(error)) => self.broken = Some(error.kind()),
                Poll::Pending => return moved,
            }
            if self.broken.is_some() {
                return moved;
            }
        }
        match Pin::new(&mut *transport).poll_flush(cx) {
            Poll::Ready(Ok(())) => self.flushed = true,
            Poll::Ready(Err(error)) => self.broken = Some(error.kind()),
            Poll::Pending => {}
        }
        moved
    }

    /// What a close of the connection means now.
    fn end_of_file(&self) -> Close {
        if self.flushed {
            return Close::Eof;
        }
        Close::Error(
            FailureKind::Reset,
            "the server closed the connection before it had read the request".to_owned(),
        )
    }
}

/// Watches for silence. Its timer is not moved with every event: when it fires, it is set to what is left.
struct Watch {
    limit: Duration,
    /// Who was registered with the timer.
    waker: Option<Waker>,
}

impl Watch {
    fn shorten(&mut self, timer: &mut Pin<&mut Sleep>) {
        self.limit = END_GRACE;
        self.waker = None;
        timer.set(sleep(END_GRACE));
    }

    /// Ready if nothing moved for the limit.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        timer: &mut Pin<&mut Sleep>,
        moved: bool,
        active_ns: u64,
        clock: Clock,
    ) -> Poll<()> {
        let registered = self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if registered && (moved || !timer.is_elapsed()) {
            return Poll::Pending;
        }
        self.waker = Some(cx.waker().clone());
        while timer.as_mut().poll(cx).is_ready() {
            let silent = Duration::from_nanos(clock.now_ns().saturating_sub(active_ns));
            let left = self.limit.saturating_sub(silent);
            if left.is_zero() {
                return Poll::Ready(());
            }
            timer.set(sleep(left));
        }
        Poll::Pending
    }
}

thread_local! {
    static BUFFER: Cell<Option<Box<[u8]>>> = const { Cell::new(None) };
}

/// Lends the thread's read buffer.
fn with_buffer<T>(work: impl FnOnce(&mut [u8]) -> T) -> T {
    let mut buffer = BUFFER.take().unwrap_or_else(|| vec![0; BUFFER_BYTES].into_boxed_slice());
    let result = work(&mut buffer);
    BUFFER.set(Some(buffer));
    result
}
