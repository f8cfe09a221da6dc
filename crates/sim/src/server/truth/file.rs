//! The log in a file, written by a thread of its own.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::thread::{self, JoinHandle};

use tokometer_record::RecordError;
use tokometer_record::truth::{TruthMeta, TruthRequest, TruthWriter};

use super::Send;
use crate::SimError;
use crate::server::driver::lock;

/// Blocks that wait in memory, 2 MiB each, before the first is written: a measurement of usual length is over by then,
/// and nothing but the engine has run beside it.
const WAITING: usize = 32;

/// Blocks on their way to the thread. A worker waits where more come: a disk that does not keep up makes the engine
/// late, and the truth says how late, but it takes no more memory.
const ON_THE_WAY: usize = 64;

/// A block for the file. Those of one worker keep their order.
#[derive(Debug)]
pub(super) enum Piece {
    Requests(Vec<TruthRequest>),
    Sends(Vec<Send>),
    End(TruthMeta),
}

/// The file and its thread.
#[derive(Debug)]
pub(super) struct LogFile {
    pieces: mpsc::SyncSender<Piece>,
    thread: Mutex<Option<JoinHandle<Result<(), RecordError>>>>,
}

impl LogFile {
    /// Begins a file; `origin_ns` is what the shared clock read at the start of the log's.
    pub(super) fn create(path: &Path, origin_ns: u64) -> Result<LogFile, SimError> {
        let writer = TruthWriter::create(path).map_err(SimError::Truth)?;
        let (pieces, arriving) = mpsc::sync_channel(ON_THE_WAY);
        let thread = thread::Builder::new()
            .name("sim-truth".to_owned())
            .spawn(move || write(&arriving, writer, origin_ns))
            .map_err(SimError::Threads)?;
        Ok(LogFile { pieces, thread: Mutex::new(Some(thread)) })
    }

    /// A piece for a file that has failed is dropped; its end says why.
    pub(super) fn put(&self, piece: Piece) {
        self.pieces.send(piece).ok();
    }

    /// Waits until all is written.
    pub(super) fn finish(&self, meta: TruthMeta) -> Result<(), SimError> {
        self.put(Piece::End(meta));
        let thread = lock(&self.thread).take();
        match thread.map(JoinHandle::join) {
            Some(Ok(written)) => written.map_err(SimError::Truth),
            // A thread that panicked has said so already.
            Some(Err(_)) | None => Err(SimError::Truth(RecordError::BadTruth {
                why: "the thread that writes it has ended early".to_owned(),
            })),
        }
    }
}

fn write(
    arriving: &mpsc::Receiver<Piece>,
    mut writer: TruthWriter,
    origin_ns: u64,
) -> Result<(), RecordError> {
    let mut waiting = VecDeque::new();
    let mut put = |piece: Piece| match piece {
        Piece::Requests(requests) => writer.requests(&requests),
        Piece::Sends(sends) => {
            let rows: Vec<_> = sends.iter().map(|send| send.on_shared_clock(origin_ns)).collect();
            writer.sends(&rows)
        }
        Piece::End(_) => Ok(()),
    };
    let meta = loop {
        match arriving.recv() {
            Ok(Piece::End(meta)) => break Some(meta),
            Ok(piece) => waiting.push_back(piece),
            // A server that was not asked for its truth: the file is removed.
            Err(_) => break None,
        }
        if waiting.len() > WAITING
            && let Some(first) = waiting.pop_front()
        {
            put(first)?;
        }
    };
    let Some(meta) = meta else { return Ok(()) };
    for piece in waiting {
        put(piece)?;
    }
    writer.finish(&meta)
}
