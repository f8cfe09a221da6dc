//! A transport that tells what was read from it, and when.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::arrivals::{Arrival, Arrivals};
use super::lock;
use crate::exchange::StampSource;
use crate::transport::Transport;

pub(super) struct Tap {
    transport: Transport,
    arrivals: Arc<Mutex<Arrivals>>,
    source: Arc<Mutex<StampSource>>,
}

impl Tap {
    pub(super) fn new(
        transport: Transport,
        arrivals: Arc<Mutex<Arrivals>>,
        source: Arc<Mutex<StampSource>>,
    ) -> Tap {
        Tap { transport, arrivals, source }
    }
}

impl AsyncRead for Tap {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.transport).poll_read(cx, buffer))?;
        let bytes = &buffer.filled()[before..];
        let socket = self.transport.socket();
        let arrival = Arrival { stamp: socket.stamp(), read: socket.reads() };
        *lock(&self.source) = socket.source();
        lock(&self.arrivals).follow(bytes, arrival);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tap {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.transport).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.transport).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(cx)
    }
}
