//! The row of a decode cell.

use tokometer_record::{Cell, CellTrace, Outcome, Phase, Requests, Tokens, TraceMeta, Window, WindowView};

use crate::ledger::{Ledger, Request, ordered_events};
use crate::rates::{STEADY_FROM_SECONDS, Span, seconds, steady, throughput};
use crate::samples::{Samples, spread};
use crate::verdict::{self, Facts, Lag, Unknown};
use crate::{Context, cold, latency, server, speculative};

/// Why the numbers of the window are null where it was not reached.
const NO_WINDOW: &str = "the window was not reached";

pub(crate) fn summarise(trace: &CellTrace, context: &Context<'_>) -> Cell {
    let meta = &trace.meta;
    let events = ordered_events(trace);
    let ledger = Ledger::new(trace, &events);
    let mut cell = Cell::planned(Phase::Decode, meta.context_nominal, meta.concurrency);
    describe(&mut cell, trace, &ledger);
    headline(&mut cell, &ledger);
    let mut facts = Facts::new(meta, context);
    match Span::of(meta) {
        Some(window) => measure(&mut cell, &mut facts, trace, &ledger, window),
        None => {
            for field in
                ["throughput", "window", "window_view", "average_active_requests", "tokens.out", "server"]
            {
                cell.unknown.insert(field.to_owned(), NO_WINDOW.to_owned());
            }
        }
    }
    facts.median_output = median_output(&ledger);
    facts.counts_told = ledger.all_told();
    facts.unknown = Unknown::of(&ledger.requests);
    if context.settings.cold == Some(true) {
        let aimed_at = context.expected_prompt_tokens.unwrap_or(meta.context_nominal);
        match cold::share_of_streams(trace, &ledger, aimed_at) {
            Ok(share) => facts.cached_share = Some(share),
            Err(why) => {
                cell.unknown.insert("tokens.cached".to_owned(), format!("no request told it; {why}"));
            }
        }
    }
    facts.cut_allowance = left_by_cut_requests(trace, &ledger, cell.tokens.per_event);
    verdict::judge(&mut cell, &facts);
    cell
}

/// Tokens that the server may have made for cut requests after the last event that we saw of each: what it makes
/// at the request's own rate until its gauges show that it runs nothing, but never beyond the output asked.
fn left_by_cut_requests(trace: &CellTrace, ledger: &Ledger<'_>, tokens_per_event: Option<f64>) -> f64 {
    let cut = || ledger.streams().filter(|request| request.row.outcome == Outcome::Cut);
    let Some(last_cut_ns) = cut().map(|request| request.row.end_ns).max() else { return 0.0 };
    let idle = trace
        .samples
        .iter()
        .find(|sample| sample.time_ns >= last_cut_ns && sample.running == Some(0.0))
        .map(|sample| sample.time_ns);
    let least = verdict::least_left(tokens_per_event);
    let left = |request: &Request<'_>| {
        let ran_on_ms = latency::ms_between(request.last_payload()?.arrival_ns, idle?)?;
        let room = trace.meta.max_output_tokens as f64 - request.total();
        Some((ran_on_ms / latency::time_between_tokens_ms(request)?).min(room))
    };
    cut().map(|request| left(request).unwrap_or(0.0).max(least)).sum()
}

/// What is known of a cell of either phase without looking at times: counts, stamps, failures, loops.
pub(crate) fn describe(cell: &mut Cell, trace: &CellTrace, ledger: &Ledger<'_>) {
    let meta = &trace.meta;
    cell.ready.clone_from(&meta.ready);
    cell.adaptive.clone_from(&meta.adaptive);
    cell.stamp_source = Some(meta.stamp_source);
    cell.loops.clone_from(&meta.loops);
    cell.error = first_failure(meta, ledger);
    cell.requests = requests(meta, ledger);
    tokens(cell, trace, ledger);
    let (events, reads) = measured(meta, ledger).fold((0_u64, 0_u64), |(events, reads), request| {
        (events + u64::from(request.row.events), reads + u64::from(request.row.reads))
    });
    cell.events_per_read = (reads > 0).then(|| events as f64 / reads as f64);
    let counts: Vec<u64> = measured(meta, ledger).filter_map(|request| request.row.prompt_tokens).collect();
    cell.context_actual = spread(&counts);
    if cell.context_actual.is_none() {
        cell.unknown.insert("context_actual".to_owned(), "the server told no prompt tokens".to_owned());
    }
    if ledger.stray_events > 0 {
        let why =
            format!("{} events of requests that the trace does not list were left out", ledger.stray_events);
        cell.unknown.insert("trace.events".to_owned(), why);
    }
}

/// The requests that a row is about: those of streams, or the cold ones of a prefill row.
pub(crate) fn measured<'a, 'l>(
    meta: &TraceMeta,
    ledger: &'l Ledger<'a>,
) -> impl Iterator<Item = &'l Request<'a>> + use<'a, 'l> {
    let kind = match meta.phase {
        Phase::Prefill => tokometer_record::RequestKind::Prefill,
        Phase::Decode => tokometer_record::RequestKind::Stream,
    };
    ledger.of_kind(kind)
}

/// The failure that came first, of any request of the cell, else the cell's own.
fn first_failure(meta: &TraceMeta, ledger: &Ledger<'_>) -> Option<tokometer_record::Failure> {
    ledger
        .requests
        .iter()
        .filter(|request| request.row.failure.is_some())
        .min_by_key(|request| request.row.end_ns)
        .and_then(|request| request.row.failure.clone())
        .or_else(|| meta.failure.clone())
}

fn requests(meta: &TraceMeta, ledger: &Ledger<'_>) -> Requests {
    let window = Span::of(meta);
    let count = |fits: &dyn Fn(&Request<'_>) -> bool| {
        Some(measured(meta, ledger).filter(|request| fits(request)).count() as u64)
    };
    let with = |outcome: Outcome| count(&|request| request.row.outcome == outcome);
    Requests {
        started: count(&|_| true),
        ended: with(Outcome::Ended),
        cut: with(Outcome::Cut),
        failed: with(Outcome::Failed),
        ended_in_window: window.and_then(|window| {
            count(&|request| request.row.outcome == Outcome::Ended && window.holds(request.row.end_ns))
        }),
        resent: Some(u64::from(meta.resent)),
    }
}

fn tokens(cell: &mut Cell, trace: &CellTrace, ledger: &Ledger<'_>) {
    let meta = &trace.meta;
    // A request that brought nothing has no counts to tell.
    let answered = || measured(meta, ledger).filter(|request| request.first_payload().is_some());
    let sum = |get: fn(&Request<'_>) -> Option<u64>| -> Option<u64> {
        answered().next()?;
        answered().map(get).sum()
    };
    let counted: f64 = measured(meta, ledger).map(Request::counted).sum();
    let payload_events: usize = measured(meta, ledger).map(|request| request.payload().count()).sum();
    // The weakest source is the one to be told.
    let source = measured(meta, ledger).filter_map(|request| request.source).max();
    cell.tokens = Tokens {
        out: None,
        out_cell: source.map(|_| whole(counted)),
        input: sum(|request| request.row.prompt_tokens),
        cached: sum(|request| request.row.cached_tokens),
        reasoning: sum(|request| request.row.reasoning_tokens),
        source,
        per_event: (payload_events > 0).then(|| counted / payload_events as f64),
        server: None,
        client: Some(whole(ledger.total())),
    };
    match server::rise(trace, |counters| counters.generated_tokens) {
        Ok(tokens) => cell.tokens.server = Some(whole(tokens)),
        Err(why) => {
            cell.unknown.insert("tokens.server".to_owned(), why.to_owned());
        }
    }
    let untold = [
        ("tokens.in", cell.tokens.input.is_none()),
        ("tokens.cached", cell.tokens.cached.is_none()),
        ("tokens.reasoning", cell.tokens.reasoning.is_none()),
    ];
    for (field, is_null) in untold {
        if is_null {
            cell.unknown.insert(field.to_owned(), "the server did not tell it for every request".to_owned());
        }
    }
    if source.is_none() {
        cell.unknown.insert("tokens.out_cell".to_owned(), "no payload event came".to_owned());
    }
}

/// A count that may have been spread, as a whole number.
fn whole(tokens: f64) -> u64 {
    tokens.round().max(0.0) as u64
}

/// Latencies over every request of the cell, the ready phase included.
fn headline(cell: &mut Cell, ledger: &Ledger<'_>) {
    let over = |latency: fn(&Request<'_>) -> Option<f64>| {
        Samples::new(ledger.streams().filter_map(latency)).distribution()
    };
    cell.ttft_ms = over(latency::ttft_ms);
    cell.time_between_tokens_ms = over(latency::time_between_tokens_ms);
    cell.per_request_rate = over(|request| latency::time_between_tokens_ms(request).map(|ms| 1000.0 / ms));
    cell.time_to_answer_ms = over(latency::time_to_answer_ms);
    cell.first_byte_ms = over(latency::first_byte_ms);
    cell.connect_ms = over(latency::connect_ms);
    let missing = [
        ("ttft_ms", cell.ttft_ms.is_none(), "no payload event came"),
        (
            "time_between_tokens_ms",
            cell.time_between_tokens_ms.is_none(),
            "no request had two payload events",
        ),
        ("per_request_rate", cell.per_request_rate.is_none(), "no request had two payload events"),
        ("time_to_answer_ms", cell.time_to_answer_ms.is_none(), "no answer text came"),
        ("first_byte_ms", cell.first_byte_ms.is_none(), "no response came"),
        ("connect_ms", cell.connect_ms.is_none(), "no request opened a connection"),
    ];
    for (field, is_null, why) in missing {
        if is_null {
            cell.unknown.insert(field.to_owned(), why.to_owned());
        }
    }
}

/// Everything that the window gives.
fn measure(cell: &mut Cell, facts: &mut Facts<'_>, trace: &CellTrace, ledger: &Ledger<'_>, window: Span) {
    let concurrency = trace.meta.concurrency;
    cell.window =
        Some(Window { start_ns: Some(window.start), end_ns: Some(window.end), seconds: window.seconds() });
    let (rates, tokens) = throughput(ledger, window, concurrency);
    if rates.interval.is_none() {
        let why = "a sixth of the window had no decoding stream".to_owned();
        cell.unknown.insert("throughput.interval".to_owned(), why);
    }
    if rates.decoding.is_none() {
        cell.unknown.insert("throughput.decoding".to_owned(), "no stream decoded in the window".to_owned());
    }
    cell.throughput = Some(rates);
    cell.tokens.out = Some(whole(tokens));
    cell.average_active_requests = Some(active_requests(ledger, window));
    cell.server = server::view(&trace.samples, window, concurrency);
    if cell.server.is_none() {
        cell.unknown.insert("server".to_owned(), "no sample of the server's gauges in the window".to_owned());
    }

    match speculative::view(trace, window, cell.throughput.as_ref().map(|rates| rates.total)) {
        None => {}
        Some(Ok(figures)) => cell.speculative = Some(figures),
        Some(Err(why)) => {
            cell.unknown.insert("speculative".to_owned(), why.to_owned());
        }
    }

    let mut gaps = latency::Gaps::default();
    for request in ledger.streams() {
        gaps.add(request, window);
    }
    cell.longest_gap_ms = gaps.longest;
    if gaps.longest.is_none() {
        cell.unknown.insert("longest_gap_ms".to_owned(), "no gap ends in the window".to_owned());
    }
    let own_stamps = Samples::new(gaps.own_stamps);
    let first_inside =
        |request: &&Request<'_>| request.first_payload().is_some_and(|event| window.holds(event.arrival_ns));
    cell.window_view = Some(WindowView {
        ttft_ms: Samples::new(ledger.streams().filter(first_inside).filter_map(latency::ttft_ms))
            .distribution(),
        time_between_tokens_ms: Samples::new(
            ledger.streams().filter_map(|request| latency::time_between_tokens_in(request, window)),
        )
        .distribution(),
        gap_ms: own_stamps.distribution(),
        gaps_shared_read: gaps.shared_read,
    });

    let lags =
        ledger.streams().flat_map(|request| request.events).filter(|event| window.holds(event.arrival_ns));
    let lags = Samples::new(lags.map(|event| event.lag_ns as f64 / 1e3));
    cell.client_lag_us = lags.distribution();
    if cell.client_lag_us.is_none() {
        cell.unknown.insert("client_lag_us".to_owned(), "no event came in the window".to_owned());
    }
    // A server that writes several events at once writes that much less often: a client is in time for them as long
    // as it has read one write before the next one comes. One that is not gets its events in fuller reads, but then
    // its lag is as long as the time between them.
    let median_gap = Samples::new(gaps.between_reads).median();
    facts.lag = lags.p99_raw().zip(median_gap).map(|(micros, of_ms)| Lag {
        p99_ms: micros / 1e3,
        of_ms,
        of: "median gap between reads",
        of_name: "median_gap",
    });
    facts.running_at_most = verdict::mean_at_most(&server::running(&trace.samples, window));
    if window.seconds() >= STEADY_FROM_SECONDS {
        facts.steady = steady(ledger, window, concurrency);
        if facts.steady.is_none() {
            let why = "too few bins of the window were decoded to judge".to_owned();
            cell.unknown.insert("steady_state".to_owned(), why);
        }
    }
}

/// Time-weighted mean, over the window, of requests between send and end.
fn active_requests(ledger: &Ledger<'_>, window: Span) -> f64 {
    let busy: f64 = ledger
        .streams()
        .map(|request| seconds(window.overlap(request.row.send_ns, request.row.end_ns)))
        .sum();
    busy / window.seconds()
}

/// Median output of the requests that ended by themselves.
fn median_output(ledger: &Ledger<'_>) -> Option<f64> {
    let ended = ledger.streams().filter(|request| request.row.outcome == Outcome::Ended);
    Samples::new(ended.map(Request::total)).median()
}
