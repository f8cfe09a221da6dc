//! Each quantity of method section 4, against its truth.

use tokometer_record::{FlagCode, Outcome, Phase, RequestKind, SampleRow, StampSource, Status, TokenSource};

use crate::build::{MS, SECOND, STEADY, Streams, changed, close, each_event, event, request, row};

#[test]
fn rates_of_streams_that_restart() {
    let cell = row(&STEADY.trace());
    assert_eq!((cell.phase, cell.context_nominal, cell.concurrency), (Phase::Decode, 8192, 4));
    assert_eq!((cell.status, &cell.reason), (Status::Valid, &None));
    let rates = cell.throughput.as_ref().unwrap();
    // Two requests of 451 tokens in the window, per stream. The last token of the requests that end at 5 s
    // arrives with the window's start and counts; that of those ending at 15 s does not.
    assert_eq!(cell.tokens.out, Some(4 * 902));
    close(rates.total, 360.8);
    // Of 10 s, each stream decodes 4.5 s twice, but for the last step of the request that is cut.
    close(rates.decoding.unwrap(), 4.0 * 902.0 / (4.0 * 8.99) * 4.0);
    close(rates.restart_share.unwrap(), 0.101);
    assert_eq!(rates.batches.len(), 6);
    let window = cell.window.as_ref().unwrap();
    assert_eq!((window.start_ns, window.end_ns, window.seconds), (Some(5 * SECOND), Some(15 * SECOND), 10.0));
    assert_eq!(cell.trace, None);
}

#[test]
fn a_stream_that_never_restarts_decodes_all_the_time() {
    let cell = row(&Streams { ttft_ns: 0, events: 10_000, concurrency: 2, ..STEADY }.trace());
    let rates = cell.throughput.as_ref().unwrap();
    close(rates.total, 200.0);
    // The last token of a cut request arrives one step before the window's end.
    close(rates.decoding.unwrap(), 2000.0 / 19.98 * 2.0);
    close(rates.restart_share.unwrap(), 1.0 - 19.98 / 20.0);
    close(cell.average_active_requests.unwrap(), 2.0);
}

#[test]
fn the_interval_of_the_decoding_rate_is_put_around_the_total_rate() {
    let cell = row(&STEADY.trace());
    let rates = cell.throughput.as_ref().unwrap();
    let interval = rates.interval.as_ref().unwrap();
    // By hand: mean ± t(0.975, 5)·s/√6.
    let mean = rates.batches.iter().sum::<f64>() / 6.0;
    let variance = rates.batches.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>() / 5.0;
    let relative = 2.570_581_835_636_314 * (variance / 6.0).sqrt() / mean;
    assert!(
        (interval.half_width_relative - relative).abs() < 1e-9,
        "{} {relative}",
        interval.half_width_relative
    );
    close(interval.low, rates.total * (1.0 - interval.half_width_relative));
    close(interval.high, rates.total * (1.0 + interval.half_width_relative));
    assert_eq!(
        (interval.level, interval.method.as_str(), interval.scope.as_str()),
        (0.95, "batch_means_t", "within_run")
    );
    assert!((-1.0..=1.0).contains(&rates.lag1.unwrap()));
}

#[test]
fn restarts_together_do_not_widen_the_interval() {
    // All four streams pause for 0.5 s at once. Rates of whole batches differ by a fifth, decoding rates hardly.
    let cell = row(&STEADY.trace());
    let interval = cell.throughput.as_ref().unwrap().interval.as_ref().unwrap();
    assert!(interval.half_width_relative < 0.01, "{interval:?}");
}

#[test]
fn a_window_with_an_empty_batch_has_no_interval_and_says_why() {
    let cell = changed(|trace| trace.events.retain(|event| event.arrival_ns < 12 * SECOND));
    let rates = cell.throughput.as_ref().unwrap();
    assert_eq!((&rates.interval, rates.lag1), (&None, None));
    assert!(cell.unknown["throughput.interval"].contains("no decoding stream"));
}

#[test]
fn ttft_is_counted_from_the_send_over_all_requests() {
    let cell = row(&STEADY.trace());
    let ttft = cell.ttft_ms.as_ref().unwrap();
    // Three per stream: sent at 0, 5, 10 s; the last is cut one step before its end, and counts.
    assert_eq!((ttft.n, ttft.min, ttft.p50, ttft.max), (Some(12), Some(500.0), Some(500.0), Some(500.0)));
    assert_eq!((ttft.p90, ttft.p95, ttft.p99), (None, None, None));
    assert_eq!(ttft.p50_interval, Some([500.0, 500.0]));
    // In the window: those that were sent at 5 and 10 s.
    let window = cell.window_view.as_ref().unwrap();
    assert_eq!(window.ttft_ms.as_ref().unwrap().n, Some(8));
    let first_byte = cell.first_byte_ms.as_ref().unwrap();
    assert_eq!((first_byte.n, first_byte.p50), (Some(12), Some(100.0)));
    assert_eq!(cell.connect_ms.as_ref().unwrap().p50, Some(2.0));
    assert!(!cell.unknown.contains_key("ttft_ms"));
}

#[test]
fn a_request_without_payload_has_no_ttft() {
    let cell = changed(|trace| {
        trace.requests.push(request(900, 0, 14 * SECOND));
        trace.requests.last_mut().unwrap().outcome = Outcome::Cut;
    });
    assert_eq!(cell.ttft_ms.as_ref().unwrap().n, Some(12));
    assert_eq!(cell.requests.started, Some(13));
}

#[test]
fn percentiles_come_with_enough_samples_only() {
    for (requests, p90, p95, p99) in [
        (63, false, false, false),
        (64, true, false, false),
        (130, true, true, false),
        (662, true, true, true),
    ] {
        let mut trace = STEADY.trace();
        trace.requests.clear();
        trace.events.clear();
        for number in 0..requests {
            trace.requests.push(request(number, 0, 0));
            trace.events.push(event(number, u64::from(number + 1) * MS, Some(1)));
        }
        let ttft = row(&trace).ttft_ms.unwrap();
        assert_eq!(
            (ttft.p90.is_some(), ttft.p95.is_some(), ttft.p99.is_some()),
            (p90, p95, p99),
            "{requests}"
        );
        assert_eq!(ttft.n, Some(u64::from(requests)));
        close(ttft.p50.unwrap(), f64::from(requests + 1) / 2.0);
        close(ttft.mean.unwrap(), f64::from(requests + 1) / 2.0);
    }
}

#[test]
fn time_between_tokens_counts_tokens_and_not_events() {
    // Two tokens each 10 ms: 5 ms per token, the tokens of the first event left out.
    let cell = row(&Streams { tokens: 2, ..STEADY }.trace());
    let between = cell.time_between_tokens_ms.as_ref().unwrap();
    assert_eq!(between.n, Some(12));
    close(between.p50.unwrap(), 4500.0 / 900.0);
    close(cell.per_request_rate.as_ref().unwrap().p50.unwrap(), 200.0);
    let inside = cell.window_view.as_ref().unwrap().time_between_tokens_ms.as_ref().unwrap();
    // The requests that end at 5 s have one event in the window, and so no time between.
    assert_eq!(inside.n, Some(8));
    close(inside.p50.unwrap(), 5.0);
    close(cell.tokens.per_event.unwrap(), 2.0);
}

#[test]
fn one_payload_event_gives_no_time_between_tokens() {
    let cell = row(&Streams { events: 1, ..STEADY }.trace());
    assert_eq!(cell.time_between_tokens_ms, None);
    assert!(cell.unknown["per_request_rate"].contains("two payload events"));
}

#[test]
fn time_to_answer_waits_for_the_answer() {
    let cell = changed(|trace| each_event(trace, |_, event| event.answer = event.tokens > Some(100)));
    close(cell.time_to_answer_ms.as_ref().unwrap().p50.unwrap(), 1500.0);
    close(cell.ttft_ms.as_ref().unwrap().p50.unwrap(), 500.0);
    let silent = changed(|trace| each_event(trace, |_, event| event.answer = false));
    assert_eq!(silent.time_to_answer_ms, None);
    assert!(silent.unknown["time_to_answer_ms"].contains("no answer"));
}

#[test]
fn gaps_are_those_that_end_in_the_window() {
    let cell = row(&STEADY.trace());
    let view = cell.window_view.as_ref().unwrap();
    let gaps = view.gap_ms.as_ref().unwrap();
    // Per stream 902 events, less the first events of the two requests that begin in the window.
    assert_eq!((gaps.n, gaps.p50, gaps.max), (Some(4 * 900), Some(10.0), Some(10.0)));
    assert_eq!((gaps.p99, view.gaps_shared_read), (Some(10.0), 0));
    assert_eq!(cell.longest_gap_ms, Some(10.0));
}

#[test]
fn gaps_inside_a_read_are_counted_apart() {
    // Every second event came in one read with the next, and has its stamp.
    let cell = changed(|trace| {
        for index in (0..trace.events.len() - 1).step_by(2) {
            if trace.events[index].request == trace.events[index + 1].request {
                trace.events[index].last_of_read = false;
                trace.events[index].arrival_ns = trace.events[index + 1].arrival_ns;
            }
        }
    });
    let view = cell.window_view.as_ref().unwrap();
    assert!(view.gaps_shared_read > 3500, "{}", view.gaps_shared_read);
    // A stall that ends in a shared read is still the longest gap.
    assert_eq!(cell.longest_gap_ms, Some(20.0));
}

#[test]
fn a_stall_is_the_longest_gap() {
    let trace = Streams { ttft_ns: 0, events: 10_000, ..STEADY }.trace_with(|time, _| {
        if (10 * SECOND..10 * SECOND + 5 * MS).contains(&time) { 300 * MS } else { 10 * MS }
    });
    let cell = row(&trace);
    assert_eq!(cell.longest_gap_ms, Some(300.0));
    assert_eq!(cell.window_view.as_ref().unwrap().gap_ms.as_ref().unwrap().max, Some(300.0));
}

#[test]
fn active_requests_are_weighted_by_time() {
    let cell = changed(|trace| {
        // One stream stops at the middle of the window.
        trace.requests.retain(|row| row.stream != 0 || row.send_ns < 10 * SECOND);
    });
    close(cell.average_active_requests.unwrap(), 3.5);
}

#[test]
fn requests_are_counted_by_outcome() {
    let cell = row(&STEADY.trace());
    let counts = &cell.requests;
    // Those that end at 5 s end in the window; those that would end at 15 s are cut.
    assert_eq!(
        (counts.started, counts.ended, counts.cut, counts.failed),
        (Some(12), Some(8), Some(4), Some(0))
    );
    assert_eq!(counts.ended_in_window, Some(8));
}

#[test]
fn tokens_are_summed_or_null_with_a_reason() {
    let cell = row(&STEADY.trace());
    let tokens = &cell.tokens;
    assert_eq!(tokens.out_cell, Some(4 * (451 + 451 + 450)));
    assert_eq!((tokens.input, tokens.cached, tokens.reasoning), (Some(12 * 8190), Some(12 * 8176), Some(0)));
    assert_eq!(tokens.source, Some(TokenSource::Usage));
    assert_eq!((tokens.server, tokens.client), (tokens.out_cell, tokens.out_cell));
    assert_eq!(cell.context_actual.unwrap().p50, 8190.0);

    let cell = changed(|trace| {
        trace.requests[3].prompt_tokens = None;
        trace.requests[5].cached_tokens = None;
        trace.meta.counters_after = None;
    });
    assert_eq!((cell.tokens.input, cell.tokens.cached, cell.tokens.server), (None, None, None));
    for field in ["tokens.in", "tokens.cached", "tokens.server"] {
        assert!(cell.unknown.contains_key(field), "{field}");
    }
    assert_eq!(cell.context_actual.unwrap().n, 11);
}

#[test]
fn a_counter_that_fell_is_unknown() {
    let cell = changed(|trace| trace.meta.counters_after.as_mut().unwrap().generated_tokens = Some(5.0));
    assert_eq!(cell.tokens.server, None);
    assert!(cell.unknown["tokens.server"].contains("started anew"));
}

#[test]
fn scout_and_calibration_are_ours_but_not_of_the_streams() {
    let cell = changed(|trace| {
        for (number, kind) in [(900, RequestKind::Scout), (901, RequestKind::Calibration)] {
            let mut row = request(number, 0, 0);
            (row.kind, row.completion_tokens) = (kind, Some(256));
            trace.requests.push(row);
            trace.events.push(event(number, 6 * SECOND, Some(256)));
        }
    });
    assert_eq!(cell.requests.started, Some(12));
    assert_eq!(cell.tokens.out, Some(4 * 902));
    assert_eq!(cell.tokens.client, Some(cell.tokens.out_cell.unwrap() + 512));
}

#[test]
fn gauges_of_the_window() {
    let cell = changed(|trace| {
        trace.samples[0].waiting = Some(2.0);
        trace.samples[1].running = Some(3.0);
        trace.samples[2].kv_used = Some(0.5);
        trace.samples.push(SampleRow { time_ns: 15 * SECOND, running: Some(99.0), ..SampleRow::default() });
    });
    let view = cell.server.as_ref().unwrap();
    assert_eq!((view.samples, view.running_mean, view.running_max), (10, Some(3.9), Some(4.0)));
    assert_eq!((view.waiting_max, view.waiting_share, view.over_share), (Some(2.0), Some(0.1), Some(0.0)));
    assert_eq!(view.kv_used_max, Some(0.5));
    let blind = changed(|trace| trace.samples.clear());
    assert_eq!(blind.server, None);
    assert!(blind.unknown.contains_key("server"));
}

#[test]
fn client_lag_is_in_microseconds_over_the_window() {
    let cell = changed(|trace| {
        each_event(trace, |index, event| event.lag_ns = if index == 5 { 90_000_000 } else { 50_000 });
    });
    let lag = cell.client_lag_us.as_ref().unwrap();
    // Event 5 came before the window.
    assert_eq!((lag.n, lag.p50, lag.p99, lag.max), (Some(4 * 902), Some(50.0), Some(50.0), Some(50.0)));
    assert_eq!(cell.stamp_source, Some(StampSource::Kernel));
    assert_eq!(cell.events_per_read, Some(1.0));
}

#[test]
fn a_cell_without_a_window_keeps_what_is_known_of_its_requests() {
    let cell = changed(|trace| (trace.meta.window_start_ns, trace.meta.window_end_ns) = (None, None));
    assert_eq!((&cell.throughput, &cell.window, cell.tokens.out), (&None, &None, None));
    assert!(cell.unknown["throughput"].contains("not reached"));
    assert_eq!(cell.ttft_ms.as_ref().unwrap().n, Some(12));
    assert_eq!(cell.status, Status::Error);
}

#[test]
fn events_of_unlisted_requests_are_told() {
    let cell = changed(|trace| trace.events.push(event(5000, 6 * SECOND, Some(9))));
    assert_eq!(cell.tokens.out, Some(4 * 902));
    assert!(cell.unknown["trace.events"].starts_with("1 events"));
    assert_eq!(cell.flag(FlagCode::TokenMismatch), None);
}

#[test]
fn the_order_of_rows_does_not_matter() {
    let mut trace = STEADY.trace();
    let before = row(&trace);
    trace.requests.reverse();
    trace.events.sort_by_key(|event| event.arrival_ns);
    assert_eq!(row(&trace), before);
}
