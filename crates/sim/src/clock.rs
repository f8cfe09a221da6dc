//! The only place of the simulator that reads time.

use nix::time::{ClockId, clock_gettime};

/// A monotonic clock that starts at zero with the server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock that reads zero now.
    pub(crate) fn start() -> Clock {
        Clock { origin_ns: read(ClockId::CLOCK_MONOTONIC) }
    }

    /// Nanoseconds since the start.
    pub(crate) fn now_ns(self) -> u64 {
        read(ClockId::CLOCK_MONOTONIC).saturating_sub(self.origin_ns)
    }

    /// What `CLOCK_MONOTONIC` read at the start, ns: other processes of this host read the same clock.
    pub(crate) fn origin_ns(self) -> u64 {
        self.origin_ns
    }
}

/// Seconds of the Unix epoch, for the `created` fields of answers.
pub(crate) fn unix_seconds() -> u64 {
    read(ClockId::CLOCK_REALTIME) / 1_000_000_000
}

fn read(clock: ClockId) -> u64 {
    // Both clocks exist on every system that this program is built for, so an error cannot come.
    clock_gettime(clock).map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}
