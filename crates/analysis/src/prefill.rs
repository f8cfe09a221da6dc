//! The row of a prefill measurement: cold requests alone on the server.

use tokometer_record::{Cell, CellTrace, Phase, RequestKind};

use crate::decode::describe;
use crate::ledger::{Ledger, Request, ordered_events};
use crate::samples::Samples;
use crate::verdict::{self, Facts, Lag, Unknown};
use crate::{Context, cold, latency};

pub(crate) fn summarise(trace: &CellTrace, context: &Context<'_>) -> Cell {
    let meta = &trace.meta;
    let events = ordered_events(trace);
    let ledger = Ledger::new(trace, &events);
    let mut cell = Cell::planned(Phase::Prefill, meta.context_nominal, meta.concurrency);
    describe(&mut cell, trace, &ledger);
    let requests = || ledger.of_kind(RequestKind::Prefill);
    let over = |latency: fn(&Request<'_>) -> Option<f64>| {
        Samples::new(requests().filter_map(latency)).distribution()
    };
    cell.ttft_ms = over(latency::ttft_ms);
    cell.first_byte_ms = over(latency::first_byte_ms);
    cell.connect_ms = over(latency::connect_ms);
    let aimed_at = context.expected_prompt_tokens.unwrap_or(meta.context_nominal);
    let cached = cold::of_prefill(trace, &ledger, aimed_at);
    cell.prefill_samples = requests()
        .zip(&cached)
        .filter_map(|(request, cached)| prefill_rate(request, *cached, aimed_at))
        .collect();
    cell.prefill_rate = Samples::new(cell.prefill_samples.iter().copied()).median();
    if cell.prefill_rate.is_none() {
        let why =
            if cell.ttft_ms.is_none() { "no payload event came" } else { "every prompt was cached whole" };
        cell.unknown.insert("prefill_rate".to_owned(), why.to_owned());
    }
    let lags = requests().flat_map(|request| request.events).map(|event| event.lag_ns as f64 / 1e3);
    cell.client_lag_us = Samples::new(lags).distribution();

    let mut facts = Facts::new(meta, context);
    facts.cached_share = note_cached(&mut cell, trace, &ledger, &cached, aimed_at);
    facts.counts_told = ledger.all_told();
    facts.unknown = Unknown::of(&ledger.requests);
    // What the client was late with the first event is part of TTFT, or could have been.
    let first_lags =
        Samples::new(requests().filter_map(Request::first_payload).map(|event| event.lag_ns as f64 / 1e6));
    let median_ttft = Samples::new(requests().filter_map(latency::ttft_ms)).median();
    facts.lag = first_lags.p99_raw().zip(median_ttft).map(|(p99_ms, of_ms)| Lag {
        p99_ms,
        of_ms,
        of: "median TTFT",
        of_name: "median_ttft",
    });
    facts.cut_allowance = verdict::counted_otherwise(requests().count() as u64);
    verdict::judge(&mut cell, &facts);
    cell
}

/// Prefill rate of one request: prompt tokens, less those that were cached, ÷ TTFT, in tok/s. Where the server told
/// no prompt tokens, those that the prompt was built for stand in.
fn prefill_rate(request: &Request<'_>, cached: Option<u64>, aimed_at: u64) -> Option<f64> {
    let ttft = latency::ttft_ms(request).filter(|ms| *ms > 0.0)?;
    let tokens = request.row.prompt_tokens.unwrap_or(aimed_at).saturating_sub(cached.unwrap_or(0));
    (tokens > 0).then(|| tokens as f64 / ttft * 1e3)
}

/// What was cached goes into the row; the largest share of it comes back.
fn note_cached(
    cell: &mut Cell,
    trace: &CellTrace,
    ledger: &Ledger<'_>,
    cached: &[Option<u64>],
    aimed_at: u64,
) -> Option<f64> {
    if cell.tokens.cached.is_none()
        && let Some(sum) = cached.iter().copied().sum::<Option<u64>>()
        && !cached.is_empty()
    {
        cell.tokens.cached = Some(sum);
        cell.unknown.remove("tokens.cached");
    }
    match cold::share_of_prefill(trace, ledger, cached, aimed_at) {
        Ok(share) => Some(share),
        Err(why) => {
            cell.unknown.insert("tokens.cached".to_owned(), format!("no request told it; {why}"));
            None
        }
    }
}
