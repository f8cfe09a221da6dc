//! A small raw client: one connection per request, read to its end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// An answer, its chunks joined.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().filter_map(|line| line.split_once(": ")).find(|(key, _)| *key == name).map(|h| h.1)
    }

    /// The JSON of each event of a stream, its end mark checked.
    pub(crate) fn events(&self) -> Vec<Value> {
        let events = self.body.strip_suffix("data: [DONE]\n\n").expect("the end mark");
        let events = events.split_terminator("\n\n").map(|event| event.strip_prefix("data: ").unwrap());
        events.map(|event| serde_json::from_str(event).unwrap()).collect()
    }
}

/// Opens a connection and sends a request.
pub(crate) fn send(address: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n{headers}");
    stream.write_all(format!("{head}content-length: {length}\r\n\r\n{body}").as_bytes()).unwrap();
    stream
}

/// Reads an answer to its end.
pub(crate) fn receive(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let chunked = head.contains("transfer-encoding: chunked");
    let body = if chunked { join_chunks(body) } else { body.to_owned() };
    Answer { status, head: head.to_owned(), body }
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    receive(send(address, "GET", path, "", ""))
}

pub(crate) fn post(address: SocketAddr, path: &str, body: &Value) -> Answer {
    receive(send(address, "POST", path, "", &body.to_string()))
}

/// A chat whose length is exact, streamed with all the usage there is.
pub(crate) fn chat(content: &str, max_tokens: u64) -> Value {
    json!({
        "model": "model",
        "messages": [{ "role": "user", "content": content }],
        "max_tokens": max_tokens,
        "ignore_eos": true,
        "stream": true,
        "stream_options": { "include_usage": true, "continuous_usage_stats": true },
    })
}

/// The first series of a gauge or counter.
pub(crate) fn metric(address: SocketAddr, name: &str) -> f64 {
    let page = get(address, "/metrics").body;
    let line = page.lines().find(|line| line.starts_with(name)).expect("the metric");
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Asks again and again until a gauge or counter has this value.
pub(crate) fn wait_for(address: SocketAddr, name: &str, value: f64) {
    for _ in 0..3000 {
        if metric(address, name) == value {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{name} never became {value}");
}

fn join_chunks(mut rest: &str) -> String {
    let mut body = String::new();
    loop {
        let (size, behind) = rest.split_once("\r\n").expect("a chunk's size");
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            return body;
        }
        body.push_str(&behind[..size]);
        rest = behind[size..].strip_prefix("\r\n").unwrap();
    }
}
