//! Opens connections to one target.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::clock::Clock;
use crate::connection::Connection;
use crate::error::WireError;
use crate::failure::{Failure, FailureKind};
use crate::headers::Headers;
use crate::redact::Redactor;
use crate::socket::StampedSocket;
use crate::tls;
use crate::transport::Transport;
use crate::url::{Scheme, TargetUrl};

/// How a TLS server is trusted.
#[derive(Debug, Clone, Default)]
pub struct TlsOptions {
    /// Trust any certificate.
    pub insecure: bool,
    /// A PEM file of further certificate authorities.
    pub ca_certificate: Option<PathBuf>,
}

/// Time limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For TCP and TLS set-up together.
    pub connect: Duration,
    /// Between any two bytes of a response.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts { connect: Duration::from_secs(10), idle: Duration::from_mins(5) }
    }
}

/// A request as bytes; cheap to clone.
#[derive(Clone)]
pub struct PreparedRequest {
    pub(crate) head: Bytes,
    pub(crate) body: Bytes,
}

impl PreparedRequest {
    /// Size on the wire.
    pub fn bytes(&self) -> u64 {
        (self.head.len() + self.body.len()) as u64
    }
}

/// The head holds keys, and the body is long: only sizes are shown.
impl fmt::Debug for PreparedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedRequest")
            .field("head_bytes", &self.head.len())
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// Opens connections to one target; cheap to clone.
#[derive(Clone)]
pub struct Connector {
    shared: Arc<Shared>,
}

/// What every connection to the target needs.
pub(crate) struct Shared {
    pub(crate) target: TargetUrl,
    pub(crate) headers: Headers,
    pub(crate) clock: Clock,
    pub(crate) timeouts: Timeouts,
    pub(crate) redactor: Redactor,
    tls: Option<(TlsConnector, ServerName<'static>)>,
    /// Addresses of the host as last looked up; taken when a connection is opened, never while one is read.
    addresses: Mutex<Vec<SocketAddr>>,
}

impl Connector {
    /// Prepares TLS and headers; opens nothing.
    pub fn new(
        target: TargetUrl,
        tls: &TlsOptions,
        headers: Headers,
        clock: Clock,
        timeouts: Timeouts,
    ) -> Result<Connector, WireError> {
        let tls = match target.scheme {
            Scheme::Http => None,
            Scheme::Https => Some(tls_connector(&target, tls::client_config(tls)?)?),
        };
        let redactor = Redactor::new(&headers);
        let addresses = Mutex::default();
        Ok(Connector {
            shared: Arc::new(Shared { target, headers, clock, timeouts, redactor, tls, addresses }),
        })
    }

    /// Opens one connection, TLS included. The time for finding the host's address is not part of its set-up
    /// time.
    pub async fn connect(&self) -> Result<Connection, Failure> {
        let (transport, connect_ns) = self.open().await?;
        Ok(Connection::new(Arc::clone(&self.shared), transport, connect_ns))
    }

    /// A POST of `body` to `path` (`/v1/chat/completions`) below the target's base path.
    pub fn prepare(&self, path: &str, body: Bytes) -> PreparedRequest {
        let shared = &self.shared;
        let mut head = format!("POST {}{path} HTTP/1.1\r\n", shared.target.base_path);
        let mut line = |name: &str, value: &str| head.extend([name, ": ", value, "\r\n"]);
        for (name, value) in self.default_headers() {
            line(name, &value);
        }
        line("Content-Length", &body.len().to_string());
        for (name, value) in shared.headers.iter() {
            line(name, value.expose());
        }
        head.push_str("\r\n");
        PreparedRequest { head: Bytes::from(head), body }
    }

    /// The target.
    pub fn target(&self) -> &TargetUrl {
        &self.shared.target
    }

    /// The run's clock.
    pub fn clock(&self) -> Clock {
        self.shared.clock
    }

    /// The extra headers.
    pub fn headers(&self) -> &Headers {
        &self.shared.headers
    }

    /// Headers of every request that the user did not replace.
    fn default_headers(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let own = [
            ("Host", self.shared.target.authority()),
            ("User-Agent", USER_AGENT.to_owned()),
            ("Accept", "text/event-stream".to_owned()),
            // A server or proxy that compresses holds events back.
            ("Accept-Encoding", "identity".to_owned()),
            ("Content-Type", "application/json".to_owned()),
        ];
        own.into_iter().filter(|(name, _)| !self.shared.headers.contains(name))
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// An open transport and how long its set-up took.
    pub(crate) async fn open(&self) -> Result<(Transport, u64), Failure> {
        let limit = self.shared.timeouts.connect;
        match tokio::time::timeout(limit, self.shared.open()).await {
            Ok(opened) => opened.map_err(|failure| self.shared.redactor.failure(failure)),
            Err(_) => Err(Failure::new(
                FailureKind::Connect,
                format!(
                    "no connection to {} within {:.0} s: is the host right, and does a firewall stand between?",
                    self.shared.target.host_and_port(),
                    limit.as_secs_f64().max(1.0)
                ),
            )),
        }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector")
            .field("target", &self.shared.target.display())
            .field("headers", &self.shared.headers)
            .field("timeouts", &self.shared.timeouts)
            .finish_non_exhaustive()
    }
}

pub(crate) const USER_AGENT: &str = concat!("tokometer/", env!("CARGO_PKG_VERSION"));

fn tls_connector(
    target: &TargetUrl,
    config: Arc<ClientConfig>,
) -> Result<(TlsConnector, ServerName<'static>), WireError> {
    let name = ServerName::try_from(target.host.clone()).map_err(|_| WireError::Url {
        url: target.display(),
        problem: "a TLS certificate cannot be made out to this host name".to_owned(),
    })?;
    Ok((TlsConnector::from(config), name))
}

impl Shared {
    async fn open(&self) -> Result<(Transport, u64), Failure> {
        let addresses = self.addresses().await?;
        let mut last = None;
        for address in addresses {
            let started_ns = self.clock.now_ns();
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    let transport = self.secure(stream).await?;
                    return Ok((transport, self.clock.now_ns() - started_ns));
                }
                Err(error) => last = Some(error),
            }
        }
        // What was looked up may be out of date.
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let error = last.unwrap_or_else(|| io::ErrorKind::NotFound.into());
        Err(Failure::new(FailureKind::Connect, self.connect_message(&error)))
    }

    async fn secure(&self, stream: TcpStream) -> Result<Transport, Failure> {
        stream.set_nodelay(true).map_err(|error| {
            Failure::new(
                FailureKind::Connect,
                format!("cannot switch off the delay of small segments: {error}"),
            )
        })?;
        let socket = StampedSocket::new(stream, self.clock);
        let Some((connector, name)) = &self.tls else {
            return Ok(Transport::Plain(socket));
        };
        match connector.connect(name.clone(), socket).await {
            Ok(stream) => Ok(Transport::Tls(Box::new(stream))),
            Err(error) => {
                let message = tls::handshake_message(&self.target.host_and_port(), &error);
                Err(Failure::new(FailureKind::Tls, message))
            }
        }
    }

    /// The host's addresses, looked up once.
    async fn addresses(&self) -> Result<Vec<SocketAddr>, Failure> {
        let known = self.addresses.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !known.is_empty() {
            return Ok(known);
        }
        let target = &self.target;
        let found = match tokio::net::lookup_host((target.host.as_str(), target.port)).await {
            Ok(found) => found.collect::<Vec<_>>(),
            Err(error) => {
                let message = format!("cannot find the host {:?}: is its name right? ({error})", target.host);
                return Err(Failure::new(FailureKind::Connect, message));
            }
        };
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&found);
        Ok(found)
    }

    fn connect_message(&self, error: &io::Error) -> String {
        let place = self.target.host_and_port();
        match error.kind() {
            io::ErrorKind::ConnectionRefused => format!(
                "nothing listens at {place} (connection refused): is the server up, and is the port right?"
            ),
            io::ErrorKind::TimedOut => {
                format!("no answer from {place}: is the host right, and does a firewall stand between?")
            }
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                format!(
                    "{place} cannot be reached from here ({error}): is this machine on the right network?"
                )
            }
            io::ErrorKind::AddrNotAvailable => format!(
                "this machine has no free local port for another connection to {place}: lower the concurrency, \
                 or widen net.ipv4.ip_local_port_range"
            ),
            _ if is_out_of_files(error) => format!(
                "this process may open no more files ({error}): raise the limit (ulimit -n), or lower the concurrency"
            ),
            _ => format!("cannot connect to {place}: {error}"),
        }
    }
}

fn is_out_of_files(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(nix::errno::Errno::from_raw);
    matches!(code, Some(nix::errno::Errno::EMFILE | nix::errno::Errno::ENFILE))
}
