//! Repeats, order, adaptive windows and speculative decoding, by the real binary.

use tokometer_analysis::adaptive::replay;
use tokometer_record::{AdaptiveEnd, Order, RunFolder, SpeculativeSource, Status};

use crate::support::{call, load, only_run};

/// A verification of the run holds, and all of its rows were computed again.
fn holds(folder: &std::path::Path, rows: usize) {
    let ended = call(["verify", &folder.to_string_lossy()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains(&format!("{rows} rows computed again")), "{ended:?}");
}

#[test]
fn rounds_of_a_shuffled_plan_give_one_row_a_cell_and_a_trace_a_repeat() {
    let out = tempfile::tempdir().unwrap();
    let out_dir = out.path().to_string_lossy().into_owned();
    let ended = call([
        "demo",
        "--contexts",
        "1k,2k",
        "--concurrency",
        "1,2",
        "--duration",
        "1s",
        "--repeats",
        "2",
        "--order",
        "shuffled",
        "--out",
        &out_dir,
    ]);
    let folder = only_run(out.path());
    let run = load(&folder);
    assert_eq!((run.settings.repeats, run.settings.order), (2, Order::Shuffled));
    assert_eq!(run.cells.len(), 6, "{ended:?}");
    for cell in &run.cells {
        assert_eq!(cell.repeats.len(), 2, "{ended:?}");
        assert_eq!(cell.trace, None);
        let files: Vec<&str> = cell.traces().map(|trace| trace.file.as_str()).collect();
        let name = cell.name();
        assert_eq!(files, [format!("trace/{name}.1.parquet"), format!("trace/{name}.2.parquet")]);
        for (repeat, file) in cell.repeats.iter().zip(cell.traces()) {
            let trace = RunFolder::open(&folder).unwrap().load_trace(file).unwrap();
            assert_eq!(trace.meta.repeat, Some(repeat.repeat));
        }
        if cell.status != Status::Valid {
            continue;
        }
        if let Some(rates) = &cell.throughput {
            let totals: Vec<f64> = cell.repeats.iter().filter_map(|repeat| repeat.total).collect();
            assert!((rates.total - totals[0].midpoint(totals[1])).abs() < 1e-9 * rates.total);
            assert_eq!(rates.interval.as_ref().unwrap().scope, "repeats");
        } else {
            assert_eq!(cell.prefill_interval.as_ref().unwrap().scope, "repeats");
        }
    }
    holds(&folder, 6);

    // One round after the other: every row once, then every row again.
    let steps: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with('[')).collect();
    assert_eq!(steps.len(), 12, "{ended:?}");
    assert!(steps[..6].iter().all(|line| line.contains("] repeat 1, ")), "{steps:?}");
    assert!(steps[6..].iter().all(|line| line.contains("] repeat 2, ")), "{steps:?}");
    assert!(ended.stderr.contains("windows: 8.0 s in all, 8 windows of 1.0 s"), "{ended:?}");
    assert!(ended.stderr.contains("all 2 times"), "{ended:?}");
}

#[test]
fn an_adaptive_window_can_be_made_again_from_its_trace() {
    let out = tempfile::tempdir().unwrap();
    let out_dir = out.path().to_string_lossy().into_owned();
    let ended = call([
        "demo",
        "--contexts",
        "1k",
        "--concurrency",
        "2",
        "--adaptive",
        "--duration",
        "5s",
        "--speculative",
        "2,0.6",
        "--out",
        &out_dir,
    ]);
    let folder = only_run(out.path());
    let run = load(&folder);
    assert!(run.settings.adaptive);
    assert_eq!(run.settings.decode_test, "adaptive_duration");
    let cell = run.cells.iter().find(|cell| cell.adaptive.is_some()).unwrap_or_else(|| panic!("{ended:?}"));
    let found = cell.adaptive.clone().unwrap();
    assert_ne!(found.end, AdaptiveEnd::Undecided);
    let last = found.checks.last().unwrap();
    let window = cell.window.as_ref().unwrap();
    assert!((window.seconds - last.seconds).abs() < 1e-6, "the window ends at its last check");
    let trace = RunFolder::open(&folder).unwrap().load_trace(cell.trace.as_ref().unwrap()).unwrap();
    let again = replay(&trace).unwrap();
    assert_eq!((again.end, again.checks.len()), (found.end, found.checks.len()));
    for (again, found) in again.checks.iter().zip(&found.checks) {
        let (again, found) = (again.half_width_relative.unwrap(), found.half_width_relative.unwrap());
        assert!((again - found).abs() < 1e-3, "{again} {found}");
    }

    // 1 + 0.6 + 0.36, by what the engine drew.
    let figures = cell.speculative.as_ref().unwrap();
    assert_eq!(figures.source, SpeculativeSource::Counters);
    assert!((1.8..2.1).contains(&figures.acceptance_length), "{figures:?}");
    let total = cell.throughput.as_ref().unwrap().total;
    assert!((figures.verify_steps_rate.unwrap() - total / figures.acceptance_length).abs() < 1e-9 * total);
    if cell.status == Status::Valid {
        assert!(ended.stdout.contains("SPECULATIVE DECODING"), "{ended:?}");
    }
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("Tokens per step"));
    holds(&folder, run.cells.len());

    // The machine's series is one of its files.
    if cfg!(target_os = "linux") {
        let file = folder.join(&run.telemetry.as_ref().unwrap().file);
        let mut bytes = std::fs::read(&file).unwrap();
        bytes.push(0);
        std::fs::write(&file, bytes).unwrap();
        let ended = call(["verify", &folder.to_string_lossy()]);
        assert!(ended.code == Some(1) && ended.stdout.contains("telemetry"), "{ended:?}");
    }
}

#[test]
fn a_warm_cache_that_is_sold_as_cold_is_flagged() {
    use tokometer_record::{FlagCode, Phase};
    use tokometer_sim::{Dialect, Profile, Server, ServerOptions};
    // Neither dialect tells cached tokens in its usage; the third tells them there.
    for (dialect, prompts) in [
        (Dialect::Vllm, ["--prompts", "shared"].as_slice()),
        (Dialect::Sglang, &["--prompts", "unique", "--cold"]),
        (Dialect::LlamaCpp, &["--prompts", "shared"]),
    ] {
        let profile = Profile::builtin("h200-x4").unwrap();
        let faults = vec!["warm-cache".parse().unwrap()];
        let server =
            Server::start(profile, ServerOptions { dialect, faults, ..ServerOptions::default() }).unwrap();
        let out = tempfile::tempdir().unwrap();
        let out_dir = out.path().to_string_lossy().into_owned();
        let url = format!("http://{}", server.addr());
        let small = ["--contexts", "4k", "--concurrency", "1", "--duration", "1s", "--prefill-repeats", "2"];
        let args =
            ["run", &url, "--yes", "--out", &out_dir].into_iter().chain(small).chain(prompts.iter().copied());
        let ended = call(args);
        let run = load(&only_run(out.path()));
        let row = run.cells.iter().find(|cell| cell.phase == Phase::Prefill).unwrap();
        let flag = row.flag(FlagCode::PrefixHit).unwrap_or_else(|| panic!("{dialect}: {ended:?}"));
        assert!(flag.figures[0].value > 0.9, "{dialect}: {flag:?}");
        // What is left of the prompt is what the rate is of: far below the whole prompt over its time.
        let prompt = row.context_actual.unwrap().p50;
        for (rate, ttft) in row.prefill_samples.iter().zip([row.ttft_ms.as_ref().unwrap().max.unwrap(); 2]) {
            assert!(rate * ttft / 1e3 < 0.1 * prompt, "{dialect}: {rate} tok/s, {ttft} ms, {prompt} tokens");
        }
        if prompts.contains(&"--cold") {
            let cell = run.cells.iter().find(|cell| cell.phase == Phase::Decode).unwrap();
            assert!(cell.flag(FlagCode::PrefixHit).is_some(), "{dialect}: {:?}", cell.flags);
        }
        server.stop();
    }
}
