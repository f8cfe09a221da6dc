//! A request over HTTP/1.1, on a connection of its own.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::run::Course;
use crate::clock::Clock;
use crate::connector::PreparedRequest;
use crate::exchange::EventSink;
use crate::failure::FailureKind;
use crate::response::{Close, Progress, ResponseReader};
use crate::transport::Transport;

/// Size of the read buffer that all connections of a thread share.
const BUFFER_BYTES: usize = 64 << 10;
/// Reads that a cut request may still take from the kernel: more than it holds for any socket.
const LAST_READS: u32 = 256;

/// One request on its way.
pub(super) struct Attempt<'a, S> {
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

impl<'a, S: EventSink> Attempt<'a, S> {
    pub(super) fn new(
        transport: &'a mut Transport,
        request: &'a PreparedRequest,
        reader: &'a mut ResponseReader,
        sink: &'a mut S,
        clock: Clock,
        send_ns: u64,
    ) -> Attempt<'a, S> {
        let send = Send::new(request);
        Attempt { transport, reader, sink, clock, read: None, send, active_ns: send_ns, cut: false }
    }

    /// True if the connection is as a whole response leaves it.
    pub(super) fn is_undisturbed(&self) -> bool {
        self.send.is_done() && !self.cut
    }

    /// One read; the last one, if it arrived after `until_ns`.
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
        // Under TLS one read of the socket may come in several pieces.
        if read != self.read {
            self.reader.end_of_read(self.sink);
            self.read = read;
        }
        self.active_ns = stamp.handled_ns;
        match self.reader.feed(bytes, stamp, self.sink) {
            Progress::More if stamp.arrival_ns > until_ns => Poll::Ready(Step::End(Some(Close::Cut))),
            Progress::More => Poll::Ready(Step::More),
            Progress::Complete => Poll::Ready(Step::End(None)),
        }
    }
}

impl<S: EventSink> Course for Attempt<'_, S> {
    const CUT_GRACE: Duration = Duration::ZERO;

    fn send(&mut self, cx: &mut Context<'_>) {
        if !self.send.is_idle() && self.send.poll(cx, self.transport) {
            self.active_ns = self.clock.now_ns();
        }
    }

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

    fn cut(&mut self, cx: &mut Context<'_>, cut_ns: u64) -> Option<Close> {
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

    fn is_whole(&self) -> bool {
        self.reader.is_whole()
    }

    fn active_ns(&self) -> u64 {
        self.active_ns
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::task::{Context, Waker};

    use bytes::Bytes;
    use tokio::net::TcpStream;

    use super::{Attempt, Course};
    use crate::clock::Clock;
    use crate::connector::PreparedRequest;
    use crate::dialect::{Dialect, Endpoint, Expect};
    use crate::exchange::Event;
    use crate::response::{Close, ResponseReader};
    use crate::socket::StampedSocket;
    use crate::transport::Transport;

    #[tokio::test]
    async fn a_read_that_ends_behind_the_cut_is_taken() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
        server.write_all(format!("{head}{event}{event}").as_bytes()).unwrap();
        stream.readable().await.unwrap();

        let clock = Clock::start();
        let mut transport = Transport::Plain(StampedSocket::new(stream, clock, true));
        let request = PreparedRequest { head: Bytes::new(), path: "/".into(), body: Bytes::new() };
        let mut reader = ResponseReader::new(Expect { endpoint: Endpoint::Chat, dialect: Dialect::OpenAi });
        let mut events: Vec<Event> = Vec::new();
        let mut attempt = Attempt::new(&mut transport, &request, &mut reader, &mut events, clock, 0);
        // Everything came later than that.
        let close = attempt.cut(&mut Context::from_waker(Waker::noop()), 0);
        assert_eq!(close, Some(Close::Cut));
        reader.end_of_read(&mut events);
        assert_eq!(events.len(), 2);
    }
}
