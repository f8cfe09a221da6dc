//! Each flag of method section 7: raised with its figures, and not raised at its limit.

use tokometer_analysis::{Context, Telemetry, summarise};
use tokometer_record::{Cell, FlagCode, Ready, Status};

use crate::build::{
    MS, SECOND, STEADY, Streams, changed, close, counters, decided, figure, raised, row, settings,
};

fn none(cell: &Cell, code: FlagCode) {
    assert_eq!(cell.flag(code), None);
}

#[test]
fn a_plain_cell_has_none() {
    assert!(row(&STEADY.trace()).flags.is_empty());
}

#[test]
fn flags_of_the_run() {
    let settings = settings();
    let context =
        Context { simulated: true, retuned: true, synthetic_acceptance: true, ..Context::new(&settings) };
    let cell = summarise(&STEADY.trace(), &context);
    let codes: Vec<_> = cell.flags.iter().map(|flag| flag.code).collect();
    assert_eq!(codes, [FlagCode::Simulated, FlagCode::SyntheticAcceptance, FlagCode::Retuned]);
}

#[test]
fn not_ready() {
    let cell = changed(|trace| {
        let missing = vec!["running 3 of 4".to_owned()];
        trace.meta.ready = Some(Ready { reached: false, seconds: 60.2, limit_seconds: 60.0, missing });
    });
    let flag = raised(&cell, FlagCode::NotReady);
    assert!(flag.detail.contains("running 3 of 4") && flag.detail.contains("60 s"), "{}", flag.detail);
    assert_eq!(decided(&flag.figures), (60.2, Some(60.0)));
}

#[test]
fn underfilled() {
    let with = |running: f64, waiting: Option<f64>| {
        changed(|trace| {
            trace
                .samples
                .iter_mut()
                .for_each(|sample| (sample.running, sample.waiting) = (Some(running), waiting));
        })
    };
    let flag = raised(&with(3.87, Some(0.0)), FlagCode::Underfilled);
    let (at_most, limit) = decided(&flag.figures);
    close(at_most, 3.87);
    close(limit.unwrap(), 3.88);
    none(&with(3.89, Some(0.0)), FlagCode::Underfilled);
    none(&with(3.0, Some(1.0)), FlagCode::Underfilled);
    assert!(raised(&with(3.7, None), FlagCode::Underfilled).detail.contains("no waiting gauge"));
}

#[test]
fn a_gauge_that_was_read_at_a_bad_moment_underfills_nothing() {
    // Ten samples; in one of them the server had just ended a request and not got the next.
    let one = |low: f64| changed(|trace| trace.samples[4].running = Some(low));
    none(&one(3.0), FlagCode::Underfilled);
    none(&one(0.0), FlagCode::Underfilled);
    // A stream that is missing for half of the window is no moment.
    let half = changed(|trace| trace.samples[5..].iter_mut().for_each(|sample| sample.running = Some(3.0)));
    let flag = raised(&half, FlagCode::Underfilled);
    close(figure(&flag.figures, "running_mean"), 3.5);
    assert_eq!(figure(&flag.figures, "samples"), 10.0);
    assert!(decided(&flag.figures).0 > 3.5 && flag.detail.contains("by 10 samples"), "{flag:?}");
    // Two samples tell nothing.
    none(
        &changed(|trace| {
            trace.samples.truncate(2);
            trace.samples.iter_mut().for_each(|sample| sample.running = Some(1.0));
        }),
        FlagCode::Underfilled,
    );
}

#[test]
fn power_and_clocks() {
    let settings = settings();
    let with = |power_capped_share, over_rated_share| {
        let telemetry =
            Telemetry { busy_samples: 120, slowed_share: Some(0.0), power_capped_share, over_rated_share };
        summarise(&STEADY.trace(), &Context { telemetry: Some(telemetry), ..Context::new(&settings) })
    };
    assert!(with(Some(0.20), Some(0.01)).flags.is_empty());
    assert!(with(None, None).flags.is_empty());
    let both = with(Some(0.21), Some(0.02));
    assert_eq!(both.status, Status::Valid);
    assert_eq!(decided(&raised(&both, FlagCode::PowerCapped).figures), (0.21, Some(0.20)));
    assert_eq!(figure(&raised(&both, FlagCode::OverRatedClock).figures, "busy_samples"), 120.0);
}

#[test]
fn prompt_length() {
    let with = |tokens: u64| changed(|trace| trace.requests[2].prompt_tokens = Some(tokens));
    none(&with(8192 + 16), FlagCode::PromptLength);
    none(&with(8192 - 16), FlagCode::PromptLength);
    let flag = raised(&with(8192 - 17), FlagCode::PromptLength);
    assert_eq!(decided(&flag.figures), (17.0, Some(16.0)));
    assert!(flag.detail.contains("8175") && flag.detail.contains("8192"));
    // Of a long prompt 0.1 % may be off.
    let long = |tokens: u64| {
        changed(|trace| {
            trace.meta.context_nominal = 262_144;
            trace.requests.iter_mut().for_each(|row| row.prompt_tokens = Some(tokens));
        })
    };
    none(&long(262_144 - 262), FlagCode::PromptLength);
    raised(&long(262_144 - 263), FlagCode::PromptLength);
}

#[test]
fn token_mismatch() {
    // Ours are 5408; what four cut requests leave (32) is allowed on top, and nothing below.
    let with = |server: f64| changed(|trace| counters(trace, server));
    none(&with(5408.0), FlagCode::TokenMismatch);
    none(&with(5540.0), FlagCode::TokenMismatch);
    none(&with(5310.0), FlagCode::TokenMismatch);
    let flag = raised(&with(5300.0), FlagCode::TokenMismatch);
    close(decided(&flag.figures).0, 108.0 / 5300.0);
    raised(&with(5560.0), FlagCode::TokenMismatch);
}

#[test]
fn what_cut_requests_leave_grows_with_the_tokens_of_an_event() {
    // Three tokens an event: up to 12 tokens for each of four cut requests.
    let mut trace = Streams { tokens: 3, ..STEADY }.trace();
    let ours = 3.0 * 5408.0;
    counters(&mut trace, ours + 48.0 + 0.0199 * ours);
    none(&row(&trace), FlagCode::TokenMismatch);
    counters(&mut trace, ours + 48.0 + 0.0210 * ours);
    raised(&row(&trace), FlagCode::TokenMismatch);
}

#[test]
fn coalesced() {
    let with = |reads: u32| {
        changed(|trace| trace.requests.iter_mut().for_each(|row| (row.reads, row.events) = (reads, 300)))
    };
    none(&with(200), FlagCode::Coalesced);
    close(decided(&raised(&with(150), FlagCode::Coalesced).figures).0, 2.0);
}

#[test]
fn clock_step() {
    let with = |step_ns: u64| changed(|trace| trace.meta.clock_step_ns = step_ns);
    none(&with(50 * MS), FlagCode::ClockStep);
    let flag = raised(&with(51 * MS), FlagCode::ClockStep);
    assert_eq!(decided(&flag.figures), (51.0, Some(50.0)));
}

#[test]
fn few_samples_by_requests() {
    // Two streams with three requests each are enough, one is not.
    none(&row(&Streams { concurrency: 2, ..STEADY }.trace()), FlagCode::FewSamples);
    let flag = raised(&row(&Streams { concurrency: 1, ..STEADY }.trace()), FlagCode::FewSamples);
    assert_eq!(decided(&flag.figures), (3.0, Some(6.0)));
}

#[test]
fn few_samples_by_seconds() {
    let cell = changed(|trace| trace.meta.window_end_ns = Some(14 * SECOND));
    let flag = raised(&cell, FlagCode::FewSamples);
    assert_eq!(decided(&flag.figures), (9.0, Some(10.0)));
    assert!(flag.detail.contains("9.0 s"));
}

#[test]
fn a_cold_cell_that_found_prompts_cached_says_so() {
    let mut settings = settings();
    let trace = STEADY.trace();
    none(&summarise(&trace, &Context::new(&settings)), FlagCode::PrefixHit);
    settings.cold = Some(true);
    let cell = summarise(&trace, &Context::new(&settings));
    assert!(decided(&raised(&cell, FlagCode::PrefixHit).figures).0 > 0.9);
}

#[test]
fn where_nothing_was_measured_nothing_is_doubted() {
    let mut trace = STEADY.trace();
    trace.requests.clear();
    trace.events.clear();
    trace.meta.interrupted = true;
    none(&row(&trace), FlagCode::FewSamples);
}
