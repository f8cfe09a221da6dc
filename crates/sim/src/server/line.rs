//! A connection's socket, as hyper and the streams on it share it.
//!
//! hyper reads the requests, and writes heads, whole answers and the ends of streams. The events of a stream are
//! written by the thread that has them, straight to the socket: between a stream's head and its end hyper writes
//! nothing, since the body that it was given has no data of its own.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::driver::lock;
use super::stream::Stream;

/// A connection's socket.
#[derive(Debug)]
pub(super) struct Line {
    socket: TcpStream,
    /// Its end is to be a reset.
    cut: AtomicBool,
    /// The stream whose head is not out yet.
    unopened: Mutex<Option<Arc<Stream>>>,
}

impl Line {
    pub(super) fn new(socket: TcpStream) -> Line {
        Line { socket, cut: AtomicBool::new(false), unopened: Mutex::default() }
    }

    /// Opens the stream once all that hyper has for this connection is out. The head must be with hyper.
    pub(super) fn open_behind_head(&self, stream: Arc<Stream>) {
        *lock(&self.unopened) = Some(stream);
    }

    /// Writes what the socket takes.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.try_write(bytes)
    }

    /// Ready when the socket may take more.
    pub(super) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_write_ready(cx)
    }

    /// The connection is to end with a reset.
    pub(super) fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }

    /// Makes the end of the connection a reset, if a fault wants that. It must not have been shut down.
    pub(super) fn reset_if_cut(&self) {
        if self.cut.load(Ordering::Relaxed) {
            // If the system cannot do it, the connection ends all the same.
            let _ = self.socket.set_zero_linger();
        }
    }
}

/// The side of a [`Line`] that hyper holds.
pub(super) struct HyperSide(pub(super) Arc<Line>);

impl AsyncRead for HyperSide {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let socket = &self.0.socket;
        loop {
            ready!(socket.poll_read_ready(cx))?;
            match socket.try_read(buffer.initialize_unfilled()) {
                Ok(length) => {
                    buffer.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for HyperSide {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let socket = &self.0.socket;
        loop {
            ready!(socket.poll_write_ready(cx))?;
            match socket.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    /// Called when hyper has nothing left to write.
    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let unopened = lock(&self.0.unopened).take();
        if let Some(stream) = unopened {
            stream.open();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(shut_down(&self.0.socket))
    }
}

/// Tells the peer that nothing more comes.
fn shut_down(socket: &TcpStream) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    use nix::errno::Errno;
    use nix::sys::socket::{Shutdown, shutdown};
    match shutdown(socket.as_raw_fd(), Shutdown::Write) {
        // The peer was first.
        Ok(()) | Err(Errno::ENOTCONN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
