//! Text is sent packed to whoever takes it.

use std::io::Write;

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue};
use http_body_util::BodyExt;

/// Says of an answer that it holds the key of a session's forms: its length must not tell of it, so it is not packed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sealed;

/// Shorter ones are not worth it, bytes.
const LEAST: usize = 1024;

pub(super) async fn pack(request: Request, next: Next) -> Response {
    let takes = takes_gzip(request.headers());
    let response = next.run(request).await;
    if !is_text(response.headers()) {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    parts.headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    let sealed = parts.extensions.get::<Sealed>().is_some();
    // Bodies of pages are in memory already: none of them fails or comes slowly.
    let bytes = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return Response::from_parts(parts, Body::empty()),
    };
    if !takes || sealed || bytes.len() < LEAST {
        return Response::from_parts(parts, Body::from(bytes));
    }
    let mut packed = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::new(5));
    // Writing to memory can't fail.
    let packed = packed.write_all(&bytes).and_then(|()| packed.finish());
    match packed {
        Ok(packed) => {
            parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            parts.headers.remove(CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(packed))
        }
        Err(_) => Response::from_parts(parts, Body::from(bytes)),
    }
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_text = ["text/", "application/json", "application/xml", "application/atom+xml", "image/svg"]
        .iter()
        .any(|start| kind.starts_with(start));
    is_text && !headers.contains_key(CONTENT_ENCODING)
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let refused =
            quality.trim().strip_prefix("q=").and_then(|text| text.parse::<f64>().ok()) == Some(0.0);
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}
