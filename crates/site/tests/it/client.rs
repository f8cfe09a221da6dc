//! A small client: one connection for each request.

use std::net::SocketAddr;
use std::sync::OnceLock;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::Value;

/// What looks at every answer that comes whole: method, path with query, answer.
pub(crate) static WATCH: OnceLock<fn(&Method, &str, &Answer)> = OnceLock::new();

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {self:?}")).to_str().unwrap()
    }

    /// Checks that it is this refusal, and that it says what to do.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/problem+json");
        let body = self.json();
        assert_eq!(body["code"], code, "{body}");
        assert!(body["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{body}");
        body
    }

    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Answer {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        self
    }
}

/// A request to be sent.
pub(crate) struct Call {
    request: Request<Full<Bytes>>,
}

impl Call {
    pub(crate) fn new(method: Method, path: &str) -> Call {
        let request = Request::builder().method(method).uri(path).header("host", "site.test");
        Call { request: request.body(Full::default()).unwrap() }
    }

    pub(crate) fn get(path: &str) -> Call {
        Call::new(Method::GET, path)
    }

    pub(crate) fn post(path: &str) -> Call {
        Call::new(Method::POST, path)
    }

    pub(crate) fn token(self, token: &str) -> Call {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Call {
        self.request.headers_mut().insert(name, value.parse().unwrap());
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Call {
        *self.request.body_mut() = Full::new(body.into());
        self
    }

    pub(crate) fn json(self, body: &Value) -> Call {
        self.body(body.to_string())
    }

    pub(crate) async fn send(self, address: SocketAddr) -> Answer {
        self.try_send(address).await.unwrap()
    }

    /// Fails where the server is not there, or goes away before it has answered.
    pub(crate) async fn try_send(self, address: SocketAddr) -> Result<Answer, String> {
        let stream = tokio::net::TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| error.to_string())?;
        let running = tokio::spawn(connection);
        let (method, path) = (self.request.method().clone(), self.request.uri().to_string());
        let response = sender.send_request(self.request).await.map_err(|error| error.to_string())?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
        running.abort();
        let answer = Answer { status: parts.status, headers: parts.headers, body };
        if let Some(watch) = WATCH.get() {
            watch(&method, &path, &answer);
        }
        Ok(answer)
    }
}
