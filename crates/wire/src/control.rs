//! A small client for everything that is not measured.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::Mutex;

use crate::connector::{self, Connector, HttpVersion};
use crate::failure::{Failure, FailureKind};
use crate::redact::{excerpt, is_secret_header};

/// The longest body that is taken, where nothing else is said.
const MAX_BODY_BYTES: usize = 64 << 20;
/// The longest body of which a part may be shown, or kept as evidence.
const SHOWN_BYTES: usize = 1 << 20;
/// Bytes of a body that a failure keeps.
const KEPT_BYTES: usize = 4096;

/// A small client for probes, gauges and drains: one connection at a time, reopened when it was closed.
pub struct Control {
    connector: Connector,
    /// The longest body that is taken.
    most: usize,
    open: Mutex<Option<Open>>,
}

struct Open {
    sender: Sender,
    /// None once it has ended.
    connection: Option<Running>,
}

/// A connection, which must be polled for its requests to move.
type Running = Pin<Box<dyn Future<Output = ()> + Send>>;

enum Sender {
    One(http1::SendRequest<Full<Bytes>>),
    /// Only where HTTP/2 is asked for by name.
    Two(http2::SendRequest<Full<Bytes>>),
}

impl Sender {
    async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        match self {
            Sender::One(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Sender::Two(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }
}

impl Control {
    /// Opens nothing yet.
    pub fn new(connector: Connector) -> Control {
        Control::limited(connector, MAX_BODY_BYTES)
    }

    /// The same, and takes bodies of at most `most` bytes.
    pub fn limited(connector: Connector, most: usize) -> Control {
        Control { connector, most, open: Mutex::new(None) }
    }

    /// Fetches `path` below the target's base path.
    pub async fn get(&self, path: &str, timeout: Duration) -> Result<Answer, Failure> {
        self.request(Method::GET, path, Bytes::new(), timeout).await
    }

    /// Posts JSON to `path` below the target's base path.
    pub async fn post_json(
        &self,
        path: &str,
        body: &serde_json::Value,
        timeout: Duration,
    ) -> Result<Answer, Failure> {
        self.request(Method::POST, path, Bytes::from(body.to_string()), timeout).await
    }

    /// Sends `body` as it is with headers of its own, which may say what it is and how it is packed. `path` is below
    /// the target's base path.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, String)],
        body: Bytes,
        timeout: Duration,
    ) -> Result<Answer, Failure> {
        self.request_with(method, path, headers, body, timeout).await
    }

    /// The connector that it uses.
    pub fn connector(&self) -> &Connector {
        &self.connector
    }

    async fn request(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        timeout: Duration,
    ) -> Result<Answer, Failure> {
        self.request_with(method, path, &[], body, timeout).await
    }

    async fn request_with(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, String)],
        body: Bytes,
        timeout: Duration,
    ) -> Result<Answer, Failure> {
        let work = self.exchange(method, path, headers, body);
        let result = match tokio::time::timeout(timeout, work).await {
            Ok(result) => result,
            Err(_) => Err(Failure::new(
                FailureKind::Timeout,
                format!("{path} was not answered within {} s", timeout.as_secs_f64()),
            )),
        };
        let redactor = &self.connector.shared().redactor;
        match result {
            // A server may quote the request's headers, and what it says is shown where it is not understood.
            Ok(answer) if answer.body.len() <= SHOWN_BYTES => {
                let body = redactor.text(answer.text().into_owned()).into();
                Ok(Answer { body, ..answer })
            }
            Ok(answer) => Ok(answer),
            Err(failure) => Err(redactor.failure(failure)),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        headers: &[(HeaderName, String)],
        body: Bytes,
    ) -> Result<Answer, Failure> {
        // Taken out while it is in use: if this future is dropped half-way, so is the connection.
        let mut slot = self.open.lock().await;
        let kept = slot.take().filter(|open| open.connection.is_some());
        if let Some(mut open) = kept {
            match self.send_on(&mut open, &method, path, headers, body.clone()).await {
                Ok(answer) => {
                    *slot = Some(open);
                    return Ok(answer);
                }
                // An idle connection that the server closed meanwhile. A POST may have been read, so only one
                // that never left is sent again.
                Err(Trouble::Hyper(error)) if may_send_again(&method, &error) => {}
                Err(trouble) => return Err(trouble.into_failure(path)),
            }
        }
        let mut open = self.connect().await?;
        let answer = self
            .send_on(&mut open, &method, path, headers, body)
            .await
            .map_err(|trouble| trouble.into_failure(path))?;
        *slot = Some(open);
        Ok(answer)
    }

    async fn connect(&self) -> Result<Open, Failure> {
        let unusable = |error: hyper::Error| {
            Failure::new(FailureKind::Connect, format!("the connection cannot be used: {error}"))
        };
        let (transport, _) = self.connector.open_for_control().await?;
        let io = TokioIo::new(transport);
        let (sender, connection): (_, Running) = if self.connector.http() == HttpVersion::Two {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.map_err(unusable)?;
            (Sender::Two(sender), Box::pin(async { drop(connection.await) }))
        } else {
            let (sender, connection) = http1::handshake(io).await.map_err(unusable)?;
            (Sender::One(sender), Box::pin(async { drop(connection.await) }))
        };
        Ok(Open { sender, connection: Some(connection) })
    }

    async fn send_on(
        &self,
        open: &mut Open,
        method: &Method,
        path: &str,
        headers: &[(HeaderName, String)],
        body: Bytes,
    ) -> Result<Answer, Trouble> {
        let mut request = self.build(method, path, body).map_err(Trouble::Failure)?;
        for (name, value) in headers {
            let value = HeaderValue::from_str(value).map_err(|_| {
                let message = format!("the header {name} holds a line break or a control character");
                Trouble::Failure(Failure::new(FailureKind::Malformed, message))
            })?;
            request.headers_mut().insert(name, value);
        }
        let Open { sender, connection } = open;
        let (clock, most) = (self.connector.clock(), self.most);
        let work = async {
            let response = sender.send(request).await?;
            let (parts, body) = response.into_parts();
            let collected = Limited::new(body, most).collect().await;
            Ok::<_, hyper::Error>((parts, collected.map(http_body_util::Collected::to_bytes)))
        };
        let (parts, body) = drive(connection, work).await.map_err(Trouble::Hyper)?;
        let body = body.map_err(|error| {
            let message = match error.downcast::<hyper::Error>() {
                Ok(error) => return Trouble::Hyper(*error),
                Err(_) => format!("the answer of {path} is longer than {} MB", most >> 20),
            };
            Trouble::Failure(Failure::new(FailureKind::Malformed, message))
        })?;
        let headers = self.shown_headers(&parts.headers);
        Ok(Answer { status: parts.status.as_u16(), headers, body, arrival_ns: clock.now_ns() })
    }

    fn build(&self, method: &Method, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, Failure> {
        let target = self.connector.target();
        let unusable =
            |what: &str| Failure::new(FailureKind::Malformed, format!("cannot ask for {path:?}: {what}"));
        let is_two = self.connector.http() == HttpVersion::Two;
        let origin =
            if is_two { format!("{}://{}", target.scheme.name(), target.authority()) } else { String::new() };
        let uri: http::Uri =
            format!("{origin}{}{path}", target.base_path).parse().map_err(|_| unusable("it is no path"))?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri;
        let headers = request.headers_mut();
        if !is_two {
            let host = HeaderValue::from_str(&target.authority())
                .map_err(|_| unusable("the host is no header value"))?;
            headers.insert(HOST, host);
        }
        headers.insert(USER_AGENT, HeaderValue::from_static(connector::USER_AGENT));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/plain;q=0.9, */*;q=0.5"));
        if method == Method::POST {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, value) in self.connector.headers().iter() {
            // Both were checked when they were given.
            if let (Ok(name), Ok(mut value)) =
                (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_bytes(value.expose().as_bytes()))
            {
                value.set_sensitive(true);
                headers.insert(name, value);
            }
        }
        Ok(request)
    }

    fn shown_headers(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        let redactor = &self.connector.shared().redactor;
        let shown = headers.iter().filter(|(name, _)| !is_secret_header(name.as_str()));
        shown
            .map(|(name, value)| {
                let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                (name.as_str().to_owned(), redactor.text(value))
            })
            .collect()
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("connector", &self.connector).finish_non_exhaustive()
    }
}

enum Trouble {
    Hyper(hyper::Error),
    Failure(Failure),
}

impl Trouble {
    fn into_failure(self, path: &str) -> Failure {
        match self {
            Trouble::Failure(failure) => failure,
            Trouble::Hyper(error) if error.is_parse() => Failure::new(
                FailureKind::Malformed,
                format!(
                    "what the server sends for {path} is not the HTTP that was expected: is the port right, and is it http or https?"
                ),
            ),
            Trouble::Hyper(error) if error.is_incomplete_message() => Failure::new(
                FailureKind::Reset,
                format!("the server closed the connection before it had answered {path}"),
            ),
            Trouble::Hyper(error) => Failure::new(
                FailureKind::Reset,
                format!("the connection broke while {path} was asked for: {error}"),
            ),
        }
    }
}

/// True if the request surely never reached the server, or does no harm when it arrives twice.
fn may_send_again(method: &Method, error: &hyper::Error) -> bool {
    error.is_canceled() || error.is_closed() || (method == Method::GET && error.is_incomplete_message())
}

/// Runs `work` and the connection that it needs side by side. A connection that ends is dropped, which tells
/// `work` of it.
async fn drive<T>(connection: &mut Option<Running>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    poll_fn(|cx| {
        if let Some(running) = connection
            && running.as_mut().poll(cx).is_ready()
        {
            *connection = None;
        }
        work.as_mut().poll(cx)
    })
    .await
}

/// An answer of any status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Headers with lower-case names, secrets removed.
    pub headers: Vec<(String, String)>,
    /// Body, at most 64 MB.
    pub body: Bytes,
    /// When its last byte was read.
    pub arrival_ns: u64,
}

impl Answer {
    /// True for a 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// A header's value by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as text; bytes that are no UTF-8 are replaced.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }

    /// The body as JSON.
    pub fn json(&self) -> Result<serde_json::Value, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| Failure {
            http_status: Some(self.status),
            headers: self.headers.iter().cloned().collect(),
            body: Some(excerpt(&self.body, KEPT_BYTES)),
            ..Failure::new(FailureKind::Malformed, format!("the answer is no JSON: {error}"))
        })
    }
}
