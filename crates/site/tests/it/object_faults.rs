//! What an object store does on a bad day, from a small server that does it on demand.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokometer_site::{Artefacts, Hash, S3Artefacts};

use crate::objects;

/// What the server does with a request.
#[derive(Debug, Clone)]
enum Reply {
    Refuse(u16, &'static str),
    Give(Bytes),
    /// Tells a length, and ends in the middle of it.
    BreakOff(Bytes),
    /// Says nothing.
    Hang,
}

/// A request as it came.
#[derive(Debug, Clone)]
struct Seen {
    head: String,
    body: Vec<u8>,
}

impl Seen {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

struct Store {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Store {
    /// A server that answers with these, one after the other.
    async fn with(replies: impl IntoIterator<Item = Reply>) -> Store {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let store = Store { address, seen: Arc::clone(&seen) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connection(stream, Arc::clone(&replies), Arc::clone(&seen)));
            }
        });
        store
    }

    fn artefacts(&self, change: impl FnOnce(&mut tokometer_site::S3Options)) -> S3Artefacts {
        let mut options = objects::options(&format!("http://{}", self.address), "a/prefix");
        change(&mut options);
        S3Artefacts::open(&options).unwrap()
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn connection(
    mut stream: TcpStream,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
) {
    while let Some(request) = request(&mut stream).await {
        seen.lock().unwrap().push(request);
        let reply = replies.lock().unwrap().pop_front().expect("a reply for each request");
        let (status, body, cut) = match reply {
            Reply::Refuse(status, code) => (
                status,
                Bytes::from(format!("<Error><Code>{code}</Code><Message>?</Message></Error>")),
                false,
            ),
            Reply::Give(body) => (200, body, false),
            Reply::BreakOff(body) => (200, body, true),
            Reply::Hang => std::future::pending().await,
        };
        let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n", body.len());
        let sent = if cut { body.len() / 2 } else { body.len() };
        if stream.write_all(head.as_bytes()).await.is_err()
            || stream.write_all(&body[..sent]).await.is_err()
            || cut
        {
            return;
        }
    }
}

async fn request(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let mut request = Seen { head, body: bytes.split_off(end) };
    let length = request.header("content-length").map_or(0, |text| text.parse().unwrap());
    while request.body.len() < length {
        stream.read_buf(&mut request.body).await.ok()?;
    }
    Some(request)
}

fn content(bytes: usize) -> (Hash, Bytes) {
    let content: Bytes = (0..bytes).map(|at| (at * 7 + at / 256) as u8).collect();
    (Hash::of(&content), content)
}

/// The text of an error, which must hold nothing secret.
fn told(error: &io::Error) -> String {
    let text = error.to_string();
    assert!(!text.contains(objects::SECRET) && !text.contains("Signature="), "{text}");
    text
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    let empty = || Reply::Give(Bytes::new());
    let replies = [Reply::Refuse(503, "SlowDown"), Reply::BreakOff(vec![b'x'; 10].into()), empty()];
    // The answer to a write that broke off has a head, so it counts as done.
    let store = Store::with([replies[0].clone(), Reply::Refuse(500, "InternalError"), empty()]).await;
    let (name, content) = content(1000);
    store.artefacts(|_| {}).put(&name, content.clone()).await.unwrap();
    let seen = store.seen();
    assert_eq!(seen.len(), 3);
    for request in &seen {
        let path = format!("PUT /tokometer/a/prefix/sha256/{}/{}?", &name.as_str()[..2], name.as_str());
        assert!(request.head.starts_with(&path), "{}", request.head);
        assert_eq!(request.body, content);
        assert_eq!(request.header("if-none-match"), Some("*"));
        assert!(request.header("x-amz-checksum-sha256").is_some_and(|sum| sum.len() == 44));
        assert!(request.head.contains("SignedHeaders=host%3Bx-amz-checksum-sha256"), "{}", request.head);
        assert!(!request.head.contains(objects::SECRET));
    }
    // A file that breaks off is asked for again, as a whole.
    let store = Store::with([replies[1].clone(), Reply::Give(content.clone())]).await;
    let found = store.artefacts(|_| {}).get(&name).await.unwrap();
    assert_eq!((found, store.seen().len()), (Some(content), 2));
}

#[tokio::test]
async fn what_does_not_pass_is_told() {
    let (name, content) = content(10);
    let store = Store::with([Reply::Refuse(503, "SlowDown"), Reply::Refuse(503, "SlowDown")]).await;
    let error = store.artefacts(|options| options.tries = 2).put(&name, content.clone()).await.unwrap_err();
    assert!(told(&error).contains("could not write a file: 503 SlowDown, after 2 tries"), "{error}");
    // Trying again is of no use.
    let store = Store::with([Reply::Refuse(403, "AccessDenied")]).await;
    let error = store.artefacts(|_| {}).get(&name).await.unwrap_err();
    assert!(told(&error).contains("does not allow it to read a file"), "{error}");
    assert_eq!(store.seen().len(), 1);
    // Nobody listens.
    let away = Store { address: ([127, 0, 0, 1], 1).into(), seen: Arc::default() };
    let error = away.artefacts(|options| options.tries = 2).get(&name).await.unwrap_err();
    assert!(told(&error).contains("127.0.0.1:1 can't be reached"), "{error}");
    let error = away.artefacts(|_| {}).ready().await.unwrap_err();
    assert!(told(&error).contains("after 1 tries"), "{error}");
}

#[tokio::test]
async fn a_store_that_says_nothing_is_left() {
    let (name, content) = content(10);
    let store = Store::with([Reply::Hang, Reply::Give(content.clone())]).await;
    let hasty = |options: &mut tokometer_site::S3Options| options.answer_time = Duration::from_millis(50);
    assert_eq!(store.artefacts(hasty).get(&name).await.unwrap(), Some(content));
    let store = Store::with([Reply::Hang, Reply::Hang]).await;
    let artefacts = store.artefacts(|options| {
        hasty(options);
        options.tries = 2;
    });
    let error = artefacts.get(&name).await.unwrap_err();
    assert!(told(&error).contains("no answer within"), "{error}");
}

#[tokio::test]
async fn a_store_without_conditions_will_do() {
    let empty = || Reply::Give(Bytes::new());
    let store = Store::with([Reply::Refuse(501, "NotImplemented"), empty(), empty()]).await;
    let artefacts = store.artefacts(|_| {});
    let ((one, first), (two, second)) = (content(10), content(20));
    artefacts.put(&one, first).await.unwrap();
    artefacts.put(&two, second).await.unwrap();
    let asked: Vec<_> =
        store.seen().iter().map(|request| request.header("if-none-match").is_some()).collect();
    assert_eq!(asked, [true, false, false]);
}

#[tokio::test]
async fn what_is_there_is_left_unless_it_is_damaged() {
    let (name, content) = content(100);
    let there = Reply::Refuse(412, "PreconditionFailed");
    let store = Store::with([there.clone(), Reply::Give(content.clone())]).await;
    store.artefacts(|_| {}).put(&name, content.clone()).await.unwrap();
    assert_eq!(store.seen().len(), 2);
    let damaged = Reply::Give(Bytes::from_static(b"something else"));
    let store = Store::with([there, damaged, Reply::Give(Bytes::new())]).await;
    store.artefacts(|_| {}).put(&name, content.clone()).await.unwrap();
    let last = store.seen().pop().unwrap();
    assert!(last.head.starts_with("PUT ") && last.header("if-none-match").is_none() && last.body == content);
}

#[tokio::test]
async fn an_altered_file_is_never_given_out_whole() {
    for bytes in [1000, 3 << 20] {
        let (name, content) = content(bytes);
        let mut altered = content.to_vec();
        altered[bytes / 2] ^= 1;
        let altered = Bytes::from(altered);
        let store = Store::with([&altered, &altered, &content].map(|body| Reply::Give(body.clone()))).await;
        let artefacts = store.artefacts(|_| {});
        assert_eq!(artefacts.get(&name).await.unwrap_err().kind(), io::ErrorKind::InvalidData);
        match artefacts.open(&name).await {
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::InvalidData),
            Ok(reading) => {
                let mut reading = reading.unwrap();
                assert_eq!(reading.bytes, bytes as u64);
                let mut came = 0;
                let error = loop {
                    match reading.body.frame().await.expect("it does not end as if all were well") {
                        Ok(frame) => came += frame.into_data().unwrap().len(),
                        Err(error) => break error,
                    }
                };
                assert!(came < bytes, "all of it was given out");
                assert!(error.to_string().contains("is not what its name says"), "{error}");
            }
        }
        let reading = artefacts.open(&name).await.unwrap().unwrap();
        assert_eq!(reading.body.collect().await.unwrap().to_bytes(), content);
    }
}
