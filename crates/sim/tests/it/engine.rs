//! The engine in virtual time.

use std::sync::Arc;

use tokometer_sim::Profile;
use tokometer_sim::engine::{Emission, Engine, Finish, Request, RequestId};
use tokometer_sim::tokenizer::Prompt;

use crate::runs::fast;

const SECOND: u64 = 1_000_000_000;

/// An engine, and all that it has handed over.
struct Bench {
    engine: Engine,
    out: Vec<Emission>,
    next_id: u64,
}

impl Bench {
    fn new(profile: Profile) -> Bench {
        Bench { engine: Engine::new(Arc::new(profile)), out: Vec::new(), next_id: 0 }
    }

    fn submit(&mut self, prompt: Prompt, max_tokens: u64, arrival_ns: u64) -> RequestId {
        self.next_id += 1;
        let id = RequestId(self.next_id);
        self.engine.submit(Request { id, prompt, max_tokens, natural_end: None, arrival_ns, trick: None });
        id
    }

    /// Goes on as a driver does, from deadline to deadline, each time too late by up to 3 ms.
    fn run_until(&mut self, end_ns: u64) {
        let mut turn = 0;
        while let Some(due_ns) = self.engine.next_deadline().filter(|&due_ns| due_ns <= end_ns) {
            turn += 1;
            self.engine.advance((due_ns + turn * 97_003 % 3_000_000).min(end_ns), &mut self.out);
        }
        self.engine.advance(end_ns, &mut self.out);
    }

    /// Makes a prompt known to the prefix cache; returns when that is done.
    fn warm(&mut self, prompt: &Prompt, at_ns: u64) -> u64 {
        self.submit(prompt.clone(), 1, at_ns);
        self.run_until(at_ns + 100 * SECOND);
        self.out.clear();
        at_ns + 100 * SECOND
    }

    fn of(&self, id: RequestId) -> Vec<Emission> {
        self.out.iter().copied().filter(|emission| emission.id == id).collect()
    }

    fn ttft(&self, id: RequestId, arrival_ns: u64) -> u64 {
        self.of(id)[0].due_ns - arrival_ns
    }
}

/// A prompt of this many tokens; equal for equal salts.
fn prompt(tokens: u64, salt: u32) -> Prompt {
    let mut prompt = Prompt::default();
    (0..tokens).for_each(|index| prompt.push(salt.wrapping_mul(7919).wrapping_add(index as u32)));
    prompt
}

fn near(a: u64, b: f64) -> bool {
    (a as f64 - b * 1e9).abs() <= 2.0
}

#[test]
fn total_rate_is_the_profiles() {
    let cells = [
        ("h200-x4", 8192, 1),
        ("h200-x4", 8192, 8),
        ("h200-x4", 8192, 128),
        ("h200-x4", 65_536, 32),
        ("h200-x4", 257_024, 8),
        ("rtx-pro-6000-x4", 8192, 64),
        ("rtx-pro-6000-x4", 131_072, 4),
        ("rtx-pro-6000-x4", 32_768, 6),
    ];
    for (name, context, concurrency) in cells {
        let profile = Profile::builtin(name).unwrap();
        let expected = profile.total_rate(context, concurrency);
        let mut bench = Bench::new(profile);
        let prompt = prompt(context, 1);
        let start = bench.warm(&prompt, 0);
        for _ in 0..concurrency {
            bench.submit(prompt.clone(), 4096, start);
        }
        bench.run_until(start + 3 * SECOND);
        bench.out.clear();
        bench.run_until(start + 13 * SECOND);
        let (first, last) = (bench.out[0].due_ns, bench.out.last().unwrap().due_ns);
        let tokens = bench.out.iter().filter(|emission| emission.due_ns > first).count();
        let rate = tokens as f64 / ((last - first) as f64 / 1e9);
        let error = (rate / expected - 1.0).abs();
        assert!(error < 1e-6, "{name} {context} × {concurrency}: {rate} instead of {expected}");
    }
}

#[test]
fn mixed_contexts_take_the_mean_of_their_step_times() {
    let profile = Profile::builtin("h200-x4").unwrap();
    let expected = f64::midpoint(profile.step_seconds(8192, 2), profile.step_seconds(257_024, 2));
    let mut bench = Bench::new(profile);
    let (short, long) = (prompt(8192, 1), prompt(257_024, 2));
    bench.warm(&short, 0);
    let start = bench.warm(&long, 100 * SECOND);
    let id = bench.submit(short, 4096, start);
    bench.submit(long, 4096, start);
    bench.run_until(start + 8 * SECOND);
    let times: Vec<u64> = bench.of(id).iter().map(|emission| emission.due_ns).collect();
    let last = times.windows(2).last().unwrap();
    assert!(near(last[1] - last[0], expected));
}

#[test]
fn a_cold_prompt_takes_its_tokens_by_the_prefill_rate() {
    for (context, seconds) in
        [(8192, 8192.0 / 28_100.0), (257_024, 257_024.0 / 32_400.0), (262_080, 262_080.0 / 31_800.0)]
    {
        let mut bench = Bench::new(Profile::builtin("h200-x4").unwrap());
        let id = bench.submit(prompt(context, 1), 1, 5000);
        bench.run_until(20 * SECOND);
        let ttft = bench.ttft(id, 5000) as f64 / 1e9;
        assert!((ttft / seconds - 1.0).abs() < 3e-4, "{context}: {ttft} instead of {seconds}");
        assert_eq!(bench.of(id).len(), 1);
        assert_eq!(bench.of(id)[0].cached_tokens, 0);
    }
}

#[test]
fn a_warm_prompt_takes_the_recorded_ttft() {
    for (concurrency, seconds) in [(1, 0.154), (8, 0.307), (128, 2.198)] {
        let mut bench = Bench::new(Profile::builtin("h200-x4").unwrap());
        let prompt = prompt(8192, 1);
        let start = bench.warm(&prompt, 0);
        // They arrive within 10 ms, and are handed in late.
        let arrivals: Vec<u64> = (0..concurrency).map(|i| start + i * 10_000_000 / concurrency).collect();
        bench.run_until(start + 20_000_000);
        let ids: Vec<RequestId> =
            arrivals.iter().map(|&arrival| bench.submit(prompt.clone(), 4096, arrival)).collect();
        bench.run_until(start + 5 * SECOND);
        for (&id, &arrival) in ids.iter().zip(&arrivals) {
            assert!(near(bench.ttft(id, arrival), seconds), "{} at {concurrency}", bench.ttft(id, arrival));
            assert_eq!(bench.of(id)[0].cached_tokens, 8192 - 16);
        }
    }
}

#[test]
fn cold_prompts_are_prefilled_one_after_another() {
    let mut bench = Bench::new(fast());
    let first = bench.submit(prompt(10_000, 1), 1, 0);
    let second = bench.submit(prompt(10_000, 2), 1, 0);
    bench.run_until(SECOND);
    assert!(near(bench.ttft(first, 0), 0.010));
    assert!(near(bench.ttft(second, 0), 0.020));
}

#[test]
fn a_prompt_that_waits_for_its_own_prefix_finds_it() {
    let mut bench = Bench::new(fast());
    let ids: Vec<RequestId> = (0..4).map(|_| bench.submit(prompt(10_000, 1), 1, 0)).collect();
    bench.run_until(SECOND);
    // All have the first one's prefill behind them, none another one's.
    for id in &ids {
        assert!(bench.ttft(*id, 0) <= 11_000_000);
    }
    assert_eq!(bench.of(ids[0])[0].cached_tokens, 0);
    assert_eq!(bench.of(ids[3])[0].cached_tokens, 9984);
}

#[test]
fn only_the_uncached_part_is_prefilled() {
    let mut bench = Bench::new(fast());
    let start = bench.warm(&prompt(4096, 1), 0);
    let mut longer = prompt(4096, 1);
    (0..6000).for_each(|id| longer.push(1_000_000 + id));
    let id = bench.submit(longer, 1, start);
    bench.run_until(start + SECOND);
    assert!(near(bench.ttft(id, start), 0.006));
    assert_eq!(bench.of(id)[0].cached_tokens, 4096);
    let stats = bench.engine.stats();
    assert_eq!((stats.prompt_tokens, stats.cached_tokens), (4096 + 10_096, 4096));
}

#[test]
fn what_does_not_fit_waits_its_turn() {
    // Room for 65,536 tokens: three of 20,480.
    let mut bench = Bench::new(fast());
    let prompt = prompt(16_000, 1);
    let start = bench.warm(&prompt, 0);
    let ids: Vec<RequestId> = (0..5).map(|_| bench.submit(prompt.clone(), 4480, start)).collect();
    let stats = bench.engine.stats();
    assert_eq!((stats.running, stats.waiting), (3, 2));
    assert_eq!(stats.kv_used_tokens, 48_000);
    bench.run_until(start + 60 * SECOND);
    let ends: Vec<u64> = ids.iter().map(|&id| bench.of(id).last().unwrap().due_ns).collect();
    // The fourth starts when the first has ended.
    let waited = bench.ttft(ids[3], ends[0]);
    assert!((5_000_000..=10_000_000).contains(&waited), "{waited}");
    assert!(ids.iter().all(|&id| bench.of(id).len() == 4480));
    let stats = bench.engine.stats();
    assert_eq!((stats.running, stats.waiting, stats.kv_used_tokens), (0, 0, 0));
    assert_eq!(stats.generated_tokens, 1 + 5 * 4480);
    assert_eq!(stats.ended_by_length, 6);
}

#[test]
fn no_more_requests_run_than_are_allowed() {
    let mut bench = Bench::new(Profile::builtin("rtx-pro-6000-x4").unwrap());
    for salt in 0..300 {
        bench.submit(prompt(20, salt), 8, 0);
    }
    let stats = bench.engine.stats();
    assert_eq!((stats.running, stats.waiting), (256, 44));
    bench.run_until(100 * SECOND);
    assert_eq!(bench.engine.stats().generated_tokens, 300 * 8);
}

#[test]
fn a_request_larger_than_the_cache_runs_alone() {
    let mut bench = Bench::new(fast());
    let large = bench.submit(prompt(16_000, 1), 100_000, 0);
    let small = bench.submit(prompt(100, 2), 1, 0);
    assert_eq!(bench.engine.stats().waiting, 1);
    bench.run_until(SECOND);
    assert!(!bench.of(large).is_empty() && bench.of(small).is_empty());
    bench.engine.abort(large);
    bench.run_until(2 * SECOND);
    assert_eq!(bench.of(small).len(), 1);
}

#[test]
fn an_abort_frees_its_room_wherever_the_request_is() {
    let mut bench = Bench::new(fast());
    let decoding = bench.submit(prompt(40, 1), 1000, 0);
    bench.run_until(SECOND / 10);
    let prefilling = bench.submit(prompt(16_000, 2), 1000, SECOND / 10);
    let queued = bench.submit(prompt(16_000, 3), 1000, SECOND / 10);
    let warm = bench.submit(prompt(40, 1), 1000, SECOND / 10);
    let waiting = bench.submit(prompt(16_000, 4), 20_000, SECOND / 10);
    let next = bench.submit(prompt(30, 5), 2, SECOND / 10);
    assert_eq!((bench.engine.stats().running, bench.engine.stats().waiting), (4, 2));
    let before = bench.of(decoding).len();
    for id in [decoding, prefilling, queued, warm, waiting] {
        bench.engine.abort(id);
    }
    assert_eq!((bench.engine.stats().running, bench.engine.stats().waiting), (1, 0));
    bench.engine.abort(waiting);
    bench.run_until(10 * SECOND);
    assert_eq!(bench.of(decoding).len(), before);
    assert!([prefilling, queued, warm, waiting].iter().all(|&id| bench.of(id).is_empty()));
    assert_eq!(bench.of(next).len(), 2);
    let stats = bench.engine.stats();
    assert_eq!((stats.running, stats.kv_used_tokens, stats.aborted), (0, 0, 5));
    assert_eq!(bench.engine.next_deadline(), None);
}

#[test]
fn the_next_prefill_starts_when_the_one_before_is_aborted() {
    let mut bench = Bench::new(fast());
    let gone = bench.submit(prompt(16_000, 1), 1, 0);
    let next = bench.submit(prompt(16_000, 2), 1, 0);
    bench.run_until(4_000_000);
    bench.engine.abort(gone);
    bench.run_until(SECOND);
    assert!(near(bench.ttft(next, 0), 0.020));
}

#[test]
fn outputs_end_by_length_or_by_themselves() {
    let mut bench = Bench::new(fast());
    let long = bench.submit(prompt(40, 1), 10, 0);
    bench.engine.submit(Request {
        id: RequestId(99),
        prompt: prompt(40, 2),
        max_tokens: 10,
        natural_end: Some(7),
        trick: None,
        arrival_ns: 0,
    });
    bench.run_until(SECOND);
    let finishes = |id| bench.of(id).iter().filter_map(|emission| emission.finish).collect::<Vec<_>>();
    assert_eq!((bench.of(long).len(), finishes(long)), (10, vec![Finish::Length]));
    assert_eq!((bench.of(RequestId(99)).len(), finishes(RequestId(99))), (7, vec![Finish::Stop]));
    assert_eq!(bench.engine.stats().ended_by_stop, 1);
}

#[test]
fn text_loops_where_the_profile_says_so_and_to_the_end() {
    let mut bench = Bench::new(fast());
    let prompt = prompt(4096, 1);
    let start = bench.warm(&prompt, 0);
    let ids: Vec<RequestId> = (0..8).map(|i| bench.submit(prompt.clone(), 100 + 50 * i, start)).collect();
    bench.run_until(start + 10 * SECOND);
    // The first one's first token came while fewer than eight were decoding. From the first step of eight on
    // all loop, also when others have ended.
    assert!(!bench.of(ids[0])[0].looping);
    assert!(bench.of(ids[0])[2..].iter().all(|emission| emission.looping));
    assert_eq!(bench.of(ids[7]).len(), 450);
    assert!(bench.of(ids[7]).iter().all(|emission| emission.looping));
    let alone = bench.submit(prompt, 50, start + 10 * SECOND);
    bench.run_until(start + 20 * SECOND);
    assert!(bench.of(alone).iter().all(|emission| !emission.looping));
}

#[test]
fn a_late_driver_loses_nothing() {
    let run = |late_ns: u64| {
        let mut bench = Bench::new(fast());
        let start = bench.warm(&prompt(1024, 1), 0);
        for _ in 0..4 {
            bench.submit(prompt(1024, 1), 300, start);
        }
        let mut now = start;
        while bench.engine.next_deadline().is_some() {
            now += late_ns;
            bench.engine.advance(now, &mut bench.out);
        }
        bench.out
    };
    assert_eq!(run(100_000), run(250_000_000));
}
