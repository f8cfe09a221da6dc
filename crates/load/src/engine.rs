//! The worker threads: each has one single-threaded event loop and runs its share of a cell's streams.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{LocalOptions, LocalRuntime};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokometer_wire::clock::Clock;
use tokometer_wire::{Connector, Expect};

use crate::flight::{CellState, Flight};
use crate::live::Tap;
use crate::peek::{self, Asked};
use crate::recording::Recording;
use crate::signal::{self, LocalSignal, Signal};
use crate::stream::{self, Shared, Stream};

/// Connections that are being opened at once, over all workers.
const OPENINGS: usize = 64;
/// Event rows of a cell that a worker has room for from the start; a scout or a sample needs few.
const ROOM: usize = 1 << 16;
const ROOM_ONCE: usize = 64;
/// Files that a process needs beside its streams.
const OTHER_FILES: u64 = 128;

/// Why the worker threads could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The operating system refused a thread or an event loop.
    #[error("cannot start a load thread: {0}; fewer threads may work (--load-threads 1)")]
    Thread(#[source] std::io::Error),
    /// More streams than the process may have open files.
    #[error(
        "{streams} streams need {needed} open files and the limit is {limit}: raise it with `ulimit -n {needed}`, \
         or lower the concurrency"
    )]
    Descriptors {
        /// Streams asked for.
        streams: u32,
        /// Open files needed.
        needed: u64,
        /// Hard limit of the process.
        limit: u64,
    },
}

/// How the workers run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadOptions {
    /// Worker threads; at least one is started.
    pub threads: usize,
    /// A worker sleeps for so long at each wake-up, before it reads. It holds the client up on purpose, to see
    /// that the figures stay true or that the cell says why they do not; nothing that measures sets it.
    pub delay_per_wakeup: Option<Duration>,
}

impl LoadOptions {
    /// So many threads, held up by nothing.
    pub fn threads(threads: usize) -> LoadOptions {
        LoadOptions { threads, delay_per_wakeup: None }
    }
}

/// The streams that one worker is to run.
struct Job {
    streams: Vec<Stream>,
    expect: Expect,
    state: Arc<CellState>,
    signal: watch::Receiver<Signal>,
    reply: oneshot::Sender<Recording>,
    looks: mpsc::Receiver<Asked>,
}

struct Worker {
    /// None once the engine ends.
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// Worker threads, started once per run.
pub struct LoadEngine {
    workers: Vec<Worker>,
}

impl LoadEngine {
    /// Starts `threads` workers (at least one) that connect through `connector`.
    pub fn start(threads: usize, connector: &Connector, clock: Clock) -> Result<LoadEngine, LoadError> {
        LoadEngine::start_with(LoadOptions::threads(threads), connector, clock)
    }

    /// Starts workers that connect through `connector`.
    pub fn start_with(
        options: LoadOptions,
        connector: &Connector,
        clock: Clock,
    ) -> Result<LoadEngine, LoadError> {
        let threads = options.threads.max(1);
        let mut engine = LoadEngine { workers: Vec::new() };
        for index in 0..threads {
            let (jobs, inbox) = mpsc::channel(1);
            let (ready, started) = std::sync::mpsc::channel();
            let desk = Desk { connector: connector.clone(), clock, openings: OPENINGS.div_ceil(threads) };
            // The event loop is built on its own thread, where alone it may be dropped.
            let work = move || match event_loop(clock, options.delay_per_wakeup) {
                Ok(runtime) => {
                    ready.send(Ok(())).ok();
                    desk.serve_on(&runtime, inbox);
                }
                Err(error) => drop(ready.send(Err(error))),
            };
            let named = std::thread::Builder::new().name(format!("load-{index}"));
            let thread = named.spawn(work).map_err(LoadError::Thread)?;
            engine.workers.push(Worker { jobs: Some(jobs), thread: Some(thread) });
            let started = started.recv().unwrap_or_else(|gone| Err(std::io::Error::other(gone)));
            started.map_err(LoadError::Thread)?;
        }
        Ok(engine)
    }

    /// Threads to use where the user names none: all cores but one, which is left to the conductor.
    pub fn default_threads() -> usize {
        std::thread::available_parallelism().map_or(1, |cores| cores.get().saturating_sub(1).max(1))
    }

    /// Number of worker threads.
    pub fn threads(&self) -> usize {
        self.workers.len()
    }

    /// Checks that the process may open enough files for `streams`, and raises its soft limit as far as it may.
    pub fn reserve_descriptors(streams: u32) -> Result<(), LoadError> {
        let needed = u64::from(streams) + OTHER_FILES;
        #[cfg(unix)]
        {
            use nix::sys::resource::{Resource, getrlimit, setrlimit};
            if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
                if hard < needed {
                    return Err(LoadError::Descriptors { streams, needed, limit: hard });
                }
                if soft < hard {
                    // Where this is refused, opening the connections says so.
                    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).ok();
                }
            }
        }
        Ok(())
    }

    /// Spreads `streams`, which are numbered from 0 on, over the workers. They open their connections and wait.
    pub(crate) async fn launch(
        &self,
        streams: Vec<Stream>,
        expect: Expect,
        next_request: Arc<AtomicU32>,
        tap: Arc<Tap>,
    ) -> Flight {
        let state = Arc::new(CellState::new(streams.len(), next_request, tap));
        let signal = watch::Sender::new(Signal::Connect);
        let mut shares: Vec<Vec<Stream>> = self.workers.iter().map(|_| Vec::new()).collect();
        for (index, stream) in streams.into_iter().enumerate() {
            let worker = index % shares.len();
            shares[worker].push(stream);
        }
        let (mut replies, mut looks) = (Vec::new(), Vec::new());
        for (worker, share) in self.workers.iter().zip(shares).filter(|(_, share)| !share.is_empty()) {
            let (reply, receiver) = oneshot::channel();
            let (look, asked) = mpsc::channel(1);
            let job = Job {
                streams: share,
                expect,
                state: Arc::clone(&state),
                signal: signal.subscribe(),
                reply,
                looks: asked,
            };
            if let Some(jobs) = &worker.jobs
                && let Err(mpsc::error::SendError(job)) = jobs.send(job).await
            {
                // The worker is gone, and its reply with it. Nobody must wait for its streams.
                for stream in &job.streams {
                    state.set_stopped(&state.streams[stream.index as usize]);
                }
            }
            replies.push(receiver);
            looks.push(look);
        }
        Flight { signal, state, replies, looks }
    }
}

impl Drop for LoadEngine {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            worker.jobs = None;
        }
        for worker in &mut self.workers {
            if let Some(thread) = worker.thread.take() {
                // A thread that panicked has said so already.
                drop(thread.join());
            }
        }
    }
}

fn event_loop(clock: Clock, delay: Option<Duration>) -> std::io::Result<LocalRuntime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    // No timers: a loop that has them looks at them at every event. `wire` keeps the limits of streams elsewhere.
    builder.enable_io();
    tokometer_wire::loop_lag::instrument(&mut builder, clock, delay);
    builder.build_local(LocalOptions::default())
}

/// What a worker needs for every job.
struct Desk {
    connector: Connector,
    clock: Clock,
    openings: usize,
}

impl Desk {
    fn serve_on(&self, runtime: &LocalRuntime, mut inbox: mpsc::Receiver<Job>) {
        runtime.block_on(async {
            while let Some(job) = inbox.recv().await {
                self.serve(job).await;
            }
        });
    }

    async fn serve(&self, job: Job) {
        let room = if job.streams.iter().all(|stream| stream.once) { ROOM_ONCE } else { ROOM };
        let signal = Rc::new(LocalSignal::new(job.streams.len()));
        let following = tokio::task::spawn_local(signal::follow(job.signal, Rc::clone(&signal)));
        let shared = Rc::new(Shared {
            connector: self.connector.clone(),
            clock: self.clock,
            expect: job.expect,
            state: job.state,
            signal,
            recording: RefCell::new(Recording::with_room(room)),
            openings: Semaphore::new(self.openings),
            keeps: std::cell::Cell::new(true),
        });
        let looked_at = tokio::task::spawn_local(peek::answer(job.looks, Rc::clone(&shared)));
        let mut running = JoinSet::new();
        for (place, stream) in job.streams.into_iter().enumerate() {
            running.spawn_local(stream::run(stream, place, Rc::clone(&shared)));
        }
        let mut lost = false;
        while let Some(ended) = running.join_next().await {
            lost |= ended.is_err();
        }
        following.abort();
        looked_at.abort();
        let mut recording = shared.recording.take();
        recording.lost |= lost;
        // A conductor that is gone wants no rows.
        drop(job.reply.send(recording));
    }
}
