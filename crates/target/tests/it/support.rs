//! A server that gives prepared answers, and keeps what it was asked.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use tokio::net::TcpListener;
use tokometer_target::{ProbeOptions, Target, TargetError, probe};
use tokometer_wire::clock::Clock;
use tokometer_wire::{Connector, Control, Headers, Secret, TargetUrl, Timeouts, TlsOptions};

/// An answer: status, headers, body.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(value: &Value) -> Reply {
        Reply::json_text(&value.to_string())
    }

    pub(crate) fn json_text(body: &str) -> Reply {
        Reply {
            status: 200,
            headers: vec![header("content-type", "application/json")],
            body: body.to_owned(),
        }
    }

    pub(crate) fn text(body: &str) -> Reply {
        Reply { status: 200, headers: vec![header("content-type", "text/plain")], body: body.to_owned() }
    }

    pub(crate) fn status(status: u16, body: &str) -> Reply {
        Reply { status, ..Reply::json_text(body) }
    }

    /// A stream of events, as bytes.
    pub(crate) fn stream(body: &str) -> Reply {
        Reply { headers: vec![header("content-type", "text/event-stream")], ..Reply::text(body) }
    }

    /// An answer out of a file: status line, headers, an empty line, body.
    pub(crate) fn parse(text: &str) -> Reply {
        let (head, body) = text.split_once("\n\n").unwrap();
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let headers =
            lines.map(|line| line.split_once(": ").unwrap()).map(|(name, value)| header(name, value));
        Reply { status, headers: headers.collect(), body: body.to_owned() }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Reply {
        self.headers.push(header(name, value));
        self
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = self.body.into_response();
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap();
        for (name, value) in self.headers {
            let name: HeaderName = name.parse().unwrap();
            response.headers_mut().insert(name, value.parse().unwrap());
        }
        response
    }
}

/// What a server is asked: `GET /path`, and the body.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) request: String,
    /// With the query.
    pub(crate) whole: String,
    pub(crate) body: Value,
    pub(crate) key: Option<String>,
}

/// A running server.
pub(crate) struct Server {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Server {
    /// Answers what `replies` names (`GET /version`), and 404 to all else.
    pub(crate) async fn of(replies: &[(&str, Reply)]) -> Server {
        let replies: BTreeMap<String, Reply> =
            replies.iter().map(|(request, reply)| ((*request).to_owned(), reply.clone())).collect();
        Server::with(move |asked| replies.get(&asked.whole).or_else(|| replies.get(&asked.request)).cloned())
            .await
    }

    /// Answers as the engine of the folder `answers/NAME` does.
    pub(crate) async fn recorded(name: &str) -> Server {
        Server::of(
            &recorded(name).iter().map(|(request, reply)| (&**request, reply.clone())).collect::<Vec<_>>(),
        )
        .await
    }

    /// Answers by a function; 404 where it has no answer.
    pub(crate) async fn with(answer: impl Fn(&Asked) -> Option<Reply> + Send + Sync + 'static) -> Server {
        let log = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&log);
        let answer = Arc::new(answer);
        let handle = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let key = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
            let body = serde_json::from_slice(&body).unwrap_or_default();
            let request = format!("{method} {}", uri.path());
            let whole = format!("{method} {uri}");
            let asked = Asked { request, whole, body, key };
            let reply = answer(&asked);
            kept.lock().unwrap().push(asked);
            async move { reply.unwrap_or_else(|| Reply::status(404, r#"{"detail":"Not Found"}"#)) }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handle)).await });
        Server { port, asked: log }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.request).collect()
    }

    pub(crate) fn count(&self, request: &str) -> usize {
        self.requests().iter().filter(|asked| *asked == request).count()
    }

    pub(crate) fn connector(&self) -> Connector {
        connector(&self.url(), None)
    }

    pub(crate) async fn probe(&self) -> Result<Target, TargetError> {
        probe(&Control::new(self.connector()), &ProbeOptions::default()).await
    }

    pub(crate) async fn probe_model(&self, model: &str) -> Result<Target, TargetError> {
        let options = ProbeOptions { model: Some(model.to_owned()), ..ProbeOptions::default() };
        probe(&Control::new(self.connector()), &options).await
    }
}

fn header(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// The answers of an engine by request, out of its folder.
pub(crate) fn recorded(name: &str) -> Vec<(String, Reply)> {
    let folder = format!("{}/tests/it/answers/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut replies = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let request = name.replacen("__", " __", 1).replace("__", "/").replace('@', "?");
        replies.push((request, Reply::parse(&fs::read_to_string(&path).unwrap())));
    }
    replies
}

pub(crate) fn connector(url: &str, key: Option<&str>) -> Connector {
    let mut headers = Headers::new();
    if let Some(key) = key {
        headers.bearer(&Secret::new(key)).unwrap();
    }
    let url = TargetUrl::parse(url).unwrap();
    Connector::new(url, &TlsOptions::default(), headers, Clock::start(), Timeouts::default()).unwrap()
}

/// The source of a fact.
pub(crate) fn source<'a>(target: &'a Target, field: &str) -> Option<&'a str> {
    let evidence = target.evidence.iter().rfind(|evidence| evidence.field == field)?;
    Some(&evidence.source)
}
