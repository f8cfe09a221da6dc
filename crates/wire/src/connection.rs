//! One open connection, used by one request after another.

mod http1;
mod http2;
mod run;

use std::collections::BTreeMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;

use crate::connector::{HttpVersion, PreparedRequest, Shared};
use crate::dialect::Expect;
use crate::exchange::{Channel, EventSink, Exchange, Outcome, StampSource};
use crate::failure::FailureKind;
use crate::http2::Lease;
use crate::response::{Close, ResponseReader};
use crate::transport::Transport;

use run::{End, Run};

/// One open connection, or over HTTP/2 a place on one.
pub struct Connection {
    shared: Arc<Shared>,
    link: Link,
    source: StampSource,
    connect_ns: u64,
    /// The set-up time was told, or belongs to somebody else's request.
    used: bool,
    reusable: bool,
    /// Made with the first request: a connection that waits for it holds none. In a box, for a connection is moved.
    reader: Option<Box<ResponseReader>>,
}

/// What carries the requests.
enum Link {
    Own(Transport),
    Shared(Lease),
    Closed,
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, transport: Transport, connect_ns: u64) -> Connection {
        let source = transport.socket().source();
        Connection::over(shared, Link::Own(transport), source, connect_ns, false)
    }

    /// A place on a shared connection; `used` if it was not opened for this.
    pub(crate) fn leased(shared: Arc<Shared>, lease: Lease, used: bool) -> Connection {
        let (source, connect_ns) = (lease.source(), lease.connect_ns());
        Connection::over(shared, Link::Shared(lease), source, connect_ns, used)
    }

    fn over(shared: Arc<Shared>, link: Link, source: StampSource, connect_ns: u64, used: bool) -> Connection {
        Connection { shared, link, source, connect_ns, used, reusable: true, reader: None }
    }

    /// How long its set-up took, TLS included.
    pub fn connect_ns(&self) -> u64 {
        self.connect_ns
    }

    /// The version of HTTP that it speaks; never `Auto`.
    pub fn http_version(&self) -> HttpVersion {
        if matches!(self.link, Link::Shared(_)) { HttpVersion::Two } else { HttpVersion::One }
    }

    /// True if another request may be sent on it: the last response was read to its end, and the server has
    /// not closed it since.
    pub fn is_reusable(&self) -> bool {
        self.reusable
            && match &self.link {
                Link::Own(transport) => !transport.is_stale(),
                Link::Shared(lease) => lease.is_usable(),
                Link::Closed => false,
            }
    }

    /// Where its arrival stamps come from.
    pub fn stamp_source(&self) -> StampSource {
        match &self.link {
            Link::Own(transport) => transport.socket().source(),
            Link::Shared(lease) => lease.source(),
            Link::Closed => self.source,
        }
    }

    /// Headers of the last response with lower-case names, secrets removed.
    pub fn response_headers(&self) -> BTreeMap<String, String> {
        let headers = self.reader.as_ref().map(|reader| reader.headers()).unwrap_or_default();
        self.shared.redactor.headers(headers)
    }

    /// The whole text of a channel of the last response; none if it had none, or more than is kept.
    pub fn received_text(&self, channel: Channel) -> Option<std::borrow::Cow<'_, str>> {
        self.reader.as_ref()?.whole_text(channel)
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
        let mut cancel = pin!(cancel);
        let connect_ns = (!self.used).then_some(self.connect_ns);
        self.used = true;
        self.reusable = false;
        let reader = self.reader.get_or_insert_with(|| Box::new(ResponseReader::new(expect)));
        reader.begin(expect);
        let send_ns = clock.now_ns();
        let idle = self.shared.timeouts.idle;
        let mut undisturbed = false;
        let End { close, cut_ns } = match &mut self.link {
            Link::Closed => End {
                close: Some(Close::Error(
                    FailureKind::Connect,
                    "the connection was closed after its last request: open another one".to_owned(),
                )),
                cut_ns: None,
            },
            Link::Own(transport) => {
                let mut attempt = http1::Attempt::new(transport, request, reader, sink, clock, send_ns);
                let mut run = Run::new(idle);
                let end = poll_fn(|cx| run.poll(cx, &mut attempt, clock, cancel.as_mut())).await;
                undisturbed = attempt.is_undisturbed();
                end
            }
            Link::Shared(lease) => {
                let head = self.shared.head_of(&request.path);
                let body = request.body.clone();
                // In a box: it is larger than what a stream of its own connection needs.
                Box::pin(async {
                    let mut attempt = http2::Attempt::new(lease, head, body, reader, sink, clock, send_ns);
                    let mut run = Run::new(idle);
                    poll_fn(|cx| run.poll(cx, &mut attempt, clock, cancel.as_mut())).await
                })
                .await
            }
        };
        if let Some(close) = close {
            reader.close(close, sink);
        }
        reader.end_of_read(sink);
        let whole_ns = reader.last_ns();
        let is_whole = reader.is_reusable();
        let mut exchange = reader.exchange(send_ns, connect_ns, whole_ns);
        if exchange.outcome != Outcome::Ended {
            // What was read last may have come while it was cut.
            exchange.end_ns = cut_ns.map_or_else(|| clock.now_ns(), |cut_ns| cut_ns.max(whole_ns));
        }
        exchange.failure = exchange.failure.map(|failure| self.shared.redactor.failure(failure));
        self.source = self.stamp_source();
        // A shared connection outlives what became of one stream.
        let shared = matches!(self.link, Link::Shared(_));
        self.reusable = shared || (undisturbed && is_whole);
        if !self.reusable {
            self.link = Link::Closed;
        }
        exchange
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("target", &self.shared.target.display())
            .field("open", &!matches!(self.link, Link::Closed))
            .field("reusable", &self.reusable)
            .finish_non_exhaustive()
    }
}
