//! Wall-clock time of the site: the one place where it is read.

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

/// The time of an RFC 3339 text.
pub(crate) fn parse(text: &str) -> Option<Millis> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}
