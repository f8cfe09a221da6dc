//! The only place of the simulator that reads time.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A monotonic clock that starts at zero with the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock that reads zero now.
    #[expect(clippy::disallowed_methods, reason = "the simulator's own clock, apart from the client's")]
    pub(crate) fn start() -> Clock {
        Clock { origin: Instant::now() }
    }

    /// Nanoseconds since the start.
    pub(crate) fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

/// Seconds of the Unix epoch, for the `created` fields of answers.
#[expect(clippy::disallowed_methods, reason = "answers carry their date; nothing is measured with it")]
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
