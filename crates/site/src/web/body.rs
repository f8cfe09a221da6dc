//! Bodies of requests: never longer, never slower, and never larger unpacked than there is room for.

use std::io::Read;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};

use crate::config::Limits;
use crate::problem::Problem;

/// Log of the largest window that a zstd frame may ask for: 8 MiB.
const WINDOW_LOG: u32 = 23;

/// Reads a body of at most `most` bytes, as it was sent.
pub(crate) async fn read(
    headers: &HeaderMap,
    body: Body,
    most: usize,
    limits: &Limits,
) -> Result<Bytes, Problem> {
    let told =
        headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()).and_then(|text| text.parse().ok());
    if told.is_some_and(|length: u64| length > most as u64) {
        return Err(too_long(most));
    }
    let mut body = body;
    let mut bytes = BytesMut::new();
    let begin = Instant::now();
    loop {
        let frame = timeout(limits.body_silence, body.frame()).await.map_err(|_| too_slow())?;
        let Some(frame) = frame else { return Ok(bytes.freeze()) };
        let broken =
            |_| Problem::bad("broken_body", "the body of the request did not come whole", "send it again");
        let frame = frame.map_err(broken)?;
        if let Some(data) = frame.data_ref() {
            if bytes.len() + data.len() > most {
                return Err(too_long(most));
            }
            bytes.extend_from_slice(data);
        }
        let due = bytes.len() as f64 / limits.body_bytes_per_second + limits.body_silence.as_secs_f64();
        if begin.elapsed().as_secs_f64() > due {
            return Err(too_slow());
        }
    }
}

/// Reads a body and unpacks it (zstd, gzip, or none) to at most `unpacked` bytes.
pub(crate) async fn unpack(
    headers: &HeaderMap,
    body: Body,
    packed: usize,
    unpacked: usize,
    limits: &Limits,
) -> Result<Bytes, Problem> {
    let packing = Packing::of(headers)?;
    let bytes = read(headers, body, packed, limits).await?;
    if packing == Packing::None {
        return if bytes.len() > unpacked { Err(too_long(unpacked)) } else { Ok(bytes) };
    }
    let work = tokio::task::spawn_blocking(move || packing.unpack(&bytes, unpacked));
    work.await.unwrap_or_else(|_| Err(Problem::internal())).map(Bytes::from)
}

/// Refuses a body that says it is something else than JSON.
pub(crate) fn is_json(headers: &HeaderMap) -> Result<(), Problem> {
    is_of(headers, &["application/json"])
}

/// Refuses a body that says it is of another kind than these; one that says nothing is taken as the first.
pub(crate) fn is_of(headers: &HeaderMap, kinds: &[&str]) -> Result<(), Problem> {
    let Some(told) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let told = told.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if kinds.iter().any(|kind| told.eq_ignore_ascii_case(kind)) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unknown_kind",
        "the body is of a kind that is not taken here",
        format!("send it with Content-Type {}", kinds.join(" or ")),
    ))
}

/// Reads a JSON document of known fields.
pub(crate) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| {
        Problem::bad(
            "bad_body",
            format!("the body is not what is expected here: {error}"),
            "/openapi.json says what its fields are",
        )
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    None,
    Zstd,
    Gzip,
}

impl Packing {
    fn of(headers: &HeaderMap) -> Result<Packing, Problem> {
        let mut named = headers.get_all(CONTENT_ENCODING).iter();
        let name = named.next().map_or(Ok(""), |value| value.to_str()).unwrap_or("?");
        match (name, named.next()) {
            ("" | "identity", None) => Ok(Packing::None),
            ("zstd", None) => Ok(Packing::Zstd),
            ("gzip", None) => Ok(Packing::Gzip),
            _ => Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unknown_encoding",
                "the body is packed in a way that is not known here",
                "send it with Content-Encoding zstd, gzip, or none",
            )),
        }
    }

    fn unpack(self, bytes: &[u8], most: usize) -> Result<Vec<u8>, Problem> {
        let broken = |error: std::io::Error| {
            Problem::bad(
                "broken_body",
                format!("the body can't be unpacked: {error}"),
                "pack it again, or send it as it is",
            )
        };
        let mut out = Vec::new();
        // One byte more tells that there is more.
        let room = most as u64 + 1;
        match self {
            Packing::None => out.extend_from_slice(bytes),
            Packing::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::new(bytes).map_err(broken)?;
                decoder.window_log_max(WINDOW_LOG).map_err(broken)?;
                decoder.take(room).read_to_end(&mut out).map_err(broken)?;
            }
            Packing::Gzip => {
                flate2::read::MultiGzDecoder::new(bytes).take(room).read_to_end(&mut out).map_err(broken)?;
            }
        }
        if out.len() > most { Err(too_long(most)) } else { Ok(out) }
    }
}

fn too_long(most: usize) -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "too_long",
        format!("the body is longer than the {most} bytes that are taken here"),
        "leave out what is not needed; a larger matrix can be published as several runs",
    )
}

fn too_slow() -> Problem {
    Problem::new(
        StatusCode::REQUEST_TIMEOUT,
        "too_slow",
        "the body of the request came too slowly",
        "send it again over a better connection",
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn bombs_are_left_packed() {
        let large = vec![b' '; 3 << 20];
        for (packing, packed) in
            [(Packing::Zstd, zstd::bulk::compress(&large, 19).unwrap()), (Packing::Gzip, gzip(&large))]
        {
            assert!(packed.len() < 10_000);
            assert_eq!(packing.unpack(&packed, 1 << 20).unwrap_err().code, "too_long");
            assert_eq!(packing.unpack(&packed, 3 << 20).unwrap(), large);
            assert_eq!(packing.unpack(&packed[..packed.len() / 2], 3 << 20).unwrap_err().code, "broken_body");
        }
    }
}
