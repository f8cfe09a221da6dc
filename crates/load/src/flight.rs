//! The streams of one cell while they run, as the conductor holds them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use tokio::sync::{Notify, mpsc, oneshot, watch};

use crate::live::{LiveStreams, Tap};
use crate::peek::Asked;
use crate::recording::Recording;
use crate::signal::Signal;

/// What the conductor may see of one stream while it runs. Streams of different workers stand side by side: each
/// has a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(crate) struct StreamState {
    pub(crate) connected: AtomicBool,
    pub(crate) had_token: AtomicBool,
    /// Requests that ended.
    pub(crate) ended: AtomicU32,
    pub(crate) stopped: AtomicBool,
    /// Events so far, for a display.
    pub(crate) events: AtomicU64,
    /// Lag of the last event, ns, for a display.
    pub(crate) lag_ns: AtomicU64,
}

/// Shared between the conductor and the streams of one cell.
#[derive(Debug)]
pub(crate) struct CellState {
    next_request: Arc<AtomicU32>,
    any_failed: AtomicBool,
    pub(crate) tap: Arc<Tap>,
    pub(crate) streams: Vec<StreamState>,
    /// A stream has connected or stopped.
    changed: Notify,
}

impl CellState {
    /// State of `streams` streams whose requests are numbered by `next_request`, and which `tap` may look at.
    pub(crate) fn new(streams: usize, next_request: Arc<AtomicU32>, tap: Arc<Tap>) -> CellState {
        CellState {
            next_request,
            any_failed: AtomicBool::new(false),
            tap,
            streams: (0..streams).map(|_| StreamState::default()).collect(),
            changed: Notify::new(),
        }
    }

    /// A number for a request that is sent now.
    pub(crate) fn next_request(&self) -> u32 {
        self.next_request.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn fail(&self) {
        self.any_failed.store(true, Ordering::Release);
    }

    pub(crate) fn any_failed(&self) -> bool {
        self.any_failed.load(Ordering::Acquire)
    }

    pub(crate) fn set_connected(&self, stream: &StreamState) {
        if !stream.connected.swap(true, Ordering::AcqRel) {
            self.changed.notify_one();
        }
    }

    pub(crate) fn set_stopped(&self, stream: &StreamState) {
        stream.stopped.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    pub(crate) fn all(&self, what: impl Fn(&StreamState) -> &AtomicBool) -> bool {
        self.streams.iter().all(|stream| what(stream).load(Ordering::Acquire))
    }

    pub(crate) fn with_token(&self) -> usize {
        self.streams.iter().filter(|stream| stream.had_token.load(Ordering::Acquire)).count()
    }

    /// True if every stream has ended a request.
    pub(crate) fn all_ended_one(&self) -> bool {
        self.streams.iter().all(|stream| stream.ended.load(Ordering::Acquire) > 0)
    }

    /// What a display shows of the streams.
    pub(crate) fn glance(&self) -> LiveStreams {
        let mut seen = LiveStreams { count: self.streams.len() as u32, ..LiveStreams::default() };
        for stream in &self.streams {
            seen.running += u32::from(!stream.stopped.load(Ordering::Relaxed));
            seen.with_token += u32::from(stream.had_token.load(Ordering::Relaxed));
            seen.ended += stream.ended.load(Ordering::Relaxed);
            seen.events += stream.events.load(Ordering::Relaxed);
            seen.lag_ns = seen.lag_ns.max(stream.lag_ns.load(Ordering::Relaxed));
        }
        seen
    }
}

/// The streams of one cell in flight. Dropping it cuts them: the workers see that nobody holds the other end.
pub(crate) struct Flight {
    pub(crate) signal: watch::Sender<Signal>,
    pub(crate) state: Arc<CellState>,
    /// One for each worker that has streams; dropped unanswered if the worker is gone.
    pub(crate) replies: Vec<oneshot::Receiver<Recording>>,
    /// To look at what the same workers have recorded so far.
    pub(crate) looks: Vec<mpsc::Sender<Asked>>,
}

/// How opening the connections went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Every stream has one.
    Done,
    /// A stream got none.
    Failed,
    /// The user wants to end.
    Interrupted,
}

impl Flight {
    pub(crate) fn tell(&self, signal: Signal) {
        self.signal.send_replace(signal);
    }

    /// Waits for all connections. Each has a time limit of its own.
    pub(crate) async fn opened(&self, interrupt: &watch::Receiver<bool>) -> Opening {
        let mut interrupt = interrupt.clone();
        loop {
            if self.state.streams.iter().any(|stream| stream.stopped.load(Ordering::Acquire)) {
                return Opening::Failed;
            }
            if self.state.all(|stream| &stream.connected) {
                return Opening::Done;
            }
            tokio::select! {
                biased;
                () = raised(&mut interrupt) => return Opening::Interrupted,
                () = self.state.changed.notified() => {}
            }
        }
    }

    /// The rows of all streams once these have stopped; they are cut when the user wants to end.
    pub(crate) async fn landed(mut self, interrupt: &watch::Receiver<bool>) -> Recording {
        let mut interrupt = interrupt.clone();
        let mut all = Recording::default();
        for reply in &mut self.replies {
            let rows = tokio::select! {
                biased;
                rows = &mut *reply => rows,
                () = raised(&mut interrupt) => {
                    self.signal.send_replace(Signal::Cut);
                    reply.await
                }
            };
            match rows {
                Ok(rows) => all.absorb(rows),
                Err(_) => all.lost = true,
            }
        }
        all
    }
}

/// Waits until the user wants to end; for ever if nobody can say so any more.
pub(crate) async fn raised(interrupt: &mut watch::Receiver<bool>) {
    if interrupt.wait_for(|wanted| *wanted).await.is_err() {
        std::future::pending::<()>().await;
    }
}
