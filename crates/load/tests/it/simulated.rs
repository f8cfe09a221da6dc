//! The simulated engine, and prompts for it.

use std::fmt::Write;

use tokometer_record::{Cell, Distribution, Phase, Run, Settings, Status, Throughput, Tool};
use tokometer_sim::{Dialect, Overrides, Profile, Running, Server, ServerOptions};

use crate::bench::Bench;

/// Steps of `step_ms` for any number of requests, first tokens after 10 ms, a hundred thousand prompt tokens
/// per second.
fn profile(step_ms: f64) -> Profile {
    let mut cells = vec![Cell {
        status: Status::Valid,
        prefill_rate: Some(1e5),
        ..Cell::planned(Phase::Prefill, 1024, 1)
    }];
    for concurrency in [1, 512] {
        let total = f64::from(concurrency) / step_ms * 1e3;
        cells.push(Cell {
            status: Status::Valid,
            throughput: Some(Throughput {
                total,
                interval: None,
                decoding: None,
                restart_share: None,
                batches: vec![],
                lag1: None,
            }),
            ttft_ms: Some(Distribution { p50: Some(10.0), ..Distribution::default() }),
            ..Cell::planned(Phase::Decode, 1024, concurrency)
        });
    }
    let settings: Settings = serde_json::from_value(serde_json::json!({
        "contexts": [], "concurrency": [], "prefill_contexts": [], "prefill_repeats": 1,
        "duration_seconds": 30.0, "max_output_tokens": 4096,
        "decode_test": "fixed_duration", "prefill_mode": "cold_alone",
    }))
    .unwrap();
    let mut run = Run::new("profile".to_owned(), Tool::default(), settings);
    run.model.served_name = Some("model".to_owned());
    run.cells = cells;
    let overrides =
        Overrides { kv_tokens: Some(1 << 24), max_concurrent_requests: Some(512), ..Overrides::default() };
    Profile::from_run(&run, &overrides).unwrap()
}

/// A simulated engine and a conductor for it, with gauges.
pub(crate) fn start(step_ms: f64) -> (Running, Bench) {
    start_as(profile(step_ms), ServerOptions::default())
}

/// The same with speculative decoding, as `3,0.7`.
pub(crate) fn start_speculating(step_ms: f64, speculation: &str) -> (Running, Bench) {
    let profile = profile(step_ms).with_speculation(speculation.parse().unwrap());
    start_as(profile, ServerOptions::default())
}

/// An engine of vLLM's dialect, whose usage tells no cached tokens, with this fault.
pub(crate) fn start_faulty(fault: &str) -> (Running, Bench) {
    let faults = vec![fault.parse().unwrap()];
    start_as(profile(5.0), ServerOptions { dialect: Dialect::Vllm, faults, ..ServerOptions::default() })
}

fn start_as(profile: Profile, options: ServerOptions) -> (Running, Bench) {
    let server = Server::start(profile, options).unwrap();
    let bench = Bench::new(server.addr().port()).with_gauges();
    (server, bench)
}

/// A prompt of some 600 tokens that begins with its salt.
pub(crate) fn prompt(salt: &str) -> String {
    (0..300).fold(format!("Salt {salt}."), |mut text, word| {
        write!(text, " word {word}").unwrap();
        text
    })
}
