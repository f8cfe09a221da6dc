//! The corpus of bad runs in `tests/runs`: each was measured wrong in one way, and must say so.
//!
//! The runs come from the simulated engine's timing model (see `synthetic`), so they can be made again at any time:
//!
//! ```sh
//! TOKOMETER_UPDATE_RUNS=1 cargo test -p tokometer-analysis --test it corpus
//! ```
//!
//! The series of `throttled` comes from the driver library that the tests of `telemetry` have: when the corpus is made
//! again, it is read for as long as the cell takes.
//!
//! Two of them are sound measurements that were damaged afterwards: `edited-number` and `truncated-trace`. It takes
//! a verification to find them out; all others were measured badly and recorded truly, and hold.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokometer_analysis::telemetry::summarise_on;
use tokometer_analysis::{Context, FoundTrace, Telemetry, summarise, verify};
use tokometer_record::verification::{Check, Level, Reach, Verification};
use tokometer_record::{
    Cell, CellTrace, FlagCode, LoopEvidence, Outcome, Phase, RecordError, RequestKind, Run, RunFolder,
    RunState, SampleRow, Settings, Status, Telemetry as Series, Tool,
};
use tokometer_sim::Profile;

use crate::build::{MS, SECOND, counters, each_event, event, failure, meta, request, settings};
use crate::synthetic::Synthetic;

const UPDATE: &str = "TOKOMETER_UPDATE_RUNS";
const CONTEXT: u64 = 32_768;
const WINDOW_SECONDS: f64 = 10.0;
const MAX_OUTPUT: u64 = 300;
/// All of the corpus together.
const MOST_BYTES: u64 = 2_000_000;

/// The run with a series of the machine.
const THROTTLED: &str = "throttled";

/// What a run of the corpus must say.
#[derive(Debug, Clone, Copy)]
enum Says {
    Status(Status),
    Flag(FlagCode),
}

struct BadRun {
    name: &'static str,
    says: Says,
    trace: CellTrace,
}

fn cell() -> Synthetic {
    Synthetic {
        profile: Arc::new(Profile::builtin("rtx-pro-6000-x4").unwrap()),
        context: CONTEXT,
        concurrency: 4,
        max_output: MAX_OUTPUT,
        natural_end: None,
        step_noise: 0.02,
        step_memory: 0.0,
        acceptance: 0.0,
        text_noise: 0.0,
        seed: 7,
    }
}

fn sound() -> CellTrace {
    cell().trace(WINDOW_SECONDS)
}

fn corpus() -> Vec<BadRun> {
    let bad = |name, says, spoil: fn(&mut CellTrace)| {
        let mut trace = sound();
        spoil(&mut trace);
        BadRun { name, says, trace }
    };
    vec![
        bad("sound", Says::Status(Status::Valid), |_| {}),
        bad("looped-stream", Says::Status(Status::Looped), |trace| {
            trace.meta.loops.push(LoopEvidence {
                request: 2,
                stream: 2,
                channel: "content".to_owned(),
                period: 400,
                cycles: 11,
                repeated_characters: 4533,
                excerpt: "and then it said the same thing over again, ".to_owned(),
            });
        }),
        BadRun {
            name: "warm-cache-sold-as-cold",
            says: Says::Flag(FlagCode::PrefixHit),
            trace: warm_prefill(),
        },
        bad("other-traffic", Says::Status(Status::Contaminated), |trace| {
            let ours = made(trace);
            counters(trace, ours * 1.08);
        }),
        bad("fewer-running", Says::Flag(FlagCode::Underfilled), |trace| {
            trace.samples.iter_mut().for_each(|sample| sample.running = Some(3.0));
        }),
        BadRun {
            name: "early-eos",
            says: Says::Status(Status::Short),
            trace: Synthetic { natural_end: Some(60), ..cell() }.trace(WINDOW_SECONDS),
        },
        bad("failing-stream", Says::Status(Status::Error), |trace| {
            // One stream of four; it sends nothing any more.
            let row = trace.requests.iter().position(|row| row.stream == 3).unwrap();
            let (number, cut_ns) = (trace.requests[row].request, trace.requests[row].send_ns + 4 * SECOND);
            trace.requests.retain(|row| row.stream != 3 || row.request == number);
            let kept: Vec<u32> = trace.requests.iter().map(|row| row.request).collect();
            trace.events.retain(|event| {
                kept.contains(&event.request) && (event.request != number || event.arrival_ns < cut_ns)
            });
            let failed = &mut trace.requests[row];
            (failed.outcome, failed.finish_reason, failed.end_ns) = (Outcome::Failed, None, cut_ns);
            failed.failure = Some(failure("the connection was reset"));
            let ours = made(trace);
            counters(trace, ours);
        }),
        bad("client-delayed", Says::Status(Status::ClientLimited), |trace| {
            // It looks twice a second: what came meanwhile waits, several events to a read.
            each_event(trace, |_, event| {
                event.lag_ns = (SECOND / 2) - event.arrival_ns % (SECOND / 2);
                event.last_of_read = event.lag_ns < 40 * MS;
            });
        }),
        bad("clock-step", Says::Flag(FlagCode::ClockStep), |trace| {
            trace.meta.clock_step_ns = 1_250 * MS;
        }),
        bad("unread-events", Says::Status(Status::Error), |trace| {
            trace.requests[1].unknown_events = Some(3);
        }),
        bad("queueing", Says::Status(Status::Queued), |trace| {
            let wait = |sample: &mut SampleRow| (sample.running, sample.waiting) = (Some(3.0), Some(1.0));
            trace.samples.iter_mut().for_each(wait);
        }),
        bad(THROTTLED, Says::Status(Status::Throttled), |_| {}),
        BadRun { name: "slowing-server", says: Says::Status(Status::Unstable), trace: slowing() },
        bad("edited-number", Says::Status(Status::Valid), |_| {}),
        bad("truncated-trace", Says::Status(Status::Valid), |_| {}),
    ]
}

/// Tokens that the requests of a trace brought.
fn made(trace: &CellTrace) -> f64 {
    trace.requests.iter().map(|row| crate::build::tokens_of(trace, row.request)).sum()
}

/// Steps grow by a tenth over the window.
fn slowing() -> CellTrace {
    let mut trace = sound();
    let start = trace.meta.window_start_ns.unwrap();
    let slower = |time: u64| {
        let since = time.saturating_sub(start) as f64 / 1e9;
        time + (since * since / WINDOW_SECONDS * 0.05 * 1e9) as u64
    };
    each_event(&mut trace, |_, event| event.arrival_ns = slower(event.arrival_ns));
    let end = trace.meta.window_end_ns.unwrap();
    trace.events.retain(|event| event.arrival_ns < end);
    trace.requests.iter_mut().for_each(|row| row.send_ns = slower(row.send_ns));
    trace.requests.retain(|row| row.send_ns < end);
    for row in &mut trace.requests {
        row.end_ns = slower(row.end_ns);
        if row.end_ns >= end {
            (row.outcome, row.end_ns, row.finish_reason) = (Outcome::Cut, end, None);
            row.completion_tokens = None;
        }
    }
    let ours = made(&trace);
    counters(&mut trace, ours);
    trace
}

/// Three "cold" prompts of which the server had all but the salt.
fn warm_prefill() -> CellTrace {
    let mut meta = meta(Phase::Prefill, 1);
    (meta.context_nominal, meta.max_output_tokens, meta.duration_seconds) = (CONTEXT, 1, 0.0);
    (meta.window_start_ns, meta.window_end_ns, meta.ready) = (None, None, None);
    let mut trace = CellTrace { meta, requests: Vec::new(), events: Vec::new(), samples: Vec::new() };
    for number in 0..3 {
        let send = u64::from(number) * SECOND;
        let mut row = request(number, 0, send);
        (row.kind, row.end_ns) = (RequestKind::Prefill, send + 120 * MS);
        (row.prompt_tokens, row.cached_tokens) = (Some(CONTEXT), Some(CONTEXT - 512));
        (row.completion_tokens, row.reads, row.events) = (Some(1), 1, 3);
        trace.events.push(event(number, row.end_ns, Some(1)));
        trace.requests.push(row);
    }
    counters(&mut trace, 3.0);
    trace
}

/// Settings that ask for the row of a trace, and for no other.
fn run_settings(trace: &CellTrace) -> Settings {
    let (contexts, prefill_contexts) = match trace.meta.phase {
        Phase::Decode => (vec![CONTEXT], Vec::new()),
        Phase::Prefill => (Vec::new(), vec![CONTEXT]),
    };
    Settings { contexts, prefill_contexts, max_output_tokens: MAX_OUTPUT, ..settings() }
}

fn judged(bad: &BadRun, settings: &Settings, series: Option<&Series>) -> Cell {
    summarise_on(series, &bad.trace, &Context { simulated: true, ..Context::new(settings) })
}

/// The stored series of a run, if it has one.
fn series(bad: &BadRun) -> Option<Series> {
    let folder = RunFolder::open(&runs().join(bad.name)).unwrap();
    folder.load_series(&folder.load_run().unwrap()).unwrap()
}

/// Reads four devices that heat holds down half of the time, two of them used by the server, until the window's end.
fn throttled_machine(bad: &BadRun) -> Series {
    use tokometer_telemetry::{Inventory, Machine, Options, Root};
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libnvidia-ml.so.1");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry/tests/stub/nvml.c");
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-DSTUB_THROTTLED", "-DSTUB_PID=7", "-o"]);
    assert!(compiler.arg(&library).arg(source).status().unwrap().success());
    let root = Root::at(&folder.path().join("empty"));
    let machine = Machine::look(Options { root, nvml: vec![library], ..Options::default() });
    let asked = Inventory { processes: Some(&[7]), salt: bad.name, ..Inventory::default() };
    let (hardware, _) = machine.hardware(&asked);
    let clock = tokometer_wire::clock::Clock::start();
    let watch = machine.watch(&hardware, bad.name, clock).unwrap();
    while clock.now_ns() < bad.trace.meta.window_end_ns.unwrap() {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    watch.stop()
}

/// The run as it is stored.
fn record(bad: &BadRun, series: Option<&Series>) -> Run {
    let tool = Tool { name: "tokometer".to_owned(), version: "corpus".to_owned(), commit: None };
    let mut run = Run::new(bad.name.to_owned(), tool, run_settings(&bad.trace));
    run.state = RunState::Finished;
    run.title = Some(format!("Corpus of bad runs: {}", bad.name));
    run.simulated = true;
    run.cells = vec![judged(bad, &run.settings, series)];
    run
}

fn runs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/runs")
}

fn store(bad: &BadRun) {
    let path = runs().join(bad.name);
    let _ = fs::remove_dir_all(&path);
    let folder = RunFolder::create(&runs(), bad.name).unwrap();
    let series = (bad.name == THROTTLED).then(|| throttled_machine(bad));
    let mut run = record(bad, series.as_ref());
    if let Some(series) = series {
        run.hardware = series.meta.hardware.clone().unwrap();
        tokometer_analysis::telemetry::links_under_load(&mut run.hardware, &series);
        run.sampling = Some(series.meta.sampling.clone());
        run.telemetry = Some(folder.save_telemetry(&series).unwrap());
    }
    let mut trace = bad.trace.clone();
    bad.name.clone_into(&mut trace.meta.run);
    let file = folder.save_trace(&trace).unwrap();
    if bad.name == "truncated-trace" {
        let path = folder.path.join(&file.file);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    }
    run.cells[0].trace = Some(file);
    if let ("edited-number", Some(rates)) = (bad.name, &mut run.cells[0].throughput) {
        rates.total *= 1.1;
    }
    folder.save_run(&run).unwrap();
}

fn says(cell: &Cell, says: Says) -> bool {
    match says {
        // A status comes with its figures, but for the one that has nothing to say.
        Says::Status(Status::Valid) => cell.status == Status::Valid && cell.reason.is_none(),
        Says::Status(status) => {
            cell.status == status && cell.reason.as_ref().is_some_and(|reason| !reason.figures.is_empty())
        }
        Says::Flag(code) => cell.flag(code).is_some_and(|flag| !flag.figures.is_empty()),
    }
}

#[test]
fn every_bad_run_says_so() {
    for bad in corpus() {
        let cell = judged(&bad, &run_settings(&bad.trace), series(&bad).as_ref());
        assert!(says(&cell, bad.says), "{}: {:?} {:?} {:?}", bad.name, cell.status, cell.reason, cell.flags);
        if let Says::Flag(_) = bad.says {
            assert_eq!(cell.status, Status::Valid, "{}: {:?}", bad.name, cell.reason);
        }
    }
}

#[test]
fn throttled_telemetry_says_so() {
    let settings = run_settings(&sound());
    let telemetry = Telemetry {
        busy_samples: 400,
        slowed_share: Some(0.31),
        power_capped_share: Some(0.5),
        over_rated_share: Some(0.0),
    };
    let context = Context { simulated: true, telemetry: Some(telemetry), ..Context::new(&settings) };
    let cell = summarise(&sound(), &context);
    assert!(says(&cell, Says::Status(Status::Throttled)), "{:?}", cell.reason);
    assert!(says(&cell, Says::Flag(FlagCode::PowerCapped)));
}

#[test]
fn the_stored_runs_are_those() {
    if std::env::var_os(UPDATE).is_some() {
        corpus().iter().for_each(store);
    }
    for bad in corpus() {
        let folder = RunFolder::open(&runs().join(bad.name)).unwrap();
        let stored = folder.load_run().unwrap();
        let file = stored.cells[0].trace.clone().unwrap();
        let mut cell = stored.cells[0].clone();
        cell.trace = None;
        let expected = &record(&bad, series(&bad).as_ref()).cells[0];
        match bad.name {
            "edited-number" => assert_ne!(&cell, expected),
            _ => assert_eq!(&cell, expected, "{}: make the corpus again with {UPDATE}=1", bad.name),
        }
        match (bad.name, folder.load_trace(&file)) {
            ("truncated-trace", Err(RecordError::TraceChanged { .. })) => {}
            ("truncated-trace", other) => panic!("a truncated trace was read: {other:?}"),
            (_, loaded) => {
                let loaded = loaded.unwrap();
                assert_eq!((loaded.requests, loaded.events), (bad.trace.requests, bad.trace.events));
            }
        }
    }
}

fn verified(name: &str) -> Verification {
    let folder = RunFolder::open(&runs().join(name)).unwrap();
    let (document, run) = (folder.load_document().unwrap(), folder.load_run().unwrap());
    verify(&run, Some(&document), true, folder.find_series(&run), |file| {
        let stored = folder.find_trace(file).unwrap().unwrap();
        let (sha256, bytes) = (stored.sha256, stored.bytes);
        match stored.trace {
            Ok(trace) => FoundTrace::Read { sha256, bytes, trace: Box::new(trace) },
            Err(error) => FoundTrace::Unreadable { sha256, bytes, why: error.to_string() },
        }
    })
}

#[test]
fn runs_that_were_damaged_do_not_hold_and_badly_measured_ones_do() {
    for bad in corpus() {
        let found = verified(bad.name);
        let failures: Vec<_> = found.of_level(Level::Failure).collect();
        match bad.name {
            "edited-number" => {
                assert!(!found.passed);
                let of_field = failures.iter().any(|failure| {
                    failure.check == Check::Number && failure.path.as_deref() == Some("throughput.total")
                });
                assert!(of_field, "{failures:#?}");
            }
            "truncated-trace" => {
                assert!(!found.passed && found.cells[0].reach == Reach::BadTrace);
                let of_trace = failures.iter().all(|failure| failure.check == Check::Trace);
                assert!(of_trace && failures[0].text.contains("decode-32768-4.parquet"), "{failures:#?}");
            }
            name => {
                assert!(found.passed, "{name}: {failures:#?}");
                assert_eq!(found.cells[0].reach, Reach::Recomputed, "{name}");
                assert!(found.cells[0].compared > 50, "{name}: {:?}", found.cells);
            }
        }
    }
}

/// A change of a record that must not go by.
type Edit = fn(&mut Run);

#[test]
fn an_edited_reading_of_the_machine_is_found() {
    let folder = RunFolder::open(&runs().join(THROTTLED)).unwrap();
    let run = folder.load_run().unwrap();
    let failures = |run: &Run| {
        let found = verify(run, None, true, folder.find_series(run), |file| {
            let stored = folder.find_trace(file).unwrap().unwrap();
            let trace = Box::new(stored.trace.unwrap());
            FoundTrace::Read { sha256: stored.sha256, bytes: stored.bytes, trace }
        });
        found.of_level(Level::Failure).filter_map(|failure| failure.path.clone()).collect::<Vec<String>>()
    };
    assert!(failures(&run).is_empty());
    let edits: [(Edit, &str); 6] = [
        (|run| run.cells[0].telemetry.as_mut().unwrap().slowed_share = Some(0.0), "telemetry.slowed_share"),
        (|run| run.cells[0].telemetry = None, "telemetry"),
        (
            |run| run.hardware.devices[2].power_limit_watts = Some(700.0),
            "hardware.devices[2].power_limit_watts",
        ),
        (|run| run.hardware.devices[1].pcie_width = Some(16), "hardware.devices[1].pcie_width"),
        (|run| run.sampling.as_mut().unwrap().cpu_share = Some(0.0), "sampling.cpu_share"),
        (|run| run.telemetry.as_mut().unwrap().bytes += 1, "telemetry.bytes"),
    ];
    for (edit, path) in edits {
        let mut edited = run.clone();
        edit(&mut edited);
        let found = failures(&edited);
        assert!(found.iter().any(|found| found.starts_with(path)), "{path}: {found:?}");
    }
    // A run that calls itself valid by leaving its series out does not hold either.
    let mut edited = run.clone();
    (edited.telemetry, edited.cells[0].telemetry) = (None, None);
    assert!(!failures(&edited).is_empty());
}

#[test]
fn the_corpus_is_small_and_has_no_other_runs() {
    let mut bytes = 0;
    let mut names = Vec::new();
    for entry in fs::read_dir(runs()).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
        names.push(entry.file_name().into_string().unwrap());
        let names = ["run.json", "telemetry.parquet", "trace"].map(|name| entry.path().join(name));
        for file in names.into_iter().filter(|file| file.exists()) {
            bytes += if file.is_dir() {
                fs::read_dir(&file).unwrap().map(|trace| trace.unwrap().metadata().unwrap().len()).sum()
            } else {
                fs::metadata(&file).unwrap().len()
            };
        }
    }
    names.sort();
    let mut expected: Vec<&str> = corpus().iter().map(|bad| bad.name).collect();
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
}
