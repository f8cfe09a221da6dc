//! The course of one request, whatever carries it: send, receive, stop when cut or when nothing moves.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
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

    /// Takes what had arrived by `cut_ns`, and no more.
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

/// Runs to the end.
pub(super) async fn run(
    course: &mut impl Course,
    clock: Clock,
    idle: Duration,
    cancel: impl Future<Output = ()>,
) -> End {
    match until_cut(course, clock, idle, cancel).await {
        Some(close) => End { close, cut_ns: None },
        None => cut(course, clock).await,
    }
}

/// Cuts the request.
async fn cut<C: Course>(course: &mut C, clock: Clock) -> End {
    let cut_ns = clock.now_ns();
    if !C::CUT_GRACE.is_zero() {
        sleep(C::CUT_GRACE).await;
    }
    let close = poll_fn(|cx| Poll::Ready(course.cut(cx, cut_ns))).await;
    End { close, cut_ns: Some(cut_ns) }
}

/// Runs to the end, or until it is to be cut: then there is none.
async fn until_cut(
    course: &mut impl Course,
    clock: Clock,
    idle: Duration,
    cancel: impl Future<Output = ()>,
) -> Option<Option<Close>> {
    let mut cancel = pin!(cancel);
    let mut watch = pin!(Watch::new(idle));
    poll_fn(|cx| {
        if cancel.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        course.send(cx);
        if let Poll::Ready(end) = course.receive(cx) {
            return Poll::Ready(Some(end));
        }
        if course.is_whole() {
            watch.limit = END_GRACE;
        }
        match watch.poll(cx, course.active_ns(), clock) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) if course.is_whole() => Poll::Ready(Some(Some(Close::Silence))),
            Poll::Ready(()) => Poll::Ready(Some(Some(Close::Error(
                FailureKind::Timeout,
                format!("nothing came from the server for {} s", idle.as_secs_f64()),
            )))),
        }
    })
    .await
}

/// Watches for silence. Its timer is not moved with every event: when it fires, it is set to what is left.
struct Watch {
    limit: Duration,
    /// When something had last moved.
    active_ns: u64,
    timer: Option<Sleep>,
    /// When the timer fires.
    due_ns: u64,
}

impl Watch {
    fn new(limit: Duration) -> Watch {
        Watch { limit, active_ns: 0, timer: None, due_ns: 0 }
    }

    /// Ready if nothing moved for the limit.
    #[inline]
    fn poll(&mut self, cx: &mut Context<'_>, active_ns: u64, clock: Clock) -> Poll<()> {
        let moved = std::mem::replace(&mut self.active_ns, active_ns) != active_ns;
        let end_ns = active_ns.saturating_add(self.limit.as_nanos() as u64);
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
