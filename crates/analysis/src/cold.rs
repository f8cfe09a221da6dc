//! Cold means cold: how much of the prompts that should have been new to the server it had cached.

use std::collections::BTreeSet;

use tokometer_record::{CellTrace, CounterSnapshot, RequestKind};

use crate::ledger::{Ledger, Request};
use crate::server;

/// Cached prompt tokens of each cold request of a prefill row, in order: by its own usage, else by the server's
/// counter around it, of which the request can claim no more than its prompt. `None`: the server tells neither.
pub(crate) fn of_prefill(trace: &CellTrace, ledger: &Ledger<'_>, aimed_at: u64) -> Vec<Option<u64>> {
    ledger
        .of_kind(RequestKind::Prefill)
        .enumerate()
        .map(|(index, request)| {
            request.row.cached_tokens.or_else(|| {
                let prompt = request.row.prompt_tokens.unwrap_or(aimed_at);
                Some(around(trace, index)?.min(prompt))
            })
        })
        .collect()
}

/// How much the server's counter of cached tokens rose around a cold request.
fn around(trace: &CellTrace, index: usize) -> Option<u64> {
    let meta = &trace.meta;
    let counter = |snapshot: &CounterSnapshot| snapshot.cached_tokens;
    let before = meta.counters_by_request.get(index)?.as_ref().and_then(counter)?;
    let after = match meta.counters_by_request.get(index + 1) {
        Some(next) => next.as_ref(),
        None => meta.counters_after.as_ref(),
    };
    let rise = after.and_then(counter)? - before;
    (rise >= 0.0).then(|| rise.round() as u64)
}

/// The largest share of a cold prompt that was cached in a prefill row. A trace that has no counters around each
/// request has them around all of them.
pub(crate) fn share_of_prefill(
    trace: &CellTrace,
    ledger: &Ledger<'_>,
    cached: &[Option<u64>],
    aimed_at: u64,
) -> Result<f64, &'static str> {
    let prompt = |request: &Request<'_>| request.row.prompt_tokens.unwrap_or(aimed_at);
    let shares = ledger.of_kind(RequestKind::Prefill).zip(cached).filter_map(|(request, cached)| {
        let prompt = prompt(request);
        (prompt > 0).then_some((*cached)? as f64 / prompt as f64)
    });
    if let Some(largest) = shares.max_by(f64::total_cmp) {
        return Ok(largest);
    }
    let prompts: u64 = ledger.of_kind(RequestKind::Prefill).map(prompt).sum();
    let risen = server::rise(trace, |counters| counters.cached_tokens)?;
    if prompts == 0 { Err("no request was sent") } else { Ok(risen / prompts as f64) }
}

/// The largest share of a prompt that was cached where streams meet prompts of their own unwarmed. Only the first
/// request of a stream is cold: the next one finds what the first has left. By the server's counter alone the
/// others are taken to have been cached whole, so that what is left over is a hit for certain.
pub(crate) fn share_of_streams(
    trace: &CellTrace,
    ledger: &Ledger<'_>,
    aimed_at: u64,
) -> Result<f64, &'static str> {
    let mut streams = BTreeSet::new();
    let mut first =
        |request: &Request<'_>| request.row.kind == RequestKind::Stream && streams.insert(request.row.stream);
    let (cold, others): (Vec<&Request<'_>>, Vec<&Request<'_>>) =
        ledger.requests.iter().partition(|request| first(request));
    let prompt = |request: &&Request<'_>| request.row.prompt_tokens.unwrap_or(aimed_at);
    let told = cold.iter().filter_map(|request| {
        let prompt = prompt(request);
        (prompt > 0).then_some(request.row.cached_tokens? as f64 / prompt as f64)
    });
    if let Some(largest) = told.max_by(f64::total_cmp) {
        return Ok(largest);
    }
    let prompts: u64 = cold.iter().map(prompt).sum();
    let warm: u64 = others.iter().map(prompt).sum();
    let risen = server::rise(trace, |counters| counters.cached_tokens)?;
    if prompts == 0 {
        return Err("no request was sent");
    }
    Ok((risen - warm as f64).max(0.0) / prompts as f64)
}
