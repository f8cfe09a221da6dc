//! Who sends a request: by network address.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{Extensions, HeaderMap};

use crate::app::App;
use crate::config::Config;
use crate::problem::Problem;
use crate::web::limits::{Doing, Whose};

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

/// The client of a request, for handlers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client(pub(crate) IpAddr);

impl FromRequestParts<App> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Client, Infallible> {
        Ok(Client(address(&app.config, &parts.extensions, &parts.headers)))
    }
}

impl Client {
    /// Whose doing it is.
    pub(crate) fn whose(self) -> Whose {
        Whose::Address(self.0)
    }

    /// Refuses who gave too many wrong secrets.
    pub(crate) fn may_try(self, app: &App) -> Result<(), Problem> {
        app.limiter
            .look(Doing::Trying, self.whose(), app.config.limits.attempts)
            .map_err(|wait| Problem::too_many("attempts", wait))
    }

    /// Counts a sign-in that is begun, and refuses too many.
    pub(crate) fn begins(self, app: &App) -> Result<(), Problem> {
        app.limiter
            .take(Doing::Beginning, self.whose(), app.config.limits.beginnings)
            .map_err(|wait| Problem::too_many("sign-ins", wait))
    }

    /// Counts a wrong secret.
    pub(crate) fn was_wrong(self, app: &App) {
        // Once nothing is left, the next attempt is refused.
        let _ = app.limiter.take(Doing::Trying, self.whose(), app.config.limits.attempts);
    }
}
