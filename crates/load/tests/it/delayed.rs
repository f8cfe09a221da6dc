//! A client that is held up on purpose, by 20 ms and more at each wake-up, against the true send times of the engine.
//!
//! What is asked of the stamps is asked against the interval in which the engine made its write, and what is asked of
//! counts follows from which events shared a read: a busy machine can make neither wrong.
#![cfg(target_os = "linux")]

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;
use tokometer_analysis::fidelity::{Fidelity, fidelity};
use tokometer_analysis::{Context, summarise};
use tokometer_load::{CellSpec, LoadEngine, LoadOptions};
use tokometer_record::calibration::WindowTokens;
use tokometer_record::truth::Truth;
use tokometer_record::{Cell, CellTrace, EventRow, FlagCode, Outcome, Settings, StampSource, Status};
use tokometer_sim::{Profile, Server, ServerOptions, TruthTo};
use tokometer_wire::{Connector, Endpoint, PreparedRequest};

use crate::bench::{Bench, ms};

const DELAY: Duration = ms(20);
const STREAMS: u32 = 8;
const WINDOW: Duration = ms(3000);

/// A measured cell and the truth of it.
struct Held {
    trace: CellTrace,
    truth: Truth,
    origin_ns: u64,
}

/// Runs a cell with a client that is held up, `rate` events a second on each stream.
async fn hold_up(rate: f64, kernel_stamps: bool) -> Held {
    hold_up_by(DELAY, rate, kernel_stamps, ms(200)).await
}

async fn hold_up_by(delay: Duration, rate: f64, kernel_stamps: bool, linger: Duration) -> Held {
    let options = ServerOptions { truth: Some(TruthTo::Memory), ..ServerOptions::default() };
    let server = Server::start(Profile::steady(Some(rate)).unwrap(), options).unwrap();
    let mut bench = Bench::new(server.addr().port());
    let connector =
        if kernel_stamps { bench.connector.clone() } else { bench.connector.clone().without_kernel_stamps() };
    let clock = bench.conductor.clock;
    // The system begins to stamp what arrives some time after the first socket has asked, and ends with the last.
    let _asks = bench.connector.connect().await.unwrap();
    bench.conductor.run_cell(&cell(&bench.connector, 1000, ms(200))).await;
    let held_up = LoadOptions { threads: 1, delay_per_wakeup: Some(delay) };
    bench.conductor.engine = LoadEngine::start_with(held_up, &connector, clock).unwrap();
    bench.conductor.timing.linger = linger;
    let trace = bench.conductor.run_cell(&cell(&connector, 0, WINDOW)).await;
    let truth = server.stop_and_tell().unwrap();
    Held { trace, truth, origin_ns: clock.origin_ns() }
}

/// Streams that call themselves by their number, counted from `first`; each request has 10 to 17 tokens.
fn cell(connector: &Connector, first: u32, duration: Duration) -> CellSpec {
    CellSpec {
        context_nominal: 0,
        concurrency: STREAMS,
        max_output_tokens: 17,
        duration,
        adaptive: None,
        repeat: None,
        requests: (0..STREAMS).map(|stream| request(connector, first + stream, 10 + stream)).collect(),
        scouts: Vec::new(),
        calibration: None,
        at_end: tokometer_record::AtEnd::Cut,
    }
}

fn request(connector: &Connector, label: u32, max_tokens: u32) -> PreparedRequest {
    let body = json!({
        "messages": [{ "role": "user", "content": "Say something." }],
        "max_tokens": max_tokens,
        "ignore_eos": true,
        "stream": true,
        "stream_options": { "include_usage": true, "continuous_usage_stats": true },
        "user": label.to_string(),
    });
    connector.prepare(Endpoint::Chat.path(), body.to_string().into())
}

impl Held {
    fn fidelity(&self) -> Fidelity {
        fidelity(&self.trace, self.origin_ns, &self.truth).unwrap()
    }

    fn cell(&self) -> Cell {
        let settings: Settings = serde_json::from_value(json!({
            "contexts": [], "concurrency": [], "prefill_contexts": [], "prefill_repeats": 1,
            "duration_seconds": WINDOW.as_secs_f64(), "max_output_tokens": 17,
            "decode_test": "fixed_duration", "prefill_mode": "cold_alone",
        }))
        .unwrap();
        summarise(&self.trace, &Context::new(&settings))
    }

    /// Tokens and rate are exact: every token once, and in the window those that were sent in it, but for events
    /// that shared a read with a later one across an end of it.
    fn check_counts(&self) {
        let found = self.fidelity();
        assert_eq!(found.tokens.counted, found.tokens.sent, "{found:?}");
        assert_eq!(found.tokens.unequal_requests, 0, "{found:?}");
        assert!(found.tokens.sent > 0);
        let WindowTokens { counted, at_least, at_most } = found.window.unwrap();
        let (start, end) = (self.trace.meta.window_start_ns.unwrap(), self.trace.meta.window_end_ns.unwrap());
        let (came_in, went_out) = (self.moved_over(start), self.moved_over(end));
        assert!(
            (at_least.saturating_sub(went_out)..=at_most + came_in).contains(&counted),
            "{found:?}, moved in {came_in}, out {went_out}"
        );
        assert!(at_least > 0, "{found:?}");
        let seconds = (end - start) as f64 / 1e9;
        let rate = self.cell().throughput.unwrap().total;
        assert!((rate * seconds - counted as f64).abs() < 1e-3, "{rate} tokens/s for {seconds} s, {found:?}");
    }

    /// Tokens that the engine had written by the end of the window.
    fn written_in_time(&self) -> u64 {
        let end_ns = self.origin_ns + self.trace.meta.window_end_ns.unwrap();
        let label = |number: u32| {
            let request = self.truth.requests.iter().find(|request| request.request == number);
            request.and_then(|request| request.label.as_ref()?.parse::<u32>().ok())
        };
        let in_time = self.truth.sends.iter().filter(|send| send.after_ns <= end_ns);
        in_time
            .filter(|send| label(send.request).is_some_and(|label| label < STREAMS))
            .map(|send| u64::from(send.tokens))
            .sum()
    }

    /// Events that have the stamp of a later event of their read, where that is the first of its request from
    /// `time_ns` on: they may have come before.
    fn moved_over(&self, time_ns: u64) -> u64 {
        let mut first: HashMap<u32, u64> = HashMap::new();
        let is_later = |event: &&EventRow| event.payload && event.arrival_ns >= time_ns;
        for event in self.trace.events.iter().filter(is_later) {
            first.entry(event.request).or_insert(event.arrival_ns);
        }
        let moved = |event: &&EventRow| {
            event.payload && !event.last_of_read && first.get(&event.request) == Some(&event.arrival_ns)
        };
        self.trace.events.iter().filter(moved).count() as u64
    }

    fn check_was_held_up(&self) {
        assert!(self.trace.requests.iter().all(|row| row.failure.is_none()), "{:?}", self.trace.requests);
        let most = self.trace.events.iter().map(|event| event.lag_ns).max().unwrap();
        assert!(most >= DELAY.as_nanos() as u64 / 2, "the client was not held up: {most} ns");
    }
}

#[tokio::test]
async fn far_apart_events_keep_true_stamps() {
    let held = hold_up(15.0, true).await;
    held.check_was_held_up();
    assert_eq!(held.trace.meta.stamp_source, StampSource::Kernel);
    let found = held.fidelity();
    assert!(found.ttft_of_own_stamps.n > 0 && found.gap.n > 0, "{found:?}");
    assert!(found.ttft_of_own_stamps.max_ms.unwrap() <= 1.0, "{found:?}");
    assert!(found.gap.max_ms.unwrap() <= 1.0, "{found:?}");
    held.check_counts();
}

#[tokio::test]
async fn events_that_share_reads_are_told_and_counted_all_the_same() {
    let held = hold_up(100.0, true).await;
    held.check_was_held_up();
    let cell = held.cell();
    assert!(cell.flag(FlagCode::Coalesced).is_some(), "{cell:?}");
    held.check_counts();
}

#[tokio::test]
async fn what_arrived_in_the_window_is_read_however_late_the_client_is() {
    // Each wake-up is later than the cut by much more than a gap.
    let held = hold_up_by(ms(250), 40.0, true, Duration::ZERO).await;
    held.check_was_held_up();
    held.check_counts();
    let read: u64 = held.trace.events.iter().filter(|event| event.payload).count() as u64;
    assert!(read >= held.written_in_time(), "{read} of {} tokens", held.written_in_time());
    let cut = held.trace.requests.iter().filter(|row| row.outcome == Outcome::Cut);
    for row in cut {
        let last = held.trace.events.iter().rfind(|event| event.request == row.request);
        assert!(last.is_none_or(|event| event.arrival_ns <= row.end_ns), "{row:?} {last:?}");
    }
}

#[tokio::test]
async fn without_kernel_stamps_the_cell_is_limited_by_the_client() {
    let held = hold_up(15.0, false).await;
    held.check_was_held_up();
    assert_eq!(held.trace.meta.stamp_source, StampSource::Read);
    let cell = held.cell();
    assert_eq!(cell.status, Status::ClientLimited, "{cell:?}");
    let found = held.fidelity();
    assert_eq!((found.tokens.counted, found.tokens.unequal_requests), (found.tokens.sent, 0), "{found:?}");
}
