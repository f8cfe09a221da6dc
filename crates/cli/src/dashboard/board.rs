//! What the session tells the dashboard: a few times a cell.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokometer_record::{Cell, Phase, Run, Status};
use tokometer_wire::clock::Clock;

/// Events that are kept.
const EVENTS: usize = 200;

/// A row of the record: phase, context, concurrency.
pub(crate) type Place = (Phase, u64, u32);

/// What is being done.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Doing {
    /// In words: `warm-up`, `8K × 32`.
    pub(crate) label: String,
    /// The row that is measured; none between rows.
    pub(crate) place: Option<Place>,
    /// Its repeat, from 1 on, where there are several.
    pub(crate) repeat: Option<u32>,
    /// Measurements that are done, and all of them.
    pub(crate) done: usize,
    pub(crate) of: usize,
    /// Estimate of this step, and of all behind it, seconds.
    pub(crate) step_seconds: f64,
    pub(crate) after_seconds: f64,
}

/// A row as the dashboard shows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) status: Status,
    pub(crate) reason: Option<String>,
    pub(crate) total: Option<f64>,
    pub(crate) half_width: Option<f64>,
    pub(crate) ttft_ms: Option<f64>,
    pub(crate) between_ms: Option<f64>,
    pub(crate) prefill_rate: Option<f64>,
    pub(crate) requests: Option<u64>,
}

impl Row {
    pub(crate) fn of(cell: &Cell) -> Row {
        let rates = cell.throughput.as_ref();
        let p50 = |of: &Option<tokometer_record::Distribution>| of.as_ref().and_then(|of| of.p50);
        Row {
            status: cell.status,
            reason: cell.reason.as_ref().map(|reason| reason.text.clone()),
            total: rates.map(|rates| rates.total),
            half_width: rates.and_then(|rates| Some(rates.interval.as_ref()?.half_width_relative)),
            ttft_ms: p50(&cell.ttft_ms),
            between_ms: p50(&cell.time_between_tokens_ms),
            prefill_rate: cell.prefill_rate,
            requests: cell.ttft_ms.as_ref().and_then(|ttft| ttft.n),
        }
    }
}

/// Everything that is told.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// The run's title, `SIMULATED` in front where it is.
    pub(crate) title: String,
    /// Engine and address.
    pub(crate) server: String,
    pub(crate) contexts: Vec<u64>,
    pub(crate) concurrency: Vec<u32>,
    pub(crate) prefill: Vec<u64>,
    pub(crate) rows: HashMap<Place, Row>,
    pub(crate) doing: Doing,
    /// Names of accelerators by number.
    pub(crate) devices: Vec<String>,
    /// Seconds since the session's start, and what was said then.
    pub(crate) events: VecDeque<(f64, String)>,
    /// Seconds since the session's start.
    pub(crate) elapsed: f64,
    /// The same since the present step began.
    pub(crate) in_step: f64,
    /// Seconds that are left, as far as is known.
    pub(crate) left: f64,
    /// The user wants to end.
    pub(crate) ending: bool,
}

/// State, shared with the thread that draws.
pub(crate) struct Board {
    clock: Clock,
    start_ns: u64,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    state: State,
    step_start_ns: u64,
}

impl Board {
    /// The run before its first measurement of this session.
    pub(crate) fn new(run: &Run, clock: Clock) -> Board {
        let engine = match (&run.engine.name, &run.engine.version) {
            (Some(name), Some(version)) => format!("{name} {version}"),
            (Some(name), None) => name.clone(),
            _ => "unknown engine".to_owned(),
        };
        let settings = &run.settings;
        let state = State {
            title: run.display_title(),
            server: format!("{engine} at {}", run.target.url.as_deref().unwrap_or("?")),
            contexts: settings.contexts.clone(),
            concurrency: settings.concurrency.clone(),
            prefill: settings.prefill_contexts.clone(),
            rows: run.cells.iter().map(|cell| (place(cell), Row::of(cell))).collect(),
            devices: run.hardware.devices.iter().map(|device| device.name.clone()).collect(),
            ..State::default()
        };
        Board { clock, start_ns: clock.now_ns(), held: Mutex::new(Held { state, ..Held::default() }) }
    }

    /// A step begins.
    pub(crate) fn begin(&self, doing: Doing) {
        let now = self.clock.now_ns();
        let mut held = self.lock();
        held.state.doing = doing;
        held.step_start_ns = now;
    }

    /// Nothing is measured for the moment.
    pub(crate) fn pause(&self) {
        let mut held = self.lock();
        held.state.doing.place = None;
        held.state.doing.step_seconds = 0.0;
    }

    /// A row has a result.
    pub(crate) fn finished(&self, cell: &Cell) {
        self.lock().state.rows.insert(place(cell), Row::of(cell));
    }

    /// Something happened.
    pub(crate) fn event(&self, text: &str) {
        let elapsed = self.since(self.start_ns);
        let mut held = self.lock();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            held.state.events.push_back((elapsed, line.to_owned()));
        }
        while held.state.events.len() > EVENTS {
            held.state.events.pop_front();
        }
    }

    /// The user wants to end; true the first time.
    pub(crate) fn end(&self) -> bool {
        !std::mem::replace(&mut self.lock().state.ending, true)
    }

    /// A copy of everything, at this moment.
    pub(crate) fn get(&self) -> State {
        let held = self.lock();
        let mut state = held.state.clone();
        state.elapsed = self.since(self.start_ns);
        state.in_step = self.since(held.step_start_ns);
        // What the plan learnt of the server's speed is in both.
        let doing = &state.doing;
        state.left = (doing.step_seconds - state.in_step).max(0.0) + doing.after_seconds;
        state
    }

    fn since(&self, start_ns: u64) -> f64 {
        self.clock.now_ns().saturating_sub(start_ns) as f64 / 1e9
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn place(cell: &Cell) -> Place {
    (cell.phase, cell.context_nominal, cell.concurrency)
}
