//! Made-up cells.

use tokometer_analysis::{Context, summarise};
use tokometer_record::{
    Cell, CellTrace, CounterSnapshot, EventRow, Failure, FailureKind, Figure, Flag, FlagCode, Order, Outcome,
    Phase, Ready, RequestKind, RequestRow, SampleRow, Settings, StampSource, Status, TokenSource, TraceMeta,
};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1000 * MS;

pub(crate) fn settings() -> Settings {
    Settings {
        contexts: vec![8192],
        concurrency: vec![4],
        prefill_contexts: vec![8192],
        prefill_repeats: 3,
        duration_seconds: 10.0,
        adaptive: false,
        repeats: 1,
        order: Order::Standard,
        max_output_tokens: 451,
        decode_test: "fixed_duration".to_owned(),
        prefill_mode: "cold_alone".to_owned(),
        prompts: None,
        cold: None,
        endpoint: None,
        respect_eos: None,
        temperature: None,
        top_p: None,
        seed: None,
        request_json: None,
        request_fields: None,
        at_end: None,
        timeout_seconds: None,
        corpus: None,
        prompt_sizing: None,
        allow_busy: None,
        load_threads: None,
    }
}

pub(crate) fn meta(phase: Phase, concurrency: u32) -> TraceMeta {
    TraceMeta {
        schema: TraceMeta::SCHEMA.to_owned(),
        run: "run".to_owned(),
        phase,
        context_nominal: 8192,
        concurrency,
        max_output_tokens: 451,
        repeat: None,
        segment: None,
        duration_seconds: 10.0,
        window_start_ns: Some(5 * SECOND),
        window_end_ns: Some(15 * SECOND),
        adaptive: None,
        ready: Some(Ready { reached: true, seconds: 5.0, limit_seconds: 60.0, missing: Vec::new() }),
        counters_before: None,
        counters_after: None,
        counters_window_start: None,
        counters_window_end: None,
        counters_by_request: Vec::new(),
        drained: true,
        stamp_source: StampSource::Kernel,
        clock_step_ns: 0,
        resent: 0,
        interrupted: false,
        failure: None,
        loops: Vec::new(),
    }
}

pub(crate) fn request(number: u32, stream: u32, send_ns: u64) -> RequestRow {
    RequestRow {
        request: number,
        stream,
        kind: RequestKind::Stream,
        send_ns,
        connect_ns: Some(2 * MS),
        first_byte_ns: Some(send_ns.saturating_add(100 * MS)),
        end_ns: send_ns,
        outcome: Outcome::Ended,
        finish_reason: Some("length".to_owned()),
        failure: None,
        prompt_tokens: Some(8190),
        cached_tokens: Some(8176),
        completion_tokens: None,
        reasoning_tokens: Some(0),
        token_source: TokenSource::Usage,
        reads: 0,
        events: 0,
        unknown_events: Some(0),
    }
}

pub(crate) fn event(request: u32, arrival_ns: u64, tokens: Option<u32>) -> EventRow {
    EventRow {
        request,
        arrival_ns,
        lag_ns: 50_000,
        tokens,
        bytes: 261,
        payload: true,
        answer: true,
        last_of_read: true,
    }
}

pub(crate) fn failure(message: &str) -> Failure {
    Failure {
        kind: FailureKind::Reset,
        message: message.to_owned(),
        http_status: None,
        headers: std::collections::BTreeMap::new(),
        body: None,
    }
}

/// Streams that send requests of `events` payload events one after the other, the first event `ttft_ns` after
/// the send, one each `step_ns` from then on, each with `tokens` tokens; cut at the window's end.
#[derive(Clone, Copy)]
pub(crate) struct Streams {
    pub(crate) concurrency: u32,
    pub(crate) ttft_ns: u64,
    pub(crate) step_ns: u64,
    pub(crate) tokens: u32,
    pub(crate) events: u32,
}

/// Four streams whose requests last 5 s each: 0.5 s to the first token, then 451 tokens in 4.5 s. The window
/// of 10 s holds two periods.
pub(crate) const STEADY: Streams =
    Streams { concurrency: 4, ttft_ns: 500 * MS, step_ns: 10 * MS, tokens: 1, events: 451 };

impl Streams {
    pub(crate) fn trace(self) -> CellTrace {
        self.trace_with(|_, _| self.step_ns)
    }

    /// The step may depend on the time and on the event's number in its request.
    pub(crate) fn trace_with(self, step_ns: impl Fn(u64, u32) -> u64) -> CellTrace {
        let meta = meta(Phase::Decode, self.concurrency);
        let end = meta.window_end_ns.unwrap();
        let mut trace = CellTrace { meta, requests: Vec::new(), events: Vec::new(), samples: Vec::new() };
        for stream in 0..self.concurrency {
            let mut send = 0;
            while send < end {
                let mut row = request(trace.requests.len() as u32, stream, send);
                let mut arrival = send + self.ttft_ns;
                let mut tokens = 0;
                let first = trace.events.len();
                for number in 0..self.events {
                    if arrival >= end {
                        row.outcome = Outcome::Cut;
                        row.finish_reason = None;
                        break;
                    }
                    tokens += self.tokens;
                    trace.events.push(event(row.request, arrival, Some(tokens)));
                    row.end_ns = arrival;
                    arrival += step_ns(arrival, number);
                }
                let own = &trace.events[first..];
                (row.reads, row.events) = (own.len() as u32, own.len() as u32);
                if row.outcome == Outcome::Cut {
                    row.end_ns = end;
                } else {
                    row.completion_tokens = Some(u64::from(tokens));
                }
                send = row.end_ns;
                trace.requests.push(row);
            }
        }
        for second in 0..10 {
            trace.samples.push(SampleRow {
                time_ns: 5 * SECOND + second * SECOND + 1,
                running: Some(f64::from(self.concurrency)),
                waiting: Some(0.0),
                generated_tokens: None,
                kv_used: Some(0.25),
                ..SampleRow::default()
            });
        }
        let ours = trace.requests.iter().map(|row| tokens_of(&trace, row.request)).sum::<f64>();
        counters(&mut trace, ours);
        trace
    }
}

/// Tokens that arrived for a request.
pub(crate) fn tokens_of(trace: &CellTrace, request: u32) -> f64 {
    let own = trace.events.iter().filter(|event| event.request == request);
    own.filter_map(|event| event.tokens).max().map_or(0.0, f64::from)
}

/// Counters of a server that generated so many tokens.
pub(crate) fn counters(trace: &mut CellTrace, generated: f64) {
    let at = |tokens: f64| CounterSnapshot { generated_tokens: Some(tokens), ..CounterSnapshot::default() };
    trace.meta.counters_before = Some(at(1000.0));
    trace.meta.counters_after = Some(at(1000.0 + generated));
}

/// Changes every event.
pub(crate) fn each_event(trace: &mut CellTrace, change: impl Fn(usize, &mut EventRow)) {
    for (index, event) in trace.events.iter_mut().enumerate() {
        change(index, event);
    }
}

/// The row of a trace, with nothing special about its run.
pub(crate) fn row(trace: &CellTrace) -> Cell {
    summarise(trace, &Context::new(&settings()))
}

/// The steady cell after a change.
pub(crate) fn changed(change: impl Fn(&mut CellTrace)) -> Cell {
    let mut trace = STEADY.trace();
    change(&mut trace);
    row(&trace)
}

/// The reason's sentence, of a cell that must have this status.
pub(crate) fn reason(cell: &Cell, status: Status) -> String {
    assert_eq!(cell.status, status, "{:?}", cell.reason);
    cell.reason.as_ref().unwrap().text.clone()
}

/// The flag, which must be raised.
pub(crate) fn raised(cell: &Cell, code: FlagCode) -> Flag {
    cell.flag(code).unwrap_or_else(|| panic!("{} is not raised: {:?}", code.code(), cell.flags)).clone()
}

/// The figure that decided, and its limit.
pub(crate) fn decided(figures: &[Figure]) -> (f64, Option<f64>) {
    let first = figures.first().expect("a verdict has figures");
    (first.value, first.limit)
}

/// A figure by its name.
pub(crate) fn figure(figures: &[Figure], name: &str) -> f64 {
    let found = figures.iter().find(|figure| figure.name == name);
    found.unwrap_or_else(|| panic!("no figure {name} in {figures:?}")).value
}

/// A small difference of rounding.
pub(crate) fn close(left: f64, right: f64) {
    assert!((left - right).abs() <= 1e-9 * right.abs().max(1.0), "{left} is not {right}");
}
