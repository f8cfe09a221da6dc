//! From what was seen to a calibration.

use std::collections::BTreeMap;
use std::fmt::Write;

use tokometer_analysis::fidelity::Fidelity;
use tokometer_record::calibration::{Ceiling, Check, Errors, Host, Limit, TokenBalance};
use tokometer_record::truth::Truth;
use tokometer_record::{
    Calibration, Cell, CellTrace, Distribution, Order, Settings, StampSource, Status, Tool,
};

use super::load::Measured;

/// TTFT may be off by this share of a gap (p99), where the load is within the client's reach.
const TTFT_SHARE: f64 = 0.05;
/// And a gap by this one.
const GAP_SHARE: f64 = 0.025;
/// Share of the planned events that must come, restarts taken off.
const LOAD_SHARE: f64 = 0.95;
/// Share of writes that found a full socket from which on the client is the one that holds up.
const FULL_SHARE: f64 = 0.01;
/// Share of its time that an engine works which is at its limit.
const BUSY_SHARE: f64 = 0.8;

/// The load that was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) streams: u32,
    pub(crate) rate: f64,
    pub(crate) events_per_write: u32,
    pub(crate) seconds: f64,
    pub(crate) threads: u32,
    pub(crate) separate_cores: bool,
}

/// All that was seen.
pub(crate) struct Seen {
    pub(crate) created_at: Option<String>,
    pub(crate) host: Host,
    pub(crate) load: Load,
    pub(crate) measured: Measured,
    pub(crate) cell: Cell,
    pub(crate) fidelity: Fidelity,
    pub(crate) ceiling: Option<Ceiling>,
    pub(crate) bytes_per_idle_stream: Option<u64>,
    pub(crate) start_to_first_request_ms: Option<f64>,
}

impl Seen {
    /// The calibration, its checks made.
    pub(crate) fn judge(self) -> Calibration {
        let Seen { created_at, host, load, measured, cell, fidelity, ceiling, .. } = self;
        let mut unknown = BTreeMap::new();
        let mut note = |field: &str, is_null: bool, why: &str| {
            if is_null {
                unknown.insert(field.to_owned(), why.to_owned());
            }
        };
        let events_per_second = events_per_second(&measured);
        let cpu_us_per_event = cpu_us_per_event(&measured);
        note("events_per_second", events_per_second.is_none(), "the window was not reached");
        note("cpu_us_per_event", cpu_us_per_event.is_none(), "the window was not reached");
        note(
            "bytes_per_idle_stream",
            self.bytes_per_idle_stream.is_none(),
            "this system does not tell memory",
        );
        note(
            "start_to_first_request_ms",
            self.start_to_first_request_ms.is_none(),
            "the run that was to be timed sent no request",
        );
        note("ceiling", ceiling.is_none(), "the second phase had no window");
        let mut checks = checks(load, &cell, &fidelity, events_per_second);
        checks.extend(
            ceiling.as_ref().map(|ceiling| counted("flat out, too, every token is counted", ceiling.tokens)),
        );
        Calibration {
            schema: Calibration::SCHEMA.to_owned(),
            created_at,
            tool: Tool {
                name: "tokometer".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                commit: option_env!("TOKOMETER_COMMIT").map(str::to_owned),
            },
            host,
            streams: load.streams,
            rate: load.rate,
            events_per_write: load.events_per_write,
            duration_seconds: load.seconds,
            load_threads: load.threads,
            separate_cores: load.separate_cores,
            stamp_source: measured.trace.meta.stamp_source,
            ttft_error: fidelity.ttft,
            gap_error: fidelity.gap,
            gaps_of_shared_reads: fidelity.gaps_of_shared_reads,
            tokens: fidelity.tokens,
            window_tokens: fidelity.window,
            client_lag: lag(cell.client_lag_us.as_ref()),
            events_per_read: cell.events_per_read,
            truth_width: fidelity.truth_width,
            engine_late: fidelity.engine_late,
            events_per_second,
            cpu_us_per_event,
            ceiling,
            bytes_per_idle_stream: self.bytes_per_idle_stream,
            start_to_first_request_ms: self.start_to_first_request_ms,
            checks,
            unknown,
        }
    }
}

/// The row that a run would have of this cell.
pub(crate) fn summary(trace: &CellTrace, load: Load) -> Cell {
    let settings = Settings {
        contexts: Vec::new(),
        concurrency: vec![load.streams],
        prefill_contexts: Vec::new(),
        prefill_repeats: 0,
        adaptive: false,
        repeats: 1,
        order: Order::Standard,
        duration_seconds: load.seconds,
        max_output_tokens: trace.meta.max_output_tokens,
        decode_test: "fixed_duration".to_owned(),
        prefill_mode: "none".to_owned(),
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
        load_threads: Some(load.threads),
    };
    let context =
        tokometer_analysis::Context { simulated: true, ..tokometer_analysis::Context::new(&settings) };
    tokometer_analysis::summarise(trace, &context)
}

/// What went through while the engine sent flat out; none if there was no window.
pub(crate) fn ceiling(
    measured: &Measured,
    truth: &Truth,
    tokens: TokenBalance,
    streams: u32,
    threads: u32,
    engine_cores: usize,
) -> Option<Ceiling> {
    let used = measured.used?;
    let nanoseconds = (used.to_ns - used.from_ns) as f64;
    let writes = truth.sends.len() as f64;
    let full = truth.meta.full_sockets;
    let engine_busy = used.engine.map(|cpu| cpu.as_nanos() as f64 / nanoseconds / engine_cores as f64);
    let limited_by = if full as f64 > writes * FULL_SHARE {
        Limit::Client
    } else if engine_busy.is_some_and(|busy| busy < BUSY_SHARE) {
        Limit::Machine
    } else {
        Limit::Engine
    };
    Some(Ceiling {
        events_per_second: events_per_second(measured)?,
        streams,
        events_per_write: truth.meta.events_per_write,
        seconds: nanoseconds / 1e9,
        limited_by,
        client_busy: used.client.as_nanos() as f64 / nanoseconds / f64::from(threads.max(1)),
        engine_busy,
        full_sockets: full,
        tokens,
    })
}

fn checks(load: Load, cell: &Cell, fidelity: &Fidelity, events_per_second: Option<f64>) -> Vec<Check> {
    let gap_ms = 1e3 / load.rate;
    let mut checks = vec![
        held(load, events_per_second),
        whole(cell),
        counted("tokens counted ÷ tokens sent is exactly 1, at every event", fidelity.tokens),
    ];
    checks.extend(fidelity.window.map(|window| Check {
        name: "the window has every token that was sent in it, and no other".to_owned(),
        found: format!("{} counted, {} to {} sent", window.counted, window.at_least, window.at_most),
        passed: (window.at_least..=window.at_most).contains(&window.counted),
    }));
    checks.push(Check {
        name: "the client, not the server, never shapes the result (client_limited)".to_owned(),
        found: match &cell.reason {
            Some(reason) if cell.status == Status::ClientLimited => reason.text.clone(),
            _ => format!("client lag p99 {}", ms(lag(cell.client_lag_us.as_ref()).p99_ms)),
        },
        passed: cell.status != Status::ClientLimited,
    });
    checks.push(true_to(
        &format!("TTFT is true to {} % of a gap", 100.0 * TTFT_SHARE),
        fidelity.ttft,
        TTFT_SHARE * gap_ms,
    ));
    if fidelity.gap.n > 0 {
        let name = format!("gaps are true to {} % of a gap", 100.0 * GAP_SHARE);
        let mut check = true_to(&name, fidelity.gap, GAP_SHARE * gap_ms);
        if fidelity.gaps_of_shared_reads > 0 {
            let _ = write!(check.found, "; {} more shared a read: not judged", fidelity.gaps_of_shared_reads);
        }
        checks.push(check);
    }
    checks
}

/// The figures stand for a load only if there was that load.
fn held(load: Load, events_per_second: Option<f64>) -> Check {
    let planned = f64::from(load.streams) * load.rate;
    let came = events_per_second.unwrap_or(0.0);
    let passed = came >= LOAD_SHARE * planned;
    let advice = if passed { "" } else { ": this machine cannot hold the load; lower --streams or --rate" };
    Check {
        name: format!("the load is there: {:.0} % of {planned:.0} events/s", 100.0 * LOAD_SHARE),
        found: format!("{came:.0} events/s{advice}"),
        passed,
    }
}

fn whole(cell: &Cell) -> Check {
    Check {
        name: "no request fails".to_owned(),
        found: match &cell.error {
            Some(failure) => failure.message.clone(),
            None => format!("{} requests", cell.requests.started.unwrap_or(0)),
        },
        passed: cell.error.is_none(),
    }
}

fn counted(name: &str, tokens: TokenBalance) -> Check {
    Check {
        name: name.to_owned(),
        found: format!("{} ÷ {}, {} requests differ", tokens.counted, tokens.sent, tokens.unequal_requests),
        passed: tokens.counted == tokens.sent && tokens.unequal_requests == 0 && tokens.sent > 0,
    }
}

fn true_to(name: &str, errors: Errors, limit_ms: f64) -> Check {
    Check {
        name: format!("{name} (p99 ≤ {limit_ms:.3} ms)"),
        found: format!("p99 {} of {}", ms(errors.p99_ms), errors.n),
        passed: errors.p99_ms.is_some_and(|p99| p99 <= limit_ms),
    }
}

fn lag(lag: Option<&Distribution>) -> Errors {
    let ms = |micros: Option<f64>| micros.map(|micros| micros / 1e3);
    lag.map_or_else(Errors::default, |lag| Errors {
        n: lag.n.unwrap_or(0),
        p50_ms: ms(lag.p50),
        p99_ms: ms(lag.p99),
        max_ms: ms(lag.max),
    })
}

/// Events that arrived in the span that was looked at, per second.
fn events_per_second(measured: &Measured) -> Option<f64> {
    let used = measured.used?;
    Some(events(measured)? as f64 / ((used.to_ns - used.from_ns) as f64 / 1e9))
}

fn cpu_us_per_event(measured: &Measured) -> Option<f64> {
    Some(measured.used?.client.as_nanos() as f64 / 1e3 / events(measured)? as f64)
}

/// Events that arrived while the CPU time was taken; none if there was none.
fn events(measured: &Measured) -> Option<usize> {
    let used = measured.used?;
    let span = used.from_ns..used.to_ns;
    let events =
        measured.trace.events.iter().filter(|event| event.payload && span.contains(&event.arrival_ns));
    Some(events.count()).filter(|&events| events > 0)
}

/// A figure in ms, or that there is none.
pub(crate) fn ms(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value:.3} ms"))
}

/// What to say where the kernel stamps nothing.
pub(crate) fn stamp_words(source: StampSource) -> &'static str {
    match source {
        StampSource::Kernel => "of the kernel, when a segment arrives",
        StampSource::Read => {
            "of the client, after it has read: this system gives none of its own, so that a late read is a late stamp"
        }
    }
}
