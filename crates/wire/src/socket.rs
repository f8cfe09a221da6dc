//! A TCP socket that knows when the bytes of each read arrived.
//!
//! It lies below TLS, so the stamp is that of the encrypted bytes, and no decryption or parsing is in it. On
//! Linux each read asks the kernel for the time at which it received the last segment of what it hands over;
//! elsewhere, and where the kernel gives none, the clock is read right after the read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::clock::Clock;
use crate::exchange::StampSource;
use crate::loop_lag;

/// When the bytes of a read arrived, and when the client got to them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    /// When the last byte reached this host.
    pub arrival_ns: u64,
    /// When the read returned.
    pub handled_ns: u64,
    /// How long the bytes waited for the client.
    pub lag_ns: u64,
}

pub(crate) struct StampedSocket {
    stream: TcpStream,
    clock: Clock,
    /// The kernel was asked for stamps.
    asked_kernel: bool,
    stamp: Stamp,
    reads: u64,
    kernel_stamps: u64,
    /// Ask the kernel for bytes, whatever the event loop knows of the socket.
    immediate: bool,
    /// The event loop was asked to wake us when there is something to read.
    awaited: bool,
}

impl StampedSocket {
    /// With `kernel_stamps` the kernel is asked for them, if it has any.
    pub(crate) fn new(stream: TcpStream, clock: Clock, kernel_stamps: bool) -> StampedSocket {
        let asked_kernel = kernel_stamps && kernel::ask_for_stamps(&stream);
        StampedSocket {
            stream,
            clock,
            asked_kernel,
            stamp: Stamp::default(),
            reads: 0,
            kernel_stamps: 0,
            immediate: false,
            awaited: false,
        }
    }

    /// The stamp of the last read.
    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }

    /// Number of reads that returned bytes: tells the stamps of two reads apart.
    pub(crate) fn reads(&self) -> u64 {
        self.reads
    }

    pub(crate) fn source(&self) -> StampSource {
        // The first reads after the option was set may come without a stamp.
        let given = self.reads < 8 || self.kernel_stamps > self.reads / 2;
        if self.asked_kernel && given { StampSource::Kernel } else { StampSource::Read }
    }

    /// From now on a read takes what the kernel holds, and is pending only if it holds nothing. Nobody is woken
    /// for such a read.
    pub(crate) fn read_immediately(&mut self) {
        self.immediate = true;
    }

    /// True if the peer closed, reset, or sent something that nobody asked for.
    pub(crate) fn is_stale(&self, may_hold_bytes: bool) -> bool {
        match kernel::peek(&self.stream) {
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            Ok(0) => true,
            Ok(_) => !may_hold_bytes,
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let asked = self.asked_kernel;
        let (length, kernel_ns) = if self.immediate {
            kernel::receive(&self.stream, buffer, asked)?
        } else {
            // A read that did not fill the buffer emptied the socket: telling the event loop so saves a read
            // that would only find that out. It is told by an error, so the result is kept aside.
            let mut partial = None;
            let whole = self.stream.try_io(tokio::io::Interest::READABLE, || {
                let (length, stamp) = kernel::receive(&self.stream, buffer, asked)?;
                if length == 0 || length == buffer.len() {
                    return Ok((length, stamp));
                }
                partial = Some((length, stamp));
                Err(io::ErrorKind::WouldBlock.into())
            });
            match partial {
                Some(read) => read,
                None => whole?,
            }
        };
        if length > 0 {
            self.note(kernel_ns);
        }
        Ok(length)
    }

    fn note(&mut self, kernel_ns: Option<u64>) {
        let handled_ns = self.clock.now_ns();
        self.reads += 1;
        self.stamp = if let Some(realtime_ns) = kernel_ns {
            self.kernel_stamps += 1;
            let mapped_ns = self.clock.map_realtime_ns(realtime_ns, handled_ns);
            // Neither a rounding of the mapping nor a step of the wall clock may put a read before the one
            // in front of it, or behind its own handling.
            let arrival_ns = mapped_ns.max(self.stamp.arrival_ns).min(handled_ns);
            Stamp { arrival_ns, handled_ns, lag_ns: handled_ns - arrival_ns }
        } else {
            let since_ns = loop_lag::waiting_since_ns().unwrap_or(handled_ns);
            Stamp { arrival_ns: handled_ns, handled_ns, lag_ns: handled_ns.saturating_sub(since_ns) }
        };
    }
}

impl AsyncRead for StampedSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            // Who was woken need not ask whether there is something: the read itself finds out.
            if !self.immediate && !std::mem::take(&mut self.awaited) {
                let ready = self.stream.poll_read_ready(cx);
                self.awaited = ready.is_pending();
                ready!(ready)?;
            }
            match self.receive(buffer.initialize_unfilled()) {
                Ok(length) => {
                    buffer.advance(length);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.immediate {
                        return Poll::Pending;
                    }
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for StampedSocket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// What the kernel is asked for.
mod kernel {
    use std::io;
    use std::os::fd::AsRawFd;

    use nix::sys::socket::{MsgFlags, recv};
    use tokio::net::TcpStream;

    /// Looks at what a read would return, without taking it.
    pub(super) fn peek(stream: &TcpStream) -> io::Result<usize> {
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        Ok(recv(stream.as_raw_fd(), &mut [0], flags)?)
    }

    #[cfg(target_os = "linux")]
    pub(super) use linux::{ask_for_stamps, receive};

    #[cfg(not(target_os = "linux"))]
    pub(super) fn ask_for_stamps(_stream: &TcpStream) -> bool {
        false
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn receive(
        stream: &TcpStream,
        buffer: &mut [u8],
        _with_stamp: bool,
    ) -> io::Result<(usize, Option<u64>)> {
        Ok((recv(stream.as_raw_fd(), buffer, MsgFlags::empty())?, None))
    }

    #[cfg(target_os = "linux")]
    mod linux {
        use std::io::{self, IoSliceMut};
        use std::os::fd::AsRawFd;

        use nix::sys::socket::{
            ControlMessageOwned, MsgFlags, cmsg_space, recv, recvmsg, setsockopt, sockopt,
        };
        use nix::sys::time::TimeSpec;
        use tokio::net::TcpStream;

        /// Room for one control message, aligned as its header wants it.
        #[repr(align(8))]
        struct ControlSpace([u8; cmsg_space::<TimeSpec>()]);

        /// Asks for receive stamps; false if the kernel has none.
        pub(in super::super) fn ask_for_stamps(stream: &TcpStream) -> bool {
            setsockopt(stream, sockopt::ReceiveTimestampns, &true).is_ok()
        }

        /// Reads what is there, with the time at which its last segment was received.
        pub(in super::super) fn receive(
            stream: &TcpStream,
            buffer: &mut [u8],
            with_stamp: bool,
        ) -> io::Result<(usize, Option<u64>)> {
            let descriptor = stream.as_raw_fd();
            if !with_stamp {
                return Ok((recv(descriptor, buffer, MsgFlags::empty())?, None));
            }
            let mut space = ControlSpace([0; cmsg_space::<TimeSpec>()]);
            let mut parts = [IoSliceMut::new(buffer)];
            let message = recvmsg::<()>(descriptor, &mut parts, Some(&mut space.0), MsgFlags::empty())?;
            let stamp = message.cmsgs()?.find_map(|control| match control {
                ControlMessageOwned::ScmTimestampns(time) => {
                    Some(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
                }
                _ => None,
            });
            Ok((message.bytes, stamp))
        }
    }
}
