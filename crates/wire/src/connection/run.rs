//! The course of one request, whatever carries it: send, receive, stop when cut or when nothing moves.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use crate::clock::Clock;
use crate::failure::FailureKind;
use crate::response::Close;

/// How long the end of a body is waited for once the closing marker of its stream was read.
const END_GRACE: Duration = Duration::from_secs(1);

/// One request on its way.
pub(super) trait Course {
    /// How long others are given to hand over what had arrived before a cut.
    const CUT_GRACE: Duration;

    /// Writes what can be written; true if anything could.
    fn send(&mut self, cx: &mut Context<'_>) -> bool;

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
    let mut watch = Watch { limit: idle, waker: None };
    let mut timer = pin!(sleep(idle));
    poll_fn(|cx| {
        if cancel.as_mut().poll(cx).is_ready() {
            return Poll::Ready(None);
        }
        let moved = course.send(cx);
        match course.receive(cx) {
            Poll::Ready(end) => return Poll::Ready(Some(end)),
            Poll::Pending if course.is_whole() && watch.limit != END_GRACE => watch.shorten(&mut timer),
            Poll::Pending => {}
        }
        match watch.poll(cx, &mut timer, moved, course.active_ns(), clock) {
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
    /// Who was registered with the timer.
    waker: Option<Waker>,
}

impl Watch {
    fn shorten(&mut self, timer: &mut Pin<&mut Sleep>) {
        self.limit = END_GRACE;
        self.waker = None;
        timer.set(sleep(END_GRACE));
    }

    /// Ready if nothing moved for the limit.
    fn poll(
        &mut self,
        cx: &mut Context<'_>,
        timer: &mut Pin<&mut Sleep>,
        moved: bool,
        active_ns: u64,
        clock: Clock,
    ) -> Poll<()> {
        let registered = self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        if registered && (moved || !timer.is_elapsed()) {
            return Poll::Pending;
        }
        self.waker = Some(cx.waker().clone());
        while timer.as_mut().poll(cx).is_ready() {
            let silent = Duration::from_nanos(clock.now_ns().saturating_sub(active_ns));
            let left = self.limit.saturating_sub(silent);
            if left.is_zero() {
                return Poll::Ready(());
            }
            timer.set(sleep(left));
        }
        Poll::Pending
    }
}
