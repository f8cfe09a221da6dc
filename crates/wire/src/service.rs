//! A client for services that a server of ours needs, such as an object store.
//!
//! Many requests go at once over connections that are kept, and answers stream. Nothing is measured and nothing is
//! redacted here: what a failure says holds neither headers nor the query of an address, which may be signed.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderValue, USER_AGENT};
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use crate::connector::{self, HttpVersion, TlsOptions};
use crate::error::WireError;
use crate::failure::{Failure, FailureKind};
use crate::tls;

/// For TCP and TLS each.
const CONNECT: Duration = Duration::from_secs(10);
/// Shorter than what servers keep idle connections for, as a rule.
const IDLE: Duration = Duration::from_secs(15);

/// A client for services: cheap to clone, with connections that are kept and shared. HTTP/1.1.
#[derive(Clone)]
pub struct ServiceClient {
    inner: Client<Connect, Full<Bytes>>,
}

impl ServiceClient {
    /// A client for addresses that begin with `http://`; opens nothing yet.
    pub fn plain() -> ServiceClient {
        ServiceClient::with(None)
    }

    /// A client that speaks TLS too; opens nothing yet.
    ///
    /// # Errors
    /// The certificate file can't be used, or TLS can't be set up on this machine: it may know no authority.
    pub fn new(options: &TlsOptions) -> Result<ServiceClient, WireError> {
        let config = tls::with_protocols(&tls::client_config(options)?, HttpVersion::One);
        Ok(ServiceClient::with(Some(TlsConnector::from(config))))
    }

    fn with(tls: Option<TlsConnector>) -> ServiceClient {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        let connect = Connect { tcp, tls };
        let inner = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connect);
        ServiceClient { inner }
    }

    /// Sends a request to the absolute address that it has, and gives the answer as soon as its head is there. A
    /// request that met a kept connection which the server had closed goes on a new one; nothing else is repeated,
    /// and no redirect is followed.
    ///
    /// # Errors
    /// No connection, or it broke. Time limits are the caller's.
    pub async fn send(&self, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Failure> {
        request.headers_mut().entry(USER_AGENT).or_insert(HeaderValue::from_static(connector::USER_AGENT));
        self.inner.request(request).await.map_err(|error| failure(&error))
    }
}

impl fmt::Debug for ServiceClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceClient").finish_non_exhaustive()
    }
}

/// What went wrong, in words that hold no address.
fn failure(error: &hyper_util::client::legacy::Error) -> Failure {
    let mut last: &dyn Error = error;
    while let Some(source) = last.source() {
        if let Some(failure) = source.downcast_ref::<Failure>() {
            return failure.clone();
        }
        last = source;
    }
    if error.is_connect() {
        Failure::new(FailureKind::Connect, format!("no connection: {last}"))
    } else {
        Failure::new(FailureKind::Reset, format!("the connection broke: {last}"))
    }
}

/// Opens connections, plain or encrypted by the address.
#[derive(Clone)]
struct Connect {
    tcp: HttpConnector,
    /// None: plain connections alone.
    tls: Option<TlsConnector>,
}

impl Service<Uri> for Connect {
    type Response = Stream;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, Failure>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.tcp.poll_ready(cx).map_err(|error| Failure::new(FailureKind::Connect, error.to_string()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let host = address.host().unwrap_or_default().to_owned();
        let place = address.authority().map_or_else(|| host.clone(), ToString::to_string);
        let is_tls = address.scheme_str() == Some("https");
        let connecting = self.tcp.call(address);
        let connector = self.tls.clone();
        Box::pin(async move {
            let tcp = connecting.await.map_err(|error| {
                let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
                Failure::new(FailureKind::Connect, format!("no connection to {place}: {why}"))
            })?;
            if !is_tls {
                return Ok(Stream::Plain(tcp));
            }
            let connector = connector.ok_or_else(|| {
                Failure::new(
                    FailureKind::Tls,
                    format!("{place} wants TLS, for which this client is not made"),
                )
            })?;
            let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
            let name = ServerName::try_from(bare).map_err(|_| {
                Failure::new(FailureKind::Tls, format!("no certificate can be made out to {place}"))
            })?;
            let handshake = tokio::time::timeout(CONNECT, connector.connect(name, tcp.into_inner()));
            let stream = handshake.await.map_err(|_| {
                Failure::new(FailureKind::Tls, format!("{place} did not finish the TLS handshake"))
            })?;
            let stream = stream.map_err(|error| {
                let message = tls::handshake_message(&place, &error);
                // What to do, behind the colon, names options that only measuring has.
                let problem = message.split_once(": ").map_or(message.as_str(), |(problem, _)| problem);
                Failure::new(FailureKind::Tls, problem)
            })?;
            Ok(Stream::Tls(Box::new(TokioIo::new(stream))))
        })
    }
}

/// An open connection.
enum Stream {
    Plain(TokioIo<TcpStream>),
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(io) => Pin::new(io).poll_read(cx, room),
            Stream::Tls(io) => Pin::new(io).poll_read(cx, room),
        }
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(io) => Pin::new(io).poll_write(cx, bytes),
            Stream::Tls(io) => Pin::new(io).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(io) => Pin::new(io).poll_flush(cx),
            Stream::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Stream::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}
