//! Time limits, kept by a thread of its own.
//!
//! An event loop that has timers reads the clock and looks through them each time it falls asleep and wakes up. For
//! a stream that is alone on its loop that is at every event: some 700 instructions for limits of minutes that next
//! to never pass. So the loops that read streams have no timers, and these are kept here. A limit is entered once a
//! request, not at every event.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::clock;

/// Ready at its deadline.
#[derive(Debug)]
pub(crate) struct Sleep {
    deadline_ns: u64,
    /// Its place among those that wait.
    entry: Option<Entry>,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    waker: Waker,
}

/// Ready once `duration` has passed.
pub(crate) fn sleep(duration: Duration) -> Sleep {
    let duration_ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    Sleep { deadline_ns: clock::monotonic_ns().saturating_add(duration_ns), entry: None }
}

/// What `work` gives; none if it takes longer than `limit`.
pub(crate) async fn timeout<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut end = pin!(sleep(limit));
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => end.as_mut().poll(cx).map(|()| None),
    })
    .await
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if clock::monotonic_ns() >= self.deadline_ns {
            self.leave();
            return Poll::Ready(());
        }
        if !self.entry.as_ref().is_some_and(|entry| entry.waker.will_wake(cx.waker())) {
            self.leave();
            let waker = cx.waker().clone();
            self.entry = Some(Entry { number: TIMERS.enter(self.deadline_ns, waker.clone()), waker });
        }
        Poll::Pending
    }
}

impl Sleep {
    fn leave(&mut self) {
        if let Some(entry) = self.entry.take() {
            TIMERS.lock().waiting.remove(&(self.deadline_ns, entry.number));
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.leave();
    }
}

static TIMERS: Timers = Timers {
    state: Mutex::new(State { waiting: BTreeMap::new(), entered: 0, runs: false }),
    changed: Condvar::new(),
};

struct Timers {
    state: Mutex<State>,
    /// There is an earlier deadline than the thread knows of.
    changed: Condvar,
}

struct State {
    /// Who is to be woken, by deadline and number.
    waiting: BTreeMap<(u64, u64), Waker>,
    entered: u64,
    /// The thread was started.
    runs: bool,
}

impl Timers {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters somebody to be woken; the number of the entry.
    fn enter(&'static self, deadline_ns: u64, waker: Waker) -> u64 {
        let mut state = self.lock();
        if !state.runs {
            let named = std::thread::Builder::new().name("timers".to_owned());
            state.runs = named.spawn(|| self.serve()).is_ok();
        }
        if !state.runs {
            // Without a thread those who wait look for themselves, again and again.
            waker.wake_by_ref();
        }
        state.entered += 1;
        let number = state.entered;
        let first = state.waiting.first_key_value().is_none_or(|(first, _)| deadline_ns < first.0);
        state.waiting.insert((deadline_ns, number), waker);
        if first {
            self.changed.notify_one();
        }
        number
    }

    fn serve(&self) {
        let mut state = self.lock();
        loop {
            let Some((&(deadline_ns, _), _)) = state.waiting.first_key_value() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left_ns = deadline_ns.saturating_sub(clock::monotonic_ns());
            if left_ns > 0 {
                let left = Duration::from_nanos(left_ns);
                state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            } else if let Some((_, waker)) = state.waiting.pop_first() {
                // Whoever is woken may take the lock at once.
                drop(state);
                waker.wake();
                state = self.lock();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use super::{TIMERS, sleep, timeout};
    use crate::clock;

    fn short() -> Duration {
        Duration::from_millis(5)
    }

    /// Without any timer of the event loop.
    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    #[test]
    fn a_sleep_ends_at_its_deadline_and_not_before() {
        let before = clock::monotonic_ns();
        block_on(sleep(short()));
        assert!(clock::monotonic_ns() - before >= 5_000_000);
        block_on(sleep(Duration::ZERO));
    }

    #[test]
    fn sleeps_end_in_the_order_of_their_deadlines() {
        block_on(async {
            let late = async {
                sleep(4 * short()).await;
                clock::monotonic_ns()
            };
            let early = async {
                sleep(short()).await;
                clock::monotonic_ns()
            };
            let (late, early) = tokio::join!(late, early);
            assert!(early < late);
        });
    }

    #[test]
    fn a_limit_cuts_off_what_takes_longer() {
        assert_eq!(block_on(timeout(short(), pending::<()>())), None);
        assert_eq!(block_on(timeout(Duration::from_secs(3600), async { 7 })), Some(7));
    }

    #[test]
    fn what_is_dropped_waits_no_longer() {
        let far = Duration::from_secs(123_456);
        let waits = |from_ns: u64| TIMERS.lock().waiting.range((from_ns, 0)..).count();
        let from_ns = clock::monotonic_ns() + 123_000_000_000_000;
        block_on(async {
            assert_eq!(timeout(short(), sleep(far)).await, None);
            let mut kept = std::pin::pin!(sleep(far));
            assert_eq!(timeout(short(), kept.as_mut()).await, None);
            assert_eq!(waits(from_ns), 1);
        });
        assert_eq!(waits(from_ns), 0);
    }
}
