//! The rule that ends adaptive windows, on made-up progress.

use tokometer_analysis::adaptive::{Decision, Progress, Stop, decide, half_width, next_check};

/// Progress every quarter of a second of four streams whose rate is 100 × (1 + `wobble(batch-like second)`).
fn history(until: f64, wobble: impl Fn(f64) -> f64) -> Vec<Progress> {
    let mut tokens = 0.0;
    (1..=(until * 4.0) as u32)
        .map(|quarter| {
            let seconds = f64::from(quarter) / 4.0;
            tokens += 100.0 * (1.0 + wobble(seconds));
            Progress { seconds, tokens, stream_seconds: 4.0 * seconds }
        })
        .collect()
}

/// Slow and fast seconds by turns, six a minute, so that no window evens it out before long.
fn noisy(share: f64) -> impl Fn(f64) -> f64 {
    move |seconds| if ((seconds / 7.3) as u32).is_multiple_of(2) { share } else { -share }
}

/// Asks at every check until the window ends.
fn run(duration: f64, wobble: impl Fn(f64) -> f64) -> (f64, Stop) {
    let whole = history(300.0, wobble);
    let mut now = 0.0;
    loop {
        now = next_check(now, duration);
        let upto = whole.partition_point(|progress| progress.seconds <= now);
        if let Decision::Stop(why) = decide(&whole[..upto], duration) {
            return (now, why);
        }
    }
}

#[test]
fn checks_come_every_five_seconds_and_at_the_duration() {
    let checks = |duration: f64| -> Vec<f64> {
        std::iter::successors(Some(next_check(0.0, duration)), |now| Some(next_check(*now, duration)))
            .take(5)
            .collect()
    };
    assert_eq!(checks(30.0), [5.0, 10.0, 15.0, 20.0, 25.0]);
    assert_eq!(checks(12.0), [5.0, 10.0, 12.0, 15.0, 20.0]);
    assert_eq!(checks(2.0), [2.0, 5.0, 10.0, 15.0, 20.0]);
    // A check that came a little late or early is not repeated.
    assert_eq!(next_check(9.9999, 30.0), 15.0);
    assert_eq!(next_check(10.2, 30.0), 15.0);
}

#[test]
fn a_steady_rate_ends_at_ten_seconds() {
    assert_eq!(run(30.0, |_| 0.0), (10.0, Stop::Precise));
    // Never earlier, and not by one check alone.
    assert_eq!(decide(&history(5.0, |_| 0.0), 30.0), Decision::Continue);
    let settles = |seconds: f64| if seconds < 2.0 { 0.5 } else { 0.0 };
    assert!(run(30.0, settles).0 > 10.0);
}

#[test]
fn a_short_duration_ends_only_where_the_rate_is_known() {
    assert_eq!(run(5.0, |_| 0.0), (5.0, Stop::GoodEnough));
    assert!(run(5.0, |seconds| seconds.sin() / 5.0).0 > 5.0);
}

#[test]
fn a_noisier_rate_ends_at_its_duration_or_goes_on() {
    let at_thirty = half_width(&history(30.0, noisy(0.014)), 30.0).unwrap();
    assert!((0.01..=0.02).contains(&at_thirty), "{at_thirty}");
    assert_eq!(run(30.0, noisy(0.014)), (30.0, Stop::GoodEnough));
    let (seconds, why) = run(30.0, noisy(0.05));
    assert!(seconds > 30.0 && seconds < 120.0 && why == Stop::GoodEnough, "{seconds} {why:?}");
}

#[test]
fn a_drift_goes_on_to_the_limit() {
    assert_eq!(run(30.0, |seconds| seconds / 60.0), (120.0, Stop::Limit));
    // Who asks for more gets more.
    assert_eq!(run(150.0, |seconds| seconds / 60.0), (150.0, Stop::Limit));
}

#[test]
fn a_sixth_without_decoding_decides_nothing() {
    let mut stalled = history(10.0, |_| 0.0);
    let until = stalled[15];
    for progress in &mut stalled[16..] {
        (progress.tokens, progress.stream_seconds) = (until.tokens, until.stream_seconds);
    }
    assert_eq!(half_width(&stalled, 10.0), None);
    assert_eq!(decide(&stalled, 30.0), Decision::Continue);
    assert_eq!(decide(&[], 30.0), Decision::Continue);
}

#[test]
fn the_half_width_is_that_of_six_batches() {
    // Batches of 1 s with 0.5 … 5.5 tokens per stream-second: mean 3, t(5)·s/√6 = 1.963.
    let mut tokens = 0.0;
    let history: Vec<Progress> = (1..=6)
        .map(|second| {
            tokens += f64::from(second) - 0.5;
            Progress { seconds: f64::from(second), tokens, stream_seconds: f64::from(second) }
        })
        .collect();
    let found = half_width(&history, 6.0).unwrap();
    assert!((found - 2.570_582 * 0.763_763 / 3.0).abs() < 1e-6, "{found}");
}
