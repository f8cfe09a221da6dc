//! The course of one request, whatever carries it: send, receive, stop when cut or when nothing moves.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::clock::Clock;
use crate::failure::FailureKind;
use crate::response::Close;
use crate::timer::{Sleep, sleep};

/// How long the end of a body is waited for once the closing marker of its stream was read.
const END_GRACE: Duration = Duration::from_secs(1);

/// One request on its way.
pub(super) trait Course {
    /// How long others are given to hand over what had arrived before a cut.
    const CUT_GRACE: Duration;

    /// Writes what can be written.
    fn send(&mut self, cx: &mut Context<'_>);

    /// Reads what is there. Ready at the end: says why, unless the response came to its own.
    fn receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Close>>;

    /// Takes what had arrived by `cut_ns`. A read that ends behind that is taken too: its beginning may have arrived
    /// before.
    fn cut(&mut self, cx: &mut Context<'_>, cut_ns: u64) -> Option<Close>;

    /// True once only the end of the body is missing.
    fn is_whole(&self) -> bool;

    /// When something last moved.
    fn active_ns(&self) -> u64;
}

/// How a course ended.
pub(super) struct End {
    /// Why, unless the response came to its own end.
    pub(super) close: Option<Close>,
    /// When we cut it.
    pub(super) cut_ns: Option<u64>,
}

/// Where a course is. One value that is polled, and not functions that wait for each other: those would hold what
/// they pass on several times over, for each stream.
pub(super) enum Run {
    /// It is on its way.
    Going(Watch),
    /// It is cut.
    Cut {
        /// When it was.
        cut_ns: u64,
        /// What others are given for what they still hold.
        grace: Option<Sleep>,
    },
}

impl Run {
    /// A course that ends when nothing comes for `idle`.
    pub(super) fn new(idle: Duration) -> Run {
        Run::Going(Watch::new(idle))
    }

    /// Ready at the end; once `cancel` is, the course is cut.
    pub(super) fn poll<C: Course>(
        &mut self,
        cx: &mut Context<'_>,
        course: &mut C,
        clock: Clock,
        cancel: Pin<&mut impl Future<Output = ()>>,
    ) -> Poll<End> {
        if let Run::Going(watch) = self {
            if cancel.poll(cx).is_pending() {
                return watch.go_on(cx, course, clock).map(|close| End { close, cut_ns: None });
            }
            let grace = (!C::CUT_GRACE.is_zero()).then(|| sleep(C::CUT_GRACE));
            *self = Run::Cut { cut_ns: clock.now_ns(), grace };
        }
        let Run::Cut { cut_ns, grace } = self else { return Poll::Pending };
        if let Some(grace) = grace {
            ready!(Pin::new(grace).poll(cx));
        }
        Poll::Ready(End { close: course.cut(cx, *cut_ns), cut_ns: Some(*cut_ns) })
    }
}

/// Watches for silence. Its timer is not moved with every event: when it fires, it is set to what is left.
pub(super) struct Watch {
    /// Longest silence, until only the end of the body is missing.
    idle: Duration,
    /// When something had last moved.
    active_ns: u64,
    timer: Option<Sleep>,
    /// When the timer fires.
    due_ns: u64,
}

impl Watch {
    fn new(idle: Duration) -> Watch {
        Watch { idle, active_ns: 0, timer: None, due_ns: 0 }
    }

    /// Ready at the end of the course, or when nothing comes any more.
    #[inline]
    fn go_on(&mut self, cx: &mut Context<'_>, course: &mut impl Course, clock: Clock) -> Poll<Option<Close>> {
        course.send(cx);
        if let Poll::Ready(end) = course.receive(cx) {
            return Poll::Ready(end);
        }
        let is_whole = course.is_whole();
        let limit = if is_whole { END_GRACE } else { self.idle };
        ready!(self.poll(cx, course.active_ns(), limit, clock));
        Poll::Ready(Some(if is_whole {
            Close::Silence
        } else {
            let message = format!("nothing came from the server for {} s", limit.as_secs_f64());
            Close::Error(FailureKind::Timeout, message)
        }))
    }

    /// Ready if nothing moved for `limit`.
    #[inline]
    fn poll(&mut self, cx: &mut Context<'_>, active_ns: u64, limit: Duration, clock: Clock) -> Poll<()> {
        let moved = std::mem::replace(&mut self.active_ns, active_ns) != active_ns;
        let end_ns = active_ns.saturating_add(limit.as_nanos() as u64);
        // A timer that fires too early costs a look; it is never to fire too late.
        if moved && active_ns < self.due_ns && self.due_ns <= end_ns {
            return Poll::Pending;
        }
        self.look(cx, end_ns, clock)
    }

    /// Ready if the end is past; else the timer is set.
    fn look(&mut self, cx: &mut Context<'_>, end_ns: u64, clock: Clock) -> Poll<()> {
        let now_ns = clock.now_ns();
        let left_ns = end_ns.saturating_sub(now_ns);
        if left_ns == 0 {
            return Poll::Ready(());
        }
        if self.due_ns <= now_ns || self.due_ns > end_ns {
            self.timer = Some(sleep(Duration::from_nanos(left_ns)));
            self.due_ns = end_ns;
        }
        match self.timer.as_mut().map(|timer| Pin::new(timer).poll(cx)) {
            // It fired between the two looks at the clock.
            Some(Poll::Ready(())) => {
                self.due_ns = 0;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            _ => Poll::Pending,
        }
    }
}
