//! A long file on its way from the object store to a reader.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use sha2::{Digest, Sha256};
use tokio::time::{Instant, Sleep, sleep};

use crate::artefacts::{Hash, altered};

/// A body that holds its last piece back until all of it was seen to be what its name says. A reader of an altered file
/// never gets it whole: the answer breaks off, and is shorter than its length says.
pub(super) struct Verified {
    inner: Incoming,
    bytes: SizeHint,
    name: Hash,
    hasher: Sha256,
    held: Option<Bytes>,
    silence: Duration,
    quiet: Pin<Box<Sleep>>,
    ended: bool,
}

impl Verified {
    /// `silence` is the longest wait for the next piece.
    pub(super) fn new(inner: Incoming, name: Hash, silence: Duration) -> Verified {
        let bytes = inner.size_hint();
        let quiet = Box::pin(sleep(silence));
        Verified { inner, bytes, name, hasher: Sha256::new(), held: None, silence, quiet, ended: false }
    }

    /// A failure, which the log has too: the reader only sees that the answer broke off.
    fn fail(&mut self, error: io::Error) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.ended = true;
        tracing::error!(%error, file = self.name.as_str(), "a file could not be given out whole");
        Poll::Ready(Some(Err(error)))
    }
}

impl Body for Verified {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        if this.ended {
            return Poll::Ready(None);
        }
        loop {
            match Pin::new(&mut this.inner).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    this.quiet.as_mut().reset(Instant::now() + this.silence);
                    let Ok(piece) = frame.into_data() else { continue };
                    this.hasher.update(&piece);
                    if let Some(before) = this.held.replace(piece) {
                        return Poll::Ready(Some(Ok(Frame::data(before))));
                    }
                }
                Poll::Ready(Some(Err(error))) => return this.fail(io::Error::other(error)),
                Poll::Ready(None) => {
                    if Hash::hex(&this.hasher.finalize_reset()) != this.name.as_str() {
                        let error = altered(&this.name);
                        return this.fail(error);
                    }
                    this.ended = true;
                    return Poll::Ready(this.held.take().map(|last| Ok(Frame::data(last))));
                }
                Poll::Pending => {
                    if this.quiet.as_mut().poll(cx).is_ready() {
                        return this.fail(io::ErrorKind::TimedOut.into());
                    }
                    return Poll::Pending;
                }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        // What is left is told by the length that the answer's head has; only its beginning is asked for.
        if self.held.is_none() && !self.ended { self.bytes } else { SizeHint::default() }
    }
}
