//! A warm cache that is sold as cold is seen by whatever tells of it.

use tokometer_analysis::{Context, summarise};
use tokometer_record::{Cell, CellTrace, CounterSnapshot, FlagCode, Phase, RequestKind};

use crate::build::{MS, STEADY, close, event, meta, raised, request, row, settings};

const PROMPT: u64 = 8190;

/// Three cold requests of 256 ms to their one token, without any word on cached tokens in their usage.
fn prefill() -> CellTrace {
    let mut trace = CellTrace {
        meta: meta(Phase::Prefill, 1),
        requests: Vec::new(),
        events: Vec::new(),
        samples: Vec::new(),
    };
    for number in 0..3 {
        let send = u64::from(number) * 1000 * MS;
        let mut row = request(number, 0, send);
        row.kind = RequestKind::Prefill;
        row.cached_tokens = None;
        row.completion_tokens = Some(1);
        row.end_ns = send + 256 * MS;
        trace.requests.push(row);
        trace.events.push(event(number, send + 256 * MS, Some(1)));
    }
    trace
}

#[expect(clippy::unnecessary_wraps, reason = "a snapshot is an option everywhere that it stands")]
fn cached(tokens: u64) -> Option<CounterSnapshot> {
    Some(CounterSnapshot { cached_tokens: Some(tokens as f64), ..CounterSnapshot::default() })
}

#[test]
fn the_counters_around_a_request_tell_its_hit_and_its_rate_leaves_it_out() {
    let mut trace = prefill();
    trace.meta.counters_before = cached(1000);
    trace.meta.counters_by_request = vec![cached(1000), cached(1000), cached(5095)];
    trace.meta.counters_after = cached(5095);
    let cell = row(&trace);
    assert_eq!(cell.tokens.cached, Some(4095));
    let whole = PROMPT as f64 / 0.256;
    close(cell.prefill_samples[0], whole);
    close(cell.prefill_samples[1], whole / 2.0);
    close(cell.prefill_samples[2], whole);
    close(raised(&cell, FlagCode::PrefixHit).figures[0].value, 0.5);

    // A hit of the last one shows after it.
    trace.meta.counters_by_request = vec![cached(1000), cached(1000), cached(1000)];
    let cell = row(&trace);
    close(cell.prefill_samples[2], whole / 2.0);
    // What the request itself says comes first.
    trace.requests[2].cached_tokens = Some(0);
    close(row(&trace).prefill_samples[2], whole);
    assert_eq!(row(&trace).flag(FlagCode::PrefixHit), None);
}

#[test]
fn a_request_claims_no_more_than_its_prompt_and_a_counter_that_fell_says_nothing() {
    let mut trace = prefill();
    trace.meta.counters_by_request = vec![cached(0), cached(1_000_000), cached(5)];
    trace.meta.counters_after = cached(5);
    let cell = row(&trace);
    close(raised(&cell, FlagCode::PrefixHit).figures[0].value, 1.0);
    // All of the first prompt was cached: it has no rate. The second one's counter fell.
    assert_eq!(cell.prefill_samples.len(), 2);
    assert!(cell.unknown.contains_key("tokens.cached"));
}

/// Streams that meet prompts of their own unwarmed, each of two requests.
fn unwarmed(cached: [Option<u64>; 2]) -> CellTrace {
    let mut trace = STEADY.trace();
    let mut seen = std::collections::BTreeSet::new();
    for row in &mut trace.requests {
        row.cached_tokens = cached[usize::from(!seen.insert(row.stream))];
    }
    trace
}

fn judged(trace: &CellTrace) -> Cell {
    let mut settings = settings();
    settings.cold = Some(true);
    summarise(trace, &Context::new(&settings))
}

#[test]
fn of_unwarmed_streams_only_the_first_requests_are_cold() {
    assert_eq!(judged(&unwarmed([Some(0), Some(8176)])).flag(FlagCode::PrefixHit), None);
    let cell = judged(&unwarmed([Some(4095), Some(8176)]));
    close(raised(&cell, FlagCode::PrefixHit).figures[0].value, 0.5);
    // Warmed streams are meant to find their prompt.
    assert_eq!(row(&unwarmed([Some(4095), Some(8176)])).flag(FlagCode::PrefixHit), None);
}

#[test]
fn the_counter_tells_it_where_no_request_does() {
    let with = |risen: u64| {
        let mut trace = unwarmed([None, None]);
        let warm = (trace.requests.len() as u64 - 4) * PROMPT;
        for (counters, tokens) in
            [(&mut trace.meta.counters_before, 7), (&mut trace.meta.counters_after, 7 + warm + risen)]
        {
            counters.as_mut().unwrap().cached_tokens = Some(tokens as f64);
        }
        judged(&trace)
    };
    assert_eq!(with(0).flag(FlagCode::PrefixHit), None);
    close(raised(&with(PROMPT), FlagCode::PrefixHit).figures[0].value, 0.25);
    let untold = judged(&unwarmed([None, None]));
    assert_eq!(untold.flag(FlagCode::PrefixHit), None);
    assert!(untold.unknown["tokens.cached"].contains("no such counter"));
}
