//! A request over HTTP/2, on a connection that it shares with others.

use std::fmt::Write as _;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request, Response};

use super::run::Course;
use crate::clock::Clock;
use crate::exchange::EventSink;
use crate::failure::FailureKind;
use crate::http2::{Arrival, Lease};
use crate::response::{Close, Progress, ResponseReader};
use crate::socket::Stamp;

pub(super) struct Attempt<'a, S> {
    lease: &'a Lease,
    reader: &'a mut ResponseReader,
    sink: &'a mut S,
    clock: Clock,
    state: State,
    /// What is still to be sent of the body.
    body: Bytes,
    upload: Option<SendStream<Bytes>>,
    stream: Option<u32>,
    read: Option<u64>,
    active_ns: u64,
}

enum State {
    /// Waits for its place.
    Ready(SendRequest<Bytes>, Option<Box<Request<()>>>),
    Head(ResponseFuture),
    Body(RecvStream),
    Broken(Option<Close>),
}

impl<'a, S: EventSink> Attempt<'a, S> {
    pub(super) fn new(
        lease: &'a Lease,
        request: Request<()>,
        body: Bytes,
        reader: &'a mut ResponseReader,
        sink: &'a mut S,
        clock: Clock,
        send_ns: u64,
    ) -> Attempt<'a, S> {
        Attempt {
            state: State::Ready(lease.sender(), Some(Box::new(request))),
            lease,
            reader,
            sink,
            clock,
            body,
            upload: None,
            stream: None,
            read: None,
            active_ns: send_ns,
        }
    }

    /// Opens the stream; true if it did.
    fn open(&mut self, cx: &mut Context<'_>) -> bool {
        let State::Ready(sender, request) = &mut self.state else {
            return false;
        };
        let sent = match sender.poll_ready(cx) {
            Poll::Pending => return false,
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) => match request.take() {
                Some(request) => sender.send_request(*request, self.body.is_empty()),
                None => return false,
            },
        };
        match sent {
            Ok((response, upload)) => {
                let stream = response.stream_id().as_u32();
                self.lease.arrivals().watch(stream);
                self.stream = Some(stream);
                self.upload = Some(upload);
                self.state = State::Head(response);
            }
            Err(error) => {
                let close = self.explain(&error);
                self.state = State::Broken(Some(close));
            }
        }
        true
    }

    /// Sends what the server has room for; true if anything went out.
    fn upload(&mut self, cx: &mut Context<'_>) -> bool {
        let mut moved = false;
        while let Some(upload) = &mut self.upload
            && !self.body.is_empty()
        {
            upload.reserve_capacity(self.body.len());
            let room = match upload.poll_capacity(cx) {
                Poll::Ready(Some(Ok(room))) if room > 0 => room,
                Poll::Pending => break,
                // The server wants no more; its answer says why.
                Poll::Ready(_) => {
                    self.upload = None;
                    break;
                }
            };
            let part = self.body.split_to(room.min(self.body.len()));
            if upload.send_data(part, self.body.is_empty()).is_err() {
                self.upload = None;
            }
            moved = true;
        }
        moved
    }

    fn step(&mut self, cx: &mut Context<'_>, until_ns: u64) -> Poll<Step> {
        match &mut self.state {
            State::Ready(..) => Poll::Pending,
            State::Broken(close) => Poll::Ready(Step::End(close.take())),
            State::Head(response) => match ready!(Pin::new(response).poll(cx)) {
                Ok(response) => {
                    let arrival = self.lease.arrivals().of_head(self.stream.unwrap_or(0));
                    let (head, body) = as_http1(response);
                    self.state = State::Body(body);
                    Poll::Ready(self.feed(&head, arrival, until_ns))
                }
                Err(error) => Poll::Ready(Step::End(Some(self.explain(&error)))),
            },
            State::Body(body) => match ready!(body.poll_data(cx)) {
                Some(Ok(data)) => {
                    // It can only fail for more than was received.
                    let _ = body.flow_control().release_capacity(data.len());
                    let arrival = self.lease.arrivals().of_data(self.stream.unwrap_or(0), data.len());
                    Poll::Ready(self.feed(&data, arrival, until_ns))
                }
                Some(Err(error)) => Poll::Ready(Step::End(Some(self.explain(&error)))),
                None => Poll::Ready(Step::End(Some(Close::Eof))),
            },
        }
    }

    fn feed(&mut self, bytes: &[u8], arrival: Arrival, until_ns: u64) -> Step {
        let Arrival { stamp, read } = arrival;
        if self.read != Some(read) {
            self.reader.end_of_read(self.sink);
            self.read = Some(read);
        }
        // It was read by the connection's task, and only now do we get to it.
        let handled_ns = self.clock.now_ns();
        let lag_ns = stamp.lag_ns + handled_ns.saturating_sub(stamp.handled_ns);
        self.active_ns = handled_ns;
        match self.reader.feed(bytes, Stamp { handled_ns, lag_ns, ..stamp }, self.sink) {
            Progress::More if stamp.arrival_ns > until_ns => Step::End(Some(Close::Cut)),
            Progress::More => Step::More,
            Progress::Complete => Step::End(None),
        }
    }

    fn explain(&self, error: &h2::Error) -> Close {
        let why = self.lease.problem().unwrap_or_else(|| error.to_string());
        let refused = error.is_remote() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
        let message = if refused {
            "the server refused the stream: it allows fewer on one connection than it said".to_owned()
        } else if error.is_reset() {
            format!("the server reset the stream ({why})")
        } else {
            format!("the HTTP/2 connection broke: {why}")
        };
        Close::Error(FailureKind::Reset, message)
    }
}

enum Step {
    More,
    End(Option<Close>),
}

impl<S: EventSink> Course for Attempt<'_, S> {
    /// The connection's task must get its turn to read what the kernel holds.
    const CUT_GRACE: Duration = Duration::from_millis(1);

    fn send(&mut self, cx: &mut Context<'_>) {
        let opened = self.open(cx);
        if self.upload(cx) || opened {
            self.active_ns = self.clock.now_ns();
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Close>> {
        loop {
            match self.step(cx, u64::MAX) {
                Poll::Ready(Step::More) => {}
                Poll::Ready(Step::End(end)) => return Poll::Ready(end),
                Poll::Pending => {
                    self.reader.end_of_read(self.sink);
                    return Poll::Pending;
                }
            }
        }
    }

    fn cut(&mut self, cx: &mut Context<'_>, cut_ns: u64) -> Option<Close> {
        loop {
            match self.step(cx, cut_ns) {
                Poll::Ready(Step::More) => {}
                Poll::Ready(Step::End(end)) => return end,
                Poll::Pending => return Some(Close::Cut),
            }
        }
    }

    fn is_whole(&self) -> bool {
        self.reader.is_whole()
    }

    fn active_ns(&self) -> u64 {
        self.active_ns
    }
}

/// Gives the stream up, where it is not at its end: the server is told by a reset.
impl<S> Drop for Attempt<'_, S> {
    fn drop(&mut self) {
        if let Some(stream) = self.stream {
            self.lease.arrivals().forget(stream);
        }
    }
}

/// The head as HTTP/1.1 would say it, so that one reader serves both. The body ends with its stream.
fn as_http1(response: Response<RecvStream>) -> (Vec<u8>, RecvStream) {
    let (parts, body) = response.into_parts();
    let mut head = String::new();
    // Writing to a string cannot fail.
    let _ = write!(head, "HTTP/1.1 {} \r\n", parts.status.as_u16());
    let mut head = head.into_bytes();
    write_headers(&parts.headers, &mut head);
    head.extend_from_slice(b"\r\n");
    (head, body)
}

fn write_headers(headers: &HeaderMap, head: &mut Vec<u8>) {
    let framing = ["connection", "content-length", "transfer-encoding"];
    for (name, value) in headers.iter().filter(|(name, _)| !framing.contains(&name.as_str())) {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
}
