//! The head of a response.

use std::collections::BTreeMap;

use super::body::Body;

/// The longest head that is taken.
const MAX_HEAD_BYTES: usize = 64 << 10;
const MAX_HEADERS: usize = 128;

/// What the body is, by its content type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    EventStream,
    /// NDJSON.
    Lines,
    Json,
    Html,
    Other,
}

/// How the body is compressed, though that was not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Identity,
    Gzip,
    Deflate,
    /// One that cannot be read here.
    Other,
}

/// What a head says that matters.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) content: Content,
    pub(super) body: Body,
    pub(super) keep_alive: bool,
    pub(super) encoding: Encoding,
}

/// The head cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable(pub(super) &'static str);

/// Reads a head from the start of `bytes`: itself and its length, or none if its end has not come.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(Head, usize)>, Unreadable> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => Ok(Some((interpret(&response)?, length))),
        Ok(httparse::Status::Partial) if bytes.len() > MAX_HEAD_BYTES => {
            Err(Unreadable("the head of the response is longer than 64 KB"))
        }
        Ok(httparse::Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(Unreadable("the response has more than 128 headers")),
        Err(_) if bytes.starts_with(b"\x15\x03") => {
            Err(Unreadable("the server answers in TLS: try https:// instead of http://"))
        }
        Err(_) => Err(Unreadable("what the server sends is not HTTP/1.1: is the port right?")),
    }
}

/// All headers with lower-case names; those that occur more than once are joined.
pub(super) fn header_map(bytes: &[u8]) -> BTreeMap<String, String> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let mut map = BTreeMap::<String, String>::new();
    if response.parse(bytes).is_ok() {
        for header in response.headers.iter() {
            let value = String::from_utf8_lossy(header.value);
            map.entry(header.name.to_ascii_lowercase())
                .and_modify(|present| {
                    present.push_str(", ");
                    present.push_str(&value);
                })
                .or_insert_with(|| value.into_owned());
        }
    }
    map
}

fn interpret(response: &httparse::Response<'_, '_>) -> Result<Head, Unreadable> {
    let status = response.code.unwrap_or(0);
    let mut keep_alive = response.version == Some(1);
    let mut content = Content::EventStream;
    let mut chunked = false;
    let mut length = None;
    let mut encoding = Encoding::Identity;
    for header in response.headers.iter() {
        let value = header.value.trim_ascii();
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        if is("content-type") {
            content = content_of(value);
        } else if is("transfer-encoding") {
            chunked = ends_with_ignore_case(value, b"chunked");
            if !chunked {
                return Err(Unreadable("the response has a transfer encoding other than chunked"));
            }
        } else if is("content-length") {
            let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<u64>().ok());
            length = Some(number.ok_or(Unreadable("the content length of the response is no number"))?);
        } else if is("connection") {
            let has = |word: &[u8]| {
                value.split(|&b| b == b',').any(|part| part.trim_ascii().eq_ignore_ascii_case(word))
            };
            if has(b"close") {
                keep_alive = false;
            } else if has(b"keep-alive") {
                keep_alive = true;
            }
        } else if is("content-encoding") {
            encoding = encoding_of(value);
        }
    }
    let body = match (status, chunked, length) {
        (204 | 304, ..) => Body::sized(0),
        (_, true, _) => Body::chunked(),
        (_, false, Some(length)) => Body::sized(length),
        (_, false, None) => {
            keep_alive = false;
            Body::until_close()
        }
    };
    Ok(Head { status, content, body, keep_alive, encoding })
}

fn encoding_of(value: &[u8]) -> Encoding {
    let is = |name: &[u8]| value.eq_ignore_ascii_case(name);
    if value.is_empty() || is(b"identity") {
        Encoding::Identity
    } else if is(b"gzip") || is(b"x-gzip") {
        Encoding::Gzip
    } else if is(b"deflate") {
        Encoding::Deflate
    } else {
        Encoding::Other
    }
}

fn content_of(value: &[u8]) -> Content {
    let kind = value.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    let is = |name: &[u8]| kind.eq_ignore_ascii_case(name);
    if is(b"text/event-stream") {
        Content::EventStream
    } else if [&b"application/x-ndjson"[..], b"application/ndjson", b"application/jsonl"].into_iter().any(is)
    {
        Content::Lines
    } else if is(b"application/json") || ends_with_ignore_case(kind, b"+json") {
        Content::Json
    } else if is(b"text/html") || is(b"application/xhtml+xml") {
        Content::Html
    } else {
        Content::Other
    }
}

fn ends_with_ignore_case(value: &[u8], end: &[u8]) -> bool {
    value.len() >= end.len() && value[value.len() - end.len()..].eq_ignore_ascii_case(end)
}
