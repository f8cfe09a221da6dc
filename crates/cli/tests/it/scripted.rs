//! A server that answers as it is told, and counts what it is asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// `GET /v1/models`.
    pub(crate) line: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

/// Listens until the test process ends.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Scripted {
    /// Answers each request with what `answer` makes of it: status, media type, body.
    pub(crate) fn http(answer: impl Fn(&Asked) -> (u16, &'static str, String) + Send + 'static) -> Scripted {
        Scripted::start(move |stream, asked| {
            let Some(request) = read_request(&stream) else { return };
            let (status, media, body) = answer(&request);
            asked.lock().unwrap().push(request);
            let head = format!(
                "HTTP/1.1 {status} Scripted\r\nContent-Type: {media}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let mut stream = stream;
            // A client that is gone wants no answer.
            drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())));
        })
    }

    /// Serves a list of models, and 404 for all else.
    pub(crate) fn models(list: &'static str) -> Scripted {
        Scripted::http(move |request| match request.line.as_str() {
            "GET /v1/models" => (200, "application/json", list.to_owned()),
            _ => (404, "application/json", r#"{"detail":"Not Found"}"#.to_owned()),
        })
    }

    /// Answers whatever comes first with these bytes, and closes.
    pub(crate) fn raw(bytes: &'static [u8]) -> Scripted {
        Scripted::start(move |mut stream, _| {
            let mut some = [0; 1024];
            if stream.read(&mut some).is_ok() {
                drop(stream.write_all(bytes));
            }
        })
    }

    fn start(serve: impl Fn(TcpStream, &Mutex<Vec<Asked>>) + Send + 'static) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                serve(stream, &kept);
            }
        });
        Scripted { address, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn read_request(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    let (method, rest) = lines.first()?.split_once(' ')?;
    let line = format!("{method} {}", rest.split_once(' ')?.0);
    let headers: Vec<String> = lines.drain(1..).collect();
    let length = headers
        .iter()
        .filter_map(|header| header.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Asked { line, headers, body: String::from_utf8(body).ok()? })
}
