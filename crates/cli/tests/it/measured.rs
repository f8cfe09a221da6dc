//! Short real measurements of the simulated engine. Tokens are counted, times are not judged: the machine may be
//! busy.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value;
use tokometer_record::{
    Cell, CellDetail, Outcome, Phase, RequestKind, Run, RunFolder, RunState, Status, store,
};

use crate::secrets::hidden;
use crate::support::{Ended, SMALL, call, load, only_run, simulated, tokometer};

const KEY: &str = "sk-shared-run-8f2e1c";
const TEAM: &str = "team-secret-77aa";

/// One run that several tests look at.
struct Measured {
    folder: PathBuf,
    ended: Ended,
    run: Run,
}

fn measured() -> &'static Measured {
    static RUN: OnceLock<Measured> = OnceLock::new();
    RUN.get_or_init(|| {
        let server = simulated(Some(KEY));
        // A static is never dropped, so a temporary folder would stay: one folder, emptied each time.
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("measured");
        drop(std::fs::remove_dir_all(&out));
        let mut command = tokometer();
        command.args(["run", &format!("{}/v1/", server.addr()), "--json", "--title", "A short run"]);
        command.args(["--header", &format!("X-Team: {TEAM}")]).args(SMALL).arg("--out").arg(&out);
        let ended = Ended::from(command.env("OPENAI_API_KEY", KEY).output().unwrap());
        let folder = only_run(&out);
        let run = load(&folder);
        Measured { folder, ended, run }
    })
}

/// The folder of that run, for tests of what reads runs.
pub(crate) fn measured_folder() -> &'static Path {
    &measured().folder
}

/// Every cell of this run got as far as numbers, whatever the machine did to their verdicts.
fn was_measured(cell: &Cell) -> bool {
    !matches!(cell.status, Status::Planned | Status::Error | Status::Interrupted)
        && !cell.status.not_run_by_plan()
}

#[test]
fn a_run_is_whole() {
    let Measured { folder, ended, run, .. } = measured();
    assert!(run.cells.iter().all(was_measured), "{ended:?}");
    let valid = run.cells.iter().all(|cell| cell.status == Status::Valid);
    assert_eq!(ended.code, Some(if valid { 0 } else { 3 }), "{ended:?}");
    assert_eq!(run.state, RunState::Finished);
    assert!(run.simulated && run.elapsed_seconds.is_some());
    assert_eq!(run.cells.len(), 3);
    assert_eq!(ended.json(), serde_json::to_value(run).unwrap(), "standard output is the record");
    for (number, name) in [(1, "prefill 1K"), (2, "1K × 1"), (3, "1K × 2")] {
        assert!(ended.line(&format!("[ {number}/3] ")).contains(name), "one line a cell: {ended:?}");
    }
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    let title = page.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap();
    assert!(title.contains("SIMULATED") && title.contains("A short run"), "{title}");
    let shown = call(["report", &folder.to_string_lossy(), "--format", "html"]);
    assert_eq!(shown.stdout, page);
}

#[test]
fn the_names_that_other_programs_rely_on() {
    let text = std::fs::read_to_string(measured().folder.join("run.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["schema"], "tokometer.run/1");
    let cells = document["cells"].as_array().unwrap();
    for cell in cells {
        let number = |path: &str| {
            let value = path.split('.').fold(cell, |value, name| &value[name]);
            value.as_f64().unwrap_or_else(|| panic!("{path} in {cell}"))
        };
        let ints = ["context_nominal", "concurrency", "context_actual.p50", "ttft_ms.p50"];
        let requests = ["started", "ended", "cut", "failed"].map(|name| format!("requests.{name}"));
        for path in ints.iter().map(ToString::to_string).chain(requests) {
            assert!(number(&path) >= 0.0, "{path}");
        }
        assert!(cell["status"].is_string() && cell["flags"][0]["code"].is_string());
        assert_eq!(cell.get("error"), Some(&Value::Null));
        match cell["phase"].as_str().unwrap() {
            "prefill" => assert!(number("prefill_rate") > 0.0),
            "decode" => {
                for path in
                    ["throughput.total", "time_between_tokens_ms.p50", "per_request_rate.p50", "tokens.out"]
                {
                    assert!(number(path) > 0.0, "{path}");
                }
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn every_number_follows_from_the_trace() {
    let Measured { folder, run, .. } = measured();
    let folder = RunFolder::open(folder).unwrap();
    for cell in &run.cells {
        let file = cell.trace.as_ref().unwrap();
        let bytes = std::fs::read(folder.path.join(&file.file)).unwrap();
        assert_eq!((store::sha256(&bytes), bytes.len() as u64), (file.sha256.clone(), file.bytes));
        let trace = folder.load_trace(file).unwrap();
        let machine = cell.telemetry.clone();
        let context = tokometer_analysis::Context {
            telemetry: machine.as_ref().map(Into::into),
            ..tokometer_analysis::Context::of(run, cell.phase, cell.context_nominal)
        };
        let mut again = Cell { trace: cell.trace.clone(), ..tokometer_analysis::summarise(&trace, &context) };
        tokometer_analysis::telemetry::attach(&mut again, machine.unwrap());
        // Through the same text, so that both were read in the same way.
        let again: Cell = serde_json::from_str(&serde_json::to_string(&again).unwrap()).unwrap();
        assert_eq!(&again, cell);
    }
}

#[test]
fn the_record_agrees_with_itself_and_with_the_server() {
    let Measured { folder, run, .. } = measured();
    let folder = RunFolder::open(folder).unwrap();
    for cell in &run.cells {
        let name = cell.name();
        let trace = folder.load_trace(cell.trace.as_ref().unwrap()).unwrap();
        assert_eq!(trace.meta.run, run.id);
        let actual = cell.context_actual.unwrap();
        assert_eq!((actual.min, actual.max), (1024, 1024), "{name}: token-exact prompts");
        let requests = &cell.requests;
        assert_eq!(requests.failed, Some(0));
        assert_eq!(requests.started.unwrap(), requests.ended.unwrap() + requests.cut.unwrap());
        let of_cell = |kind| trace.requests.iter().filter(move |row| row.kind == kind);
        if cell.phase == Phase::Decode {
            assert_eq!(of_cell(RequestKind::Stream).count() as u64, requests.started.unwrap(), "{name}");
            assert_eq!(of_cell(RequestKind::Scout).count(), 1, "{name}");
            let window = cell.window.as_ref().unwrap();
            let rate = cell.tokens.out.unwrap() as f64 / window.seconds;
            let total = cell.throughput.as_ref().unwrap().total;
            assert!((rate / total - 1.0).abs() < 1e-9, "{name}: {rate} {total}");
        }
        // A cut request may have been a few tokens ahead of us when it was cut.
        let cut = trace.requests.iter().filter(|row| row.outcome == Outcome::Cut).count() as u64;
        let (server, client) = (cell.tokens.server.unwrap(), cell.tokens.client.unwrap());
        assert!(server >= client && server <= client + 64 * cut, "{name}: {server} {client}");
        let before = trace.meta.counters_before.as_ref().unwrap().generated_tokens.unwrap();
        let after = trace.meta.counters_after.as_ref().unwrap().generated_tokens.unwrap();
        assert_eq!((after - before) as u64, server, "{name}");
    }
}

#[test]
fn keys_and_header_values_are_nowhere() {
    let Measured { folder, ended, run, .. } = measured();
    hidden(&[KEY, TEAM], ended, folder);
    assert!(run.target.headers.iter().any(|name| name == "X-Team"), "{:?}", run.target);
}

#[test]
fn requests_that_run_out_are_counted_to_the_token() {
    let out = tempfile::tempdir().unwrap();
    let matrix = ["--contexts", "1k", "--concurrency", "2", "--duration", "1s", "--max-output", "300"];
    let rest = ["--at-end", "finish", "--prompts", "unique", "--quiet", "--out"];
    let ended =
        call(["demo"].iter().chain(&matrix).chain(&rest).copied().chain([&*out.path().to_string_lossy()]));
    let run = load(&only_run(out.path()));
    assert!(run.cells.iter().all(was_measured), "{ended:?}");
    assert_eq!(ended.stderr, "");
    let page = only_run(out.path()).join("report.html");
    assert_eq!(ended.stdout, format!("{}\n", page.display()));
    let cell = run.cells.iter().find(|cell| cell.phase == Phase::Decode).unwrap();
    assert_eq!(cell.requests.cut, Some(0));
    assert_eq!(cell.tokens.server, cell.tokens.client);
    assert_eq!(cell.tokens.out_cell, Some(300 * cell.requests.ended.unwrap()));
    // A stream of its own prompt each, warmed before: two scouts with one token.
    assert_eq!(cell.tokens.client, Some(cell.tokens.out_cell.unwrap() + 2));
}

#[test]
fn the_page_is_a_data_file() {
    let Measured { folder, run, .. } = measured();
    let page = folder.join("report.html");
    let text = std::fs::read_to_string(&page).unwrap();
    let details: Vec<CellDetail> =
        serde_json::from_str(tokometer_record::page::embedded(&text, "details").unwrap()).unwrap();
    let traced: Vec<String> = run.cells.iter().filter(|cell| cell.trace.is_some()).map(Cell::name).collect();
    assert_eq!(details.iter().map(|detail| detail.cell.clone()).collect::<Vec<_>>(), traced);
    for detail in details.iter().filter(|detail| detail.cell.starts_with("decode")) {
        assert!(
            detail.rate.is_some() && detail.ttft_ms.is_some() && !detail.requests.is_empty(),
            "{detail:?}"
        );
    }

    // Away from its folder it still has everything.
    let alone = tempfile::tempdir().unwrap();
    let copy = alone.path().join("shared.html");
    std::fs::copy(&page, &copy).unwrap();
    let report = |path: &Path, format: &str| {
        let ended = call(["report", &path.to_string_lossy(), "--format", format]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
        ended.stdout
    };
    assert_eq!(serde_json::from_str::<Run>(&report(&copy, "json")).unwrap(), *run);
    for format in ["html", "terminal", "markdown", "csv", "svg"] {
        assert_eq!(report(&copy, format), report(folder, format), "{format}");
    }
    let png = tokometer().args(["report", &copy.to_string_lossy(), "--format", "png"]).output().unwrap();
    assert!(png.status.success() && png.stdout.starts_with(b"\x89PNG"));
    call(["report", &copy.to_string_lossy(), "--chart", "matrix"]).failed_with(2, &["--chart", "svg"]);
    std::fs::write(&copy, "<!doctype html><p>another page").unwrap();
    let ended = call(["report", &copy.to_string_lossy()]);
    assert!(ended.code == Some(1) && ended.line("error: ").contains("embedded record"), "{ended:?}");
}
