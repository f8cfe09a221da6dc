//! Who sends a request: by network address.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::Extensions;
use http::HeaderMap;

use crate::config::Config;

/// The address of the connection's other end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// The client's address: that of the connection, or what the proxy of our own says.
///
/// Of IPv6 the first 64 bits: a client has all addresses behind them.
pub(crate) fn address(config: &Config, extensions: &Extensions, headers: &HeaderMap) -> IpAddr {
    let peer = extensions.get::<Peer>().map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |peer| peer.0.ip());
    let told = || {
        // Only the last entry is our proxy's own; what stands before it anybody may have written.
        let last = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
        last.rsplit(',').next()?.trim().parse().ok()
    };
    let address = if config.behind_proxy { told().unwrap_or(peer) } else { peer };
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => IpAddr::V4(v4),
            None => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64)),
        },
    }
}
