//! Wall-clock time of the site: the one place where it is read.

use serde::{Serialize, Serializer};

use crate::domain::Millis;

/// Milliseconds since 1970, UTC.
pub(crate) fn now() -> Millis {
    jiff::Timestamp::now().as_millisecond()
}

/// A time as text: `2026-11-30T21:20:00Z`.
pub(crate) fn text(at: Millis) -> String {
    jiff::Timestamp::from_millisecond(at).map_or_else(
        |_| "unknown".to_owned(),
        |time| {
            // To the second: lists and logs need no more.
            jiff::Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
        },
    )
}

/// A time in an answer.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde takes")]
pub(crate) fn as_text<S: Serializer>(at: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text(*at))
}

/// A time in an answer that may not be known.
#[expect(clippy::ref_option, reason = "the shape that serde takes")]
pub(crate) fn as_text_or_null<S: Serializer>(at: &Option<Millis>, serializer: S) -> Result<S::Ok, S::Error> {
    at.map(text).serialize(serializer)
}

/// A time as headers of HTTP have it: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) fn http_date(at: Millis) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(at).ok()?;
    Some(time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string())
}

/// The time of such a header.
pub(crate) fn parse_http_date(text: &str) -> Option<Millis> {
    let text = text.trim().strip_suffix("GMT")?.trim_end();
    let time = jiff::civil::DateTime::strptime("%a, %d %b %Y %H:%M:%S", text).ok()?;
    Some(jiff::tz::Offset::UTC.to_timestamp(time).ok()?.as_millisecond())
}

/// The time of an RFC 3339 text.
pub(crate) fn parse(text: &str) -> Option<Millis> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}
