//! Runs compared.

use tokometer_analysis::{AnalysisError, CompareOptions, Gate, compare, parse_service_level};
use tokometer_record::comparison::{Comparison, Metric, NoticeCode, PairedBy, Severity, SloMiss, Verdict};
use tokometer_record::telemetry::CellTelemetry;
use tokometer_record::{
    Accelerator, Cell, Interval, Phase, Run, Spread, Status, Throughput, Tool, Window, import, published,
};

use crate::build::settings;

fn imported() -> [Run; 2] {
    [published::RTX_PRO_6000_X4, published::H200_X4]
        .map(|text| import::published(text, "matrix.json").unwrap())
}

/// A valid decode cell with six batches around `rate`, spread by `noise` (relative).
fn decode(context: u64, concurrency: u32, rate: f64, noise: f64) -> Cell {
    let batches: Vec<f64> =
        [-1.0, 1.0, -0.5, 0.5, -0.2, 0.2].iter().map(|step| rate * (1.0 + noise * step)).collect();
    let mut cell = Cell::planned(Phase::Decode, context, concurrency);
    cell.status = Status::Valid;
    cell.throughput = Some(Throughput {
        total: rate * 0.99,
        interval: Some(Interval {
            low: rate * (1.0 - noise),
            high: rate * (1.0 + noise),
            half_width_relative: noise,
            level: 0.95,
            method: "batch_means_t".to_owned(),
            scope: "within_run".to_owned(),
        }),
        decoding: Some(rate),
        restart_share: Some(0.01),
        batches,
        lag1: None,
    });
    cell.context_actual = Some(Spread { n: 4, p50: context as f64, min: context, max: context });
    cell.window = Some(Window { start_ns: Some(0), end_ns: Some(10_000_000_000), seconds: 10.0 });
    cell
}

fn run(id: &str, cells: Vec<Cell>) -> Run {
    let mut run = Run::new(id.to_owned(), Tool::default(), settings());
    run.cells = cells;
    run
}

fn plain(runs: &[Run]) -> Comparison {
    compare(runs, &CompareOptions::default()).unwrap()
}

fn gated(runs: &[Run], gate: &str) -> Comparison {
    let options = CompareOptions { gates: vec![gate.parse().unwrap()], ..CompareOptions::default() };
    compare(runs, &options).unwrap()
}

fn headline(comparison: &Comparison, index: usize) -> (f64, Verdict) {
    let pair = &comparison.against[0].pairs[index];
    let ratio = pair.headline().unwrap();
    (ratio.ratio.unwrap(), ratio.verdict)
}

#[test]
fn the_published_matrices() {
    let comparison = plain(&imported());
    let difference = |path: &str| {
        comparison
            .differences
            .iter()
            .find(|difference| difference.path == path)
            .unwrap_or_else(|| panic!("{path} in {:#?}", comparison.differences))
    };
    let values = |path: &str| -> Vec<String> {
        difference(path).values.iter().map(|value| value.effective.clone().unwrap()).collect()
    };
    assert_eq!(values("launch.speculative"), ["off", "mtp, 1 token"]);
    assert_eq!(difference("launch.speculative").severity, Severity::High);
    assert_eq!(values("launch.moe_backend"), ["triton", "auto"]);
    assert_eq!(difference("launch.moe_backend").severity, Severity::Medium);
    // The flag differs, and nothing by it: the checkpoint is BF16.
    let dtype = difference("launch.dtype");
    assert_eq!((dtype.severity, dtype.effective), (Severity::None, false));
    assert_eq!(values("launch.dtype"), ["bfloat16", "bfloat16"]);
    assert_eq!(dtype.values[1].literal.as_deref(), Some("--dtype bfloat16"));
    assert_eq!(dtype.values[0].literal, None);
    assert_eq!(values("launch.memory_share"), ["0.83", "0.84"]);
    assert_eq!(difference("hardware.accelerators").severity, Severity::High);
    assert_eq!(comparison.differences.len(), 5, "{:#?}", comparison.differences);

    let notice = &comparison.notices[0];
    assert_eq!(notice.code, NoticeCode::NotAHardwareComparison);
    assert!(notice.text.contains("speculative decoding and MoE backend differ"), "{}", notice.text);
    let codes: Vec<NoticeCode> = comparison.notices.iter().map(|notice| notice.code).collect();
    assert!(
        codes.contains(&NoticeCode::PairedByLabel) && codes.contains(&NoticeCode::NoIntervals),
        "{codes:?}"
    );

    let ratios = &comparison.against[0];
    assert_eq!((ratios.decode_pairs, ratios.prefill_pairs), (28, 7));
    assert!(ratios.pairs.iter().all(|pair| pair.paired_by == PairedBy::Label));
    for (concurrency, expected) in [(1, "2.07"), (64, "2.94")] {
        let ratio = ratios.pair(Phase::Decode, 8192, concurrency).unwrap().headline().unwrap();
        assert_eq!(format!("{:.2}", ratio.ratio.unwrap()), expected);
        assert_eq!((ratio.verdict, ratio.interval), (Verdict::NotTested, None));
        assert!(ratio.reason.is_some());
    }
    let decode_cells = |run: &Run| run.cells.iter().filter(|cell| cell.phase == Phase::Decode).count();
    let unpaired = ratios.unpaired.iter().filter(|cell| cell.phase == Phase::Decode).count();
    assert_eq!(28 + unpaired, decode_cells(&imported()[0]), "every cell is paired or has a reason");
    let mean = ratios.means.iter().find(|mean| mean.metric == Metric::TotalRate).unwrap();
    let [low, high] = mean.interval.unwrap();
    assert!(mean.n == 28 && low < mean.ratio && mean.ratio < high && low > 2.0, "{mean:?}");
}

#[test]
fn users_of_the_published_matrices() {
    let comparison = plain(&imported());
    let users = comparison.users.unwrap();
    let answers: Vec<[Option<u32>; 2]> =
        users.contexts.iter().map(|context| [context.runs[0].users, context.runs[1].users]).collect();
    // 8K × 2 of the first has a TTFT of 1,225 ms: what lies above it counts, and it is told.
    let some = |one: u32, other: u32| [Some(one), Some(other)];
    assert_eq!(answers, [some(16, 32), some(16, 32), some(8, 16), some(8, 8), some(4, 8), some(2, 1)]);
    let first = &users.contexts[0].runs[0];
    let said = |miss: &SloMiss| format!("{}: {}", miss.concurrency, miss.why);
    assert_eq!(first.next.as_ref().map(said).as_deref(), Some("32: 38.5 tok/s"));
    assert_eq!(first.below.iter().map(said).collect::<Vec<_>>(), ["2: TTFT 1.23 s"]);
}

#[test]
fn rates_per_gpu_and_energy_are_compared() {
    let made = |id: &str, rate: f64, gpus: u32, joules: f64| {
        let mut cell = decode(8192, 1, rate, 0.002);
        cell.telemetry = Some(CellTelemetry { joules_per_token: Some(joules), ..CellTelemetry::default() });
        let mut run = run(id, vec![cell]);
        run.hardware.accelerators =
            vec![Accelerator { name: "H200 SXM".to_owned(), count: gpus, memory_gb: None }];
        run
    };
    let comparison = plain(&[made("a", 100.0, 4, 2.0), made("b", 150.0, 8, 3.0)]);
    let pair = &comparison.against[0].pairs[0];
    let per_gpu = pair.metric(Metric::PerGpuRate).unwrap();
    assert!((per_gpu.ratio.unwrap() - 0.75).abs() < 1e-12 && per_gpu.verdict == Verdict::Slower);
    assert_eq!(per_gpu.base.unwrap().value, 99.0 / 4.0);
    let [low, high] = per_gpu.interval.unwrap();
    let [low_total, high_total] = pair.metric(Metric::TotalRate).unwrap().interval.unwrap();
    assert!((low_total / low - 2.0).abs() < 1e-9 && (high_total / high - 2.0).abs() < 1e-9);
    let energy = pair.metric(Metric::EnergyPerToken).unwrap();
    assert_eq!((energy.ratio, energy.verdict), (Some(1.5), Verdict::NotTested));
    assert!(!Metric::EnergyPerToken.higher_is_better() && Metric::VerifyStepsRate.higher_is_better());
    assert!(
        gated(&[made("a", 100.0, 4, 2.0), made("b", 100.0, 4, 2.2)], "energy_per_token>2.1").gate_failed()
    );
    // As many on both sides: nothing that the total rate does not say.
    let comparison = plain(&[made("a", 100.0, 4, 2.0), made("b", 150.0, 4, 3.0)]);
    assert!(comparison.against[0].pairs[0].metric(Metric::PerGpuRate).is_none());
}

#[test]
fn differences_are_found_where_they_are_and_only_there() {
    let same = |rate: f64| vec![decode(8192, 1, rate, 0.002), decode(8192, 4, rate * 3.0, 0.002)];
    let comparison = plain(&[run("a", same(100.0)), run("b", same(110.0))]);
    let (ratio, verdict) = headline(&comparison, 0);
    assert!((ratio - 1.1).abs() < 1e-12 && verdict == Verdict::Faster);
    let [low, high] = comparison.against[0].pairs[0].headline().unwrap().interval.unwrap();
    assert!(low < 1.1 && 1.1 < high && low > 1.09 && high < 1.11, "{low} {high}");
    assert_eq!(headline(&plain(&[run("a", same(110.0)), run("b", same(100.0))]), 0).1, Verdict::Slower);

    // Sure, and too small to matter.
    let small = plain(&[run("a", same(100.0)), run("b", same(100.7))]);
    let ratio = small.against[0].pairs[0].headline().unwrap();
    assert_eq!(ratio.verdict, Verdict::NoDetectableDifference);
    assert!(ratio.reason.as_ref().unwrap().contains("floor of 1.0 %"), "{ratio:?}");
    // Large, and not sure.
    let noisy = |rate: f64| vec![decode(8192, 1, rate, 0.2)];
    let ratio = plain(&[run("a", noisy(100.0)), run("b", noisy(110.0))]);
    let ratio = ratio.against[0].pairs[0].headline().unwrap();
    assert_eq!(ratio.verdict, Verdict::NoDetectableDifference);
    assert!(ratio.reason.as_ref().unwrap().contains("holds 1"), "{ratio:?}");
}

#[test]
fn one_of_many_cells_that_looks_different_by_chance_is_not_taken_for_a_difference() {
    // p of about 0.03: alone it stands, among 20 that are alike it does not.
    let rate = |concurrency: u32| if concurrency == 1 { 106.0 } else { 100.0 };
    let cells = |count: u32, new: bool| -> Vec<Cell> {
        (1..=count).map(|c| decode(8192, c, if new { rate(c) } else { 100.0 }, 0.055)).collect()
    };
    let of = |count| plain(&[run("a", cells(count, false)), run("b", cells(count, true))]);
    let p = of(1).against[0].pairs[0].headline().unwrap().p_value.unwrap();
    assert!((0.01..0.05).contains(&p), "{p}");
    assert_eq!(headline(&of(1), 0).1, Verdict::Faster);
    let many = of(20);
    assert_eq!(headline(&many, 0).1, Verdict::NoDetectableDifference);
    let reason = many.against[0].pairs[0].headline().unwrap().reason.clone().unwrap();
    assert!(reason.contains("one of 20 cells"), "{reason}");
}

#[test]
fn cells_pair_by_actual_tokens_only() {
    let with = |tokens: Option<f64>, status: Status| {
        let mut cell = decode(8192, 1, 100.0, 0.01);
        cell.context_actual = tokens.map(|p50| Spread { n: 1, p50, min: p50 as u64, max: p50 as u64 });
        cell.status = status;
        cell
    };
    let of = |one: Cell, other: Cell| plain(&[run("a", vec![one]), run("b", vec![other])]);
    let valid = |tokens| with(tokens, Status::Valid);
    assert_eq!(
        of(valid(Some(8192.0)), valid(Some(8200.0))).against[0].pairs[0].paired_by,
        PairedBy::ActualTokens
    );
    assert_eq!(of(valid(Some(8192.0)), valid(None)).against[0].pairs[0].paired_by, PairedBy::Label);
    let other_length = of(valid(Some(8192.0)), valid(Some(8300.0)));
    assert!(other_length.against[0].pairs.is_empty());
    assert!(other_length.against[0].unpaired[0].reason.contains("8192 and 8300"));
    let looped = of(valid(Some(8192.0)), with(Some(8192.0), Status::Looped));
    assert_eq!(looped.against[0].unpaired[0].reason, "new run: looped");
    let lonely =
        plain(&[run("a", vec![decode(8192, 1, 1.0, 0.1)]), run("b", vec![decode(8192, 2, 1.0, 0.1)])]);
    let reasons: Vec<&str> = lonely.against[0].unpaired.iter().map(|cell| cell.reason.as_str()).collect();
    assert_eq!(reasons, ["the new run has no such cell", "the base has no such cell"]);
}

#[test]
fn windows_of_other_length_are_compared_by_decoding_rate() {
    let mut longer = decode(8192, 1, 120.0, 0.001);
    longer.window = Some(Window { start_ns: Some(0), end_ns: Some(30_000_000_000), seconds: 30.0 });
    let runs = [run("a", vec![decode(8192, 1, 100.0, 0.001)]), run("b", vec![longer])];
    let comparison = plain(&runs);
    let pair = &comparison.against[0].pairs[0];
    assert_eq!(pair.headline, Metric::DecodingRate);
    assert_eq!(headline(&comparison, 0), (1.2, Verdict::Faster));
    assert_eq!(pair.metric(Metric::TotalRate).unwrap().verdict, Verdict::NotComparable);
    assert!(comparison.notices.iter().any(|notice| notice.code == NoticeCode::ByDecodingRate));
    // A gate on the total rate looks at what can be compared.
    let gate = &gated(&runs, "total_rate>+10%").gates[0];
    assert!(gate.failed && gate.failures[0].metric == Metric::DecodingRate, "{gate:?}");
}

#[test]
fn gates() {
    let runs = |new: f64, noise: f64| {
        [run("a", vec![decode(8192, 4, 100.0, noise)]), run("b", vec![decode(8192, 4, new, noise)])]
    };
    let failed = |runs: &[Run], gate: &str| gated(runs, gate).gate_failed();
    assert!(failed(&runs(95.0, 0.002), "total_rate<-3%"));
    assert!(!failed(&runs(98.0, 0.002), "total_rate<-3%"), "not beyond the limit");
    assert!(!failed(&runs(95.0, 0.2), "total_rate<-3%"), "beyond, and not detectable");
    assert!(failed(&runs(95.0, 0.002), "total-rate < -4.5"), "a change in tok/s");
    assert!(!failed(&runs(95.0, 0.002), "total_rate<-5.5tok/s"));
    assert!(failed(&runs(95.0, 0.002), "total_rate<100"), "the run's own figure");
    assert!(!failed(&runs(95.0, 0.2), "total_rate<100"), "its interval holds the limit");
    assert!(failed(&runs(95.0, 0.002), "ttft>1s"), "a gate that nothing can be judged by");

    let published = gated(&imported(), "total_rate<+150%");
    let gate = &published.gates[0];
    assert!(gate.failed && gate.cells == 28 && gate.failures.iter().all(|failure| !failure.tested));
    assert!(gate.notes.iter().any(|note| note.contains("28 cells have no interval")), "{gate:?}");

    for (text, word) in [
        ("total_rate", "no < or >"),
        ("speed<-3%", "total_rate, decoding_rate"),
        ("total_rate<much", "no limit"),
        ("ttft>5tok/s", "no limit"),
    ] {
        let error = text.parse::<Gate>().unwrap_err().to_string();
        assert!(error.contains(word) && error.contains(text), "{error}");
    }
}

#[test]
fn one_sample_is_not_tested_and_several_are() {
    let prefill = |samples: &[f64]| {
        let mut cell = Cell::planned(Phase::Prefill, 8192, 1);
        cell.status = Status::Valid;
        cell.prefill_rate = Some(samples[samples.len() / 2]);
        cell.prefill_samples = samples.to_vec();
        cell
    };
    let of =
        |one: &[f64], other: &[f64]| plain(&[run("a", vec![prefill(one)]), run("b", vec![prefill(other)])]);
    assert_eq!(headline(&of(&[1000.0], &[1500.0]), 0), (1.5, Verdict::NotTested));
    let several = of(&[999.0, 1000.0, 1001.0], &[1499.0, 1500.0, 1501.0]);
    assert_eq!(headline(&several, 0), (1.5, Verdict::Faster));
    assert_eq!(several.against[0].prefill_pairs, 1);
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let runs =
        |count: usize| -> Vec<Run> { (0..count).map(|index| run(&index.to_string(), vec![])).collect() };
    for count in [0, 1, 7] {
        assert!(matches!(compare(&runs(count), &CompareOptions::default()), Err(AnalysisError::Runs { .. })));
    }
    assert!(compare(&runs(6), &CompareOptions::default()).is_ok());
    let twice = [run("a", vec![]), run("a", vec![])];
    assert!(matches!(compare(&twice, &CompareOptions::default()), Err(AnalysisError::SameRun { .. })));
    for bad in ["", "ttft<=1s,speed>=2", "rate>=0", "ttft<=soon", "share>=95%", "rate<=50"] {
        assert!(parse_service_level(bad).is_err(), "{bad}");
    }
    let level = parse_service_level("ttft <= 500ms, rate>=30, share>=95%").unwrap();
    assert_eq!((level.most_ttft_ms, level.least_rate, level.share), (Some(500.0), Some(30.0), 0.95));
}

#[test]
fn notices_follow_the_setup() {
    let setup = |id: &str, gpu: &str, command: &str| {
        let mut run = run(id, vec![]);
        run.engine.name = Some("vllm".to_owned());
        run.engine.backend = Some("cuda".to_owned());
        run.model.id = Some("m".to_owned());
        run.model.quantization = Some("BF16".to_owned());
        run.hardware.accelerators =
            vec![tokometer_record::Accelerator { name: gpu.to_owned(), count: 1, memory_gb: None }];
        run.launch_command = Some(command.to_owned());
        run
    };
    let code = |one: Run, other: Run| plain(&[one, other]).notices[0].code;
    let plain_run = || setup("a", "H100", "vllm serve m");
    assert_eq!(code(plain_run(), setup("b", "H100", "vllm serve m -tp 1 --port 9")), NoticeCode::SameSetup);
    assert_eq!(code(plain_run(), setup("b", "H200", "vllm serve m")), NoticeCode::HardwareComparison);
    assert_eq!(code(plain_run(), setup("b", "H100", "vllm serve m -tp 2")), NoticeCode::SettingsComparison);
    assert_eq!(
        code(plain_run(), setup("b", "H200", "vllm serve m --new-thing 2")),
        NoticeCode::NotAHardwareComparison
    );
    let mut quantised = setup("b", "H100", "vllm serve m");
    quantised.model.quantization = Some("FP8".to_owned());
    assert_eq!(code(plain_run(), quantised), NoticeCode::NotTheSameModel);
    let mut longer = setup("b", "H100", "vllm serve m");
    longer.settings.max_output_tokens += 1;
    assert_eq!(code(plain_run(), longer), NoticeCode::NotTheSameMeasurement);
    let mut silent = setup("b", "H100", "");
    silent.launch_command = None;
    let notices = plain(&[plain_run(), silent]).notices;
    let unknown = notices.iter().find(|notice| notice.code == NoticeCode::NotKnown).unwrap();
    assert_eq!(unknown.text, "run 2 does not tell the launch command: a difference there would not be seen");
}
