//! HTTP/2 against hyper's server, over loopback.

use std::convert::Infallible;
use std::future::{Future, pending, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokometer_wire::clock::Clock;
use tokometer_wire::{
    Channel, Connector, Control, Event, FailureKind, Headers, HttpVersion, Outcome, Secret, TargetUrl,
    TlsOptions, TokenSource,
};

use crate::support::{Act, CHAT, connector, connector_with, request, scripted, stream, timeouts};
use crate::tls::certificates;

const LONG: Duration = Duration::from_secs(60);

/// A body that is what comes out of a channel.
struct Feed(mpsc::Receiver<Bytes>);

impl Body for Feed {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|data| data.map(|data| Ok(Frame::data(data))))
    }
}

/// What a server saw.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<Request<Bytes>>>,
    /// Streams at once, now and at most.
    open: AtomicUsize,
    most: AtomicUsize,
}

type Answer = Response<Feed>;

/// Serves HTTP/2 on a loopback port, with at most `limit` streams a connection.
async fn serve<F>(
    limit: Option<u32>,
    tls: Option<TlsAcceptor>,
    answer: impl Fn(mpsc::Sender<Bytes>) -> F + Clone + Send + Sync + 'static,
) -> (u16, Arc<Seen>)
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Seen::default());
    let told = Arc::clone(&seen);
    tokio::spawn(async move {
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            socket.set_nodelay(true).unwrap();
            told.connections.fetch_add(1, Ordering::Relaxed);
            let (seen, answer, tls) = (Arc::clone(&told), answer.clone(), tls.clone());
            tokio::spawn(async move {
                let service = service_fn(move |request| respond(request, Arc::clone(&seen), answer.clone()));
                let mut server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                server.max_concurrent_streams(limit);
                // The client may leave as it likes.
                let _ = match tls {
                    None => server.serve_connection(TokioIo::new(socket), service).await,
                    Some(tls) => {
                        let Ok(socket) = tls.accept(socket).await else { return };
                        server.serve_connection(TokioIo::new(socket), service).await
                    }
                };
            });
        }
    });
    (port, seen)
}

async fn respond<F: Future<Output = ()> + Send + 'static>(
    request: Request<Incoming>,
    seen: Arc<Seen>,
    answer: impl Fn(mpsc::Sender<Bytes>) -> F,
) -> Result<Answer, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    seen.requests.lock().unwrap().push(Request::from_parts(parts, body));
    let open = seen.open.fetch_add(1, Ordering::Relaxed) + 1;
    seen.most.fetch_max(open, Ordering::Relaxed);
    let (sender, receiver) = mpsc::channel(16);
    let answered = answer(sender.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = answered => {}
            () = sender.closed() => {}
        }
        seen.open.fetch_sub(1, Ordering::Relaxed);
    });
    let mut response = Response::new(Feed(receiver));
    response.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
    response.headers_mut().insert("x-engine", "fast".parse().unwrap());
    Ok(response)
}

fn event(text: &str, tokens: u32) -> Bytes {
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}],\
         \"usage\":{{\"prompt_tokens\":3,\"completion_tokens\":{tokens}}}}}\n\n"
    )
    .into()
}

fn finish() -> Bytes {
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n".into()
}

/// Three events.
async fn three_events(sender: mpsc::Sender<Bytes>) {
    for number in 1..=3 {
        let _ = sender.send(event("a", number)).await;
        tokio::task::yield_now().await;
    }
    let _ = sender.send(finish()).await;
}

/// Lets the server send one event more for each that it is given.
struct Granting {
    permits: Arc<Semaphore>,
    events: Vec<Event>,
}

impl tokometer_wire::EventSink for Granting {
    fn event(&mut self, event: &Event) {
        self.events.push(*event);
        self.permits.add_permits(1);
    }
}

fn h2(port: u16) -> Connector {
    connector(port).with_http(HttpVersion::Two)
}

#[tokio::test]
async fn a_stream_by_prior_knowledge() {
    #[cfg(target_os = "linux")]
    crate::support::with_kernel_stamps();
    let permits = Arc::new(Semaphore::new(0));
    let granted = Arc::clone(&permits);
    let answer = move |sender: mpsc::Sender<Bytes>| {
        let granted = Arc::clone(&granted);
        async move {
            for number in 1..=3 {
                let _ = sender.send(event("a", number)).await;
                granted.acquire().await.unwrap().forget();
            }
            let _ = sender.send(finish()).await;
        }
    };
    let (port, seen) = serve(None, None, answer).await;
    let mut headers = Headers::new();
    headers.bearer(&Secret::new("sk-secret-key")).unwrap();
    let connector = connector_with(port, headers, timeouts(LONG)).with_http(HttpVersion::Two);
    let mut connection = connector.connect().await.unwrap();
    assert_eq!(connection.http_version(), HttpVersion::Two);
    for first in [true, false] {
        assert!(connection.is_reusable());
        let mut sink = Granting { permits: Arc::clone(&permits), events: Vec::new() };
        let exchange = connection.stream(&request(&connector), CHAT, &mut sink, pending()).await;
        let events = sink.events;
        assert_eq!((exchange.outcome, exchange.token_source), (Outcome::Ended, TokenSource::Usage));
        let told: Vec<_> = events.iter().map(|event| (event.payload, event.tokens)).collect();
        assert_eq!(told, [1, 2, 3].map(|count| (Some(Channel::Content), Some(count))));
        assert_eq!(exchange.connect_ns.is_some(), first);
        assert!(exchange.send_ns <= exchange.first_byte_ns.unwrap());
        assert!(exchange.first_byte_ns.unwrap() <= events[0].arrival_ns);
        assert!(events.windows(2).all(|pair| pair[0].arrival_ns < pair[1].arrival_ns), "{events:?}");
        assert!(events.iter().all(|event| event.arrival_ns <= event.handled_ns && event.last_of_read));
        assert!(events[2].arrival_ns <= exchange.end_ns);
        assert_eq!(connection.response_headers()["x-engine"], "fast");
    }
    #[cfg(target_os = "linux")]
    assert_eq!(connection.stamp_source(), tokometer_wire::StampSource::Kernel);
    assert_eq!(seen.connections.load(Ordering::Relaxed), 1);
    let requests = seen.requests.lock().unwrap();
    let sent = &requests[0];
    assert_eq!((sent.method().as_str(), sent.uri().path()), ("POST", "/v1/chat/completions"));
    assert_eq!(sent.headers()["authorization"], "Bearer sk-secret-key");
    assert_eq!(sent.headers()["accept-encoding"], "identity");
    assert_eq!(sent.body().as_ref(), b"{\"stream\":true}");
}

#[tokio::test]
async fn streams_share_connections_up_to_the_limit_of_the_server() {
    let (port, seen) = serve(Some(3), None, three_events).await;
    let connector = h2(port);
    let prepared = request(&connector);
    let streams: Vec<_> = (0..8)
        .map(|_| {
            let (connector, prepared) = (connector.clone(), prepared.clone());
            tokio::spawn(async move {
                let mut connection = connector.connect().await.unwrap();
                let (exchange, events) = stream(&mut connection, &prepared, CHAT).await;
                (exchange, events, connection)
            })
        })
        .collect();
    let mut connections = Vec::new();
    for stream in streams {
        let (exchange, events, connection) = stream.await.unwrap();
        assert_eq!((exchange.outcome, events.len()), (Outcome::Ended, 3), "{exchange:?}");
        connections.push(connection);
    }
    assert_eq!(seen.connections.load(Ordering::Relaxed), 3);
    // A place that was given back is taken again.
    connections.truncate(7);
    connections.push(connector.connect().await.unwrap());
    assert_eq!(seen.connections.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_cut_ends_the_stream_and_not_the_connection() {
    let (port, seen) = serve(None, None, |sender| async move {
        let _ = sender.send(event("a", 1)).await;
        let _ = sender.send(event("b", 2)).await;
        sender.closed().await;
    })
    .await;
    let connector = h2(port);
    let prepared = request(&connector);
    let mut connection = connector.connect().await.unwrap();
    for _ in 0..2 {
        let count = std::rc::Rc::new(std::cell::Cell::new(0));
        let mut sink = Counting(count.clone());
        let cancel = poll_fn(move |cx| {
            cx.waker().wake_by_ref();
            if count.get() == 2 { Poll::Ready(()) } else { Poll::Pending }
        });
        let exchange = connection.stream(&prepared, CHAT, &mut sink, cancel).await;
        assert_eq!((exchange.outcome, exchange.failure, exchange.payload_events), (Outcome::Cut, None, 2));
        assert!(connection.is_reusable());
        // The server is told, so it does not go on generating.
        while seen.open.load(Ordering::Relaxed) > 0 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(seen.connections.load(Ordering::Relaxed), 1);
}

struct Counting(std::rc::Rc<std::cell::Cell<u32>>);

impl tokometer_wire::EventSink for Counting {
    fn event(&mut self, _event: &Event) {
        self.0.set(self.0.get() + 1);
    }
}

#[tokio::test]
async fn silence_and_early_ends_are_failures() {
    let (port, _seen) = serve(None, None, |sender| async move {
        let _ = sender.send(event("a", 1)).await;
        sender.closed().await;
    })
    .await;
    let quiet = connector_with(port, Headers::new(), timeouts(Duration::from_millis(60)));
    let quiet = quiet.with_http(HttpVersion::Two);
    let mut connection = quiet.connect().await.unwrap();
    let (exchange, events) = stream(&mut connection, &request(&quiet), CHAT).await;
    assert_eq!((exchange.failure.unwrap().kind, events.len()), (FailureKind::Timeout, 1));

    let (port, _seen) = serve(None, None, |sender| async move {
        let _ = sender.send(event("a", 1)).await;
    })
    .await;
    let connector = h2(port);
    let mut connection = connector.connect().await.unwrap();
    let (exchange, events) = stream(&mut connection, &request(&connector), CHAT).await;
    assert_eq!((exchange.failure.unwrap().kind, events.len()), (FailureKind::Truncated, 1));
}

#[tokio::test]
async fn a_large_request_and_a_large_event_pass() {
    let text = "x".repeat(3 << 20);
    let (port, seen) = serve(None, None, move |sender| {
        let text = text.clone();
        async move {
            let _ = sender.send(event(&text, 1)).await;
            let _ = sender.send(finish()).await;
        }
    })
    .await;
    let connector = h2(port);
    let body = "0123456789".repeat(300_000);
    let prepared = connector.prepare("/v1/chat/completions", body.clone().into());
    let mut connection = connector.connect().await.unwrap();
    let (exchange, events) = stream(&mut connection, &prepared, CHAT).await;
    assert_eq!((exchange.outcome, events.len()), (Outcome::Ended, 1), "{exchange:?}");
    assert!(events[0].bytes > 3 << 20);
    assert_eq!(seen.requests.lock().unwrap()[0].body().len(), body.len());
}

#[tokio::test]
async fn a_server_without_http2_is_named() {
    let answer = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_vec();
    let (port, server) = scripted(vec![vec![Act::Write(answer)]]).await;
    let failure = h2(port).connect().await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Connect);
    assert!(failure.message.contains("--http 1"), "{failure}");
    server.await.unwrap();

    let (port, server) = scripted(vec![vec![Act::AwaitClose]]).await;
    let limits = tokometer_wire::Timeouts { connect: Duration::from_millis(50), idle: LONG };
    let silent = connector_with(port, Headers::new(), limits).with_http(HttpVersion::Two);
    let failure = silent.connect().await.unwrap_err();
    assert!(failure.message.contains("no settings"), "{failure}");
    server.await.unwrap();
}

/// A TLS server that speaks these protocols.
fn acceptor(protocols: &[&[u8]]) -> (TlsAcceptor, TlsOptions) {
    let (config, _file) = certificates();
    let mut config = rustls::ServerConfig::clone(&config);
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    (TlsAcceptor::from(Arc::new(config)), TlsOptions { insecure: true, ca_certificate: None })
}

fn secure(port: u16, tls: &TlsOptions) -> Connector {
    let target = TargetUrl::parse(&format!("https://localhost:{port}")).unwrap();
    Connector::new(target, tls, Headers::new(), Clock::start(), timeouts(LONG)).unwrap()
}

#[tokio::test]
async fn over_tls_the_server_chooses() {
    let (tls, options) = acceptor(&[b"h2", b"http/1.1"]);
    let (port, seen) = serve(None, Some(tls), three_events).await;
    for http in [HttpVersion::Auto, HttpVersion::Two] {
        let connector = secure(port, &options).with_http(http);
        let mut connection = connector.connect().await.unwrap();
        assert_eq!(connection.http_version(), HttpVersion::Two);
        let (exchange, events) = stream(&mut connection, &request(&connector), CHAT).await;
        assert_eq!((exchange.outcome, events.len()), (Outcome::Ended, 3), "{exchange:?}");
    }
    assert_eq!(seen.connections.load(Ordering::Relaxed), 2);

    // Asked for HTTP/1.1 alone it gets no choice.
    let one = secure(port, &options).with_http(HttpVersion::One);
    assert_eq!(one.connect().await.unwrap().http_version(), HttpVersion::One);
}

#[tokio::test]
async fn over_tls_a_server_of_http1_alone_is_taken_or_named() {
    let (tls, options) = acceptor(&[b"http/1.1"]);
    let (port, _seen) = serve(None, Some(tls), |_| pending()).await;
    let connector = secure(port, &options);
    for _ in 0..2 {
        assert_eq!(connector.connect().await.unwrap().http_version(), HttpVersion::One);
    }
    let failure = connector.with_http(HttpVersion::Two).connect().await.unwrap_err();
    assert!(failure.message.contains("--http"), "{failure}");
}

#[tokio::test]
async fn control_speaks_http2_where_it_must() {
    let (port, seen) = serve(None, None, three_events).await;
    let control = Control::new(h2(port));
    for _ in 0..2 {
        let answer =
            control.post_json("/v1/chat/completions", &serde_json::json!({"a": 1}), LONG).await.unwrap();
        assert_eq!((answer.status, answer.header("x-engine")), (200, Some("fast")));
        assert!(answer.text().ends_with("data: [DONE]\n\n"), "{}", answer.text());
    }
    assert_eq!(seen.connections.load(Ordering::Relaxed), 1);
    let requests = seen.requests.lock().unwrap();
    assert_eq!(requests[1].uri().path(), "/v1/chat/completions");
    assert_eq!(requests[1].body().as_ref(), b"{\"a\":1}");
}

#[test]
fn a_connection_ends_with_its_runtime() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime();
    let (port, seen) = server.block_on(serve(None, None, three_events));
    let server = std::thread::spawn(move || server.block_on(pending::<()>()));
    let connector = h2(port);
    let prepared = request(&connector);
    for number in 1..=2 {
        runtime().block_on(async {
            let mut connection = connector.connect().await.unwrap();
            let (exchange, _) = stream(&mut connection, &prepared, CHAT).await;
            assert_eq!(exchange.outcome, Outcome::Ended);
        });
        assert_eq!(seen.connections.load(Ordering::Relaxed), number);
    }
    assert!(!server.is_finished());
}
