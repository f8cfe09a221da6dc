//! Small servers that answer by script, each connection on a thread of its own.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as the server sees it.
pub(crate) struct Asked {
    /// Number of the request, over all connections; gauges are not counted.
    pub(crate) number: usize,
    /// Requests that came on the same connection before it.
    pub(crate) earlier: usize,
    pub(crate) path: String,
    pub(crate) body: String,
}

impl Asked {
    /// True if the gauges are asked for.
    pub(crate) fn is_metrics(&self) -> bool {
        self.path == "/metrics"
    }

    /// True if this many output tokens are asked for.
    pub(crate) fn wants(&self, tokens: u64) -> bool {
        self.body.contains(&format!("\"max_tokens\":{tokens},"))
    }
}

/// What becomes of the connection.
pub(crate) enum Next {
    Keep,
    Close,
    Reset,
}

/// A server that runs until the test ends.
pub(crate) struct Scripted {
    pub(crate) port: u16,
    bodies: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// Bodies of all requests so far, gauges left out.
    pub(crate) fn bodies(&self) -> Vec<String> {
        self.bodies.lock().unwrap().clone()
    }
}

/// Serves any number of connections.
pub(crate) fn serve(answer: impl Fn(&Asked, &mut TcpStream) -> Next + Send + Sync + 'static) -> Scripted {
    serve_some(usize::MAX, answer)
}

/// Serves so many connections; then nobody listens any more.
pub(crate) fn serve_some(
    connections: usize,
    answer: impl Fn(&Asked, &mut TcpStream) -> Next + Send + Sync + 'static,
) -> Scripted {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let scripted = Scripted { port, bodies: Arc::clone(&bodies) };
    let shared = Arc::new((answer, AtomicUsize::new(0), bodies));
    thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let mut stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let mut earlier = 0;
                while let Some(mut asked) = read_request(&mut stream) {
                    asked.earlier = earlier;
                    earlier += 1;
                    if !asked.is_metrics() {
                        asked.number = shared.1.fetch_add(1, Ordering::SeqCst);
                        shared.2.lock().unwrap().push(asked.body.clone());
                    }
                    match (shared.0)(&asked, &mut stream) {
                        Next::Keep => {}
                        Next::Close => return,
                        Next::Reset => return reset(&stream),
                    }
                }
            });
        }
    });
    scripted
}

/// A port at which nobody listens, for as long as the socket is kept.
pub(crate) fn dead_port() -> (tokio::net::TcpSocket, u16) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

fn reset(stream: &TcpStream) {
    let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    nix::sys::socket::setsockopt(stream, nix::sys::socket::sockopt::Linger, &linger).unwrap();
}

fn read_request(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let length = stream.read(&mut piece).ok().filter(|length| *length > 0)?;
        bytes.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let told = head.to_ascii_lowercase();
        let expected = told
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        if body.len() >= expected {
            let path = head.split(' ').nth(1).unwrap().to_owned();
            return Some(Asked { number: 0, earlier: 0, path, body: body.to_owned() });
        }
    }
}

/// Sends text; false if the client has left.
pub(crate) fn send(stream: &mut TcpStream, text: &str) -> bool {
    stream.write_all(text.as_bytes()).is_ok()
}

/// An answer in one piece.
pub(crate) fn plain(stream: &mut TcpStream, status: &str, kind: &str, body: &str) -> Next {
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}");
    if send(stream, &text) { Next::Keep } else { Next::Close }
}

/// The gauges, in vLLM's names.
pub(crate) fn metrics(stream: &mut TcpStream, running: usize, waiting: usize, generated: usize) -> Next {
    let text = format!(
        "vllm:num_requests_running {running}\nvllm:num_requests_waiting {waiting}\n\
         vllm:generation_tokens_total {generated}\n"
    );
    plain(stream, "200 OK", "text/plain", &text)
}

/// The head of an event stream.
pub(crate) const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// One event in a chunk of its own.
pub(crate) fn event(data: &str) -> String {
    let text = format!("data: {data}\n\n");
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// A token; with `count`, the usage up to it.
pub(crate) fn token(text: &str, count: Option<usize>) -> String {
    event(&format!(
        "{{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":{text:?}}},\"finish_reason\":null}}]{}}}",
        usage(count)
    ))
}

/// The finish, with the usage of the whole where there is one, and the end of the body.
pub(crate) fn finish(reason: &str, count: Option<usize>) -> String {
    let last = format!(
        "{{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":{reason:?}}}]{}}}",
        usage(count)
    );
    event(&last) + &event("[DONE]") + "0\r\n\r\n"
}

fn usage(count: Option<usize>) -> String {
    count.map_or_else(String::new, |count| {
        format!(
            ",\"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":{count},\"total_tokens\":{}}}",
            9 + count
        )
    })
}

/// Which counts a stream tells.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counts {
    Each,
    AtEnd,
    Never,
}

/// Streams `tokens` tokens, one every 5 ms.
pub(crate) fn stream(stream: &mut TcpStream, tokens: usize, counts: Counts) -> Next {
    stream_while(stream, counts, |sent| sent < tokens)
}

/// Streams tokens, one every 5 ms, as long as `more` says so of the number sent.
pub(crate) fn stream_while(stream: &mut TcpStream, counts: Counts, more: impl Fn(usize) -> bool) -> Next {
    let mut sent = 0;
    let mut whole = send(stream, HEAD);
    while whole && more(sent) {
        sent += 1;
        whole = send(stream, &token(&format!(" token {sent}"), (counts == Counts::Each).then_some(sent)));
        thread::sleep(std::time::Duration::from_millis(5));
    }
    let count = (counts != Counts::Never).then_some(sent);
    if whole && send(stream, &finish("length", count)) { Next::Keep } else { Next::Close }
}

/// Says nothing until the client leaves.
pub(crate) fn hang(stream: &mut TcpStream) -> Next {
    while stream.read(&mut [0; 64]).is_ok_and(|length| length > 0) {}
    Next::Close
}
