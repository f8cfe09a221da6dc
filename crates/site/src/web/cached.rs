//! Answers that a reader may have already.

use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue, StatusCode};

use crate::clock;
use crate::domain::Millis;

/// An answer with its tag; `304` without a body where the reader has it. `tag` is the text inside the quotes.
pub(crate) fn cached(
    headers: &HeaderMap,
    kind: &'static str,
    cache: &'static str,
    tag: &str,
    modified: Option<Millis>,
    body: impl FnOnce() -> Bytes,
) -> Response {
    let quoted = format!("\"{tag}\"");
    let mut response = if is_known(headers, &quoted, modified) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(CONTENT_TYPE, kind)], body()).into_response()
    };
    let out = response.headers_mut();
    out.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    if let Ok(value) = quoted.parse() {
        out.insert(ETAG, value);
    }
    if let Some(value) = modified.and_then(clock::http_date).and_then(|text| text.parse().ok()) {
        out.insert(LAST_MODIFIED, value);
    }
    response
}

/// True if a reader's copy is this one (RFC 9110: the tag decides where one comes along, the time otherwise).
pub(crate) fn is_known(headers: &HeaderMap, quoted: &str, modified: Option<Millis>) -> bool {
    let mut tags = headers.get_all(IF_NONE_MATCH).iter().peekable();
    if tags.peek().is_some() {
        return tags.filter_map(|value| value.to_str().ok()).flat_map(|line| line.split(',')).any(|one| {
            let one = one.trim();
            one == "*" || one.strip_prefix("W/").unwrap_or(one) == quoted
        });
    }
    let since = headers.get(IF_MODIFIED_SINCE).and_then(|value| value.to_str().ok());
    // Times of this header are to the second.
    let copy = since.and_then(clock::parse_http_date);
    copy.zip(modified).is_some_and(|(copy, modified)| modified / 1000 <= copy / 1000)
}
