//! The engine behind an HTTP server, in real time.
//!
//! One thread drives the engine and sleeps until its next deadline. Few other threads do the network, each
//! with its own event loop. The engine's thread hands all tokens of a step over at once and wakes each event
//! loop once, which writes them to the sockets one after another. Nobody waits for a client: a stream that is
//! read too slowly gets its tokens in fewer, larger frames. Long prompts are parsed and tokenized on threads of
//! their own.

mod answer;
mod body;
mod dialect;
mod driver;
mod events;
mod fault;
mod frames;
mod generate;
mod line;
mod outlet;
mod prometheus;
mod routes;
mod stream;
mod truth;
mod worker;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::watch;
use tokometer_record::truth::Truth;

use crate::clock::Clock;
use crate::{Profile, SimError};
use driver::Inbox;
use fault::Faults;
use routes::{App, Shared};
use truth::TruthLog;
use worker::{Connections, EventLoop, Worker};

pub use dialect::Dialect;
pub use fault::{Fault, FaultKind};

/// Most network threads.
const MOST_WORKERS: usize = 8;

/// Where the server listens, for whom, and what it does.
#[derive(Clone)]
pub struct ServerOptions {
    /// Address; port 0 takes any free one.
    pub listen: SocketAddr,
    /// The paths that the engine guards, as all below `/v1`, want this as a bearer token; none: everybody may
    /// ask. An engine that knows no keys lets everybody in.
    pub api_key: Option<String>,
    /// The engine that it answers like.
    pub dialect: Dialect,
    /// What goes wrong on purpose; where several befall a request, the first of them.
    pub faults: Vec<Fault>,
    /// A silent stream gets a comment after this long; none: as the engine does by default.
    pub keep_alive: Option<Duration>,
    /// Events of a stream that are joined in one write, each still with one token; the first goes alone, and what is
    /// left at the end goes as it is. None: events go as they come.
    pub events_per_write: Option<NonZeroU32>,
    /// Note when each event is sent; each token then has an event of its own.
    pub truth: Option<TruthTo>,
}

/// Where it is noted when each event is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TruthTo {
    /// In memory, which grows by 32 bytes a write, for [`Running::stop_and_tell`].
    Memory,
    /// In a file, as it comes, for [`Running::stop_and_save`], which puts the file into its place.
    File(PathBuf),
}

impl Default for ServerOptions {
    /// Any free port of this machine, for everybody, in the native dialect.
    fn default() -> ServerOptions {
        ServerOptions {
            listen: ([127, 0, 0, 1], 0).into(),
            api_key: None,
            dialect: Dialect::default(),
            faults: Vec::new(),
            keep_alive: None,
            events_per_write: None,
            truth: None,
        }
    }
}

impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerOptions")
            .field("listen", &self.listen)
            .field("api_key", &self.api_key.as_ref().map(|_| "<redacted>"))
            .field("dialect", &self.dialect)
            .field("faults", &self.faults)
            .field("keep_alive", &self.keep_alive)
            .field("events_per_write", &self.events_per_write)
            .field("truth", &self.truth)
            .finish()
    }
}

/// A simulated engine that answers like a server.
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Listens, and starts the threads.
    pub fn start(profile: Profile, options: ServerOptions) -> Result<Running, SimError> {
        let manner = options.dialect.manner();
        let profile = Arc::new(manner.limit(profile));
        let clock = Clock::start();
        let count = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<Arc<Worker>> =
            (0..(count / 2).clamp(1, MOST_WORKERS)).map(|_| Arc::default()).collect();
        let inbox = Arc::new(Inbox::new(clock, workers.clone(), profile.is_flat_out()));
        let (stop, stopped) = watch::channel(false);

        let loops = (0..workers.len()).map(|_| EventLoop::new(count)).collect::<io::Result<Vec<_>>>();
        let loops = loops.map_err(SimError::Threads)?;
        let listener = loops[0]
            .listen(options.listen)
            .map_err(|source| SimError::Listen { address: options.listen, source })?;
        let address = listener.local_addr().map_err(SimError::Threads)?;

        let events_per_write = options.events_per_write.map_or(0, NonZeroU32::get);
        let log = options.truth.map(|to| match to {
            TruthTo::Memory => Ok(TruthLog::new(clock, workers.len())),
            TruthTo::File(path) => TruthLog::in_file(clock, workers.len(), &path),
        });
        let truth = log.transpose()?.map(Arc::new);
        let shared = Shared {
            profile: Arc::clone(&profile),
            inbox: Arc::clone(&inbox),
            clock,
            manner,
            faults: Faults::new(options.faults),
            keep_alive: options.keep_alive,
            api_key: options.api_key.map(Into::into),
            events_per_write,
            truth: truth.clone(),
        };
        let mut connections = Vec::new();
        for (number, (worker, event_loop)) in workers.iter().zip(&loops).enumerate() {
            let app = App::new(&shared, number);
            let handle = event_loop.handle().map_err(SimError::Threads)?;
            connections.push(Connections::new(Arc::clone(worker), handle, app, stopped.clone()));
        }

        // From here on `running` stops what has been started, also when a later thread fails.
        let telling = truth.map(|log| Telling { log, profile: profile.name().to_owned(), events_per_write });
        let inbox_too = Arc::clone(&inbox);
        let mut running = Running { address, stop, inbox: inbox_too, network: vec![], engine: None, telling };
        running.engine = Some(spawn("sim-engine".to_owned(), move || driver::run(profile, &inbox))?);
        let mut listener = Some((listener, connections.clone()));
        for (number, (event_loop, connections)) in loops.into_iter().zip(connections).enumerate() {
            let accept = listener.take();
            let thread =
                spawn(format!("sim-net-{number}"), move || worker::run(&event_loop, &connections, accept))?;
            running.network.push(thread);
        }
        Ok(running)
    }
}

/// A server that answers until this is stopped or dropped.
pub struct Running {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    inbox: Arc<Inbox>,
    network: Vec<JoinHandle<()>>,
    engine: Option<JoinHandle<()>>,
    telling: Option<Telling>,
}

/// What is told at the end.
struct Telling {
    log: Arc<TruthLog>,
    profile: String,
    events_per_write: u32,
}

impl Running {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, gives the open ones a moment to end, and ends all threads.
    pub fn stop(self) {
        drop(self);
    }

    /// The same, and tells when each event was sent, if that was to be noted in memory.
    pub fn stop_and_tell(mut self) -> Option<Truth> {
        let telling = self.telling.take();
        drop(self);
        telling.map(|telling| telling.log.truth(&telling.profile, telling.events_per_write))
    }

    /// The same as [`Running::stop`], and ends the file in which it was to be noted when each event was sent.
    pub fn stop_and_save(mut self) -> Result<(), SimError> {
        let telling = self.telling.take();
        drop(self);
        telling.map_or(Ok(()), |telling| telling.log.save(&telling.profile, telling.events_per_write))
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        for thread in self.network.drain(..) {
            // A thread that panicked has said so already.
            let _ = thread.join();
        }
        self.inbox.stop();
        if let Some(engine) = self.engine.take() {
            let _ = engine.join();
        }
    }
}

fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, SimError> {
    thread::Builder::new().name(name).spawn(work).map_err(SimError::Threads)
}
