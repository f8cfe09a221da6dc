//! What the streams of a cell are to do, as their worker's event loop sees it.
//!
//! The conductor tells each worker through a channel. A stream looks at its signal whenever it is woken, which is
//! at every read of its socket; so there it is a plain cell of the worker's thread, without a lock.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use tokio::sync::watch;

/// What the streams of a cell are to do next; it only ever rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Signal {
    /// Open connections and wait.
    Connect,
    /// Send, and send again.
    Go,
    /// Let the running request end, send no other.
    Finish,
    /// Cut the running request.
    Cut,
}

/// The signal on one worker.
#[derive(Debug)]
pub(crate) struct LocalSignal {
    now: Cell<Signal>,
    /// Who waits, by the stream's place on this worker.
    waiting: RefCell<Vec<Option<Waker>>>,
}

impl LocalSignal {
    /// For this many streams.
    pub(crate) fn new(streams: usize) -> LocalSignal {
        LocalSignal {
            now: Cell::new(Signal::Connect),
            waiting: RefCell::new(std::iter::repeat_with(|| None).take(streams).collect()),
        }
    }

    pub(crate) fn now(&self) -> Signal {
        self.now.get()
    }

    /// Waits until the signal is at least `wanted`, for the stream at `place`; says what it is then.
    pub(crate) fn reached(&self, place: usize, wanted: Signal) -> impl Future<Output = Signal> {
        poll_fn(move |cx| self.poll_reached(place, wanted, cx))
    }

    fn poll_reached(&self, place: usize, wanted: Signal, cx: &mut Context<'_>) -> Poll<Signal> {
        let now = self.now.get();
        if now >= wanted {
            return Poll::Ready(now);
        }
        if let Some(slot) = self.waiting.borrow_mut().get_mut(place)
            && !slot.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()))
        {
            *slot = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Waits until the running request is to be cut.
    pub(crate) fn cut(&self, place: usize) -> impl Future<Output = ()> {
        poll_fn(move |cx| self.poll_reached(place, Signal::Cut, cx).map(drop))
    }

    fn set(&self, signal: Signal) {
        self.now.set(signal);
        for waker in self.waiting.borrow().iter().flatten() {
            waker.wake_by_ref();
        }
    }
}

/// Passes on what the conductor says. A conductor that is gone wants nothing any more.
pub(crate) async fn follow(mut told: watch::Receiver<Signal>, local: Rc<LocalSignal>) {
    loop {
        let signal = *told.borrow_and_update();
        local.set(signal);
        if signal == Signal::Cut {
            return;
        }
        if told.changed().await.is_err() {
            local.set(Signal::Cut);
            return;
        }
    }
}
