//! A stamped socket, plain or under TLS.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

use crate::socket::StampedSocket;

pub(crate) enum Transport {
    Plain(StampedSocket),
    Tls(Box<TlsStream<StampedSocket>>),
}

impl Transport {
    pub(crate) fn socket(&self) -> &StampedSocket {
        match self {
            Transport::Plain(socket) => socket,
            Transport::Tls(stream) => stream.get_ref().0,
        }
    }

    pub(crate) fn socket_mut(&mut self) -> &mut StampedSocket {
        match self {
            Transport::Plain(socket) => socket,
            Transport::Tls(stream) => stream.get_mut().0,
        }
    }

    /// True if TLS was set up and the server did not choose HTTP/2.
    pub(crate) fn chose_http1(&self) -> bool {
        match self {
            Transport::Plain(_) => false,
            Transport::Tls(stream) => stream.get_ref().1.alpn_protocol() != Some(b"h2"),
        }
    }

    /// True if an idle connection should not be used again.
    pub(crate) fn is_stale(&self) -> bool {
        // Under TLS a session ticket may wait to be read.
        self.socket().is_stale(matches!(self, Transport::Tls(_)))
    }
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Transport::Tls(stream) => match Pin::new(stream.as_mut()).poll_read(cx, buffer) {
                // Servers that close without the closing message of TLS are common; whether the response was
                // whole is decided above.
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    Poll::Ready(Ok(()))
                }
                other => other,
            },
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_write(cx, bytes),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, parts),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Transport::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(cx),
        }
    }
}
