//! The engine's own thread: the only place where virtual time meets the clock.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::stream::Stream;
use super::worker::Worker;
use crate::Profile;
use crate::clock::Clock;
use crate::engine::{Emission, Engine, Request, RequestId, Stats};
use crate::random::mix;

/// What the network threads and the engine's thread share.
pub(super) struct Inbox {
    clock: Clock,
    workers: Vec<Arc<Worker>>,
    commands: Mutex<Commands>,
    wake: Condvar,
    stats: Mutex<Stats>,
    next_id: AtomicU64,
    flat_out: bool,
}

/// How long before a deadline a thread that has a core to itself stops sleeping: it takes about so long to wake up.
const AWAKE_BEFORE: Duration = Duration::from_micros(80);

/// Cores from which on the engine's thread has one to itself.
const SPARE_CORES: usize = 4;

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
    pub(super) fn new(clock: Clock, workers: Vec<Arc<Worker>>, flat_out: bool) -> Inbox {
        Inbox {
            clock,
            workers,
            commands: Mutex::default(),
            wake: Condvar::new(),
            stats: Mutex::default(),
            next_id: AtomicU64::new(1),
            flat_out,
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

    /// True if the engine makes a step whenever the one before has been sent.
    pub(super) fn is_flat_out(&self) -> bool {
        self.flat_out
    }

    /// A worker has sent what it was given.
    pub(super) fn look_again(&self) {
        // Who is about to sleep holds the lock until it does.
        drop(lock(&self.commands));
        self.wake.notify_one();
    }

    fn holds_back(&self) -> bool {
        self.flat_out && self.workers.iter().any(|worker| worker.is_busy())
    }

    fn push(&self, command: Command) {
        lock(&self.commands).queue.push(command);
        self.wake.notify_one();
    }

    /// Waits until there is a command or the deadline has come; false when the engine is to stop. With `spins` the
    /// last moments are not slept through.
    fn wait(&self, deadline_ns: Option<u64>, spins: bool, taken: &mut Vec<Command>) -> bool {
        let mut commands = lock(&self.commands);
        while commands.queue.is_empty() && !commands.stop {
            let Some(deadline_ns) = deadline_ns.filter(|_| !self.holds_back()) else {
                commands = self.wake.wait(commands).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = Duration::from_nanos(deadline_ns.saturating_sub(self.clock.now_ns()));
            if left.is_zero() {
                break;
            }
            if spins && left <= AWAKE_BEFORE {
                drop(commands);
                std::hint::spin_loop();
                commands = lock(&self.commands);
                continue;
            }
            let nap = if spins { left.saturating_sub(AWAKE_BEFORE) } else { left };
            commands = self.wake.wait_timeout(commands, nap).unwrap_or_else(PoisonError::into_inner).0;
        }
        std::mem::swap(&mut commands.queue, taken);
        !commands.stop
    }
}

/// Runs the engine until the inbox is stopped.
pub(super) fn run(profile: Arc<Profile>, inbox: &Inbox) {
    let mut driver = Driver {
        engine: Engine::new(profile),
        streams: HashMap::default(),
        emissions: Vec::new(),
        ready: inbox.workers.iter().map(|_| Vec::new()).collect(),
    };
    // By default the system rounds a sleep up by 50 µs. Where it cannot be told to be exact, it is not.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_timerslack(1);
    let spins = std::thread::available_parallelism().is_ok_and(|cores| cores.get() >= SPARE_CORES);
    let mut commands = Vec::new();
    while inbox.wait(driver.engine.next_deadline(), spins, &mut commands) {
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
    streams: HashMap<RequestId, Arc<Stream>, BuildHasherDefault<ByNumber>>,
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

/// Requests are numbered in order: their numbers need no hash against an adversary, only a spread.
#[derive(Default)]
struct ByNumber(u64);

impl Hasher for ByNumber {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number);
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
