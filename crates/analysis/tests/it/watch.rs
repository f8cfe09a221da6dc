//! Adaptive windows, followed event by event and made again from their trace.

use tokometer_analysis::adaptive::{Watch, replay};
use tokometer_record::{AdaptiveEnd, AdaptiveWindow, CellTrace};

use crate::build::{MS, SECOND, STEADY, Streams, event, row};

fn adaptive(asked_seconds: f64) -> AdaptiveWindow {
    AdaptiveWindow { asked_seconds, longest_seconds: 120.0, checks: Vec::new(), end: AdaptiveEnd::Undecided }
}

/// The checks that a window of the steady streams makes while it runs.
fn live(trace: &CellTrace, asked: f64) -> (AdaptiveWindow, f64) {
    let mut watch = Watch::new(5 * SECOND, asked);
    let mut found = adaptive(asked);
    let mut events = trace.events.clone();
    events.sort_by_key(|event| event.arrival_ns);
    let mut events = events.iter().peekable();
    let mut seconds = 0.0;
    loop {
        seconds = watch.next_check(seconds);
        // What came until a moment behind the check has been seen by then.
        let until = 5 * SECOND + (seconds * 1e9) as u64 + 100 * MS;
        while let Some(event) = events.next_if(|event| event.arrival_ns < until) {
            watch.take(event);
        }
        let (check, end) = watch.check(seconds);
        found.checks.push(check);
        if let Some(end) = end {
            found.end = end;
            return (found, seconds);
        }
    }
}

#[test]
fn a_steady_window_ends_at_ten_seconds_and_its_trace_says_so_again() {
    let mut trace = STEADY.trace();
    let (found, seconds) = live(&trace, 30.0);
    assert_eq!((found.end, seconds), (AdaptiveEnd::Precise, 10.0));
    assert_eq!(found.checks.len(), 2);
    assert!(found.checks.iter().all(|check| check.half_width_relative.unwrap() < 1e-6));
    assert_eq!(replay(&trace), None, "the window's length was fixed");
    trace.meta.adaptive = Some(found.clone());
    trace.meta.window_end_ns = Some(15 * SECOND);
    assert_eq!(replay(&trace), Some(found.clone()));
    assert_eq!(row(&trace).adaptive, Some(found));
}

#[test]
fn a_noisy_window_is_made_again_to_the_last_bit() {
    // Slow and fast seconds by turns.
    let noisy = Streams { events: 100_000, ..STEADY };
    let step = |time: u64, _| if (time / SECOND).is_multiple_of(7) { 13 * MS } else { 10 * MS + time % 977 };
    let mut trace = noisy.trace_with(step);
    let (found, seconds) = live(&trace, 7.0);
    assert!(found.checks.iter().any(|check| check.half_width_relative.unwrap() > 0.005), "{found:?}");
    trace.meta.adaptive = Some(found.clone());
    trace.meta.window_end_ns = Some(5 * SECOND + (seconds * 1e9) as u64);
    let again = replay(&trace).unwrap();
    // The trace ends with its streams, the window may have gone on.
    let common = again.checks.len().min(found.checks.len());
    assert_eq!(again.checks[..common], found.checks[..common]);
}

#[test]
fn a_window_that_was_cut_short_is_undecided() {
    let mut trace = STEADY.trace();
    trace.meta.adaptive = Some(adaptive(30.0));
    trace.meta.window_end_ns = Some(12 * SECOND);
    let again = replay(&trace).unwrap();
    assert_eq!((again.checks.len(), again.end), (1, AdaptiveEnd::Undecided));
}

#[test]
fn events_count_where_no_tokens_are_told_and_only_from_the_start_on() {
    let told = |tokens: Option<u32>| {
        let mut watch = Watch::new(10 * SECOND, 10.0);
        for number in 0..3000_u32 {
            let mut event = event(0, 5 * SECOND + u64::from(number) * 10 * MS, None);
            // The last one may bring the count of the whole request: it is no step of the rate.
            event.tokens = tokens.filter(|_| number == 1400);
            watch.take(&event);
        }
        watch.check(10.0)
    };
    let (check, end) = told(None);
    assert_eq!(end, Some(AdaptiveEnd::Precise));
    assert_eq!(told(Some(1400)), (check, end));
    // Nothing decoded: nothing is known.
    let idle = Watch::new(0, 10.0);
    assert_eq!(idle.check(10.0).0.half_width_relative, None);
    assert_eq!(idle.next_check(0.0), 5.0);
    assert_eq!(Watch::new(0, 7.123_4).next_check(5.0), 7.13);
}
