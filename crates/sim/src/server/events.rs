//! The body of a stream.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame};
use tokio::time::{Sleep, sleep};

use super::dialect::Frames;
use super::fault::{FaultKind, Lurking};
use super::stream::Ticket;

/// Each poll sends what has come since the last one.
pub(super) struct Events {
    ticket: Ticket,
    frames: Box<dyn Frames>,
    /// What is sent before there is any token.
    opening: Bytes,
    keep_alive: Option<KeepAlive>,
    lurking: Option<Lurking>,
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
        mut frames: Box<dyn Frames>,
        keep_alive: Option<(Duration, &'static str)>,
        lurking: Option<Lurking>,
    ) -> Events {
        let keep_alive =
            keep_alive.map(|(pause, comment)| KeepAlive { pause, comment, due: Box::pin(sleep(pause)) });
        let opening = frames.open();
        Events { ticket, frames, opening, keep_alive, lurking, ended: false }
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Option<Bytes>>> {
        if !self.opening.is_empty() {
            return Poll::Ready(Ok(Some(std::mem::take(&mut self.opening))));
        }
        if let Some(lurking) = &mut self.lurking
            && lurking.strikes
        {
            return strike(lurking, self.frames.as_mut(), &mut self.ended, cx);
        }
        let mut delivery = ready!(self.ticket.poll_next(cx));
        if let Some(lurking) = &mut self.lurking {
            delivery = lurking.pass(&delivery);
        }
        self.ended = delivery.finish.is_some();
        Poll::Ready(Ok(Some(self.frames.write(&delivery))))
    }
}

/// Lets the fault happen.
fn strike(
    lurking: &mut Lurking,
    frames: &mut dyn Frames,
    ended: &mut bool,
    cx: &mut Context<'_>,
) -> Poll<io::Result<Option<Bytes>>> {
    match lurking.kind() {
        FaultKind::Stall => return Poll::Pending,
        FaultKind::Reset if !lurking.flushed => {
            // What is before the reset is sent while this waits.
            lurking.flushed = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        FaultKind::Reset => {
            lurking.cut_line();
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        _ => *ended = true,
    }
    Poll::Ready(Ok(match lurking.kind() {
        FaultKind::Error => Some(frames.fail("the engine has failed")),
        FaultKind::Tokenless => Some(frames.end()),
        _ => None,
    }))
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
        let polled = self.poll_bytes(cx);
        if let Some(keep_alive) = &mut self.keep_alive {
            let polled = keep_alive.poll(polled, cx);
            return polled.map(|bytes| bytes.transpose().map(|bytes| bytes.map(Frame::data)));
        }
        polled.map(|bytes| bytes.transpose().map(|bytes| bytes.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}

impl KeepAlive {
    /// Puts the comment in place of a silence that is long enough.
    fn poll(
        &mut self,
        polled: Poll<io::Result<Option<Bytes>>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Bytes>>> {
        let silent = polled.is_pending();
        if silent {
            ready!(self.due.as_mut().poll(cx));
        }
        self.due = Box::pin(sleep(self.pause));
        if silent { Poll::Ready(Ok(Some(Bytes::from_static(self.comment.as_bytes())))) } else { polled }
    }
}
