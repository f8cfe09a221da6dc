//! The rounds of this thread's event loop, for the lag of events that have no kernel stamp.
//!
//! Without a kernel stamp the arrival of an event is a clock read after the read, so the time that the bytes
//! spent waiting for the client is not in it. What can be known is when they may have begun to wait: when the
//! poll returned, if the loop slept in it; else when the round before began, since then nobody looked.

use std::cell::Cell;
use std::time::Duration;

use crate::clock::Clock;

/// A poll that takes longer than this slept.
const SLEPT_NS: u64 = 20_000;

/// Lets the runtime built from `builder` note the rounds of its event loop.
///
/// With `delay` the thread then sleeps at each wake-up for so long before it reads anything: that is how a client
/// is overloaded on purpose, to see whether the figures stay true.
pub fn instrument(builder: &mut tokio::runtime::Builder, clock: Clock, delay: Option<Duration>) {
    builder.on_thread_park(move || {
        ROUNDS.with(|rounds| rounds.set(rounds.get().park(clock.now_ns())));
    });
    builder.on_thread_unpark(move || {
        ROUNDS.with(|rounds| rounds.set(rounds.get().unpark(clock.now_ns())));
        if let Some(delay) = delay {
            std::thread::sleep(delay);
        }
    });
}

/// Since when bytes that are read now may have waited; none on a thread that is not instrumented.
pub fn waiting_since_ns() -> Option<u64> {
    ROUNDS.with(Cell::get).waiting_since_ns()
}

thread_local! {
    static ROUNDS: Cell<Rounds> = const { Cell::new(Rounds::NONE) };
}

#[derive(Debug, Clone, Copy)]
struct Rounds {
    seen: bool,
    slept: bool,
    parked_ns: u64,
    /// Start of the present round: when its poll returned.
    round_ns: u64,
    /// Start of the round before.
    previous_ns: u64,
}

impl Rounds {
    const NONE: Rounds = Rounds { seen: false, slept: false, parked_ns: 0, round_ns: 0, previous_ns: 0 };

    fn park(self, now_ns: u64) -> Rounds {
        Rounds { parked_ns: now_ns, ..self }
    }

    fn unpark(self, now_ns: u64) -> Rounds {
        Rounds {
            seen: true,
            slept: now_ns.saturating_sub(self.parked_ns) > SLEPT_NS,
            parked_ns: self.parked_ns,
            round_ns: now_ns,
            previous_ns: self.round_ns,
        }
    }

    fn waiting_since_ns(self) -> Option<u64> {
        let since_ns = if self.slept { self.round_ns } else { self.previous_ns };
        self.seen.then_some(since_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::Rounds;

    #[test]
    fn a_loop_that_slept_is_counted_from_the_return_of_its_poll() {
        let rounds = Rounds::NONE.park(1_000).unpark(900_000);
        assert_eq!(rounds.waiting_since_ns(), Some(900_000));
    }

    #[test]
    fn a_busy_loop_is_counted_from_the_round_before() {
        let rounds = Rounds::NONE.park(1_000).unpark(900_000).park(5_000_000).unpark(5_001_000);
        assert_eq!(rounds.waiting_since_ns(), Some(900_000));
    }

    #[test]
    fn without_instruments_nothing_is_known() {
        assert_eq!(Rounds::NONE.waiting_since_ns(), None);
    }
}
