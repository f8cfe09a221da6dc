//! What is gathered while a cell runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use tokometer_record::{CellTrace, Failure, FailureKind, Phase, SampleRow, StampSource, TraceMeta};

use crate::recording::Recording;

/// The trace of a cell in the making.
pub(super) struct Gathering {
    pub(super) meta: TraceMeta,
    pub(super) rows: Recording,
    pub(super) samples: Vec<SampleRow>,
    /// Number of the next request.
    pub(super) next_request: Arc<AtomicU32>,
}

impl Gathering {
    /// Nothing yet.
    pub(super) fn new(
        run: &str,
        phase: Phase,
        context_nominal: u64,
        concurrency: u32,
        max_output_tokens: u64,
    ) -> Gathering {
        Gathering {
            meta: TraceMeta {
                schema: TraceMeta::SCHEMA.to_owned(),
                run: run.to_owned(),
                phase,
                context_nominal,
                concurrency,
                max_output_tokens,
                repeat: None,
                segment: None,
                duration_seconds: 0.0,
                window_start_ns: None,
                window_end_ns: None,
                adaptive: None,
                ready: None,
                counters_before: None,
                counters_after: None,
                counters_window_start: None,
                counters_window_end: None,
                counters_by_request: Vec::new(),
                drained: false,
                stamp_source: StampSource::Read,
                clock_step_ns: 0,
                resent: 0,
                interrupted: false,
                failure: None,
                loops: Vec::new(),
            },
            rows: Recording::default(),
            samples: Vec::new(),
            next_request: Arc::default(),
        }
    }

    /// Takes the rows of streams that have stopped.
    pub(super) fn absorb(&mut self, rows: Recording) {
        if rows.lost {
            self.fail(
                FailureKind::Connect,
                "a stream broke off by a fault of tokometer, and rows may be missing: please report it"
                    .to_owned(),
            );
        }
        self.rows.absorb(rows);
    }

    /// The cell cannot be measured. The first reason stays.
    pub(super) fn fail(&mut self, kind: FailureKind, message: String) {
        let failure = Failure { kind, message, http_status: None, headers: BTreeMap::new(), body: None };
        self.meta.failure.get_or_insert(failure);
    }

    /// True if a request failed, or the cell itself did.
    pub(super) fn has_failed(&self) -> bool {
        self.meta.failure.is_some() || self.rows.requests.iter().any(|row| row.failure.is_some())
    }

    /// The facts of the cell, in order.
    pub(super) fn into_trace(mut self) -> CellTrace {
        self.rows.sort();
        self.meta.stamp_source = self.rows.stamp_source();
        self.meta.resent = self.rows.resent;
        self.meta.loops = self.rows.loops;
        CellTrace {
            meta: self.meta,
            requests: self.rows.requests,
            events: self.rows.events,
            samples: self.samples,
        }
    }
}
