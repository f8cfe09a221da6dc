//! Opens connections to one target.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
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
use crate::http2::{Found, Pool};
use crate::redact::Redactor;
use crate::socket::StampedSocket;
use crate::source::Sources;
use crate::timer;
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

/// The version of HTTP that measured requests use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HttpVersion {
    /// HTTP/1.1, unless the server chooses HTTP/2 when TLS is set up.
    #[default]
    Auto,
    /// HTTP/1.1: each stream has a connection of its own.
    One,
    /// HTTP/2: streams share connections, each as many as the server allows. Without TLS the server must know.
    Two,
}

/// A request as bytes; cheap to clone.
#[derive(Clone)]
pub struct PreparedRequest {
    /// As HTTP/1.1 sends it.
    pub(crate) head: Bytes,
    /// Path below the host, for HTTP/2.
    pub(crate) path: Arc<str>,
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
            .finish_non_exhaustive()
    }
}

/// Opens connections to one target; cheap to clone.
#[derive(Clone)]
pub struct Connector {
    shared: Arc<Shared>,
    http: HttpVersion,
    /// Ask the kernel for arrival stamps.
    kernel_stamps: bool,
    sources: Sources,
}

/// What every connection to the target needs.
pub(crate) struct Shared {
    pub(crate) target: TargetUrl,
    pub(crate) headers: Headers,
    pub(crate) clock: Clock,
    pub(crate) timeouts: Timeouts,
    pub(crate) redactor: Redactor,
    pool: Pool,
    tls: Option<Tls>,
    /// Addresses of the host as last looked up; taken when a connection is opened, never while one is read.
    addresses: Mutex<Vec<SocketAddr>>,
}

/// What the protocols of a TLS connection are chosen from.
struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
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
            Scheme::Https => {
                let config = tls::client_config(tls)?;
                Some(Tls { config, name: server_name(&target)? })
            }
        };
        let redactor = Redactor::new(&headers);
        let addresses = Mutex::default();
        let pool = Pool::default();
        let shared = Shared { target, headers, clock, timeouts, redactor, pool, tls, addresses };
        Ok(Connector {
            shared: Arc::new(shared),
            http: HttpVersion::Auto,
            kernel_stamps: true,
            sources: Sources::default(),
        })
    }

    /// The same with this version of HTTP. Shared connections are shared among all clones.
    #[must_use]
    pub fn with_http(self, http: HttpVersion) -> Connector {
        Connector { http, ..self }
    }

    /// The same, but arrivals are stamped by a clock read behind each read, as where the kernel stamps nothing.
    #[must_use]
    pub fn without_kernel_stamps(self) -> Connector {
        Connector { kernel_stamps: false, ..self }
    }

    /// The same, with connections from each of these addresses of this host in turn. One address has some 28,000
    /// ports for one server, as a rule. Without any, the system chooses, and where it has no port left for a server
    /// on this host, further loopback addresses are used.
    #[must_use]
    pub fn with_source_addresses(self, addresses: &[IpAddr]) -> Connector {
        Connector { sources: Sources::new(addresses), ..self }
    }

    /// The version of HTTP that measured requests are to use.
    pub fn http(&self) -> HttpVersion {
        self.http
    }

    /// Opens one connection, TLS included. The time for finding the host's address is not part of its set-up
    /// time.
    ///
    /// Over HTTP/2 it may be a place on a connection that is open already.
    pub async fn connect(&self) -> Result<Connection, Failure> {
        let shared = &self.shared;
        let may_share = match self.http {
            HttpVersion::One => false,
            HttpVersion::Auto => shared.tls.is_some() && !shared.pool.is_declined(),
            HttpVersion::Two => true,
        };
        if !may_share {
            let (transport, connect_ns) = self.open().await?;
            return Ok(Connection::new(Arc::clone(shared), transport, connect_ns));
        }
        let clock = shared.clock;
        let open = self.open_as(self.http);
        let must = self.http == HttpVersion::Two;
        let found = shared.pool.lease(|| clock.now_ns(), shared.timeouts.connect, must, open).await;
        Ok(match found.map_err(|failure| shared.redactor.failure(failure))? {
            Found::Lease { lease, opened } => Connection::leased(Arc::clone(shared), lease, !opened),
            Found::Declined(transport, connect_ns) => {
                Connection::new(Arc::clone(shared), transport, connect_ns)
            }
        })
    }

    /// A POST of `body` to `path` (`/v1/chat/completions`) below the target's base path.
    pub fn prepare(&self, path: &str, body: Bytes) -> PreparedRequest {
        let shared = &self.shared;
        let path: Arc<str> = format!("{}{path}", shared.target.base_path).into();
        let mut head = format!("POST {path} HTTP/1.1\r\n");
        let mut line = |name: &str, value: &str| head.extend([name, ": ", value, "\r\n"]);
        for (name, value) in shared.default_headers() {
            line(name, &value);
        }
        line("Content-Length", &body.len().to_string());
        for (name, value) in shared.headers.iter() {
            line(name, value.expose());
        }
        head.push_str("\r\n");
        PreparedRequest { head: Bytes::from(head), path, body }
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

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// An open transport for HTTP/1.1, and how long its set-up took.
    pub(crate) async fn open(&self) -> Result<(Transport, u64), Failure> {
        self.open_as(HttpVersion::One).await
    }

    /// An open transport for what is not measured: HTTP/2 only where it is asked for by name.
    pub(crate) async fn open_for_control(&self) -> Result<(Transport, u64), Failure> {
        match self.http {
            HttpVersion::Two => self.open_as(HttpVersion::Two).await,
            HttpVersion::Auto | HttpVersion::One => self.open().await,
        }
    }

    async fn open_as(&self, http: HttpVersion) -> Result<(Transport, u64), Failure> {
        let limit = self.shared.timeouts.connect;
        match timer::timeout(limit, self.shared.open(http, self.kernel_stamps, &self.sources)).await {
            Some(opened) => opened.map_err(|failure| self.shared.redactor.failure(failure)),
            None => Err(self.shared.too_slow(limit)),
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

fn server_name(target: &TargetUrl) -> Result<ServerName<'static>, WireError> {
    ServerName::try_from(target.host.clone()).map_err(|_| WireError::Url {
        url: target.display(),
        problem: "a TLS certificate cannot be made out to this host name".to_owned(),
    })
}

impl Shared {
    /// The head of a POST to `path`, as HTTP/2 sends it.
    pub(crate) fn head_of(&self, path: &str) -> http::Request<()> {
        let mut request = http::Request::new(());
        *request.method_mut() = http::Method::POST;
        let uri = format!("{}://{}{path}", self.target.scheme.name(), self.target.authority());
        *request.uri_mut() = uri.parse().unwrap_or_default();
        let default = self.default_headers().filter(|(name, _)| *name != "Host");
        for (name, value) in default {
            insert(request.headers_mut(), name, &value, false);
        }
        for (name, value) in self.headers.iter() {
            insert(request.headers_mut(), name, value.expose(), true);
        }
        request
    }

    /// Headers of every request that the user did not replace.
    fn default_headers(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        let own = [
            ("Host", self.target.authority()),
            ("User-Agent", USER_AGENT.to_owned()),
            ("Accept", "text/event-stream".to_owned()),
            // A server or proxy that compresses holds events back.
            ("Accept-Encoding", "identity".to_owned()),
            ("Content-Type", "application/json".to_owned()),
        ];
        own.into_iter().filter(|(name, _)| !self.headers.contains(name))
    }

    fn too_slow(&self, limit: Duration) -> Failure {
        Failure::new(
            FailureKind::Connect,
            format!(
                "no connection to {} within {:.0} s: is the host right, and does a firewall stand between?",
                self.target.host_and_port(),
                limit.as_secs_f64().max(1.0)
            ),
        )
    }

    async fn open(
        &self,
        http: HttpVersion,
        kernel_stamps: bool,
        sources: &Sources,
    ) -> Result<(Transport, u64), Failure> {
        let addresses = self.addresses().await?;
        let mut last = None;
        for address in addresses {
            let started_ns = self.clock.now_ns();
            match sources.connect(address).await {
                Ok(stream) => {
                    let transport = self.secure(stream, http, kernel_stamps).await?;
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

    async fn secure(
        &self,
        stream: TcpStream,
        http: HttpVersion,
        kernel_stamps: bool,
    ) -> Result<Transport, Failure> {
        stream.set_nodelay(true).map_err(|error| {
            Failure::new(
                FailureKind::Connect,
                format!("cannot switch off the delay of small segments: {error}"),
            )
        })?;
        let socket = StampedSocket::new(stream, self.clock, kernel_stamps);
        let Some(tls) = &self.tls else {
            return Ok(Transport::Plain(socket));
        };
        let config = tls::with_protocols(&tls.config, http);
        match TlsConnector::from(config).connect(tls.name.clone(), socket).await {
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
                "this machine has no free local port for another connection to {place}: give further addresses of \
                 it with --source-address, widen net.ipv4.ip_local_port_range, or lower the concurrency"
            ),
            _ if is_out_of_files(error) => format!(
                "this process may open no more files ({error}): raise the limit (ulimit -n), or lower the concurrency"
            ),
            _ => format!("cannot connect to {place}: {error}"),
        }
    }
}

/// Adds a header; names and values were checked when they were given.
fn insert(headers: &mut http::HeaderMap, name: &str, value: &str, secret: bool) {
    let name = http::HeaderName::from_bytes(name.as_bytes());
    let value = http::HeaderValue::from_bytes(value.as_bytes());
    if let (Ok(name), Ok(mut value)) = (name, value) {
        value.set_sensitive(secret);
        headers.insert(name, value);
    }
}

fn is_out_of_files(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(nix::errno::Errno::from_raw);
    matches!(code, Some(nix::errno::Errno::EMFILE | nix::errno::Errno::ENFILE))
}
