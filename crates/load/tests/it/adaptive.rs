//! Windows that end by what is found in them, and the counters at their edges.

use std::sync::{Arc, Mutex};

use tokometer_load::{Adaptive, CellSpec, Checked, WindowRule};
use tokometer_record::{AdaptiveEnd, CellTrace, EventRow, RequestKind};

use crate::bench::{Bench, LONG, ms};
use crate::facts::check;
use crate::simulated::{start, start_speculating};

/// Looks every 0.3 s, ends at a given check, and keeps what it was shown.
struct Rule {
    ends_at: u32,
    checks: u32,
    shown: Arc<Mutex<Vec<EventRow>>>,
}

impl WindowRule for Rule {
    fn next_check(&self, seconds: f64) -> f64 {
        seconds + 0.3
    }

    fn take(&mut self, events: &[EventRow]) {
        self.shown.lock().unwrap().extend_from_slice(events);
    }

    fn check(&mut self, seconds: f64) -> Checked {
        self.checks += 1;
        let end = (self.checks == self.ends_at).then_some(AdaptiveEnd::Precise);
        Checked { half_width_relative: Some(seconds), end }
    }
}

/// A cell of four streams whose window ends at the check of this number, if not after `longest_ms`.
fn spec(bench: &Bench, ends_at: u32, longest_ms: u64) -> (CellSpec, Arc<Mutex<Vec<EventRow>>>) {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let to_show = Arc::clone(&shown);
    let adaptive = Adaptive {
        longest: ms(longest_ms),
        begin: Arc::new(move |_| Box::new(Rule { ends_at, checks: 0, shown: Arc::clone(&to_show) })),
    };
    (CellSpec { adaptive: Some(adaptive), ..bench.cell(4, 200, ms(600)) }, shown)
}

fn window(trace: &CellTrace) -> (u64, u64) {
    (trace.meta.window_start_ns.unwrap(), trace.meta.window_end_ns.unwrap())
}

#[tokio::test]
async fn a_window_ends_exactly_at_the_check_that_says_so() {
    let (server, bench) = start(2.0);
    let (spec, shown) = spec(&bench, 3, 60_000);
    let trace = bench.conductor.run_cell(&spec).await;
    check(&trace);
    let (start, end) = window(&trace);
    assert_eq!(end - start, 900_000_000);
    let found = trace.meta.adaptive.clone().unwrap();
    assert_eq!((found.end, found.asked_seconds, found.longest_seconds), (AdaptiveEnd::Precise, 0.6, 60.0));
    let seconds: Vec<f64> = found.checks.iter().map(|check| check.seconds).collect();
    assert_eq!(seconds.len(), 3);
    assert!((seconds[2] - 0.9).abs() < 1e-9 && found.checks[1].half_width_relative == Some(seconds[1]));

    // The rule saw each event once: all that came before the end, and a few behind it.
    let key = |event: &EventRow| (event.request, event.arrival_ns, event.tokens);
    let mut seen: Vec<_> = shown.lock().unwrap().iter().map(key).collect();
    seen.sort_unstable();
    assert!(seen.windows(2).all(|pair| pair[0] != pair[1]));
    let recorded: Vec<_> = trace.events.iter().map(key).collect();
    assert!(seen.iter().all(|event| recorded.contains(event)));
    let before = recorded.iter().filter(|event| event.1 < end).count();
    assert_eq!(seen.iter().filter(|event| event.1 < end).count(), before);
    assert!(
        trace.events.iter().any(|event| event.arrival_ns >= end),
        "the streams run on until they are cut"
    );
    server.stop();
}

#[tokio::test]
async fn a_rule_that_never_ends_meets_the_longest_window() {
    let (server, bench) = start(2.0);
    let (spec, _) = spec(&bench, u32::MAX, 700);
    let trace = bench.conductor.run_cell(&spec).await;
    let (start, end) = window(&trace);
    let found = trace.meta.adaptive.unwrap();
    assert_eq!((found.end, found.checks.len()), (AdaptiveEnd::Limit, 2));
    assert_eq!(end - start, 600_000_000);
    server.stop();
}

#[tokio::test]
async fn an_interrupt_leaves_a_window_undecided() {
    let (server, bench) = start(2.0);
    let (spec, shown) = spec(&bench, u32::MAX, LONG.as_millis() as u64);
    let looked = async {
        while shown.lock().unwrap().is_empty() {
            tokio::time::sleep(ms(5)).await;
        }
        bench.interrupt.send_replace(true);
    };
    let (trace, ()) = tokio::join!(bench.conductor.run_cell(&spec), looked);
    check(&trace);
    let found = trace.meta.adaptive.clone().unwrap();
    assert!(trace.meta.interrupted);
    assert_eq!(found.end, AdaptiveEnd::Undecided);
    let (start, end) = window(&trace);
    assert!(end - start >= 300_000_000);
    server.stop();
}

#[tokio::test]
async fn counters_at_the_edges_are_what_the_engine_did_in_the_window() {
    let (server, bench) = start_speculating(4.0, "3,0.7");
    let trace = bench.conductor.run_cell(&bench.cell(2, 2000, ms(1500))).await;
    check(&trace);
    let (start, end) = window(&trace);
    let (first, last) = (trace.meta.counters_window_start.unwrap(), trace.meta.counters_window_end.unwrap());
    // At the edges, or as soon after them as the answer took.
    assert!(first.time_ns >= start && first.time_ns < end && last.time_ns >= end);
    let drafts = last.drafts.unwrap() - first.drafts.unwrap();
    let accepted = last.accepted_tokens.unwrap() - first.accepted_tokens.unwrap();
    assert_eq!(last.draft_tokens.unwrap() - first.draft_tokens.unwrap(), 3.0 * drafts);
    let by_position: Vec<f64> =
        (0..3).map(|at| last.accepted_per_position[at] - first.accepted_per_position[at]).collect();
    assert_eq!(by_position.iter().sum::<f64>(), accepted);

    // What the client saw between the two readings: an event for each step of each request, unless it came late.
    let of_streams = |request: u32| trace.requests[request as usize].kind == RequestKind::Stream;
    let mut counts = std::collections::HashMap::new();
    let (mut tokens, mut events) = (0, 0);
    for event in trace.events.iter().filter(|event| of_streams(event.request)) {
        let count = event.tokens.unwrap();
        let added = count - counts.insert(event.request, count).unwrap_or(0);
        // The first token of a request comes from its prompt.
        if added < count && (first.time_ns..last.time_ns).contains(&event.arrival_ns) {
            (tokens, events) = (tokens + added, events + 1);
        }
    }
    let told = 1.0 + accepted / drafts;
    let (seen, steps) = (f64::from(tokens), f64::from(events));
    assert!((seen - drafts * told).abs() < 0.02 * seen + 40.0, "{seen} tokens, {} told", drafts * told);
    assert!(steps <= drafts + 10.0, "{steps} events of {drafts} steps");
    server.stop();
}

#[tokio::test]
async fn a_server_that_does_not_speculate_is_not_asked_at_the_edges() {
    let (server, bench) = start(4.0);
    let trace = bench.conductor.run_cell(&bench.cell(1, 200, ms(400))).await;
    assert_eq!((&trace.meta.counters_window_start, &trace.meta.counters_window_end), (&None, &None));
    assert_eq!(trace.meta.adaptive, None);
    server.stop();
}
