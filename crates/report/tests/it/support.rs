//! Runs to report on.

#[path = "support/cells.rs"]
mod cells;

use std::collections::BTreeMap;

use tokometer_record::calibration::{self, Ceiling, Check, Errors, Limit, TokenBalance};
use tokometer_record::{
    Accelerator, AtEnd, Calibration, Capacity, Cell, CellDetail, Container, Curve, Device, Endpoint, Engine,
    Evidence, FailureKind, FlagCode, Hardware, Host, Model, Order, Outcome, Phase, Prompts, RateSeries,
    RequestColumns, Run, RunState, Settings, StampSource, Status, Target, Tool, TraceFile, import, published,
};

use cells::{failure, prefill, with_status};

pub(crate) use cells::{decode, flag};

/// Qwen3.8-Flash-Next on 4 × H200 SXM, as published.
pub(crate) fn h200() -> Run {
    import::published(published::H200_X4, "h200-x4.json").unwrap()
}

/// Qwen3.8-Flash-Next on 4 × RTX PRO 6000, as published.
pub(crate) fn rtx() -> Run {
    import::published(published::RTX_PRO_6000_X4, "rtx-pro-6000-x4.json").unwrap()
}

/// Every status, in the order of the verdict.
pub(crate) const STATUSES: [Status; 14] = [
    Status::Planned,
    Status::OverLimit,
    Status::OverCapacity,
    Status::Skipped,
    Status::Interrupted,
    Status::Error,
    Status::Looped,
    Status::ClientLimited,
    Status::Contaminated,
    Status::Queued,
    Status::Short,
    Status::Throttled,
    Status::Unstable,
    Status::Valid,
];

/// Every flag.
pub(crate) const FLAGS: [FlagCode; 14] = [
    FlagCode::Simulated,
    FlagCode::NotReady,
    FlagCode::Underfilled,
    FlagCode::PromptLength,
    FlagCode::TokenMismatch,
    FlagCode::TokensEstimated,
    FlagCode::Coalesced,
    FlagCode::PrefixHit,
    FlagCode::PowerCapped,
    FlagCode::OverRatedClock,
    FlagCode::ClockStep,
    FlagCode::SyntheticAcceptance,
    FlagCode::Retuned,
    FlagCode::FewSamples,
];

/// A measured run against a simulated engine that has every status and every flag.
pub(crate) fn everything() -> Run {
    let contexts = [8192, 16384, 65536, 131_072];
    let concurrency = [1, 2, 4, 8, 16, 32];
    let mut run = Run::new(
        "0190b6d2-0000-7000-8000-000000000001".to_owned(),
        tool(),
        settings(&contexts, &concurrency),
    );
    run.created_at = Some("2026-11-30T12:00:00Z".to_owned());
    run.elapsed_seconds = Some(1512.4);
    run.state = RunState::Interrupted;
    run.state_reason = Some("ended by the user after 20 of 24 cells".to_owned());
    run.title = Some("Everything at once".to_owned());
    run.note = Some("First line of the note.\nSecond line.".to_owned());
    run.simulated = true;
    run.target = Target {
        url: Some("http://127.0.0.1:8000".to_owned()),
        headers: vec!["x-team".to_owned()],
        proxy: Some("nginx 1.27".to_owned()),
    };
    run.model = Model {
        id: Some("Qwen/Qwen3.8-Flash-Next".to_owned()),
        served_name: Some("qwen".to_owned()),
        revision: None,
        quantization: Some("BF16".to_owned()),
        max_length: Some(262_144),
    };
    run.engine = Engine {
        name: Some("vllm".to_owned()),
        version: Some("0.11.2".to_owned()),
        parallelism: Some("tp4 ep".to_owned()),
        speculative: Some("mtp, 1 token".to_owned()),
        prefix_caching: Some(true),
        ..Engine::default()
    };
    run.hardware = Hardware {
        class: Some("discrete_gpu".to_owned()),
        accelerators: vec![Accelerator { name: "H200 SXM".to_owned(), count: 4, memory_gb: Some(141.0) }],
        os: Some("linux".to_owned()),
        origin: Some("found".to_owned()),
        host: Some(Host {
            hostname: Some("gpu-17".to_owned()),
            distribution: Some("Ubuntu 24.04.3 LTS".to_owned()),
            kernel: Some("6.8.0-90-generic".to_owned()),
            cpu: Some("AMD EPYC 9654".to_owned()),
            sockets: Some(2),
            cores: Some(192),
            threads: Some(384),
            memory_bytes: Some(1_620_000_000_000),
            board: Some("Supermicro H13DSG".to_owned()),
            container: Some(Container {
                runtime: Some("docker".to_owned()),
                id: Some("0123456789ab".to_owned()),
                image: Some("vllm/vllm-openai:v0.11.2".to_owned()),
                ..Container::default()
            }),
            ..Host::default()
        }),
        devices: (0..8).map(device).collect(),
        ..Hardware::default()
    };
    run.calibration = Some(calibration());
    run.telemetry =
        Some(TraceFile { file: "telemetry.parquet".to_owned(), sha256: "cd".repeat(32), bytes: 1_234_567 });
    run.capacity = Capacity {
        kv_tokens: Some(1_048_576),
        kv_source: Some("vllm:cache_config_info".to_owned()),
        concurrent_requests: Some(256),
        concurrent_source: Some("--max-num-seqs".to_owned()),
        ..Capacity::default()
    };
    run.unknown.insert("launch_command".to_owned(), "the server is on another host".to_owned());
    run.unknown.insert("model.revision".to_owned(), "the engine does not tell".to_owned());
    run.unknown.insert("hardware.driver".to_owned(), "the server is on another host".to_owned());
    run.evidence = vec![Evidence {
        field: "engine.version".to_owned(),
        value: "0.11.2".to_owned(),
        source: "GET /version".to_owned(),
    }];
    run.remarks = vec!["the server restarted between two cells".to_owned()];

    for (place, &context) in contexts.iter().enumerate() {
        run.cells.push(prefill(context, 27_000.0 + 1500.0 * place as f64));
    }
    let mut failed_prefill = Cell::planned(Phase::Prefill, 262_144, 1);
    failed_prefill.status = Status::Error;
    failed_prefill.error = Some(failure());
    run.cells.push(failed_prefill);

    let mut statuses = STATUSES.into_iter();
    let mut flags = FLAGS.into_iter().filter(|code| *code != FlagCode::Simulated);
    for &context in &contexts {
        for &streams in &concurrency {
            let mut cell = decode(context, streams);
            // The first row and the last column stay valid and carry the flags.
            if context > 8192 && streams < 32 {
                cell = with_status(cell, statuses.next().unwrap_or(Status::Valid));
            } else if let Some(code) = flags.next() {
                cell.flags.push(flag(code));
            }
            if cell.throughput.is_some() {
                cell.flags.push(flag(FlagCode::Simulated));
            }
            run.cells.push(cell);
        }
    }
    for code in flags {
        run.cells[5].flags.push(flag(code));
    }
    run
}

/// A run with this many columns.
#[allow(dead_code, reason = "the browser's test uses it")]
pub(crate) fn narrow(columns: usize) -> Run {
    let mut run = everything();
    let concurrency = &[1, 8, 64][..columns];
    run.cells.retain(|cell| cell.phase == Phase::Prefill);
    for context in [8192, 65536] {
        run.cells.extend(concurrency.iter().map(|&streams| decode(context, streams)));
    }
    let last = run.cells.pop().unwrap();
    run.cells.push(with_status(last, Status::OverCapacity));
    run
}

/// A run of the default matrix, all of it valid.
pub(crate) fn full() -> Run {
    let mut run = everything();
    run.state = RunState::Finished;
    run.state_reason = None;
    run.cells.retain(|cell| cell.phase == Phase::Prefill && cell.status == Status::Valid);
    for context in [8192, 16384, 32768, 65536, 131_072, 257_024] {
        run.cells.extend([1, 2, 4, 8, 16, 32, 64, 128].map(|streams| decode(context, streams)));
    }
    run
}

/// A run in which nearly nothing went well.
#[allow(dead_code, reason = "the browser's test uses it")]
pub(crate) fn failing() -> Run {
    let mut run = full();
    run.state = RunState::Failed;
    run.state_reason = Some("the server went away".to_owned());
    let statuses =
        [Status::Error, Status::Looped, Status::Queued, Status::Unstable, Status::Error, Status::Short];
    for (place, cell) in run.cells.iter_mut().enumerate().skip(6) {
        let status = if place > 35 { Status::Planned } else { statuses[place % statuses.len()] };
        *cell = with_status(cell.clone(), status);
    }
    run
}

/// A run of one cell.
#[allow(dead_code, reason = "the browser's test uses it")]
pub(crate) fn one_cell() -> Run {
    let mut run = full();
    run.cells = vec![prefill(8192, 27_000.0), decode(8192, 1)];
    run
}

fn device(index: u32) -> Device {
    Device {
        index,
        vendor: "nvidia".to_owned(),
        name: "H200 SXM".to_owned(),
        driver_name: Some("NVIDIA H200".to_owned()),
        used_by_server: Some(index < 4),
        driver: Some("580.95.05".to_owned()),
        compute: Some("CUDA 13.0".to_owned()),
        power_limit_watts: Some(650.0),
        power_default_watts: Some(700.0),
        pcie_generation: Some(5),
        pcie_width: Some(16),
        ..Device::default()
    }
}

fn calibration() -> Calibration {
    let errors =
        |p50: f64| Errors { n: 90_000, p50_ms: Some(p50), p99_ms: Some(p50 * 8.0), max_ms: Some(1.9) };
    let balance = TokenBalance { counted: 90_000, sent: 90_000, unequal_requests: 0 };
    let check = |name: &str, passed| Check { name: name.to_owned(), found: format!("{name}: found"), passed };
    Calibration {
        schema: Calibration::SCHEMA.to_owned(),
        created_at: Some("2026-11-29T08:00:00Z".to_owned()),
        tool: tool(),
        host: calibration::Host {
            id: Some("0011223344556677".to_owned()),
            os: "linux".to_owned(),
            kernel: Some("6.8.0-90-generic".to_owned()),
            cpu: Some("AMD EPYC 9654".to_owned()),
            cores: 384,
        },
        streams: 128,
        rate: 50.0,
        events_per_write: 1,
        duration_seconds: 10.0,
        load_threads: 4,
        separate_cores: true,
        stamp_source: StampSource::Kernel,
        ttft_error: errors(0.011),
        gap_error: errors(0.004),
        gaps_of_shared_reads: 12,
        tokens: balance,
        window_tokens: None,
        client_lag: errors(0.05),
        events_per_read: Some(1.02),
        truth_width: errors(0.006),
        engine_late: errors(0.02),
        events_per_second: Some(6400.0),
        cpu_us_per_event: Some(3.25),
        ceiling: Some(Ceiling {
            events_per_second: 512_000.0,
            streams: 128,
            events_per_write: 1,
            seconds: 5.0,
            limited_by: Limit::Engine,
            client_busy: 0.6,
            engine_busy: Some(0.99),
            full_sockets: 0,
            tokens: balance,
        }),
        bytes_per_idle_stream: Some(40_000),
        start_to_first_request_ms: Some(31.0),
        checks: vec![check("median error of TTFT at most 0.1 ms", true), check("no token lost", false)],
        unknown: BTreeMap::from([("window_tokens".to_owned(), "no window was reached".to_owned())]),
    }
}

fn tool() -> Tool {
    Tool { name: "tokometer".to_owned(), version: "0.1.0".to_owned(), commit: Some("0123abcd".to_owned()) }
}

/// Settings of a measured run.
pub(crate) fn settings(contexts: &[u64], concurrency: &[u32]) -> Settings {
    Settings {
        contexts: contexts.to_vec(),
        concurrency: concurrency.to_vec(),
        prefill_contexts: contexts.to_vec(),
        prefill_repeats: 3,
        duration_seconds: 30.0,
        adaptive: false,
        repeats: 1,
        order: Order::Standard,
        max_output_tokens: 4096,
        decode_test: "fixed_duration".to_owned(),
        prefill_mode: "cold_alone".to_owned(),
        prompts: Some(Prompts::Shared),
        cold: Some(false),
        endpoint: Some(Endpoint::Chat),
        respect_eos: Some(false),
        temperature: None,
        top_p: Some(0.95),
        seed: Some(7),
        request_json: None,
        request_fields: None,
        at_end: Some(AtEnd::Cut),
        timeout_seconds: Some(300.0),
        corpus: None,
        prompt_sizing: Some("tokenize_route".to_owned()),
        allow_busy: Some(false),
        load_threads: Some(1),
    }
}

/// Details of every decode cell that has a rate, as their traces might give them.
pub(crate) fn details(run: &Run) -> Vec<CellDetail> {
    run.cells
        .iter()
        .filter_map(|cell| {
            let total = cell.throughput.as_ref()?.total;
            let bins: Vec<f64> =
                (0..80).map(|bin| (total * (1.0 + 0.02 * f64::from(bin % 7))).round()).collect();
            let curve = |middle: f64| Curve {
                n: 4096,
                points: (1..=50).map(|step| [f64::from(step) / 50.0, middle * f64::from(step)]).collect(),
            };
            let rows = 80_u32;
            Some(CellDetail {
                cell: cell.name(),
                rate: Some(RateSeries {
                    start_seconds: -0.2,
                    bin_seconds: 0.5,
                    rates: bins,
                    window_seconds: Some([5.0, 35.0]),
                }),
                ttft_ms: Some(curve(12.0)),
                gap_ms: Some(curve(0.4)),
                requests: RequestColumns {
                    total: 120,
                    request: (0..rows).collect(),
                    stream: (0..rows).map(|row| row % cell.concurrency).collect(),
                    sent_seconds: (0..rows).map(|row| f64::from(row) * 0.75).collect(),
                    end_seconds: (0..rows).map(|row| f64::from(row) * 0.75 + 4.0).collect(),
                    ttft_ms: (0..rows).map(|row| (row != 3).then_some(150.5 + f64::from(row))).collect(),
                    time_between_tokens_ms: (0..rows).map(|row| (row != 3).then_some(7.25)).collect(),
                    output_tokens: (0..rows).map(|row| u64::from(row) * 100).collect(),
                    outcome: (0..rows)
                        .map(|row| {
                            if row == 3 {
                                Outcome::Failed
                            } else if row % 2 == 0 {
                                Outcome::Ended
                            } else {
                                Outcome::Cut
                            }
                        })
                        .collect(),
                    failure: (0..rows).map(|row| (row == 3).then_some(FailureKind::Timeout)).collect(),
                },
            })
        })
        .collect()
}
