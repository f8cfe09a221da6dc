//! The agent's side: a small HTTP server that reads and never writes.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, TRANSFER_ENCODING,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokometer_record::Hardware;
use tokometer_wire::clock::Clock;

use super::limits::Bucket;
use super::watches::{Had, Watches};
use super::{ClockReading, Health, Report, SCHEMA, Token};
use crate::machine::{Inventory, Machine, Options};
use crate::sampler::Cursor;
use crate::server::{self, ServerProcess};

/// Connections at once.
const CONNECTIONS: usize = 16;
/// Time that a client has for the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(5);
/// Bytes of the head of a request, at most.
const HEAD_BYTES: usize = 16 * 1024;
/// Characters of a path with its query, at most.
const PATH_CHARACTERS: usize = 512;
/// Requests of all clients: at once, and each second.
const REQUESTS: (f64, f64) = (100.0, 50.0);
/// Requests with a wrong token: at once, and each second.
const WRONG_TOKENS: (f64, f64) = (10.0, 2.0);
/// Between two looks for readings that nobody asks for any more.
const TIDY: Duration = Duration::from_secs(30);

/// What an agent is to do.
#[derive(Debug)]
pub struct AgentOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Who has it may ask.
    pub token: Token,
    /// Where the machine is read.
    pub machine: Options,
}

/// An agent that listens.
pub struct Agent {
    listener: TcpListener,
    shared: Arc<Shared>,
}

struct Shared {
    token: Token,
    machine: Options,
    clock: Clock,
    instance: String,
    watches: Watches,
    requests: Bucket,
    wrong: Bucket,
}

impl Agent {
    /// Listens from here on.
    pub async fn bind(options: AgentOptions) -> io::Result<Agent> {
        let AgentOptions { listen, token, machine } = options;
        let clock = Clock::start();
        let started = clock.wall_start().duration_since(UNIX_EPOCH).unwrap_or_default();
        let instance = format!("{:x}-{:x}", started.as_nanos(), std::process::id());
        let shared = Shared {
            token,
            machine,
            clock,
            instance,
            watches: Watches::new(u64::try_from(started.as_micros()).unwrap_or_default()),
            requests: Bucket::new(REQUESTS.0, REQUESTS.1),
            wrong: Bucket::new(WRONG_TOKENS.0, WRONG_TOKENS.1),
        };
        Ok(Agent { listener: TcpListener::bind(listen).await?, shared: Arc::new(shared) })
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `stop` is done.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let free = Arc::new(Semaphore::new(CONNECTIONS));
        let mut tidy = tokio::time::interval(TIDY);
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                () = &mut stop => return,
                _ = tidy.tick() => {
                    let shared = Arc::clone(&self.shared);
                    drop(tokio::task::spawn_blocking(move || shared.watches.tidy(shared.clock.now_ns())));
                    continue;
                }
                accepted = self.listener.accept() => accepted,
            };
            // Out of descriptors, or a client that is gone: the next one may have better luck.
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            // One too many is closed at once: nothing waits in a queue that anybody could fill.
            let Ok(place) = Arc::clone(&free).try_acquire_owned() else { continue };
            let shared = Arc::clone(&self.shared);
            tokio::spawn(async move {
                let service = service_fn(|request| {
                    let shared = Arc::clone(&shared);
                    async move { Ok::<_, Infallible>(shared.answer(request).await) }
                });
                let connection = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEAD_TIME)
                    .max_buf_size(HEAD_BYTES)
                    .serve_connection(TokioIo::new(stream), service);
                // Whatever a client does to its connection is its own loss.
                drop(connection.await);
                drop(place);
            });
        }
    }
}

impl Shared {
    async fn answer(self: Arc<Shared>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let now_ns = self.clock.now_ns();
        if !self.requests.take(now_ns) {
            return told(StatusCode::TOO_MANY_REQUESTS, "too many requests; ask again in a second");
        }
        if !self.knows(&request) {
            return if self.wrong.take(now_ns) {
                told(StatusCode::UNAUTHORIZED, "the agent's token is needed: Authorization: Bearer …")
            } else {
                told(
                    StatusCode::TOO_MANY_REQUESTS,
                    "too many requests with a wrong token; ask again in a second",
                )
            };
        }
        if request.method() != Method::GET {
            return told(StatusCode::METHOD_NOT_ALLOWED, "the agent is only read: GET");
        }
        let headers = request.headers();
        let empty = headers.get(CONTENT_LENGTH).is_none_or(|length| length == "0");
        if !empty || headers.contains_key(TRANSFER_ENCODING) {
            return told(StatusCode::PAYLOAD_TOO_LARGE, "no body is taken");
        }
        let uri = request.uri();
        if uri.path_and_query().is_some_and(|path| path.as_str().len() > PATH_CHARACTERS) {
            return told(StatusCode::URI_TOO_LONG, "the path is too long");
        }
        let Some(query) = Query::parse(uri.query().unwrap_or_default()) else {
            return told(StatusCode::BAD_REQUEST, "the query can't be understood");
        };
        match uri.path() {
            "/v1/health" => json_of(&Health {
                schema: SCHEMA.to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                instance: self.instance.clone(),
                runs: self.watches.count(),
            }),
            // Stamped as late as can be: it is taken for the middle of the round trip.
            "/v1/clock" => {
                json_of(&ClockReading { instance: self.instance.clone(), now_ns: self.clock.now_ns() })
            }
            "/v1/inventory" => blocking(move || json_of(&self.report(&query))).await,
            "/v1/telemetry" => blocking(move || self.telemetry(&query)).await,
            _ => told(StatusCode::NOT_FOUND, "no such path"),
        }
    }

    fn knows(&self, request: &Request<Incoming>) -> bool {
        let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        // What is no token is compared all the same.
        self.token.is(given.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default())
    }

    /// The machine and the process that serves on it.
    fn report(&self, query: &Query) -> Report {
        let (process, server_unknown) = match query.port.map(|port| self.process(port)) {
            Some(Ok(process)) => (Some(process), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, Some("no port was asked for".to_owned())),
        };
        let machine = Machine::look(self.machine.clone());
        let (mut hardware, unknown) = machine.hardware(&asked(query, process.as_ref()));
        hardware.origin = Some("agent".to_owned());
        Report {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance: self.instance.clone(),
            server: process,
            server_unknown,
            hardware,
            unknown,
        }
    }

    fn process(&self, port: u16) -> Result<ServerProcess, String> {
        server::find(&self.machine.root, "127.0.0.1", port).map_err(|error| error.to_string())
    }

    fn telemetry(&self, query: &Query) -> Response<Full<Bytes>> {
        let Some(run) = query.run.as_deref() else {
            return told(StatusCode::BAD_REQUEST, "the run is missing: run=…");
        };
        let rows = Cursor { devices: query.devices, host: query.host };
        let had = Had { watch: query.watch, rows };
        let begin = || {
            let machine = Machine::look(self.machine.clone());
            let process = query.port.and_then(|port| self.process(port).ok());
            let hardware: Hardware = machine.hardware(&asked(query, process.as_ref())).0;
            machine.watch(&hardware, run, self.clock)
        };
        match self.watches.piece(run, &self.instance, had, query.now, &self.clock, begin) {
            Ok(Some(piece)) => json_of(&piece),
            Ok(None) => told(StatusCode::SERVICE_UNAVAILABLE, "the machine is read for other runs already"),
            Err(error) => {
                told(StatusCode::INTERNAL_SERVER_ERROR, &format!("reading could not begin: {error}"))
            }
        }
    }
}

fn asked<'a>(query: &'a Query, process: Option<&'a ServerProcess>) -> Inventory<'a> {
    Inventory {
        processes: process.map(|process| process.processes.as_slice()),
        salt: query.salt.as_deref().or(query.run.as_deref()).unwrap_or_default(),
        include_hostname: query.hostname,
        container: process.and_then(|process| process.container.as_ref()),
    }
}

/// What a path asks for.
#[derive(Debug, Default)]
struct Query {
    port: Option<u16>,
    salt: Option<String>,
    run: Option<String>,
    hostname: bool,
    watch: Option<u64>,
    devices: usize,
    host: usize,
    now: bool,
}

impl Query {
    /// Plain names and numbers; nothing is ever escaped.
    fn parse(text: &str) -> Option<Query> {
        let mut query = Query::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=')?;
            let plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
            if value.is_empty() || value.len() > 64 || !value.chars().all(plain) {
                return None;
            }
            match name {
                "port" => query.port = Some(value.parse().ok()?),
                "salt" => query.salt = Some(value.to_owned()),
                "run" => query.run = Some(value.to_owned()),
                "hostname" => query.hostname = value == "1",
                "watch" => query.watch = Some(value.parse().ok()?),
                "devices" => query.devices = value.parse().ok()?,
                "host" => query.host = value.parse().ok()?,
                "now" => query.now = value == "1",
                _ => return None,
            }
        }
        Some(query)
    }
}

/// Work that reads files and drivers, beside the event loop.
async fn blocking(work: impl FnOnce() -> Response<Full<Bytes>> + Send + 'static) -> Response<Full<Bytes>> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| told(StatusCode::INTERNAL_SERVER_ERROR, "the machine could not be read"))
}

fn json_of(value: &impl Serialize) -> Response<Full<Bytes>> {
    match serde_json::to_vec(value) {
        Ok(body) => answer(StatusCode::OK, body),
        Err(error) => told(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn told(status: StatusCode, why: &str) -> Response<Full<Bytes>> {
    let mut response = answer(status, json!({"error": why}).to_string().into_bytes());
    if status == StatusCode::TOO_MANY_REQUESTS {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

fn answer(status: StatusCode, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
