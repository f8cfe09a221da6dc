//! Each status of method section 7: when it applies, when it does not, and in which order.

use std::cell::RefCell;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tokometer_analysis::{Context, Telemetry, summarise};
use tokometer_record::{
    CellTrace, LoopEvidence, Outcome, RequestKind, SampleRow, StampSource, Status, TokenSource,
};

use crate::build::{
    MS, SECOND, STEADY, Streams, changed, counters, decided, each_event, failure, figure, reason, request,
    row, settings,
};

fn loop_evidence(stream: u32) -> LoopEvidence {
    LoopEvidence {
        request: 1,
        stream,
        channel: "content".to_owned(),
        period: 120,
        cycles: 40,
        repeated_characters: 4800,
        excerpt: "and so on ".to_owned(),
    }
}

fn samples(trace: &mut CellTrace, change: impl Fn(usize, &mut SampleRow)) {
    trace.samples.iter_mut().enumerate().for_each(|(index, sample)| change(index, sample));
}

#[test]
fn valid() {
    let cell = row(&STEADY.trace());
    assert_eq!((cell.status, cell.reason, cell.error), (Status::Valid, None, None));
    assert!(cell.flags.is_empty(), "{:?}", cell.flags);
}

#[test]
fn interrupted() {
    let cell = changed(|trace| {
        trace.meta.interrupted = true;
        trace.meta.window_end_ns = Some(9 * SECOND);
        trace.requests[0].failure = Some(failure("reset"));
    });
    assert!(reason(&cell, Status::Interrupted).contains("4.0 s of 10 s"));
    assert!(cell.throughput.is_some());
    let early = changed(|trace| {
        trace.meta.interrupted = true;
        trace.meta.window_start_ns = None;
    });
    assert!(reason(&early, Status::Interrupted).contains("before the window"));
}

#[test]
fn error_of_one_request_among_good_ones() {
    let cell = changed(|trace| {
        for (index, message) in [(5, "the later one"), (1, "connection reset")] {
            trace.requests[index].outcome = Outcome::Failed;
            trace.requests[index].failure = Some(failure(message));
            trace.requests[index].end_ns = index as u64;
        }
        trace.meta.loops.push(loop_evidence(0));
    });
    assert!(
        reason(&cell, Status::Error).contains("2 of 12 requests failed, the first with: connection reset")
    );
    assert_eq!(cell.error.as_ref().unwrap(), &failure("connection reset"));
    assert_eq!(cell.requests.failed, Some(2));
    // What was measured stays in the record.
    assert!(cell.throughput.is_some() && !cell.loops.is_empty());
}

#[test]
fn error_of_the_cell_or_of_a_request_beside_the_streams() {
    let cell = changed(|trace| trace.meta.failure = Some(failure("the server did not become idle in 300 s")));
    assert!(reason(&cell, Status::Error).contains("300 s"));
    let scout = changed(|trace| {
        let mut row = request(900, 0, 0);
        (row.kind, row.outcome, row.failure) = (RequestKind::Scout, Outcome::Failed, Some(failure("scout")));
        trace.requests.push(row);
    });
    assert_eq!(reason(&scout, Status::Error), "scout");
}

#[test]
fn error_where_nothing_arrived() {
    let cell = changed(|trace| trace.events.retain(|event| event.arrival_ns < 5 * SECOND));
    assert!(reason(&cell, Status::Error).contains("no token arrived"));
    assert_eq!(cell.throughput.as_ref().unwrap().total, 0.0);
    let never = changed(|trace| trace.meta.window_start_ns = None);
    assert!(reason(&never, Status::Error).contains("not reached"));
}

#[test]
fn looped() {
    let cell =
        changed(|trace| trace.meta.loops.extend([loop_evidence(3), loop_evidence(1), loop_evidence(3)]));
    let text = reason(&cell, Status::Looped);
    for figure in ["2 of 4 streams", "4800 characters", "40 cycles of 120", "stream 3"] {
        assert!(text.contains(figure), "{text}");
    }
    assert_eq!(cell.loops.len(), 3);
}

#[test]
fn client_limited_by_the_kind_of_stamp() {
    // Gaps are 10 ms; one event in 50 is handled late.
    let with = |stamps: StampSource, late_ns: u64| {
        changed(|trace| {
            trace.meta.stamp_source = stamps;
            each_event(trace, |index, event| event.lag_ns = if index % 50 == 0 { late_ns } else { 1000 });
        })
    };
    assert_eq!(with(StampSource::Read, 499_000).status, Status::Valid);
    let text = reason(&with(StampSource::Read, 501_000), Status::ClientLimited);
    assert!(
        text.contains("0.501 ms") && text.contains("10.000 ms") && text.contains("read stamps"),
        "{text}"
    );
    assert_eq!(with(StampSource::Kernel, 9_900_000).status, Status::Valid);
    reason(&with(StampSource::Kernel, 10_100_000), Status::ClientLimited);
}

#[test]
fn client_limited_is_judged_with_few_events_too() {
    // 20 events in the window: too few to print a p99, enough for the rule.
    let mut trace =
        Streams { concurrency: 1, ttft_ns: 0, step_ns: 500 * MS, events: 1000, tokens: 1 }.trace();
    each_event(&mut trace, |_, event| event.lag_ns = 600 * MS);
    let cell = row(&trace);
    assert_eq!(cell.client_lag_us.as_ref().unwrap().p99, None);
    reason(&cell, Status::ClientLimited);
}

#[test]
fn client_limited_where_every_read_was_full() {
    // Three events of 10 ms each in a read, with the stamp of the last: no gap has stamps of its own, and reads are
    // 30 ms apart.
    let with = |stamps: StampSource, lag_ns: u64| {
        let cell = changed(|trace| {
            trace.meta.stamp_source = stamps;
            each_event(trace, |index, event| {
                let later = 2 - index as u64 % 3;
                event.arrival_ns += later * 10 * MS;
                event.last_of_read = later == 0;
                event.lag_ns = lag_ns;
            });
        });
        assert_eq!(cell.window_view.as_ref().unwrap().gap_ms, None);
        cell
    };
    let late = with(StampSource::Kernel, 31 * MS);
    reason(&late, Status::ClientLimited);
    assert_eq!(figure(&late.reason.unwrap().figures, "median_gap"), 30.0);
    reason(&with(StampSource::Read, 2 * MS), Status::ClientLimited);
    // A server that writes three at once: longer than the time between tokens, and in time for the next write.
    assert_eq!(with(StampSource::Kernel, 11 * MS).status, Status::Valid);
    assert_eq!(with(StampSource::Read, MS).status, Status::Valid);
}

#[test]
fn a_client_that_fills_its_reads_itself_is_limited() {
    // One event every 10 ms; the client gets to each stream every 40 ms, so that the first of four has waited 30 ms
    // since its own arrival, and longer than that since anybody looked.
    let cell = changed(|trace| {
        each_event(trace, |index, event| {
            let later = 3 - index as u64 % 4;
            event.arrival_ns += later * 10 * MS;
            event.last_of_read = later == 0;
            event.lag_ns = if later == 0 { 5 * MS } else { 45 * MS };
        });
    });
    assert!(reason(&cell, Status::ClientLimited).contains("median gap between reads of 40.000 ms"));
}

#[test]
fn contaminated_by_tokens_of_others() {
    let ours = 5408.0;
    let with = |server: f64| changed(|trace| counters(trace, server));
    // Four cut requests leave up to 8 tokens each.
    assert_eq!(with(ours).status, Status::Valid);
    assert_eq!(with(ours + 32.0 + 54.0).status, Status::Valid);
    let text = reason(&with(ours + 32.0 + 55.0), Status::Contaminated);
    for figure in ["5495", "5408", "up to 32 more may be ours"] {
        assert!(text.contains(figure), "{text}");
    }
}

#[test]
fn a_server_that_runs_cut_requests_on_for_a_while_is_not_contaminated() {
    // The server is seen idle 600 ms after the cut; until then each cut request ran on at its own rate.
    let with = |server: f64, idle_after_ms: u64| {
        changed(|trace| {
            counters(trace, server);
            trace.meta.max_output_tokens = 800;
            let cut_ns = trace.requests.iter().map(|row| row.end_ns).max().unwrap();
            trace.samples.push(SampleRow {
                time_ns: cut_ns + idle_after_ms * MS,
                running: Some(0.0),
                ..SampleRow::default()
            });
        })
    };
    let ours = 5408.0;
    assert_eq!(with(ours + 200.0, 600).status, Status::Valid);
    assert_eq!(with(ours + 200.0, 1).status, Status::Contaminated);
    // Nothing runs on beyond the output that was asked.
    assert_eq!(with(ours + 4000.0, 60_000).status, Status::Contaminated);
}

#[test]
fn tokens_of_others_are_judged_only_on_firm_ground() {
    let not_drained = changed(|trace| {
        counters(trace, 9000.0);
        trace.meta.drained = false;
    });
    assert_eq!(not_drained.status, Status::Valid);
    let estimated = changed(|trace| {
        counters(trace, 9000.0);
        each_event(trace, |_, event| event.tokens = None);
        for row in &mut trace.requests {
            (row.token_source, row.completion_tokens) = (TokenSource::Events, None);
        }
    });
    assert_eq!(estimated.status, Status::Valid);
}

#[test]
fn contaminated_by_requests_of_others() {
    let with = |over: usize| {
        changed(|trace| {
            let sample = trace.samples[0];
            trace.samples =
                (0..100).map(|i| SampleRow { time_ns: sample.time_ns + i * 90 * MS, ..sample }).collect();
            samples(trace, |index, sample| sample.running = Some(if index < over { 5.0 } else { 4.0 }));
        })
    };
    assert_eq!(with(5).status, Status::Valid);
    let text = reason(&with(6), Status::Contaminated);
    assert!(text.contains("up to 5") && text.contains("6.0 % of 100 samples"), "{text}");
}

#[test]
fn queued_by_the_waiting_gauge() {
    let with = |waiting: usize| {
        changed(|trace| {
            samples(trace, |index, sample| sample.waiting = Some(f64::from(u8::from(index < waiting))));
        })
    };
    assert_eq!(with(1).status, Status::Valid);
    assert!(reason(&with(2), Status::Queued).contains("20.0 % of 10 samples"));
}

#[test]
fn queued_without_a_waiting_gauge() {
    let with = |running: f64, waiting: Option<f64>| {
        changed(|trace| {
            samples(trace, |_, sample| (sample.running, sample.waiting) = (Some(running), waiting));
        })
    };
    assert!(reason(&with(3.5, None), Status::Queued).contains("3.50 of 4"));
    assert_eq!(with(3.7, None).status, Status::Valid);
    assert_eq!(with(3.5, Some(0.0)).status, Status::Valid);
    let blind = changed(|trace| samples(trace, |_, sample| (sample.running, sample.waiting) = (None, None)));
    assert_eq!(blind.status, Status::Valid);
}

#[test]
fn a_gauge_that_was_read_at_a_bad_moment_queues_nothing() {
    let cell = changed(|trace| {
        samples(trace, |index, sample| {
            (sample.running, sample.waiting) = (Some(if index < 2 { 1.0 } else { 4.0 }), None);
        });
    });
    assert_eq!(cell.server.as_ref().unwrap().running_mean, Some(3.4));
    assert_eq!(cell.status, Status::Valid);
}

#[test]
fn throttled() {
    let settings = settings();
    let with = |slowed: Option<f64>| {
        let telemetry = Telemetry {
            busy_samples: 300,
            slowed_share: slowed,
            power_capped_share: Some(0.0),
            over_rated_share: Some(0.0),
        };
        summarise(&STEADY.trace(), &Context { telemetry: Some(telemetry), ..Context::new(&settings) })
    };
    assert_eq!(with(None).status, Status::Valid);
    assert_eq!(with(Some(0.05)).status, Status::Valid);
    let cell = with(Some(0.0533));
    assert!(reason(&cell, Status::Throttled).contains("5.3 % of 300 busy samples"));
    assert_eq!(decided(&cell.reason.unwrap().figures), (0.0533, Some(0.05)));
}

#[test]
fn events_that_could_not_be_told_are_an_error() {
    let with = |unknown: Option<u32>| changed(|trace| trace.requests[7].unknown_events = unknown);
    assert_eq!(with(None).status, Status::Valid);
    assert_eq!(with(Some(0)).status, Status::Valid);
    let cell = with(Some(3));
    assert!(reason(&cell, Status::Error).contains("3 events could not be told, the first in request 7"));
    assert_eq!(decided(&cell.reason.unwrap().figures), (3.0, Some(0.0)));
    // A failure says more.
    let both = changed(|trace| {
        trace.requests[7].unknown_events = Some(3);
        trace.meta.failure = Some(failure("gone"));
    });
    assert_eq!(reason(&both, Status::Error), "gone");
}

#[test]
fn a_change_of_level_is_dated() {
    let endless = Streams { ttft_ns: 0, step_ns: 2 * MS, events: 100_000, ..STEADY };
    let cell = row(&endless.trace_with(|time, _| if time > 12 * SECOND { 3 * MS } else { 2 * MS }));
    let text = reason(&cell, Status::Unstable);
    assert!(text.contains("7.0 s into the window") && text.contains("-33.3 %"), "{text}");
    let figures = cell.reason.unwrap().figures;
    assert_eq!(figure(&figures, "last_change"), 7.0);
    assert!((figure(&figures, "last_change_size") + 1.0 / 3.0).abs() < 0.01);
}

#[test]
fn short() {
    let with = |asked: u64| changed(|trace| trace.meta.max_output_tokens = asked);
    assert_eq!(with(902).status, Status::Valid);
    let text = reason(&with(903), Status::Short);
    assert!(
        text.contains("8 requests") && text.contains("451 tokens") && text.contains("903 asked"),
        "{text}"
    );
}

#[test]
fn short_is_not_judged_where_no_request_ended() {
    let trace = Streams { events: 100_000, ..STEADY }.trace();
    let cell = row(&CellTrace {
        meta: tokometer_record::TraceMeta { max_output_tokens: 99_999, ..trace.meta },
        ..trace
    });
    assert_eq!((cell.status, cell.requests.ended), (Status::Valid, Some(0)));
}

#[test]
fn unstable_by_a_drift() {
    // Steps grow by `share` from the window's start to its end.
    let with = |share: f64| {
        let endless = Streams { ttft_ns: 0, step_ns: 2 * MS, events: 100_000, ..STEADY };
        row(&endless.trace_with(|time, _| {
            let part = (time as f64 / SECOND as f64 - 5.0) / 10.0;
            (2e6 * (1.0 + share * part)) as u64
        }))
    };
    assert_eq!(with(0.0).status, Status::Valid);
    assert_eq!(with(0.005).status, Status::Valid);
    let text = reason(&with(0.05), Status::Unstable);
    assert!(text.contains('%') && text.contains("40 bins"), "{text}");
}

#[test]
fn unstable_by_a_start_up_that_takes_half_the_window() {
    let endless = Streams { ttft_ns: 0, step_ns: 2 * MS, events: 100_000, ..STEADY };
    let cell = row(&endless.trace_with(|time, number| {
        let settled = time > 10 * SECOND;
        if settled { 2 * MS } else { 3 * MS + u64::from(number % 7) * 100_000 }
    }));
    let text = reason(&cell, Status::Unstable);
    assert!(text.contains("MSER-5") && text.contains("5 s"), "{text}");
}

#[test]
fn noise_alone_rarely_makes_a_cell_unstable() {
    let trials = 300;
    let unstable = (0..trials)
        .filter(|seed| {
            let random = RefCell::new(Pcg64::seed_from_u64(*seed));
            let endless = Streams { concurrency: 2, ttft_ns: 0, step_ns: 2 * MS, events: 100_000, ..STEADY };
            let noisy = |_: u64, _: u32| random.borrow_mut().random_range(MS..3 * MS);
            row(&endless.trace_with(noisy)).status == Status::Unstable
        })
        .count();
    assert!(unstable <= 24, "{unstable} of {trials}");
}

#[test]
fn a_short_window_is_not_tested_for_drift() {
    let endless = Streams { ttft_ns: 0, step_ns: 2 * MS, events: 100_000, ..STEADY };
    let mut trace = endless.trace_with(|time, _| if time > 8 * SECOND { 4 * MS } else { 2 * MS });
    trace.meta.window_end_ns = Some(14 * SECOND + 999 * MS);
    assert_eq!(row(&trace).status, Status::Valid);
    trace.meta.window_end_ns = Some(15 * SECOND);
    reason(&row(&trace), Status::Unstable);
}

#[test]
fn the_first_status_that_applies_decides() {
    let mut trace = STEADY.trace();
    let mut found = Vec::new();
    let steps: [fn(&mut CellTrace); 7] = [
        |trace| trace.meta.max_output_tokens = 9000,
        |trace| samples(trace, |_, sample| sample.waiting = Some(1.0)),
        |trace| samples(trace, |_, sample| sample.running = Some(9.0)),
        |trace| each_event(trace, |_, event| event.lag_ns = SECOND),
        |trace| trace.meta.loops.push(loop_evidence(0)),
        |trace| trace.requests[0].outcome = Outcome::Failed,
        |trace| trace.meta.interrupted = true,
    ];
    for step in steps {
        step(&mut trace);
        found.push(row(&trace).status);
    }
    assert_eq!(
        found,
        [
            Status::Short,
            Status::Queued,
            Status::Contaminated,
            Status::ClientLimited,
            Status::Looped,
            Status::Error,
            Status::Interrupted
        ]
    );
}
