//! The hand-over of one request's tokens from the engine's thread to the network.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use super::driver::{Inbox, lock};
use super::outlet::{Outlet, Pumped, Sent};
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
    /// When the last of them was due.
    pub(super) due_ns: u64,
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
    /// Tokens that a write must have, but for the first and the last.
    at_least: u32,
    state: Mutex<State>,
    /// Where its events go; none for an answer in one piece, and once the client has gone.
    outlet: Mutex<Option<Outlet>>,
}

/// Writes whose dues are kept while they wait; of more, as of a client that does not read, the last one stands for all.
const DUES: usize = 64;

#[derive(Debug, Default)]
struct State {
    delivery: Delivery,
    /// When the last token of each joined write was due that is complete and waits.
    dues: VecDeque<u64>,
    /// The worker knows that there is something to send.
    told: bool,
    /// The first token is out.
    begun: bool,
    waker: Option<Waker>,
}

impl Stream {
    /// Number of the worker whose event loop sends it.
    pub(super) fn worker(&self) -> usize {
        self.worker
    }

    /// Adds tokens; true if the worker must be told that there is something to send.
    pub(super) fn put(&self, emission: &Emission) -> bool {
        let mut state = lock(&self.state);
        let delivery = &mut state.delivery;
        if emission.looping {
            delivery.looping += emission.tokens;
        } else {
            delivery.plain += emission.tokens;
        }
        delivery.cached_tokens = emission.cached_tokens;
        delivery.due_ns = emission.due_ns;
        delivery.finish = emission.finish;
        while state.dues.len() < state.whole_writes(self.at_least).min(DUES) {
            state.dues.push_back(emission.due_ns);
        }
        let tells = state.is_sendable(self.at_least) && !state.told;
        state.told |= tells;
        tells
    }

    /// Sends what there is, or wakes who waits for it; on the worker's thread, with its buffer.
    pub(super) fn send(&self, buffer: &mut Vec<u8>) -> Pumped {
        lock(&self.state).told = false;
        let mut outlet = lock(&self.outlet);
        if let Some(outlet) = outlet.as_mut() {
            return outlet.pump(buffer, || self.take());
        }
        if let Some(waker) = &lock(&self.state).waker {
            waker.wake_by_ref();
        }
        Pumped::Sent
    }

    /// The head is out: from now on events may be sent.
    pub(super) fn open(&self) {
        if let Some(outlet) = lock(&self.outlet).as_mut() {
            outlet.open();
            outlet.pump(&mut Vec::new(), || self.take());
        }
    }

    /// Goes on where the socket took no more; on the task of the connection.
    pub(super) fn poll_sent(&self, cx: &mut Context<'_>) -> Poll<Sent> {
        match lock(&self.outlet).as_mut() {
            Some(outlet) => outlet.poll_sent(cx, || self.take()),
            None => Poll::Pending,
        }
    }

    /// Sends a comment if nothing has been sent for `pause_ns`; how long it has been silent by now.
    pub(super) fn comment(&self, comment: &str, pause_ns: u64) -> u64 {
        lock(&self.outlet).as_mut().map_or(0, |outlet| outlet.comment(comment, pause_ns))
    }

    /// What is to be sent with the next write.
    fn take(&self) -> Option<Delivery> {
        let mut state = lock(&self.state);
        if !state.is_sendable(self.at_least) {
            return None;
        }
        let most = match self.at_least {
            0 | 1 => u32::MAX,
            _ if !state.begun => 1,
            several => several,
        };
        state.begun = true;
        let (now, later) = state.delivery.split(most);
        state.delivery = later.unwrap_or_default();
        let due_ns = state.dues.pop_front().unwrap_or(now.due_ns);
        Some(Delivery { due_ns, ..now })
    }
}

impl State {
    fn is_sendable(&self, at_least: u32) -> bool {
        let enough = if self.begun { at_least.max(1) } else { 1 };
        self.delivery.tokens() >= enough || self.delivery.finish.is_some()
    }

    /// Writes of joined tokens that are complete and wait; none where tokens go as they come.
    fn whole_writes(&self, at_least: u32) -> usize {
        let tokens = self.delivery.tokens();
        let whole = match at_least {
            0 | 1 => 0,
            _ if self.begun || tokens == 0 => tokens / at_least,
            // The first token goes alone.
            _ => 1 + (tokens - 1) / at_least,
        };
        whole as usize
    }
}

/// A request in the engine. Dropping it before its end, as when its client goes away, aborts it.
pub(super) struct Ticket {
    inbox: Arc<Inbox>,
    id: RequestId,
    stream: Arc<Stream>,
    ended: bool,
    /// A request that ends with this one.
    beside: Option<Box<Ticket>>,
}

impl Ticket {
    /// Hands the request to the engine. Its tokens go to `outlet`, on the event loop of `worker`; without an outlet
    /// they are waited for.
    pub(super) fn submit(
        inbox: &Arc<Inbox>,
        request: Request,
        worker: usize,
        outlet: Option<Outlet>,
    ) -> Ticket {
        let at_least = outlet.as_ref().map_or(0, Outlet::events_per_write);
        let stream = Stream { worker, at_least, state: Mutex::default(), outlet: Mutex::new(outlet) };
        let stream = Arc::new(stream);
        let id = request.id;
        inbox.submit(request, Arc::clone(&stream));
        Ticket { inbox: Arc::clone(inbox), id, stream, ended: false, beside: None }
    }

    /// The same, with another request that is aborted when this one comes to its end.
    pub(super) fn beside(mut self, other: Option<Ticket>) -> Ticket {
        self.beside = other.map(Box::new);
        self
    }

    /// The place of hand-over.
    pub(super) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// What comes next, for an answer in one piece.
    pub(super) async fn next(&mut self) -> Delivery {
        let delivery = poll_fn(|cx| {
            let mut state = lock(&self.stream.state);
            if state.delivery.is_empty() {
                if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                    state.waker = Some(cx.waker().clone());
                }
                return Poll::Pending;
            }
            Poll::Ready(std::mem::take(&mut state.delivery))
        })
        .await;
        self.ended = delivery.finish.is_some();
        delivery
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let outlet = lock(&self.stream.outlet).take();
        if !self.ended && !outlet.is_some_and(|outlet| outlet.has_all()) {
            self.inbox.abort(self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::{State, Stream};
    use crate::engine::{Emission, Finish, RequestId};

    #[test]
    fn a_write_that_is_late_keeps_the_time_that_its_own_tokens_were_due() {
        let stream =
            Stream { worker: 0, at_least: 8, state: Mutex::new(State::default()), outlet: Mutex::new(None) };
        // Nobody takes anything until all 21 have come: 1, 8, 8 and 4.
        for due_ns in 1..=21 {
            let finish = (due_ns == 21).then_some(Finish::Length);
            stream.put(&Emission {
                id: RequestId(1),
                due_ns,
                tokens: 1,
                accepted: None,
                looping: false,
                cached_tokens: 0,
                finish,
            });
        }
        let taken: Vec<_> = std::iter::from_fn(|| stream.take()).collect();
        let seen: Vec<_> = taken.iter().map(|write| (write.tokens(), write.due_ns)).collect();
        assert_eq!(seen, [(1, 1), (8, 9), (8, 17), (4, 21)]);
        assert!(taken[..3].iter().all(|write| write.finish.is_none()) && taken[3].finish.is_some());
    }
}
