//! When each event was really sent.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tokometer_record::truth::{Truth, TruthMeta, TruthRequest, TruthSend};

use super::driver::lock;
use crate::clock::Clock;

/// Writes of one block of the log: a full one is put aside, so that nothing is copied while streams run.
const BLOCK: usize = 1 << 16;

/// One write with events.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Send {
    /// Number of the request in the log.
    pub(super) request: u32,
    pub(super) tokens: u32,
    pub(super) due_ns: u64,
    pub(super) before_ns: u64,
    pub(super) after_ns: u64,
}

/// All that has been sent. Each network thread has a place of its own for its writes.
#[derive(Debug)]
pub(super) struct TruthLog {
    clock: Clock,
    requests: Mutex<Vec<TruthRequest>>,
    sends: Vec<Mutex<Blocks>>,
    first_request_ns: AtomicU64,
    full: AtomicU64,
}

#[derive(Debug)]
struct Blocks {
    whole: Vec<Vec<Send>>,
    open: Vec<Send>,
}

impl TruthLog {
    pub(super) fn new(clock: Clock, workers: usize) -> TruthLog {
        let blocks = || Mutex::new(Blocks { whole: Vec::new(), open: Vec::with_capacity(BLOCK) });
        TruthLog {
            clock,
            requests: Mutex::default(),
            sends: (0..workers).map(|_| blocks()).collect(),
            first_request_ns: AtomicU64::new(u64::MAX),
            full: AtomicU64::new(0),
        }
    }

    /// A request of any kind has arrived.
    pub(super) fn note_arrival(&self, arrival_ns: u64) {
        self.first_request_ns.fetch_min(arrival_ns, Ordering::Relaxed);
    }

    /// A number for a request for output.
    pub(super) fn note_request(&self, label: Option<String>, arrival_ns: u64, prompt_tokens: u64) -> u32 {
        let mut requests = lock(&self.requests);
        let request = requests.len() as u32;
        let arrival_ns = self.clock.origin_ns() + arrival_ns;
        requests.push(TruthRequest { request, label, arrival_ns, prompt_tokens });
        request
    }

    /// A write on this worker.
    pub(super) fn note(&self, worker: usize, send: Send) {
        let mut blocks = lock(&self.sends[worker]);
        if blocks.open.len() == BLOCK {
            let full = std::mem::replace(&mut blocks.open, Vec::with_capacity(BLOCK));
            blocks.whole.push(full);
        }
        blocks.open.push(send);
    }

    /// A socket took less than it was given.
    pub(super) fn note_full(&self) {
        self.full.fetch_add(1, Ordering::Relaxed);
    }

    /// The log as a record, by request and in order of time within one.
    pub(super) fn truth(&self, profile: &str, events_per_write: u32) -> Truth {
        let origin_ns = self.clock.origin_ns();
        let mut sends = Vec::new();
        for blocks in &self.sends {
            let blocks = lock(blocks);
            for send in blocks.whole.iter().flatten().chain(&blocks.open) {
                sends.push(TruthSend {
                    request: send.request,
                    tokens: send.tokens,
                    due_ns: origin_ns + send.due_ns,
                    before_ns: origin_ns + send.before_ns,
                    after_ns: origin_ns + send.after_ns,
                });
            }
        }
        // Stable: the writes of a request are in order, for they are on one worker.
        sends.sort_by_key(|send| send.request);
        let first = self.first_request_ns.load(Ordering::Relaxed);
        Truth {
            meta: TruthMeta {
                schema: TruthMeta::SCHEMA.to_owned(),
                profile: profile.to_owned(),
                events_per_write: events_per_write.max(1),
                network_threads: self.sends.len() as u32,
                start_ns: origin_ns,
                first_request_ns: (first != u64::MAX).then(|| origin_ns + first),
                full_sockets: self.full.load(Ordering::Relaxed),
            },
            requests: lock(&self.requests).clone(),
            sends,
        }
    }
}
