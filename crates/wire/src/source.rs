//! Which addresses of this host connections come from.
//!
//! A connection is told apart by its two addresses and ports, so one address of this host has no more connections to
//! one server than it has ports to spare: 28,232 by default on Linux.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpSocket, TcpStream};

/// Loopback addresses that are tried where the first has no port left.
const LOOPBACK: u8 = 16;

/// Where connections come from; clones share their turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    addresses: Arc<[IpAddr]>,
    turn: Arc<AtomicUsize>,
}

impl Sources {
    /// These addresses in turn.
    pub(crate) fn new(addresses: &[IpAddr]) -> Sources {
        Sources { addresses: addresses.into(), turn: Arc::default() }
    }

    /// A connection to `server`.
    pub(crate) async fn connect(&self, server: SocketAddr) -> io::Result<TcpStream> {
        let fitting: Vec<IpAddr> =
            self.addresses.iter().copied().filter(|address| address.is_ipv4() == server.is_ipv4()).collect();
        if fitting.is_empty() {
            return match TcpStream::connect(server).await {
                Err(error) if has_no_port(&error) => first_of(loopback(server), server, error).await,
                other => other,
            };
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % fitting.len();
        let (before, after) = fitting.split_at(turn);
        first_of(after.iter().chain(before).copied(), server, io::ErrorKind::AddrNotAvailable.into()).await
    }
}

/// A connection from the first of these addresses that has a port left; `error` if there is no address.
async fn first_of(
    sources: impl Iterator<Item = IpAddr>,
    server: SocketAddr,
    mut error: io::Error,
) -> io::Result<TcpStream> {
    for source in sources {
        match connect_from(source, server).await {
            Err(other) if has_no_port(&other) => error = other,
            other => return other,
        }
    }
    Err(error)
}

async fn connect_from(source: IpAddr, server: SocketAddr) -> io::Result<TcpStream> {
    let socket = if server.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    choose_port_late(&socket);
    socket.bind(SocketAddr::new(source, 0))?;
    socket.connect(server).await
}

/// Lets the kernel choose the port when the server is known: else a port that is in use for another server could
/// not be had.
#[cfg(target_os = "linux")]
fn choose_port_late(socket: &TcpSocket) {
    // Where it is not to be had there are fewer ports, and no more.
    nix::sys::socket::setsockopt(socket, nix::sys::socket::sockopt::IpBindAddressNoPort, &true).ok();
}

#[cfg(not(target_os = "linux"))]
fn choose_port_late(_socket: &TcpSocket) {}

fn has_no_port(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse)
}

/// Further addresses from which a server on this host can be reached.
fn loopback(server: SocketAddr) -> impl Iterator<Item = IpAddr> {
    let is_here = server.is_ipv4() && server.ip().is_loopback();
    (2..2 + LOOPBACK).filter(move |_| is_here).map(|last| IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::collections::BTreeSet;
    use std::io;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    use tokio::net::{TcpListener, TcpStream};

    use super::{Sources, first_of, loopback};

    fn here(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(127, 0, 0, last))
    }

    async fn server() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    #[tokio::test]
    async fn addresses_take_turns() {
        let (listener, address) = server().await;
        let sources = Sources::new(&[here(5), here(6), "::1".parse().unwrap()]);
        let mut seen = Vec::new();
        let mut open: Vec<TcpStream> = Vec::new();
        for _ in 0..4 {
            open.push(sources.connect(address).await.unwrap());
            seen.push(listener.accept().await.unwrap().1.ip());
        }
        assert_eq!(seen, [here(5), here(6), here(5), here(6)]);
    }

    #[tokio::test]
    async fn a_further_loopback_address_takes_over() {
        let (listener, address) = server().await;
        let tried: BTreeSet<IpAddr> = loopback(address).collect();
        assert!(tried.len() == 16 && !tried.contains(&here(1)));
        let full = io::ErrorKind::AddrNotAvailable.into();
        // No address of this host comes first, and is passed over.
        let sources = std::iter::once("192.0.2.1".parse().unwrap()).chain(loopback(address));
        let _open = first_of(sources, address, full).await.unwrap();
        assert_eq!(listener.accept().await.unwrap().1.ip(), here(2));
        assert_eq!(loopback("192.0.2.7:80".parse().unwrap()).count(), 0);
    }
}
