//! What one worker saw: rows that only it writes, merged with the others' when the cell ends.

use tokometer_record::{EventRow, LoopEvidence, RequestRow, StampSource};

/// Rows of one worker.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub(crate) requests: Vec<RequestRow>,
    pub(crate) events: Vec<EventRow>,
    pub(crate) loops: Vec<LoopEvidence>,
    /// Requests that met a connection which the server had just closed, and were sent on a new one.
    pub(crate) resent: u32,
    /// True if a stream or a worker broke off by a fault of this program, so that rows may be missing.
    pub(crate) lost: bool,
    kernel_stamps: bool,
    read_stamps: bool,
}

impl Recording {
    /// Room for `events` more rows, so that the first seconds of a cell do not grow the buffer.
    pub(crate) fn with_room(events: usize) -> Recording {
        Recording { events: Vec::with_capacity(events), ..Recording::default() }
    }

    /// Appends up to `most` events from number `first` on to `rows`.
    pub(crate) fn copy_events(&self, first: usize, most: usize, rows: &mut Vec<EventRow>) {
        let new = self.events.get(first..).unwrap_or_default();
        rows.extend_from_slice(&new[..new.len().min(most)]);
    }

    /// Takes the rows of another worker.
    pub(crate) fn absorb(&mut self, mut other: Recording) {
        self.requests.append(&mut other.requests);
        self.events.append(&mut other.events);
        self.loops.append(&mut other.loops);
        self.resent += other.resent;
        self.lost |= other.lost;
        self.kernel_stamps |= other.kernel_stamps;
        self.read_stamps |= other.read_stamps;
    }

    /// Orders the rows by request; events of one request keep their order of arrival.
    pub(crate) fn sort(&mut self) {
        self.requests.sort_by_key(|row| row.request);
        self.events.sort_by_key(|row| row.request);
        self.loops.sort_by_key(|found| found.request);
    }

    /// Notes where the stamps of a connection come from.
    pub(crate) fn note_stamps(&mut self, source: tokometer_wire::StampSource) {
        match source {
            tokometer_wire::StampSource::Kernel => self.kernel_stamps = true,
            tokometer_wire::StampSource::Read => self.read_stamps = true,
        }
    }

    /// `kernel` only if every connection had kernel stamps, and there was one.
    pub(crate) fn stamp_source(&self) -> StampSource {
        if self.kernel_stamps && !self.read_stamps { StampSource::Kernel } else { StampSource::Read }
    }
}
