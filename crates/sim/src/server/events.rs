//! The body of a stream as hyper has it: it has no data, for that is written past hyper, and ends with the stream.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame};
use tokio::time::{Sleep, sleep};

use super::line::Line;
use super::outlet::Sent;
use super::stream::Ticket;

/// Ends when all events are out.
pub(super) struct Events {
    ticket: Ticket,
    /// Set until hyper has the head.
    line: Option<Arc<Line>>,
    keep_alive: Option<KeepAlive>,
    ended: bool,
}

/// A comment for streams that are silent.
struct KeepAlive {
    pause: Duration,
    comment: &'static str,
    due: Pin<Box<Sleep>>,
}

impl Events {
    pub(super) fn new(
        ticket: Ticket,
        line: Arc<Line>,
        keep_alive: Option<(Duration, &'static str)>,
    ) -> Events {
        let keep_alive =
            keep_alive.map(|(pause, comment)| KeepAlive { pause, comment, due: Box::pin(sleep(pause)) });
        Events { ticket, line: Some(line), keep_alive, ended: false }
    }
}

impl HttpBody for Events {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        // hyper asks for the body once it has the head.
        if let Some(line) = self.line.take() {
            line.open_behind_head(Arc::clone(self.ticket.stream()));
        }
        let events = &mut *self;
        if let Some(keep_alive) = &mut events.keep_alive {
            keep_alive.poll(&events.ticket, cx);
        }
        let sent = ready!(events.ticket.stream().poll_sent(cx));
        events.ended = true;
        Poll::Ready(match sent {
            Sent::Whole => None,
            Sent::Broken(error) => Some(Err(error)),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}

impl KeepAlive {
    /// Sends the comment after a silence that is long enough.
    fn poll(&mut self, ticket: &Ticket, cx: &mut Context<'_>) {
        while self.due.as_mut().poll(cx).is_ready() {
            let pause_ns = u64::try_from(self.pause.as_nanos()).unwrap_or(u64::MAX);
            let silent = Duration::from_nanos(ticket.stream().comment(self.comment, pause_ns));
            let left = if silent < self.pause { self.pause.saturating_sub(silent) } else { self.pause };
            self.due = Box::pin(sleep(left));
        }
    }
}
