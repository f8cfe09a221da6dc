//! Prefill rows.

use tokometer_analysis::{Context, summarise};
use tokometer_record::{
    CellTrace, CounterSnapshot, FlagCode, Outcome, Phase, RequestKind, StampSource, Status,
};

use crate::build::{
    MS, SECOND, close, decided, event, failure, meta, raised, reason, request, row, settings,
};

/// Three cold requests of 8192 tokens, with these times to the first token.
fn prefill(ttft_ms: [u64; 3]) -> CellTrace {
    let mut trace = CellTrace {
        meta: meta(Phase::Prefill, 1),
        requests: Vec::new(),
        events: Vec::new(),
        samples: Vec::new(),
    };
    (trace.meta.window_start_ns, trace.meta.window_end_ns, trace.meta.ready) = (None, None, None);
    trace.meta.duration_seconds = 0.0;
    for (number, ttft) in (0..).zip(ttft_ms) {
        let send = u64::from(number) * SECOND;
        let mut row = request(number, 0, send);
        row.kind = RequestKind::Prefill;
        (row.prompt_tokens, row.cached_tokens, row.completion_tokens) = (Some(8192), Some(0), Some(1));
        (row.reads, row.events) = (1, 3);
        row.end_ns = send + ttft * MS;
        trace.events.push(event(number, row.end_ns, Some(1)));
        trace.requests.push(row);
    }
    trace
}

#[test]
fn the_rate_is_the_median_of_the_samples() {
    let cell = row(&prefill([256, 512, 128]));
    assert_eq!((cell.phase, cell.status), (Phase::Prefill, Status::Valid));
    assert_eq!(cell.prefill_samples, [32_000.0, 16_000.0, 64_000.0]);
    assert_eq!(cell.prefill_rate, Some(32_000.0));
    assert_eq!(cell.ttft_ms.as_ref().unwrap().p50, Some(256.0));
    assert_eq!((cell.requests.ended, cell.requests.started), (Some(3), Some(3)));
    assert_eq!(cell.context_actual.unwrap().p50, 8192.0);
    assert!(cell.flags.is_empty(), "{:?}", cell.flags);
    assert_eq!((&cell.throughput, &cell.window), (&None, &None));
}

#[test]
fn cached_tokens_were_not_computed() {
    let mut trace = prefill([256, 256, 256]);
    trace.requests[1].cached_tokens = Some(4096);
    let cell = row(&trace);
    close(cell.prefill_samples[1], 16_000.0);
    let flag = raised(&cell, FlagCode::PrefixHit);
    assert_eq!(decided(&flag.figures), (0.5, Some(0.01)));
    // One percent is the limit.
    trace.requests[1].cached_tokens = Some(81);
    assert_eq!(row(&trace).flag(FlagCode::PrefixHit), None);
}

#[test]
fn a_hit_is_seen_by_the_servers_counter_too() {
    let mut trace = prefill([256, 256, 256]);
    trace.requests.iter_mut().for_each(|row| row.cached_tokens = None);
    let at =
        |tokens: f64| Some(CounterSnapshot { cached_tokens: Some(tokens), ..CounterSnapshot::default() });
    (trace.meta.counters_before, trace.meta.counters_after) = (at(100.0), at(100.0));
    assert_eq!(row(&trace).flag(FlagCode::PrefixHit), None);
    trace.meta.counters_after = at(8292.0);
    close(decided(&raised(&row(&trace), FlagCode::PrefixHit).figures).0, 8192.0 / 24_576.0);
}

#[test]
fn a_failure_is_an_error_and_the_rest_is_kept() {
    let mut trace = prefill([256, 512, 128]);
    trace.requests[1].outcome = Outcome::Failed;
    trace.requests[1].failure = Some(failure("connection reset"));
    let cell = row(&trace);
    assert!(
        reason(&cell, Status::Error).contains("1 of 3 requests failed, the first with: connection reset")
    );
    assert_eq!(cell.error.as_ref().unwrap().message, "connection reset");
    assert_eq!(cell.prefill_samples.len(), 3);
}

#[test]
fn without_prompt_tokens_the_rate_uses_those_aimed_at_and_says_so() {
    let mut trace = prefill([256, 512, 128]);
    trace.requests.iter_mut().for_each(|row| row.prompt_tokens = None);
    let settings = settings();
    let aimed = Context { expected_prompt_tokens: Some(8000), ..Context::new(&settings) };
    let cell = summarise(&trace, &aimed);
    assert_eq!((cell.status, cell.prefill_rate), (Status::Valid, Some(31_250.0)));
    assert_eq!(cell.context_actual, None);
    assert!(raised(&cell, FlagCode::TokensEstimated).detail.contains("no prompt tokens"));
}

#[test]
fn no_rate_is_an_error() {
    let mut trace = prefill([256, 512, 128]);
    trace.events.clear();
    assert!(reason(&row(&trace), Status::Error).contains("no payload event"));
}

#[test]
fn a_row_whose_server_worked_for_others_is_contaminated() {
    let with = |server: f64| {
        let mut trace = prefill([256, 512, 128]);
        let at = |tokens: f64| {
            Some(CounterSnapshot { generated_tokens: Some(tokens), ..CounterSnapshot::default() })
        };
        (trace.meta.counters_before, trace.meta.counters_after) = (at(100.0), at(100.0 + server));
        row(&trace)
    };
    assert_eq!(with(3.0).status, Status::Valid);
    // An engine may count the one token of each request otherwise.
    assert_eq!(with(9.0).status, Status::Valid);
    assert!(reason(&with(200.0), Status::Contaminated).contains("200"));
}

#[test]
fn an_interrupted_row_says_how_far_it_came() {
    let mut trace = prefill([256, 512, 128]);
    trace.requests.truncate(1);
    trace.events.truncate(1);
    trace.meta.interrupted = true;
    assert!(reason(&row(&trace), Status::Interrupted).contains("1 of 3 requests"));
}

#[test]
fn a_client_that_was_late_with_the_first_token_shaped_the_rate() {
    // TTFT 256 ms; of it 5 % may be the client's where no kernel stamp tells it apart.
    let with = |stamps: StampSource, lag_ns: u64| {
        let mut trace = prefill([256, 256, 256]);
        trace.meta.stamp_source = stamps;
        trace.events[1].lag_ns = lag_ns;
        row(&trace)
    };
    assert_eq!(with(StampSource::Read, 12 * MS).status, Status::Valid);
    let limited = with(StampSource::Read, 14 * MS);
    let text = reason(&limited, Status::ClientLimited);
    assert!(text.contains("median TTFT of 256.000 ms") && text.contains("read stamps"), "{text}");
    let (lag, limit) = decided(&limited.reason.unwrap().figures);
    assert!(lag > 12.8 && (limit.unwrap() - 12.8).abs() < 1e-9, "{lag} {limit:?}");
    assert_eq!(with(StampSource::Kernel, 250 * MS).status, Status::Valid);
    reason(&with(StampSource::Kernel, 270 * MS), Status::ClientLimited);
}

#[test]
fn a_shortened_prompt_is_held_against_what_was_aimed_at() {
    let trace = prefill([256, 256, 256]);
    let settings = settings();
    let with = |expected| {
        summarise(&trace, &Context { expected_prompt_tokens: expected, ..Context::new(&settings) })
    };
    assert_eq!(with(None).flag(FlagCode::PromptLength), None);
    assert_eq!(with(Some(8180)).flag(FlagCode::PromptLength), None);
    assert_eq!(decided(&raised(&with(Some(8128)), FlagCode::PromptLength).figures).0, 64.0);
}
