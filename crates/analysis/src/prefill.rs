//! The row of a prefill measurement: cold requests alone on the server.

use tokometer_record::{Cell, CellTrace, Phase, RequestKind};

use crate::decode::describe;
use crate::ledger::{Ledger, Request, ordered_events};
use crate::samples::Samples;
use crate::verdict::{self, Facts, Lag, Unknown};
use crate::{Context, latency, server};

pub(crate) fn summarise(trace: &CellTrace, context: &Context<'_>) -> Cell {
    let meta = &trace.meta;
    let events = ordered_events(trace);
    let ledger = Ledger::new(trace, &events);
    let mut cell = Cell::planned(Phase::Prefill, meta.context_nominal, meta.concurrency);
    describe(&mut cell, trace, &ledger);
    let cold = || ledger.of_kind(RequestKind::Prefill);
    let over =
        |latency: fn(&Request<'_>) -> Option<f64>| Samples::new(cold().filter_map(latency)).distribution();
    cell.ttft_ms = over(latency::ttft_ms);
    cell.first_byte_ms = over(latency::first_byte_ms);
    cell.connect_ms = over(latency::connect_ms);
    let aimed_at = context.expected_prompt_tokens.unwrap_or(meta.context_nominal);
    cell.prefill_samples = cold().filter_map(|request| prefill_rate(request, aimed_at)).collect();
    cell.prefill_rate = Samples::new(cell.prefill_samples.iter().copied()).median();
    if cell.prefill_rate.is_none() {
        let why =
            if cell.ttft_ms.is_none() { "no payload event came" } else { "every prompt was cached whole" };
        cell.unknown.insert("prefill_rate".to_owned(), why.to_owned());
    }
    let lags = cold().flat_map(|request| request.events).map(|event| event.lag_ns as f64 / 1e3);
    cell.client_lag_us = Samples::new(lags).distribution();

    let mut facts = Facts::new(meta, context);
    facts.cached_share = cached_share(&mut cell, trace, &ledger);
    facts.counts_told = ledger.all_told();
    facts.unknown = Unknown::of(&ledger.requests);
    // What the client was late with the first event is part of TTFT, or could have been.
    let first_lags =
        Samples::new(cold().filter_map(Request::first_payload).map(|event| event.lag_ns as f64 / 1e6));
    let median_ttft = Samples::new(cold().filter_map(latency::ttft_ms)).median();
    facts.lag = first_lags.p99_raw().zip(median_ttft).map(|(p99_ms, of_ms)| Lag {
        p99_ms,
        of_ms,
        of: "median TTFT",
        of_name: "median_ttft",
    });
    facts.cut_allowance = verdict::counted_otherwise(cold().count() as u64);
    verdict::judge(&mut cell, &facts);
    cell
}

/// Prefill rate of one request: prompt tokens, less those reported cached, ÷ TTFT, in tok/s. Where the server
/// told no prompt tokens, those that the prompt was built for stand in.
fn prefill_rate(request: &Request<'_>, aimed_at: u64) -> Option<f64> {
    let ttft = latency::ttft_ms(request).filter(|ms| *ms > 0.0)?;
    let tokens =
        request.row.prompt_tokens.unwrap_or(aimed_at).saturating_sub(request.row.cached_tokens.unwrap_or(0));
    (tokens > 0).then(|| tokens as f64 / ttft * 1e3)
}

/// The largest share of a prompt that was cached, by the requests' usage.
pub(crate) fn largest_cached_share<'a, 'l: 'a>(
    requests: impl Iterator<Item = &'a Request<'l>>,
) -> Option<f64> {
    requests
        .filter_map(|request| {
            let prompt = request.row.prompt_tokens.filter(|tokens| *tokens > 0)?;
            Some(request.row.cached_tokens? as f64 / prompt as f64)
        })
        .max_by(f64::total_cmp)
}

/// The largest share of a prompt that was cached, by the requests' usage, else by the server's counter over
/// all of them.
fn cached_share(cell: &mut Cell, trace: &CellTrace, ledger: &Ledger<'_>) -> Option<f64> {
    if let Some(largest) = largest_cached_share(ledger.of_kind(RequestKind::Prefill)) {
        return Some(largest);
    }
    let prompts = cell.tokens.input.filter(|tokens| *tokens > 0)?;
    match server::rise(trace, |counters| counters.cached_tokens) {
        Ok(cached) => Some(cached / prompts as f64),
        Err(why) => {
            cell.unknown.insert("tokens.cached".to_owned(), format!("no request told it; {why}"));
            None
        }
    }
}
