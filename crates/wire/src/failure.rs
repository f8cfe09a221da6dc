//! A request that failed, kept as data.

use std::collections::BTreeMap;
use std::fmt;

/// Kinds of failure of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// No connection: refused, unreachable, name not found.
    Connect,
    /// TLS set-up failed.
    Tls,
    /// The server answered with a status other than 2xx.
    HttpStatus,
    /// Overload answers: 429, 503, 529.
    Rejected,
    /// An error event inside a 200.
    ErrorEvent,
    /// The stream ended without a finish reason.
    Truncated,
    /// A 200 that carried no token.
    NoToken,
    /// The connection was reset.
    Reset,
    /// Nothing came for the time limit.
    Timeout,
    /// Bytes that could not be read as a response, or an event over 16 MB.
    Malformed,
    /// A 2xx that is no event stream.
    NotAStream,
}

/// A failed request, kept whole up to 4 KB, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Kind.
    pub kind: FailureKind,
    /// One sentence.
    pub message: String,
    /// HTTP status, where there was one.
    pub http_status: Option<u16>,
    /// Response headers, secrets removed.
    pub headers: BTreeMap<String, String>,
    /// First 4 KB of the body or of the event.
    pub body: Option<String>,
}

impl Failure {
    /// A failure that has no response to show.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind, message: message.into(), http_status: None, headers: BTreeMap::new(), body: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
