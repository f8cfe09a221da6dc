//! A run and a trace with every field filled.

use std::collections::BTreeMap;

use crate::machine;
use serde_json::json;
use tokometer_record::calibration::{Ceiling, Check, Errors, Host, Limit, TokenBalance, WindowTokens};
use tokometer_record::{
    AdaptiveCheck, AdaptiveEnd, AdaptiveWindow, AtEnd, Calibration, Capacity, Cell, CellTrace,
    CounterSnapshot, Distribution, Endpoint, Engine, EventRow, Evidence, Failure, FailureKind, Figure, Flag,
    FlagCode, Imported, Interval, KvBlocks, LoopEvidence, Model, Order, Outcome, Phase, Prompts, Ready,
    Reason, ReasonRule, RepeatSummary, RequestKind, RequestRow, Requests, Run, RunState, SampleRow,
    ServerView, Settings, Speculative, SpeculativeSource, Spread, StampSource, Status, SweepPart, Target,
    Throughput, TokenSource, Tokens, Tool, TraceFile, TraceMeta, Window, WindowView,
};

pub(crate) fn distribution() -> Distribution {
    Distribution {
        n: Some(700),
        mean: Some(1.1),
        min: Some(0.1 + 0.2),
        p50: Some(1.0 / 3.0),
        p90: Some(2.0),
        p95: Some(3.0),
        p99: Some(4.0),
        max: Some(5.0),
        p50_interval: Some([0.3, 0.4]),
    }
}

pub(crate) fn failure() -> Failure {
    Failure {
        kind: FailureKind::ErrorEvent,
        message: "the server sent an error: out of memory".to_owned(),
        http_status: Some(200),
        headers: BTreeMap::from([("server".to_owned(), "uvicorn".to_owned())]),
        body: Some("{\"error\": \"Ü\"}".to_owned()),
    }
}

pub(crate) fn evidence() -> LoopEvidence {
    LoopEvidence {
        request: 3,
        stream: 1,
        channel: "content".to_owned(),
        period: 100,
        cycles: 50,
        repeated_characters: 5000,
        excerpt: "and so on ".to_owned(),
    }
}

pub(crate) fn ready() -> Ready {
    Ready { reached: false, seconds: 60.0, limit_seconds: 60.0, missing: vec!["running 3 of 4".to_owned()] }
}

pub(crate) fn settings() -> Settings {
    Settings {
        contexts: vec![8192],
        concurrency: vec![1, 4],
        prefill_contexts: vec![8192],
        prefill_repeats: 1,
        duration_seconds: 30.0,
        adaptive: true,
        repeats: 2,
        order: Order::Shuffled,
        max_output_tokens: 4096,
        decode_test: "fixed_duration".to_owned(),
        prefill_mode: "cold_alone".to_owned(),
        prompts: Some(Prompts::Shared),
        cold: Some(false),
        endpoint: Some(Endpoint::Chat),
        respect_eos: Some(false),
        temperature: Some(0.7),
        top_p: Some(0.9),
        seed: Some(u64::MAX),
        request_json: Some(json!({"chat_template_kwargs": {"thinking": false}})),
        request_fields: Some(json!({"stream": true})),
        at_end: Some(AtEnd::Cut),
        timeout_seconds: Some(600.0),
        corpus: Some("book.txt 00ff".to_owned()),
        prompt_sizing: Some("tokenize_route".to_owned()),
        allow_busy: Some(false),
        load_threads: Some(2),
    }
}

pub(crate) fn adaptive() -> AdaptiveWindow {
    AdaptiveWindow {
        asked_seconds: 30.0,
        longest_seconds: 120.0,
        checks: vec![AdaptiveCheck { seconds: 5.0, half_width_relative: Some(0.004) }],
        end: AdaptiveEnd::Undecided,
    }
}

fn interval() -> Interval {
    Interval {
        low: 4990.0,
        high: 5010.5,
        half_width_relative: 0.002,
        level: 0.95,
        method: "batch_means_t".to_owned(),
        scope: "within_run".to_owned(),
    }
}

fn speculative() -> Speculative {
    Speculative {
        acceptance_length: 1.7,
        acceptance_rate: Some(0.35),
        accepted_per_position: vec![0.5, 0.2],
        verify_steps_rate: Some(2941.3),
        drafts: Some(10),
        draft_tokens: Some(20),
        accepted_tokens: Some(7),
        source: SpeculativeSource::Counters,
        readings: 2,
        start_ns: 1,
        end_ns: 30_000_000_001,
    }
}

/// One of the measurements of a cell.
fn repeat() -> Cell {
    Cell {
        window: Some(Window { start_ns: Some(1), end_ns: Some(2), seconds: 1e-9 }),
        speculative: Some(speculative()),
        ..Cell::planned(Phase::Decode, 8192, 4)
    }
}

fn figure() -> Figure {
    Figure { name: "looping_streams".to_owned(), value: 1.0, unit: "streams".to_owned(), limit: Some(0.0) }
}

pub(crate) fn cell() -> Cell {
    let latency = Some(distribution());
    Cell {
        context_actual: Some(Spread { n: 4, p50: 8190.5, min: 8190, max: 8191 }),
        status: Status::Looped,
        reason: Some(Reason {
            rule: ReasonRule::Method,
            text: "stream 1 repeated itself".to_owned(),
            figures: vec![figure()],
            needed: Some(1),
            available: Some(2),
        }),
        flags: vec![Flag {
            code: FlagCode::NotReady,
            detail: "running 3 of 4".to_owned(),
            figures: vec![figure()],
        }],
        throughput: Some(Throughput {
            total: 5000.25,
            interval: Some(interval()),
            decoding: Some(5001.0),
            restart_share: Some(0.01),
            batches: vec![1.0, 2.0],
            lag1: Some(-0.1),
        }),
        prefill_rate: Some(30_000.0),
        prefill_samples: vec![30_000.0],
        prefill_interval: Some(interval()),
        ttft_ms: latency.clone(),
        time_between_tokens_ms: latency.clone(),
        per_request_rate: latency.clone(),
        time_to_answer_ms: latency.clone(),
        first_byte_ms: latency.clone(),
        connect_ms: latency.clone(),
        longest_gap_ms: Some(30.0),
        window_view: Some(WindowView {
            ttft_ms: latency.clone(),
            time_between_tokens_ms: latency.clone(),
            gap_ms: latency.clone(),
            gaps_shared_read: 7,
        }),
        average_active_requests: Some(3.9),
        requests: Requests {
            started: Some(9),
            ended: Some(4),
            cut: Some(4),
            failed: Some(1),
            ended_in_window: Some(3),
            resent: Some(1),
        },
        tokens: Tokens {
            out: Some(1),
            out_cell: Some(2),
            input: Some(3),
            cached: Some(4),
            reasoning: Some(5),
            source: Some(TokenSource::Usage),
            per_event: Some(1.7),
            server: Some(6),
            client: Some(7),
        },
        window: Some(Window { start_ns: Some(1), end_ns: Some(30_000_000_001), seconds: 30.0 }),
        adaptive: Some(adaptive()),
        ready: Some(ready()),
        server: Some(ServerView {
            samples: 30,
            running_mean: Some(3.5),
            running_max: Some(4.0),
            waiting_max: Some(1.0),
            waiting_share: Some(0.1),
            over_share: Some(0.0),
            kv_used_max: Some(0.5),
        }),
        telemetry: Some(machine::cell_telemetry()),
        speculative: Some(speculative()),
        repeats: vec![RepeatSummary { represents: true, ..RepeatSummary::of(2, &repeat()) }],
        stamp_source: Some(StampSource::Kernel),
        client_lag_us: latency,
        events_per_read: Some(1.01),
        error: Some(failure()),
        loops: vec![evidence()],
        trace: Some(TraceFile {
            file: "trace/decode-8192-4.parquet".to_owned(),
            sha256: "00".repeat(32),
            bytes: 99,
        }),
        unknown: BTreeMap::from([("tokens.reasoning".to_owned(), "not told".to_owned())]),
        ..Cell::planned(Phase::Decode, 8192, 4)
    }
}

pub(crate) fn run() -> Run {
    let text = |word: &str| Some(word.to_owned());
    let tool = Tool { name: "tokometer".to_owned(), version: "0.1.0".to_owned(), commit: text("abc") };
    Run {
        created_at: text("2026-11-30T12:00:00Z"),
        state: RunState::Failed,
        state_reason: text("the disk is full"),
        elapsed_seconds: Some(61.5),
        title: text("A title"),
        note: text("A note"),
        simulated: true,
        sweep: Some(SweepPart {
            sweep: "Parallelism".to_owned(),
            entry: "tp2".to_owned(),
            repeat: 3,
            variables: BTreeMap::from([("tp".to_owned(), "2".to_owned())]),
            definition: "ab".repeat(32),
        }),
        imported: Some(Imported { format: "published_matrix".to_owned(), file: "a.json".to_owned() }),
        target: Target {
            url: text("http://h:8000"),
            headers: vec!["X-Team".to_owned()],
            proxy: text("nginx"),
        },
        model: Model {
            id: text("Qwen/Qwen3.8-Flash-Next"),
            served_name: text("qwen"),
            revision: text("main"),
            quantization: text("BF16"),
            max_length: Some(262_144),
        },
        engine: Engine {
            name: text("vllm"),
            version: text("0.1.1"),
            commit: text("e77"),
            repository: text("github.com/vllm-project/vllm"),
            build: text("cuda-13.2"),
            backend: text("cuda"),
            parallelism: text("tp4 ep"),
            speculative: text("mtp 1"),
            prefix_caching: Some(true),
        },
        hardware: machine::hardware(),
        launch_command: text("vllm serve"),
        capacity: Capacity {
            kv_tokens: Some(1),
            kv_source: text("--kv-tokens"),
            kv_tokens_per_rank: vec![1, 0],
            kv_blocks: Some(KvBlocks { blocks: 2800, block_tokens: 784, fixed_per_request: 17.5 }),
            concurrent_requests: Some(256),
            concurrent_source: text("GET /server_info"),
        },
        calibration: Some(calibration()),
        cells: vec![Cell::planned(Phase::Prefill, 8192, 1), cell()],
        telemetry: Some(TraceFile {
            file: "telemetry.parquet".to_owned(),
            sha256: "00".repeat(32),
            bytes: 9,
        }),
        sampling: Some(machine::sampling()),
        unknown: BTreeMap::from([("engine.build".to_owned(), "not told".to_owned())]),
        evidence: vec![Evidence {
            field: "engine.version".to_owned(),
            value: "0.1.1".to_owned(),
            source: "GET /version".to_owned(),
        }],
        remarks: vec!["looked twice".to_owned()],
        ..Run::new("01890a5d-ac96-774b-bcce-b302099a8057".to_owned(), tool, settings())
    }
}

pub(crate) fn calibration() -> Calibration {
    let errors = |n| Errors { n, p50_ms: Some(0.0), p99_ms: Some(0.125), max_ms: Some(1.5) };
    Calibration {
        schema: Calibration::SCHEMA.to_owned(),
        created_at: Some("2026-11-30T12:00:00Z".to_owned()),
        tool: Tool { name: "tokometer".to_owned(), version: "0.1.0".to_owned(), commit: None },
        host: Host {
            id: Some("0123456789abcdef".to_owned()),
            os: "linux".to_owned(),
            kernel: Some("6.18.44".to_owned()),
            cpu: Some("A processor".to_owned()),
            cores: 2,
        },
        streams: 1000,
        rate: 50.0,
        events_per_write: 1,
        duration_seconds: 10.0,
        load_threads: 1,
        separate_cores: true,
        stamp_source: StampSource::Kernel,
        ttft_error: errors(5_000),
        gap_error: errors(490_000),
        gaps_of_shared_reads: 3,
        tokens: TokenBalance { counted: 10, sent: 10, unequal_requests: 0 },
        window_tokens: Some(WindowTokens { counted: 9, at_least: 8, at_most: 10 }),
        client_lag: errors(490_000),
        events_per_read: Some(1.01),
        truth_width: errors(490_000),
        engine_late: errors(490_000),
        events_per_second: Some(49_800.0),
        cpu_us_per_event: Some(8.5),
        ceiling: Some(Ceiling {
            events_per_second: 5e5,
            streams: 64,
            events_per_write: 8,
            seconds: 2.0,
            limited_by: Limit::Engine,
            client_busy: 0.75,
            engine_busy: Some(0.99),
            full_sockets: 0,
            tokens: TokenBalance { counted: 7, sent: 7, unequal_requests: 0 },
        }),
        bytes_per_idle_stream: Some(3_500),
        start_to_first_request_ms: Some(12.5),
        checks: vec![Check { name: "it is so".to_owned(), found: "so".to_owned(), passed: true }],
        unknown: BTreeMap::from([("a".to_owned(), "not told".to_owned())]),
    }
}

pub(crate) fn meta() -> TraceMeta {
    let snapshot = CounterSnapshot {
        time_ns: 5,
        generated_tokens: Some(1.0),
        prompt_tokens: Some(2.0),
        cached_tokens: None,
        preemptions: Some(0.0),
        drafts: Some(3.0),
        draft_tokens: Some(9.0),
        accepted_tokens: Some(4.0),
        accepted_per_position: vec![2.0, 1.0, 1.0],
    };
    TraceMeta {
        schema: TraceMeta::SCHEMA.to_owned(),
        run: "01890a5d-ac96-774b-bcce-b302099a8057".to_owned(),
        phase: Phase::Decode,
        context_nominal: 8192,
        concurrency: 4,
        max_output_tokens: 4096,
        repeat: Some(2),
        duration_seconds: 30.0,
        window_start_ns: Some(1),
        window_end_ns: Some(30_000_000_001),
        adaptive: Some(adaptive()),
        ready: Some(ready()),
        counters_before: Some(snapshot.clone()),
        counters_after: Some(snapshot.clone()),
        counters_window_start: Some(snapshot.clone()),
        counters_window_end: Some(snapshot.clone()),
        counters_by_request: vec![None, Some(snapshot.clone())],
        drained: true,
        stamp_source: StampSource::Kernel,
        clock_step_ns: 12,
        resent: 1,
        interrupted: false,
        failure: Some(failure()),
        loops: vec![evidence()],
    }
}

pub(crate) fn request(number: u32) -> RequestRow {
    RequestRow {
        request: number,
        stream: 1,
        kind: RequestKind::Stream,
        send_ns: 10,
        connect_ns: Some(3),
        first_byte_ns: Some(20),
        end_ns: 1000,
        outcome: Outcome::Failed,
        finish_reason: Some("length".to_owned()),
        failure: Some(failure()),
        prompt_tokens: Some(8190),
        cached_tokens: Some(8176),
        completion_tokens: Some(17),
        reasoning_tokens: Some(5),
        token_source: TokenSource::Usage,
        reads: 9,
        events: 12,
        unknown_events: Some(1),
    }
}

pub(crate) fn trace() -> CellTrace {
    let event = EventRow {
        request: 0,
        arrival_ns: u64::MAX,
        lag_ns: 1,
        tokens: Some(u32::MAX),
        bytes: 261,
        payload: true,
        answer: false,
        last_of_read: true,
    };
    CellTrace {
        meta: meta(),
        requests: vec![request(0), RequestRow { failure: None, connect_ns: None, ..request(1) }],
        events: vec![event, EventRow { tokens: None, payload: false, ..event }],
        samples: vec![
            SampleRow { time_ns: 1, running: Some(4.0), ..SampleRow::default() },
            SampleRow { time_ns: 2, kv_used: Some(0.1), drafts: Some(7.0), ..SampleRow::default() },
        ],
    }
}
