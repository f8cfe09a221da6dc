//! The hand-over of one request's tokens from the engine's thread to the network.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use super::driver::{Inbox, lock};
use crate::engine::{Emission, Finish, Request, RequestId};

/// Tokens that have come since the last look.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Delivery {
    /// Tokens of a text that does not repeat itself; they come before the looping ones.
    pub(super) plain: u32,
    /// Tokens of a text that repeats itself.
    pub(super) looping: u32,
    /// Prompt tokens that were found in the prefix cache.
    pub(super) cached_tokens: u64,
    /// Set with the last token.
    pub(super) finish: Option<Finish>,
}

impl Delivery {
    fn is_empty(&self) -> bool {
        self.plain + self.looping == 0
    }

    /// Number of tokens.
    pub(super) fn tokens(&self) -> u32 {
        self.plain + self.looping
    }

    /// The first tokens, at most so many, and the rest, if there is any.
    pub(super) fn split(&self, tokens: u32) -> (Delivery, Option<Delivery>) {
        if tokens >= self.tokens() {
            return (*self, None);
        }
        let plain = self.plain.min(tokens);
        let first = Delivery { plain, looping: tokens - plain, finish: None, ..*self };
        let rest = Delivery { plain: self.plain - plain, looping: self.looping - first.looping, ..*self };
        (first, Some(rest))
    }
}

/// The place of hand-over. It holds counts, not text: a slow reader costs no memory.
#[derive(Debug)]
pub(super) struct Stream {
    worker: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    delivery: Delivery,
    waker: Option<Waker>,
}

impl Stream {
    /// Number of the worker whose event loop reads it.
    pub(super) fn worker(&self) -> usize {
        self.worker
    }

    /// Adds tokens; true if there were none before, so that the reader must be woken.
    pub(super) fn put(&self, emission: &Emission) -> bool {
        let mut state = lock(&self.state);
        let delivery = &mut state.delivery;
        let first = delivery.is_empty();
        if emission.looping {
            delivery.looping += emission.tokens;
        } else {
            delivery.plain += emission.tokens;
        }
        delivery.cached_tokens = emission.cached_tokens;
        delivery.finish = emission.finish;
        first
    }

    /// Wakes the reader.
    pub(super) fn wake(&self) {
        if let Some(waker) = &lock(&self.state).waker {
            waker.wake_by_ref();
        }
    }
}

/// A request in the engine. Dropping it before its end, as when its client goes away, aborts it.
pub(super) struct Ticket {
    inbox: Arc<Inbox>,
    id: RequestId,
    stream: Arc<Stream>,
    ended: bool,
}

impl Ticket {
    /// Hands the request to the engine; the event loop of `worker` reads it.
    pub(super) fn submit(inbox: &Arc<Inbox>, request: Request, worker: usize) -> Ticket {
        let stream = Arc::new(Stream { worker, state: Mutex::default() });
        let id = request.id;
        inbox.submit(request, Arc::clone(&stream));
        Ticket { inbox: Arc::clone(inbox), id, stream, ended: false }
    }

    /// What has come since the last look.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Delivery> {
        let mut state = lock(&self.stream.state);
        if state.delivery.is_empty() {
            if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                state.waker = Some(cx.waker().clone());
            }
            return Poll::Pending;
        }
        let delivery = std::mem::take(&mut state.delivery);
        self.ended = delivery.finish.is_some();
        Poll::Ready(delivery)
    }

    /// What comes next.
    pub(super) async fn next(&mut self) -> Delivery {
        poll_fn(|cx| self.poll_next(cx)).await
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.ended {
            self.inbox.abort(self.id);
        }
    }
}
