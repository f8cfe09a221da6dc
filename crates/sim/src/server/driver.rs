//! The engine's own thread: the only place where virtual time meets the clock.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::stream::Stream;
use super::worker::Worker;
use crate::Profile;
use crate::clock::Clock;
use crate::engine::{Emission, Engine, Request, RequestId, Stats};

/// What the network threads and the engine's thread share.
pub(super) struct Inbox {
    clock: Clock,
    workers: Vec<Arc<Worker>>,
    commands: Mutex<Commands>,
    wake: Condvar,
    stats: Mutex<Stats>,
    next_id: AtomicU64,
}

#[derive(Default)]
struct Commands {
    queue: Vec<Command>,
    stop: bool,
}

enum Command {
    Submit(Request, Arc<Stream>),
    Abort(RequestId),
}

impl Inbox {
    pub(super) fn new(clock: Clock, workers: Vec<Arc<Worker>>) -> Inbox {
        Inbox {
            clock,
            workers,
            commands: Mutex::default(),
            wake: Condvar::new(),
            stats: Mutex::default(),
            next_id: AtomicU64::new(1),
        }
    }

    /// A number for a request.
    pub(super) fn next_id(&self) -> RequestId {
        RequestId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Hands a request to the engine; its tokens come to `stream`.
    pub(super) fn submit(&self, request: Request, stream: Arc<Stream>) {
        self.push(Command::Submit(request, stream));
    }

    /// Ends a request.
    pub(super) fn abort(&self, id: RequestId) {
        self.push(Command::Abort(id));
    }

    /// Ends the engine's thread.
    pub(super) fn stop(&self) {
        lock(&self.commands).stop = true;
        self.wake.notify_one();
    }

    /// Gauges and counters as of the engine's last turn.
    pub(super) fn stats(&self) -> Stats {
        *lock(&self.stats)
    }

    fn push(&self, command: Command) {
        lock(&self.commands).queue.push(command);
        self.wake.notify_one();
    }

    /// Sleeps until there is a command or the deadline has come; false when the engine is to stop.
    fn wait(&self, deadline_ns: Option<u64>, taken: &mut Vec<Command>) -> bool {
        let mut commands = lock(&self.commands);
        while commands.queue.is_empty() && !commands.stop {
            let Some(deadline_ns) = deadline_ns else {
                commands = self.wake.wait(commands).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left_ns = deadline_ns.saturating_sub(self.clock.now_ns());
            if left_ns == 0 {
                break;
            }
            let left = Duration::from_nanos(left_ns);
            commands = self.wake.wait_timeout(commands, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(&mut commands.queue, taken);
        !commands.stop
    }
}

/// Runs the engine until the inbox is stopped.
pub(super) fn run(profile: Arc<Profile>, inbox: &Inbox) {
    let mut driver = Driver {
        engine: Engine::new(profile),
        streams: HashMap::new(),
        emissions: Vec::new(),
        ready: inbox.workers.iter().map(|_| Vec::new()).collect(),
    };
    let mut commands = Vec::new();
    while inbox.wait(driver.engine.next_deadline(), &mut commands) {
        driver.engine.advance(inbox.clock.now_ns(), &mut driver.emissions);
        for command in commands.drain(..) {
            driver.obey(command);
        }
        // Counters first: who has read a token finds it counted.
        *lock(&inbox.stats) = driver.engine.stats();
        driver.deliver(&inbox.workers);
    }
}

struct Driver {
    engine: Engine,
    streams: HashMap<RequestId, Arc<Stream>>,
    emissions: Vec<Emission>,
    /// Streams with something new, by worker.
    ready: Vec<Vec<Arc<Stream>>>,
}

impl Driver {
    fn obey(&mut self, command: Command) {
        match command {
            Command::Submit(request, stream) => {
                self.streams.insert(request.id, stream);
                self.engine.submit(request);
            }
            Command::Abort(id) => {
                self.streams.remove(&id);
                self.engine.abort(id);
            }
        }
    }

    fn deliver(&mut self, workers: &[Arc<Worker>]) {
        for emission in self.emissions.drain(..) {
            let Some(stream) = self.streams.get(&emission.id) else { continue };
            if stream.put(&emission) {
                self.ready[stream.worker()].push(Arc::clone(stream));
            }
            if emission.finish.is_some() {
                self.streams.remove(&emission.id);
            }
        }
        for (worker, ready) in workers.iter().zip(&mut self.ready) {
            if !ready.is_empty() {
                worker.wake(ready);
            }
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
