//! The only place that reads time.
//!
//! Everything is measured on `CLOCK_MONOTONIC`, in nanoseconds since the run's start. The wall clock is read
//! once at the start, and again only to map the kernel's receive stamps, which are wall-clock times.

use std::cell::Cell;
use std::time::{Duration, SystemTime};

use nix::time::{ClockId, clock_gettime};

/// How long a mapping of wall-clock stamps to the monotonic clock is trusted.
const MAPPING_LIFE_NS: u64 = 100_000_000;
/// Readings of which the tightest makes a mapping, where none is tight enough before.
const MAPPING_TRIES: u32 = 4;

/// Nanoseconds since the run's start, on the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin_ns: u64,
    wall_start: SystemTime,
}

impl Clock {
    /// Starts the run's time. The wall clock is read here, once.
    pub fn start() -> Clock {
        let origin_ns = monotonic_ns();
        let wall_ns = read(ClockId::CLOCK_REALTIME);
        Clock { origin_ns, wall_start: SystemTime::UNIX_EPOCH + Duration::from_nanos(wall_ns) }
    }

    /// Goes on with the time of a run that began at `wall_start` and is known to have lasted for `known`: what the
    /// wall clock says has passed since, but more than `known` in any case. `CLOCK_MONOTONIC` may have started anew
    /// with the machine meanwhile.
    pub fn resume(known: Duration, wall_start: Option<SystemTime>) -> Clock {
        let now = SystemTime::UNIX_EPOCH + Duration::from_nanos(read(ClockId::CLOCK_REALTIME));
        let since = wall_start.and_then(|start| now.duration_since(start).ok()).unwrap_or_default();
        let elapsed = since.max(known + Duration::from_millis(1));
        let origin_ns = monotonic_ns().wrapping_sub(elapsed.as_nanos() as u64);
        Clock { origin_ns, wall_start: now.checked_sub(elapsed).unwrap_or(now) }
    }

    /// What `CLOCK_MONOTONIC` read at the start, ns: other processes of this host read the same clock.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Nanoseconds since the start.
    pub fn now_ns(&self) -> u64 {
        self.since_origin(monotonic_ns())
    }

    /// A reading of `CLOCK_MONOTONIC` on this clock. The origin of a resumed run may lie before the machine's start:
    /// then it has wrapped, and so does the difference. What lies before the origin is 0.
    fn since_origin(&self, monotonic_ns: u64) -> u64 {
        let since = monotonic_ns.wrapping_sub(self.origin_ns);
        if since > u64::MAX / 2 { 0 } else { since }
    }

    /// Wall-clock time of the start.
    pub fn wall_start(&self) -> SystemTime {
        self.wall_start
    }

    /// Wall clock minus this clock, in nanoseconds. It moves when somebody steps the wall clock.
    pub fn realtime_offset_ns(&self) -> i128 {
        i128::from(sample_mapping(0).0) + i128::from(self.origin_ns as i64)
    }

    /// Maps a wall-clock stamp of the recent past to this clock; `now_ns` says how recent.
    pub(crate) fn map_realtime_ns(&self, realtime_ns: u64, now_ns: u64) -> u64 {
        let monotonic_now = now_ns.wrapping_add(self.origin_ns);
        let Mapping { sampled_ns, offset_ns, width_ns } = MAPPING.get();
        let fresh = sampled_ns != 0 && monotonic_now.wrapping_sub(sampled_ns) < MAPPING_LIFE_NS;
        let offset_ns = if fresh {
            offset_ns
        } else {
            let (offset_ns, width) = sample_mapping(2 * width_ns);
            let width_ns = if sampled_ns == 0 { width } else { width.min(width_ns) };
            MAPPING.set(Mapping { sampled_ns: monotonic_now, offset_ns, width_ns });
            offset_ns
        };
        let monotonic = (realtime_ns as i64).saturating_sub(offset_ns);
        self.since_origin(u64::try_from(monotonic).unwrap_or(0))
    }
}

thread_local! {
    static MAPPING: Cell<Mapping> = const { Cell::new(Mapping { sampled_ns: 0, offset_ns: 0, width_ns: 0 }) };
}

/// The mapping as this thread last sampled it.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "the unit of raw numbers stands in their names")]
struct Mapping {
    /// When it did, in raw monotonic time; 0 if it never did.
    sampled_ns: u64,
    /// `CLOCK_REALTIME − CLOCK_MONOTONIC`.
    offset_ns: i64,
    /// Width of the tightest sandwich so far.
    width_ns: u64,
}

/// `CLOCK_REALTIME − CLOCK_MONOTONIC` and the width of its sandwich: the first of a few readings that is no wider than
/// `enough_ns`, else the tightest.
fn sample_mapping(enough_ns: u64) -> (i64, u64) {
    let mut best = (u64::MAX, 0);
    for _ in 0..MAPPING_TRIES {
        let before = monotonic_ns();
        let wall = read(ClockId::CLOCK_REALTIME);
        let after = monotonic_ns();
        let width = after.saturating_sub(before);
        if width < best.0 {
            best = (width, wall as i64 - (before + width / 2) as i64);
        }
        if width <= enough_ns {
            break;
        }
    }
    (best.1, best.0)
}

/// `CLOCK_MONOTONIC`, ns.
pub(crate) fn monotonic_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

fn read(clock: ClockId) -> u64 {
    // Both clocks exist on every system that this program is built for, so an error cannot come.
    clock_gettime(clock).map_or(0, |time| time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resumed_clock_goes_on_even_if_the_machine_is_younger_than_the_run() {
        let month = Duration::from_secs(30 * 24 * 3600);
        let clock = Clock::resume(month, None);
        assert!(clock.origin_ns > u64::MAX / 2 || clock.origin_ns < read(ClockId::CLOCK_MONOTONIC));
        let first = clock.now_ns();
        assert!(first >= month.as_nanos() as u64 && first < 2 * month.as_nanos() as u64);
        assert!(clock.now_ns() >= first);
        let wall = read(ClockId::CLOCK_REALTIME);
        let stamp = clock.map_realtime_ns(wall, clock.now_ns());
        assert!(stamp >= first - 1_000_000_000 && stamp <= clock.now_ns() + 1_000_000_000);
        let fresh = Clock::start();
        assert_eq!(fresh.map_realtime_ns(1, fresh.now_ns()), 0, "long before the start");
    }
}
