//! The conductor: drives one cell through its phases (method section 5.4) and gathers its trace.

mod adaptive;
mod calibration;
mod drain;
mod gathering;
mod idle;
mod ready;
mod sampler;
mod spec;
mod window;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokometer_record::{AtEnd, CellTrace, Failure, FailureKind, Outcome, Phase, RequestKind};
use tokometer_wire::clock::Clock;
use tokometer_wire::{Expect, PreparedRequest};

use crate::engine::LoadEngine;
use crate::flight::{Flight, Opening, raised};
use crate::gauges::Gauges;
use crate::live::{Live, LiveCell, LivePhase};
use crate::signal::Signal;
use crate::stream::Stream;
use drain::When;
use gathering::Gathering;
use sampler::Sampler;

pub use adaptive::{Adaptive, Checked, WindowRule};
pub use spec::{CellSpec, PrefillSpec, Timing};

/// How often a warm-up is looked at.
const WARM_UP_STEP: Duration = Duration::from_millis(50);

/// Runs cells one after another on a [`LoadEngine`].
///
/// A call that is dropped half-way cuts its streams.
pub struct Conductor {
    /// The run's id, for the traces.
    pub run: String,
    /// Worker threads.
    pub engine: LoadEngine,
    /// The run's clock.
    pub clock: Clock,
    /// The server's gauges, where it has them.
    pub gauges: Option<Gauges>,
    /// How responses are read.
    pub expect: Expect,
    /// Lengths and limits of the phases.
    pub timing: Timing,
    /// True if other requests on the server are tolerated: then nothing waits for an empty server.
    pub allow_busy: bool,
    /// Becomes true when the user wants to end.
    pub interrupt: watch::Receiver<bool>,
    /// For a display.
    pub live: Arc<Live>,
}

impl Conductor {
    /// Measures one cell. Whatever happens, what was observed comes back.
    pub async fn run_cell(&self, spec: &CellSpec) -> CellTrace {
        let mut cell =
            self.begin(Phase::Decode, spec.context_nominal, spec.concurrency, spec.max_output_tokens);
        cell.meta.repeat = spec.repeat;
        cell.meta.duration_seconds = spec.duration.as_secs_f64();
        let before = self.drain(When::Before, &mut cell).await;
        cell.meta.counters_before = before.counters;
        if self.may_go_on(&mut cell) {
            self.scout(spec, &mut cell).await;
        }
        if self.may_go_on(&mut cell) {
            self.measure(spec, &mut cell).await;
            self.calibrate(spec, &mut cell).await;
        }
        self.finish(before.seen, cell).await
    }

    /// Measures the prefill rate of one context: each request alone on the server.
    pub async fn run_prefill(&self, spec: &PrefillSpec) -> CellTrace {
        let mut cell = self.begin(Phase::Prefill, spec.context_nominal, 1, spec.max_output_tokens);
        cell.meta.repeat = spec.repeat;
        let mut seen = true;
        for (index, request) in spec.requests.iter().enumerate() {
            let drained = self.drain(When::Before, &mut cell).await;
            seen &= drained.seen;
            if index == 0 {
                cell.meta.counters_before.clone_from(&drained.counters);
            }
            if !self.may_go_on(&mut cell) {
                break;
            }
            cell.meta.counters_by_request.push(drained.counters);
            self.show(LivePhase::Prefill, self.clock.now_ns(), 0.0);
            self.one(RequestKind::Prefill, request, &mut cell).await;
            if cell.meta.interrupted || cell.has_failed() {
                break;
            }
        }
        self.finish(seen, cell).await
    }

    /// One request outside of any cell (warm-up); its trace has no window.
    pub async fn run_single(&self, request: &PreparedRequest) -> CellTrace {
        let mut cell = self.begin(Phase::Prefill, 0, 1, 1);
        self.one(RequestKind::Prefill, request, &mut cell).await;
        self.close(cell)
    }

    /// Decodes on one stream for `duration` and throws the result away, but for its failure.
    pub async fn warm_up(&self, request: &PreparedRequest, duration: Duration) -> Option<Failure> {
        let mut cell = self.begin(Phase::Decode, 0, 1, 0);
        let flight = self.launch(RequestKind::Stream, vec![request.clone()], false, &cell).await;
        flight.tell(Signal::Go);
        // The time counts from the first token: a cold prefix may take longer than the warm-up itself.
        let mut first_token = None;
        while !flight.state.all(|stream| &stream.stopped) {
            if flight.state.with_token() > 0 {
                let since = *first_token.get_or_insert(self.clock.now_ns());
                if self.since(since) >= duration {
                    break;
                }
            }
            if !self.pause(WARM_UP_STEP).await {
                break;
            }
        }
        flight.tell(Signal::Cut);
        cell.absorb(flight.landed(&self.interrupt).await);
        let trace = self.close(cell);
        trace.requests.into_iter().find_map(|row| row.failure).or(trace.meta.failure)
    }

    /// Waits; false if the user wants to end meanwhile.
    pub async fn pause(&self, duration: Duration) -> bool {
        let mut interrupt = self.interrupt.clone();
        tokio::select! {
            biased;
            () = raised(&mut interrupt) => false,
            () = tokio::time::sleep(duration) => true,
        }
    }

    fn begin(
        &self,
        phase: Phase,
        context_nominal: u64,
        concurrency: u32,
        max_output_tokens: u64,
    ) -> Gathering {
        Gathering::new(&self.run, phase, context_nominal, concurrency, max_output_tokens)
    }

    /// The drain behind a cell, and its trace. Where nothing was sent there is nothing to wait for.
    async fn finish(&self, seen_before: bool, mut cell: Gathering) -> CellTrace {
        if !cell.rows.requests.is_empty() {
            let after = self.drain(When::After, &mut cell).await;
            cell.meta.counters_after = after.counters;
            cell.meta.drained = seen_before && after.seen;
        }
        self.close(cell)
    }

    fn close(&self, cell: Gathering) -> CellTrace {
        self.live.set(LiveCell::default());
        cell.into_trace()
    }

    /// True if the next phase may begin; notes it if the user keeps it from doing so.
    fn may_go_on(&self, cell: &mut Gathering) -> bool {
        if cell.meta.interrupted || cell.has_failed() {
            return false;
        }
        cell.meta.interrupted = self.wants_to_end();
        !cell.meta.interrupted
    }

    fn wants_to_end(&self) -> bool {
        *self.interrupt.borrow()
    }

    async fn scout(&self, spec: &CellSpec, cell: &mut Gathering) {
        let start = self.clock.now_ns();
        for request in &spec.scouts {
            if !self.may_go_on(cell) {
                return;
            }
            self.show(LivePhase::Scout, start, 0.0);
            self.one(RequestKind::Scout, request, cell).await;
        }
    }

    /// One request on a connection of its own; interrupting cuts it.
    async fn one(&self, kind: RequestKind, request: &PreparedRequest, cell: &mut Gathering) {
        let flight = self.launch(kind, vec![request.clone()], true, cell).await;
        let opening = flight.opened(&self.interrupt).await;
        flight.tell(if opening == Opening::Done { Signal::Go } else { Signal::Cut });
        let rows = flight.landed(&self.interrupt).await;
        let cut =
            opening == Opening::Interrupted || rows.requests.iter().any(|row| row.outcome == Outcome::Cut);
        // A calibration belongs to no phase: what it is for is measured.
        cell.meta.interrupted |= cut && kind != RequestKind::Calibration;
        cell.absorb(rows);
    }

    /// Ready, window, stop.
    async fn measure(&self, spec: &CellSpec, cell: &mut Gathering) {
        if spec.requests.is_empty() {
            let message = "the cell has no prompt; this is a fault of tokometer, please report it";
            return cell.fail(FailureKind::Malformed, message.to_owned());
        }
        let requests = spec.requests.iter().cycle().take(spec.concurrency as usize).cloned().collect();
        let flight = self.launch(RequestKind::Stream, requests, false, cell).await;
        let sampler = Sampler::default();
        let sampling = sampler.run(self.gauges.as_ref(), self.timing.sample_every, self.clock, &self.live);
        let measured = tokio::select! {
            biased;
            measured = self.ready_and_window(spec, &flight, &sampler, cell) => measured,
            never = sampling => match never {},
        };
        cell.samples.append(&mut sampler.take());
        let finish = spec.at_end == AtEnd::Finish && measured && !self.wants_to_end();
        self.show(LivePhase::Stop, self.clock.now_ns(), 0.0);
        if measured && !finish {
            self.pause(self.timing.linger).await;
        }
        flight.tell(if finish { Signal::Finish } else { Signal::Cut });
        cell.absorb(flight.landed(&self.interrupt).await);
    }

    /// True if the window was reached.
    async fn ready_and_window(
        &self,
        spec: &CellSpec,
        flight: &Flight,
        sampler: &Sampler,
        cell: &mut Gathering,
    ) -> bool {
        self.show(LivePhase::Ready, self.clock.now_ns(), 0.0);
        let opening = flight.opened(&self.interrupt).await;
        cell.meta.interrupted |= opening == Opening::Interrupted;
        // With a stream missing it would be another cell: nothing is sent.
        if opening != Opening::Done {
            return false;
        }
        flight.tell(Signal::Go);
        let go_on = self.wait_until_ready(spec, flight, sampler, cell).await;
        if go_on {
            self.window(spec, flight, cell).await;
        }
        go_on
    }

    async fn launch(
        &self,
        kind: RequestKind,
        requests: Vec<PreparedRequest>,
        once: bool,
        cell: &Gathering,
    ) -> Flight {
        let streams =
            (0..).zip(requests).map(|(index, request)| Stream { index, kind, request, once }).collect();
        let tap = Arc::clone(self.live.tap());
        self.engine.launch(streams, self.expect, Arc::clone(&cell.next_request), tap).await
    }

    fn since(&self, start_ns: u64) -> Duration {
        Duration::from_nanos(self.clock.now_ns().saturating_sub(start_ns))
    }

    fn show(&self, phase: LivePhase, start_ns: u64, of_seconds: f64) {
        let seconds = self.since(start_ns).as_secs_f64();
        self.live.set(LiveCell { phase, seconds, of_seconds, ..LiveCell::default() });
    }

    /// The same of a phase in which streams run.
    fn show_streams(
        &self,
        phase: LivePhase,
        start_ns: u64,
        of_seconds: f64,
        flight: &Flight,
        missing: Vec<String>,
    ) {
        let seconds = self.since(start_ns).as_secs_f64();
        let streams = Some(flight.state.glance());
        self.live.set(LiveCell { phase, seconds, of_seconds, missing, streams, server: None });
    }
}
