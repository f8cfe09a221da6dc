//! The machine as it is read for the runs that ask.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokometer_record::Telemetry;
use tokometer_wire::clock::Clock;

use super::Piece;
use crate::sampler::{Cursor, Watch};

/// A reading that nobody has asked for this long ends, ns. It bounds what is held of one, too.
const KEPT_NS: u64 = 120_000_000_000;
/// Runs at once.
const MOST: usize = 4;
/// Rows of one kind in one answer.
const ROWS: usize = 20_000;

/// The readings that are under way, by run.
pub(super) struct Watches(Mutex<State>);

struct State {
    of: HashMap<String, Entry>,
    /// Number of the last one that was begun.
    last: u64,
}

struct Entry {
    number: u64,
    watch: Watch,
    /// Rows that the caller has, and that are forgotten here.
    had: Cursor,
    asked_ns: u64,
}

/// What a caller has already.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Had {
    /// Of which reading.
    pub(super) watch: Option<u64>,
    /// Its rows.
    pub(super) rows: Cursor,
}

impl Watches {
    /// None yet. Numbers are counted from behind `start`, which is another one at each start of the agent.
    pub(super) fn new(start: u64) -> Watches {
        Watches(Mutex::new(State { of: HashMap::new(), last: start }))
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.lock().of.len()
    }

    /// Ends readings that nobody asks for any more.
    pub(super) fn tidy(&self, now_ns: u64) {
        let ended: Vec<Entry> = {
            let mut state = self.lock();
            let old = |entry: &Entry| now_ns.saturating_sub(entry.asked_ns) > KEPT_NS;
            let names: Vec<String> =
                state.of.iter().filter(|(_, entry)| old(entry)).map(|(run, _)| run.clone()).collect();
            names.iter().filter_map(|run| state.of.remove(run)).collect()
        };
        // Each waits for its thread, and nobody waits for that.
        drop(ended);
    }

    /// Rows behind those that the caller has, with a reading of this moment as the last if `now`. Reading begins where
    /// it has not; none if too many runs are read already. `begin` looks at the machine and starts.
    pub(super) fn piece(
        &self,
        run: &str,
        instance: &str,
        had: Had,
        now: bool,
        clock: &Clock,
        begin: impl FnOnce() -> std::io::Result<Watch>,
    ) -> std::io::Result<Option<Piece>> {
        self.tidy(clock.now_ns());
        let mut state = self.lock();
        if !state.of.contains_key(run) {
            if state.of.len() >= MOST {
                return Ok(None);
            }
            let watch = begin()?;
            state.last += 1;
            let entry = Entry { number: state.last, watch, had: Cursor::default(), asked_ns: 0 };
            state.of.insert(run.to_owned(), entry);
        }
        let Some(entry) = state.of.get_mut(run) else { return Ok(None) };
        entry.asked_ns = clock.now_ns();
        if now {
            // A thread that has ended has read all that it could.
            let _ = entry.watch.read_now();
        }
        // What the caller has of another reading means nothing here.
        if had.watch == Some(entry.number) {
            let held = entry.watch.with(Cursor::end_of);
            let known = Cursor {
                devices: had.rows.devices.saturating_sub(entry.had.devices).min(held.devices),
                host: had.rows.host.saturating_sub(entry.had.host).min(held.host),
            };
            entry.watch.forget(known);
            entry.had.devices += known.devices;
            entry.had.host += known.host;
        }
        let (rows, more) = entry.watch.with(|series| {
            let more = series.devices.len() > ROWS || series.host.len() > ROWS;
            let rows = Telemetry {
                meta: series.meta.clone(),
                devices: series.devices.iter().take(ROWS).copied().collect(),
                host: series.host.iter().take(ROWS).copied().collect(),
                server: Vec::new(),
            };
            (rows, more)
        });
        Ok(Some(Piece {
            instance: instance.to_owned(),
            watch: entry.number,
            devices_from: entry.had.devices,
            host_from: entry.had.host,
            more,
            meta: rows.meta,
            devices: rows.devices,
            host: rows.host,
        }))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
