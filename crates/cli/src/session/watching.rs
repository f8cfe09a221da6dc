//! The machine while it is measured: read here or by an agent, joined to cells, saved piece by piece.

use std::cell::RefCell;

use tokometer_record::{CellTelemetry, CellTrace, Run, RunFolder, SampleRow, Telemetry, TraceFile};
use tokometer_telemetry::agent::{RemoteRun, RemoteWatch};
use tokometer_telemetry::{Cursor, Latest, Machine, Watch};
use tokometer_wire::clock::Clock;

use super::agent::Joined;
use crate::out;

/// Tries until the readings reach beyond a cell. One does, unless the clocks of two hosts are hard to tell apart.
const TRIES: usize = 3;

/// Where a machine is read.
pub(super) enum Source {
    /// Here.
    Local(Box<Machine>),
    /// On the server's host.
    Agent(Box<Joined>),
}

/// The machine of a session.
#[derive(Default)]
pub(super) struct Watching {
    source: Option<Source>,
    reading: RefCell<Option<Reading>>,
    /// Readings of the server's gauges, as cells brought them.
    gauges: RefCell<Vec<SampleRow>>,
    saved: RefCell<Saved>,
    /// What earlier segments of a resumed run have read.
    before: RefCell<Option<Telemetry>>,
}

/// What is saved already.
#[derive(Default)]
struct Saved {
    rows: Cursor,
    gauges: usize,
    pieces: Vec<TraceFile>,
}

/// A machine that is being read.
enum Reading {
    Local(Watch),
    Agent(RemoteWatch),
}

impl Reading {
    /// Reads once more, now; false if that was not possible.
    fn now(&self) -> bool {
        match self {
            Reading::Local(watch) => watch.read_now(),
            Reading::Agent(watch) => watch.read_now(),
        }
    }

    fn with<T>(&self, look: impl FnOnce(&Telemetry) -> T) -> T {
        match self {
            Reading::Local(watch) => watch.with(look),
            Reading::Agent(watch) => watch.with(look),
        }
    }

    fn stop(self) -> Telemetry {
        match self {
            Reading::Local(watch) => watch.stop(),
            Reading::Agent(watch) => watch.stop(),
        }
    }
}

impl Watching {
    pub(super) fn new(source: Option<Source>) -> Watching {
        Watching { source, ..Watching::default() }
    }

    /// Goes on behind what earlier segments of the run have read: its pieces are named by the record.
    pub(super) fn go_on(&mut self, before: Option<Telemetry>, run: &Run) {
        *self.before.get_mut() = before;
        let pieces = run.sampling.iter().flat_map(|sampling| sampling.pieces.iter().cloned());
        self.saved.get_mut().pieces = pieces.collect();
    }

    /// The last readings, for a display.
    pub(super) fn latest(&self) -> Option<Latest> {
        match self.reading.borrow().as_ref()? {
            Reading::Local(watch) => Some(watch.latest()),
            Reading::Agent(watch) => Some(watch.latest()),
        }
    }

    /// Starts reading.
    pub(super) async fn watch(&mut self, run: &mut Run, clock: Clock) {
        let started = match self.source.take() {
            None => return,
            Some(Source::Local(machine)) => {
                let watch = machine.watch(&run.hardware, &run.id, clock);
                watch.map(Reading::Local).map_err(|error| format!("its thread could not be started: {error}"))
            }
            Some(Source::Agent(joined)) => {
                let about = RemoteRun {
                    run: run.id.clone(),
                    port: joined.port,
                    url: joined.url.clone(),
                    hardware: run.hardware.clone(),
                };
                let watch = RemoteWatch::start(&joined.remote, &joined.report, about, clock).await;
                watch.map(Reading::Agent).map_err(|error| error.to_string())
            }
        };
        match started {
            Ok(reading) => *self.reading.borrow_mut() = Some(reading),
            Err(why) => drop(run.unknown.insert("telemetry".to_owned(), why)),
        }
    }

    /// What the machine did over a cell.
    pub(super) fn over(&self, trace: &CellTrace) -> Option<CellTelemetry> {
        let reading = self.reading.borrow();
        let reading = reading.as_ref()?;
        self.gauges.borrow_mut().extend(trace.samples.iter().copied());
        // Readings on both sides of its end: what comes later changes nothing of this cell.
        let last_ns = trace.requests.iter().map(|row| row.end_ns).chain(trace.meta.window_end_ns).max();
        let is_past =
            |series: &Telemetry| series.devices.last().is_none_or(|row| Some(row.time_ns) >= last_ns);
        for _ in 0..TRIES {
            if !reading.now() || reading.with(is_past) {
                break;
            }
        }
        reading.with(|series| tokometer_analysis::telemetry::machine(series, trace))
    }

    /// Saves what was read since the last piece, for a run that does not come to its end.
    pub(super) fn save_piece(&self, run: &mut Run, folder: &RunFolder) {
        let reading = self.reading.borrow();
        let Some(reading) = reading.as_ref() else { return };
        let (mut saved, gauges) = (self.saved.borrow_mut(), self.gauges.borrow());
        let (mut piece, end) = reading.with(|series| {
            tokometer_analysis::telemetry::links_under_load(&mut run.hardware, series);
            (saved.rows.rest_of(series), Cursor::end_of(series))
        });
        piece.server = gauges[saved.gauges..].to_vec();
        match folder.save_telemetry_piece(saved.pieces.len() + 1, &piece) {
            Ok(file) => {
                (saved.rows, saved.gauges) = (end, gauges.len());
                saved.pieces.push(file);
                let mut sampling = piece.meta.sampling;
                sampling.pieces.clone_from(&saved.pieces);
                run.sampling = Some(sampling);
                run.unknown.remove("telemetry");
            }
            // Its rows go into the next one.
            Err(error) => drop(run.unknown.insert("telemetry".to_owned(), error.to_string())),
        }
    }

    /// Ends reading and saves the whole series.
    pub(super) fn finish(&self, run: &mut Run, folder: &RunFolder) {
        let Some(reading) = self.reading.borrow_mut().take() else { return };
        let mut series = reading.stop();
        for gap in &series.meta.sampling.gaps {
            let from = gap.from_ns as f64 / 1e9;
            let until = gap.to_ns.map_or_else(
                || "to the end of the run".to_owned(),
                |to_ns| format!("to {:.1} s", to_ns as f64 / 1e9),
            );
            let remark = format!("the agent could not be read from {from:.1} s {until}: {}", gap.why);
            out::say(&remark);
            run.remarks.push(remark);
        }
        series.server = self.gauges.take();
        if let Some(mut before) = self.before.take() {
            before.append(series);
            series = before;
        }
        match folder.save_telemetry(&series) {
            Ok(file) => {
                tokometer_analysis::telemetry::links_under_load(&mut run.hardware, &series);
                run.telemetry = Some(file);
                run.sampling = Some(series.meta.sampling);
                run.unknown.remove("telemetry");
            }
            // The pieces stay, and the run goes on naming them.
            Err(error) => drop(run.unknown.insert("telemetry".to_owned(), error.to_string())),
        }
    }
}
