//! Result files of other tools become records: each figure is where it belongs, nothing is made up.

use serde_json::Value;
use tokometer_record::{Cell, FlagCode, Phase, ReasonRule, Run, RunState, Status, TokenSource, import};

const VLLM: &str = include_str!("../fixtures/vllm-bench-serve.json");
const VLLM_FAILED: &str = include_str!("../fixtures/vllm-bench-rust-failed.json");
const AIPERF: &str = include_str!("../fixtures/aiperf.json");
const GUIDELLM: &str = include_str!("../fixtures/guidellm.json");
const BENCH: &str = include_str!("../fixtures/llm-inference-bench.json");

fn read(text: &str) -> (Run, Value) {
    (import::read(text, "file.json").unwrap(), serde_json::from_str(text).unwrap())
}

fn only(run: &Run) -> &Cell {
    assert_eq!(run.cells.len(), 1);
    &run.cells[0]
}

fn number(value: &Value) -> Option<f64> {
    assert!(value.is_number(), "the fixture has no such figure");
    value.as_f64()
}

/// What holds for every foreign run: its own definitions, no intervals, reasons for what is null.
fn check_common(run: &Run, format: &str, tool: &str) {
    assert_eq!(run.state, RunState::Finished);
    let imported = run.imported.as_ref().unwrap();
    assert_eq!((imported.format.as_str(), imported.file.as_str()), (format, "file.json"));
    assert_eq!((run.method.name.as_str(), run.tool.name.as_str()), (tool, tool));
    assert_eq!(run.method.version, run.tool.version);
    for field in ["engine.version", "hardware", "launch_command", "capacity.concurrent_requests"] {
        assert!(run.unknown[field].contains(tool), "{field}");
    }
    for cell in &run.cells {
        assert!(cell.trace.is_none() && cell.window_view.is_none() && cell.stamp_source.is_none());
        if let Some(rates) = &cell.throughput {
            assert!(rates.interval.is_none() && rates.decoding.is_none() && rates.restart_share.is_none());
            assert!(cell.unknown.contains_key("throughput.interval"));
        }
        if !matches!(cell.status, Status::Valid) {
            assert_eq!(cell.status == Status::Valid, cell.reason.is_none());
        }
    }
    // What was read is written and read again.
    let again: Run = serde_json::from_str(&serde_json::to_string(run).unwrap()).unwrap();
    assert_eq!(&again, run);
}

#[test]
fn vllm_bench_serve_by_its_figures() {
    let (run, source) = read(VLLM);
    check_common(&run, "vllm_bench_serve", "vllm bench serve");
    let cell = only(&run);
    assert_eq!((cell.phase, cell.concurrency, cell.status), (Phase::Decode, 4, Status::Valid));
    assert_eq!(cell.context_nominal, 23, "281 tokens of 12 prompts");
    assert_eq!(cell.context_actual.unwrap().n, 12);
    assert_eq!(cell.throughput.as_ref().map(|rates| rates.total), number(&source["output_throughput"]));
    let ttft = cell.ttft_ms.as_ref().unwrap();
    assert_eq!(ttft.n, Some(12));
    assert_eq!(ttft.p50, number(&source["median_ttft_ms"]));
    assert_eq!(ttft.mean, number(&source["mean_ttft_ms"]));
    // Twelve samples bear no p99: it is told, but not as a figure.
    assert_eq!(ttft.p99, None);
    let why = &cell.unknown["ttft_ms.p99"];
    assert!(why.contains(&source["p99_ttft_ms"].to_string()) && why.contains("needs 662"), "{why}");
    let between = cell.time_between_tokens_ms.as_ref().unwrap();
    assert_eq!(between.p50, number(&source["median_tpot_ms"]));
    assert_eq!(cell.tokens.out, source["total_output_tokens"].as_u64());
    assert_eq!(cell.tokens.input, source["total_input_tokens"].as_u64());
    assert_eq!(cell.tokens.source, None);
    assert!(cell.unknown["tokens.source"].contains("usage"));
    assert_eq!(
        (cell.requests.started, cell.requests.ended, cell.requests.failed),
        (Some(12), Some(12), Some(0))
    );
    assert_eq!(cell.window.as_ref().map(|window| window.seconds), number(&source["duration"]));
    let longest = source["itls"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|gaps| gaps.as_array().unwrap())
        .filter_map(Value::as_f64)
        .fold(0.0, f64::max);
    assert_eq!(cell.longest_gap_ms, Some(longest * 1000.0));
    assert!(cell.unknown["window_view"].contains("10.033 ms"), "{}", cell.unknown["window_view"]);
    assert!(cell.flag(FlagCode::FewSamples).unwrap().detail.contains("1.9 s"));
    assert_eq!(run.settings.max_output_tokens, 64);
    assert_eq!(run.model.served_name.as_deref(), Some("bench"));
    assert_eq!(run.created_at, None);
    assert!(run.unknown["created_at"].contains("20261130-182543"));
}

#[test]
fn a_failed_request_makes_an_error() {
    let (run, source) = read(VLLM_FAILED);
    check_common(&run, "vllm_bench_serve", "vllm bench serve");
    let cell = only(&run);
    assert_eq!((cell.requests.ended, cell.requests.failed), (Some(11), Some(1)));
    assert_eq!(cell.status, Status::Error);
    let reason = cell.reason.as_ref().unwrap();
    assert_eq!(reason.rule, ReasonRule::Stated);
    assert!(reason.text.contains("1 of 12 requests failed"), "{}", reason.text);
    assert!(reason.text.contains("error decoding response body"), "{}", reason.text);
    // The Rust client writes UTC.
    assert_eq!(run.created_at.as_deref(), source["date"].as_str());
}

#[test]
fn aiperf_by_its_figures() {
    let (run, source) = read(AIPERF);
    check_common(&run, "aiperf", "AIPerf");
    assert_eq!(run.tool.version, "0.13.0");
    let cell = only(&run);
    assert_eq!((cell.context_nominal, cell.concurrency, cell.status), (64, 4, Status::Valid));
    let actual = cell.context_actual.unwrap();
    assert_eq!((actual.n, actual.p50, actual.min, actual.max), (12, 37.0, 25, 42));
    let same = [
        (&cell.ttft_ms, "time_to_first_token"),
        (&cell.time_between_tokens_ms, "inter_token_latency"),
        (&cell.per_request_rate, "output_token_throughput_per_user"),
        (&cell.time_to_answer_ms, "time_to_first_output_token"),
    ];
    for (kept, name) in same {
        let (kept, told) = (kept.as_ref().unwrap(), &source[name]);
        assert_eq!(kept.n, told["count"].as_u64(), "{name}");
        assert_eq!(kept.p50, number(&told["p50"]), "{name}");
        assert_eq!(kept.mean, number(&told["avg"]), "{name}");
        assert_eq!((kept.min, kept.max), (number(&told["min"]), number(&told["max"])), "{name}");
        assert_eq!((kept.p90, kept.p95, kept.p99), (None, None, None), "{name}");
    }
    let total = cell.throughput.as_ref().map(|rates| rates.total);
    assert_eq!(total, number(&source["output_token_throughput"]["avg"]));
    assert_eq!(cell.longest_gap_ms, number(&source["inter_chunk_latency"]["max"]));
    assert_eq!(cell.average_active_requests, number(&source["effective_concurrency"]["avg"]));
    assert_eq!((cell.tokens.out, cell.tokens.input), (Some(768), Some(434)));
    assert_eq!(cell.tokens.source, Some(TokenSource::UsageFinal));
    assert_eq!((cell.requests.ended, cell.requests.failed), (Some(12), Some(0)));
    assert_eq!(
        cell.window.as_ref().map(|window| window.seconds),
        number(&source["benchmark_duration"]["avg"])
    );
    assert_eq!(run.settings.max_output_tokens, 64);
    assert_eq!(run.target.url.as_deref(), Some("http://127.0.0.1:18777"));
    assert!(run.unknown["created_at"].contains("2026-11-30T18:26:00"));
}

#[test]
fn aiperf_that_counts_by_itself_is_flagged() {
    let mut source: Value = serde_json::from_str(AIPERF).unwrap();
    source["input_config"]["endpoint"]["use_server_token_count"] = false.into();
    let (run, _) = read(&source.to_string());
    let cell = only(&run);
    assert_eq!(cell.tokens.source, None);
    assert!(cell.flag(FlagCode::TokensEstimated).is_some());
    source["time_to_first_token"]["unit"] = "sec".into();
    let message = import::read(&source.to_string(), "odd.json").unwrap_err().to_string();
    assert!(message.contains("time_to_first_token is in sec, expected ms"), "{message}");
}

#[test]
fn guidellm_by_its_figures() {
    let (run, source) = read(GUIDELLM);
    check_common(&run, "guidellm", "GuideLLM");
    assert_eq!(run.tool.version, "0.8.1");
    let (cell, metrics) = (only(&run), &source["benchmarks"][0]["metrics"]);
    assert_eq!((cell.context_nominal, cell.concurrency, cell.status), (64, 4, Status::Valid));
    let same =
        [(&cell.ttft_ms, "time_to_first_token_ms"), (&cell.time_between_tokens_ms, "inter_token_latency_ms")];
    for (kept, name) in same {
        let (kept, told) = (kept.as_ref().unwrap(), &metrics[name]["successful"]);
        assert_eq!(kept.n, Some(12), "{name}");
        assert_eq!(kept.p50, number(&told["median"]), "{name}");
        assert_eq!(kept.mean, number(&told["mean"]), "{name}");
        assert_eq!((kept.min, kept.max), (number(&told["min"]), number(&told["max"])), "{name}");
    }
    // Its percentiles weigh a request by its tokens: 12 requests, not 756.
    assert!(cell.unknown["time_between_tokens_ms.n"].contains("756 in all"));
    let total = cell.throughput.as_ref().map(|rates| rates.total);
    assert_eq!(total, number(&metrics["output_tokens_per_second"]["successful"]["mean"]));
    let active = &metrics["request_concurrency"]["successful"]["mean"];
    assert_eq!(cell.average_active_requests, number(active));
    assert_eq!((cell.tokens.out, cell.tokens.input), (Some(768), Some(376)));
    assert_eq!((cell.requests.ended, cell.requests.failed, cell.requests.cut), (Some(12), Some(0), Some(0)));
    assert_eq!(
        cell.window.as_ref().map(|window| window.seconds),
        number(&source["benchmarks"][0]["duration"])
    );
    assert!(cell.longest_gap_ms.is_none() && cell.unknown["longest_gap_ms"].contains("no gaps"));
    assert_eq!(run.settings.max_output_tokens, 64);
    assert_eq!(run.model.served_name.as_deref(), Some("bench"));
}

#[test]
fn guidellm_without_a_fixed_concurrency_is_no_matrix() {
    let mut source: Value = serde_json::from_str(GUIDELLM).unwrap();
    let mut constant = source["benchmarks"][0].clone();
    constant["config"]["strategy"]["type_"] = "constant".into();
    source["benchmarks"].as_array_mut().unwrap().push(constant);
    let (run, _) = read(&source.to_string());
    assert!(run.remarks[0].contains("constant"));
    source["benchmarks"].as_array_mut().unwrap().remove(0);
    let message = import::read(&source.to_string(), "odd.json").unwrap_err().to_string();
    assert!(message.contains("only benchmarks with the strategy constant"), "{message}");
}

#[test]
fn llm_inference_bench_by_its_figures() {
    let (run, source) = read(BENCH);
    check_common(&run, "llm_inference_bench", "llm-inference-bench");
    assert_eq!(run.tool.version, "0.6.2");
    assert_eq!(run.engine.name.as_deref(), Some("vllm"));
    assert_eq!(run.capacity.kv_tokens, Some(100_000));
    assert_eq!((run.settings.duration_seconds, run.settings.max_output_tokens), (30.0, 4096));
    assert_eq!(run.settings.prefill_mode, "integrated_decode_scout");
    assert_eq!(run.settings.respect_eos, Some(false));
    let of = |name: &str| run.cells.iter().find(|cell| cell.name() == name).unwrap();

    let prefill = of("prefill-8192");
    assert_eq!((prefill.prefill_rate, prefill.ttft_ms.as_ref().unwrap().p50), (Some(9397.0), Some(871.0)));
    assert_eq!(prefill.context_actual.unwrap().p50, 8185.0);

    let (first, told) = (of("decode-8192-1"), &source["results"][0]);
    assert_eq!(first.status, Status::Valid);
    assert_eq!(first.throughput.as_ref().map(|rates| rates.total), number(&told["aggregate_tps"]));
    let p50 = |kept: &Option<tokometer_record::Distribution>| kept.as_ref().and_then(|all| all.p50);
    assert_eq!(p50(&first.ttft_ms), number(&told["ttft_p50"]).map(|seconds| 1000.0 * seconds));
    let between = number(&told["inter_token_latency_p50"]).map(|seconds| 1000.0 * seconds);
    assert_eq!(p50(&first.time_between_tokens_ms), between);
    assert_eq!(p50(&first.per_request_rate), number(&told["output_tps_per_user_p50"]));
    assert_eq!(first.window.as_ref().map(|window| window.seconds), Some(29.93));
    assert_eq!(first.tokens.out, told["client_output_tokens"].as_u64());
    assert_eq!(first.tokens.source, Some(TokenSource::Usage));
    assert_eq!((first.requests.started, first.requests.ended), (Some(2), Some(1)));
    assert_eq!(first.context_actual.unwrap().p50, 8185.0);
    assert_eq!(first.average_active_requests, Some(1.0));

    let chunks = of("decode-8192-4");
    assert_eq!((chunks.status, chunks.tokens.source), (Status::Valid, Some(TokenSource::Events)));
    assert!(chunks.flag(FlagCode::TokensEstimated).is_some() && chunks.flag(FlagCode::Underfilled).is_some());
    let looped = of("decode-16384-1");
    assert_eq!((looped.status, looped.throughput.is_none()), (Status::Looped, true));
    let failed = of("decode-16384-4");
    assert_eq!(failed.status, Status::Error);
    assert!(failed.reason.as_ref().unwrap().text.contains("the engine is gone"));
    assert!(failed.window.is_none() && failed.unknown.contains_key("window"));
    // 16 × (8192 + 4096) tokens do not fit 100,000; the file leaves such cells out.
    let over = of("decode-8192-16");
    let reason = over.reason.as_ref().unwrap();
    assert_eq!((over.status, reason.rule), (Status::OverCapacity, ReasonRule::KvTokens));
    assert_eq!((reason.needed, reason.available), (Some(196_608), Some(100_000)));
    assert!(run.remarks[0].contains("1 burst results"));
}

#[test]
fn a_gauge_that_was_not_there_is_not_zero() {
    let mut source: Value = serde_json::from_str(BENCH).unwrap();
    source["metadata"]["metrics_available"] = false.into();
    source["results"][0]["avg_running_reqs"] = 0.0.into();
    let (run, _) = read(&source.to_string());
    let cell = run.cells.iter().find(|cell| cell.name() == "decode-8192-1").unwrap();
    assert_eq!(cell.average_active_requests, None);
    assert!(cell.unknown["average_active_requests"].contains("no gauge"));
}

#[test]
fn a_published_matrix_is_known_too() {
    let run = import::read(tokometer_record::published::H200_X4, "h200-x4.json").unwrap();
    assert_eq!(run, import::published(tokometer_record::published::H200_X4, "h200-x4.json").unwrap());
}

#[test]
fn an_unknown_file_is_told_what_can_be_imported() {
    for text in ["{\"hello\": 1}", "[]", "not json at all", ""] {
        let message = import::read(text, "odd.json").unwrap_err().to_string();
        assert!(message.starts_with("odd.json: "), "{message}");
        for known in ["llm-inference-bench", "vllm bench serve", "AIPerf", "guidellm", "published matrix"] {
            assert!(message.contains(known), "{known} is not in {message:?}");
        }
    }
}

#[test]
fn a_damaged_file_of_a_known_tool_says_what_is_missing() {
    type Change<'a> = &'a dyn Fn(&mut Value);
    let cases: [(&str, &str, Change<'_>); 5] = [
        (VLLM, "missing field `duration`", &|all| drop(all.as_object_mut().unwrap().remove("duration"))),
        (VLLM, "a duration of 0 s", &|all| all["duration"] = 0.0.into()),
        (AIPERF, "no benchmark_duration", &|all| all["benchmark_duration"] = Value::Null),
        (GUIDELLM, "request_totals", &|all| all["benchmarks"][0]["metrics"]["request_totals"] = 1.into()),
        (BENCH, "no max_tokens", &|all| all["metadata"]["max_tokens"] = Value::Null),
    ];
    for (text, expected, change) in cases {
        let mut source: Value = serde_json::from_str(text).unwrap();
        change(&mut source);
        let message = import::read(&source.to_string(), "odd.json").unwrap_err().to_string();
        assert!(message.contains(expected), "{expected:?} is not in {message:?}");
    }
}
