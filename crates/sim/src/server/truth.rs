//! When each event was really sent.

mod file;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tokometer_record::truth::{Truth, TruthMeta, TruthRequest, TruthSend};

use super::driver::lock;
use crate::SimError;
use crate::clock::Clock;
use file::{LogFile, Piece};

/// Writes of one block of the log: a full one is put aside, so that nothing is copied while streams run.
const BLOCK: usize = 1 << 16;
/// Requests of one block.
const REQUESTS: usize = 1 << 14;

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
    /// Where full blocks go; without it they stay.
    file: Option<LogFile>,
    requests: Mutex<Requests>,
    sends: Vec<Mutex<Sends>>,
    first_request_ns: AtomicU64,
    full: AtomicU64,
}

#[derive(Debug, Default)]
struct Requests {
    count: u32,
    open: Vec<TruthRequest>,
}

#[derive(Debug)]
struct Sends {
    whole: Vec<Vec<Send>>,
    open: Vec<Send>,
}

impl TruthLog {
    /// A log that is in memory until its end.
    pub(super) fn new(clock: Clock, workers: usize) -> TruthLog {
        let sends = || Mutex::new(Sends { whole: Vec::new(), open: Vec::with_capacity(BLOCK) });
        TruthLog {
            clock,
            file: None,
            requests: Mutex::default(),
            sends: (0..workers).map(|_| sends()).collect(),
            first_request_ns: AtomicU64::new(u64::MAX),
            full: AtomicU64::new(0),
        }
    }

    /// A log that goes into a file as it grows, so that its memory does not grow.
    pub(super) fn in_file(clock: Clock, workers: usize, path: &Path) -> Result<TruthLog, SimError> {
        let file = LogFile::create(path, clock.origin_ns())?;
        Ok(TruthLog { file: Some(file), ..TruthLog::new(clock, workers) })
    }

    /// A request of any kind has arrived.
    pub(super) fn note_arrival(&self, arrival_ns: u64) {
        self.first_request_ns.fetch_min(arrival_ns, Ordering::Relaxed);
    }

    /// A number for a request for output.
    pub(super) fn note_request(&self, label: Option<String>, arrival_ns: u64, prompt_tokens: u64) -> u32 {
        let mut requests = lock(&self.requests);
        let request = requests.count;
        requests.count += 1;
        let arrival_ns = self.clock.origin_ns() + arrival_ns;
        requests.open.push(TruthRequest { request, label, arrival_ns, prompt_tokens });
        if let Some(file) = &self.file
            && requests.open.len() == REQUESTS
        {
            file.put(Piece::Requests(std::mem::take(&mut requests.open)));
        }
        request
    }

    /// A write on this worker.
    pub(super) fn note(&self, worker: usize, send: Send) {
        let mut sends = lock(&self.sends[worker]);
        if sends.open.len() == BLOCK {
            let full = std::mem::replace(&mut sends.open, Vec::with_capacity(BLOCK));
            match &self.file {
                Some(file) => file.put(Piece::Sends(full)),
                None => sends.whole.push(full),
            }
        }
        sends.open.push(send);
    }

    /// A socket took less than it was given.
    pub(super) fn note_full(&self) {
        self.full.fetch_add(1, Ordering::Relaxed);
    }

    /// A log in memory as a record, by request and in order of time within one.
    pub(super) fn truth(&self, profile: &str, events_per_write: u32) -> Truth {
        let origin_ns = self.clock.origin_ns();
        let mut sends = Vec::new();
        for log in &self.sends {
            let log = lock(log);
            let all = log.whole.iter().flatten().chain(&log.open);
            sends.extend(all.map(|send| send.on_shared_clock(origin_ns)));
        }
        // Stable: the writes of a request are in order, for they are on one worker.
        sends.sort_by_key(|send| send.request);
        let requests = lock(&self.requests).open.clone();
        Truth { meta: self.meta(profile, events_per_write), requests, sends }
    }

    /// Ends a log in a file.
    pub(super) fn save(&self, profile: &str, events_per_write: u32) -> Result<(), SimError> {
        let Some(file) = &self.file else { return Ok(()) };
        file.put(Piece::Requests(std::mem::take(&mut lock(&self.requests).open)));
        for log in &self.sends {
            file.put(Piece::Sends(std::mem::take(&mut lock(log).open)));
        }
        file.finish(self.meta(profile, events_per_write))
    }

    fn meta(&self, profile: &str, events_per_write: u32) -> TruthMeta {
        let origin_ns = self.clock.origin_ns();
        let first = self.first_request_ns.load(Ordering::Relaxed);
        TruthMeta {
            schema: TruthMeta::SCHEMA.to_owned(),
            profile: profile.to_owned(),
            events_per_write: events_per_write.max(1),
            network_threads: self.sends.len() as u32,
            start_ns: origin_ns,
            first_request_ns: (first != u64::MAX).then(|| origin_ns + first),
            full_sockets: self.full.load(Ordering::Relaxed),
        }
    }
}

impl Send {
    /// With times on the clock that all processes share.
    fn on_shared_clock(&self, origin_ns: u64) -> TruthSend {
        TruthSend {
            request: self.request,
            tokens: self.tokens,
            due_ns: origin_ns + self.due_ns,
            before_ns: origin_ns + self.before_ns,
            after_ns: origin_ns + self.after_ns,
        }
    }
}
