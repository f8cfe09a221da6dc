//! A run that was measured holds; a copy with anything changed does not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tokometer_analysis::{FoundTrace, verify};
use tokometer_record::verification::{Check, Level, Reach};
use tokometer_record::{Run, RunFolder, TraceFile, Verification};

use crate::measured::measured_folder;
use crate::support::call;

/// Numbers that no trace shows: what is listed as not checked.
const UNSEEN: [&str; 3] = ["settings.seed", "settings.timeout_seconds", "settings.load_threads"];

fn copy(from: &Path) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("run");
    std::fs::create_dir_all(to.join("trace")).unwrap();
    std::fs::copy(from.join("run.json"), to.join("run.json")).unwrap();
    if from.join("telemetry.parquet").is_file() {
        std::fs::copy(from.join("telemetry.parquet"), to.join("telemetry.parquet")).unwrap();
    }
    for entry in std::fs::read_dir(from.join("trace")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join("trace").join(entry.file_name())).unwrap();
    }
    (folder, to)
}

fn edit(folder: &Path, change: impl Fn(&mut Value)) {
    let path = folder.join("run.json");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut document);
    std::fs::write(&path, serde_json::to_vec(&document).unwrap()).unwrap();
}

fn verified(folder: &Path) -> (Option<i32>, Value) {
    let ended = call(["verify", &folder.to_string_lossy(), "--json"]);
    (ended.code, ended.json())
}

/// Traces that are read once, for many verifications.
struct Memory {
    folder: RunFolder,
    document: Value,
    traces: BTreeMap<String, (String, u64, tokometer_record::CellTrace)>,
}

impl Memory {
    fn of(folder: &Path) -> Memory {
        let folder = RunFolder::open(folder).unwrap();
        let run = folder.load_run().unwrap();
        let traces = run
            .cells
            .iter()
            .flat_map(tokometer_record::Cell::traces)
            .map(|file| {
                let stored = folder.find_trace(file).unwrap().unwrap();
                (file.file.clone(), (stored.sha256, stored.bytes, stored.trace.unwrap()))
            })
            .collect();
        Memory { document: folder.load_document().unwrap(), traces, folder }
    }

    fn verify(&self, document: &Value) -> Option<Verification> {
        let run: Run = serde_json::from_value(document.clone()).ok()?;
        let series = self.folder.find_series(&run);
        let load = |file: &TraceFile| match self.traces.get(&file.file) {
            Some((sha256, bytes, trace)) => {
                FoundTrace::Read { sha256: sha256.clone(), bytes: *bytes, trace: Box::new(trace.clone()) }
            }
            None => FoundTrace::Missing,
        };
        Some(verify(&run, Some(document), true, series, load))
    }
}

/// JSON pointers of every leaf that `fits`.
fn leaves(value: &Value, fits: fn(&Value) -> bool) -> Vec<String> {
    fn walk(value: &Value, at: String, fits: fn(&Value) -> bool, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    walk(value, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), fits, found);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    walk(value, format!("{at}/{index}"), fits, found);
                }
            }
            leaf if fits(leaf) => found.push(at),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(value, String::new(), fits, &mut found);
    found
}

/// A number that is another one, of the same kind.
fn other(number: &Value) -> Value {
    match number.as_u64() {
        Some(count) => (count + 1).into(),
        None => (number.as_f64().unwrap() * 1.001 + 0.001).into(),
    }
}

#[test]
fn a_fresh_run_holds() {
    let ended = call(["verify", &measured_folder().to_string_lossy()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.starts_with("PASSED") && ended.stdout.contains("3 rows computed again"),
        "{ended:?}"
    );
    let (code, document) = verified(measured_folder());
    assert_eq!((code, &document["passed"]), (Some(0), &true.into()));
    assert!(document["cells"].as_array().unwrap().iter().all(|cell| cell["compared"].as_u64() > Some(50)));
}

#[test]
fn every_edited_number_is_found() {
    let memory = Memory::of(measured_folder());
    let numbers = leaves(&memory.document, Value::is_number);
    assert!(numbers.len() > 150, "{}", numbers.len());
    let mut missed = Vec::new();
    for pointer in &numbers {
        let mut edited = memory.document.clone();
        let leaf = edited.pointer_mut(pointer).unwrap();
        *leaf = other(leaf);
        let passed = memory.verify(&edited).is_some_and(|verification| verification.passed);
        if passed {
            missed.push(pointer.trim_start_matches('/').replace('/', "."));
        }
    }
    // A longer run is no contradiction; a shorter one is.
    let unseen: Vec<&str> = UNSEEN.into_iter().chain(["elapsed_seconds"]).collect();
    missed.sort();
    let mut expected = unseen.clone();
    expected.sort_unstable();
    assert_eq!(missed, expected);
    let verification = memory.verify(&memory.document).unwrap();
    for what in unseen {
        assert!(verification.not_checked.iter().any(|not| not.what == what), "{what} is not told");
    }
    // Numbers of the machine were among those edited.
    assert!(numbers.iter().any(|pointer| pointer.starts_with("/cells/1/telemetry/")), "{numbers:?}");
    assert!(numbers.iter().any(|pointer| pointer.starts_with("/hardware/host/")), "{numbers:?}");
    assert!(numbers.iter().any(|pointer| pointer.starts_with("/sampling/")), "{numbers:?}");
    let mut shorter = memory.document.clone();
    shorter["elapsed_seconds"] = 1.0.into();
    assert!(!memory.verify(&shorter).unwrap().passed);
}

#[test]
fn every_field_of_another_type_is_found() {
    let memory = Memory::of(measured_folder());
    let typed = leaves(&memory.document["cells"], |leaf| leaf.is_number() || leaf.is_boolean());
    for pointer in typed.iter().step_by(7) {
        let mut edited = memory.document.clone();
        *edited["cells"].pointer_mut(pointer).unwrap() = "text".into();
        assert!(memory.verify(&edited).is_none(), "{pointer} can't be read as what it is");
    }
    // A number gone, and a verdict changed.
    for pointer in leaves(&memory.document["cells"], Value::is_f64).iter().step_by(5) {
        let mut edited = memory.document.clone();
        *edited["cells"].pointer_mut(pointer).unwrap() = Value::Null;
        assert!(memory.verify(&edited).is_none_or(|verification| !verification.passed), "{pointer}");
    }
    for pointer in leaves(&memory.document["cells"], Value::is_string) {
        let mut edited = memory.document.clone();
        *edited["cells"].pointer_mut(&pointer).unwrap() = "valid".into();
        if edited["cells"].pointer(&pointer) == memory.document["cells"].pointer(&pointer) {
            continue;
        }
        assert!(memory.verify(&edited).is_none_or(|verification| !verification.passed), "{pointer}");
    }
}

#[test]
fn what_the_command_says_of_edited_copies() {
    let (_keep, folder) = copy(measured_folder());
    edit(&folder, |run| run["cells"][1]["throughput"]["total"] = 12_345.0.into());
    let ended = call(["verify", &folder.to_string_lossy()]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.starts_with("FAILED"), "{ended:?}");
    assert!(
        ended.stdout.contains("decode-1024-1 throughput.total") && ended.stdout.contains("12345"),
        "{ended:?}"
    );

    let (_keep, folder) = copy(measured_folder());
    edit(&folder, |run| run["cells"][1]["throughput"]["total"] = "fast".into());
    let (code, found) = verified(&folder);
    assert_eq!((code, &found["findings"][0]["check"]), (Some(1), &"document".into()));

    let (_keep, folder) = copy(measured_folder());
    edit(&folder, |run| run["cells"][1]["speedup"] = 2.into());
    let (code, found) = verified(&folder);
    assert_eq!((code, &found["findings"][0]["path"]), (Some(1), &"cells[1].speedup".into()));

    let (_keep, folder) = copy(measured_folder());
    edit(&folder, |run| drop(run["cells"].as_array_mut().unwrap().pop()));
    let (code, found) = verified(&folder);
    assert_eq!((code, &found["findings"][0]["check"]), (Some(1), &"plan".into()));
}

#[test]
fn traces_that_are_not_what_they_were() {
    let trace = |folder: &Path| folder.join("trace/decode-1024-1.parquet");
    let checks = |folder: &Path| -> Vec<(Level, Check)> {
        let (code, found) = verified(folder);
        assert_eq!(code, Some(1));
        let found: Verification = serde_json::from_value(found).unwrap();
        let cell = found.cells.iter().find(|cell| cell.cell == "decode-1024-1").unwrap();
        assert!(cell.failures > 0);
        found.findings.iter().map(|finding| (finding.level, finding.check)).collect()
    };
    // Cut off.
    let (_keep, folder) = copy(measured_folder());
    let bytes = std::fs::read(trace(&folder)).unwrap();
    std::fs::write(trace(&folder), &bytes[..bytes.len() / 2]).unwrap();
    assert!(checks(&folder).contains(&(Level::Failure, Check::Trace)));
    // Gone.
    std::fs::remove_file(trace(&folder)).unwrap();
    assert!(checks(&folder).contains(&(Level::Failure, Check::Trace)));
    // Another cell's, with hash and size put right.
    let (_keep, folder) = copy(measured_folder());
    std::fs::copy(folder.join("trace/decode-1024-2.parquet"), trace(&folder)).unwrap();
    edit(&folder, |run| {
        let mut other = run["cells"][2]["trace"].clone();
        other["file"] = run["cells"][1]["trace"]["file"].clone();
        run["cells"][1]["trace"] = other;
    });
    assert!(checks(&folder).contains(&(Level::Failure, Check::TraceIdentity)));
}

#[test]
fn a_page_is_checked_against_the_traces_beside_it_or_alone() {
    let (_keep, folder) = copy(measured_folder());
    let page = folder.join("shared.html");
    let html = std::fs::read_to_string(measured_folder().join("report.html")).unwrap();
    std::fs::write(&page, &html).unwrap();
    let ended = call(["verify", &page.to_string_lossy()]);
    assert!(ended.code == Some(0) && ended.stdout.contains("3 rows computed again"), "{ended:?}");

    // A number of the embedded record, everything else as it was.
    let json = tokometer_record::page::embedded(&html, tokometer_record::page::RUN).unwrap();
    let mut document: Value = serde_json::from_str(json).unwrap();
    document["cells"][1]["throughput"]["total"] = 12_345.0.into();
    let changed = tokometer_record::page::escape(&document.to_string());
    std::fs::write(&page, html.replace(json, &changed)).unwrap();
    let ended = call(["verify", &page.to_string_lossy()]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("decode-1024-1 throughput.total"), "{ended:?}");

    // One trace of three gone: it is missed, since the others are there.
    std::fs::write(&page, &html).unwrap();
    std::fs::remove_file(folder.join("trace/decode-1024-1.parquet")).unwrap();
    let (code, found) = verified(&page);
    assert_eq!((code, &found["findings"][0]["check"]), (Some(1), &"trace".into()));

    let alone = tempfile::tempdir().unwrap();
    let page = alone.path().join("report.html");
    std::fs::write(&page, &html).unwrap();
    let ended = call(["verify", &page.to_string_lossy()]);
    assert!(ended.code == Some(0) && ended.stdout.contains("the traces are not at hand"), "{ended:?}");
    assert!(ended.stdout.contains("0 rows computed again"), "{ended:?}");
    let (_, found) = verified(&page);
    let found: Verification = serde_json::from_value(found).unwrap();
    assert!(found.cells.iter().all(|cell| cell.reach == Reach::NoTrace));
}

#[test]
fn records_without_traces_are_held_against_themselves() {
    let out = tempfile::tempdir().unwrap();
    let matrix = Path::new(env!("CARGO_MANIFEST_DIR")).join("../record/published/rtx-pro-6000-x4.json");
    let import = ["import", &matrix.to_string_lossy(), "--quiet", "--out", &out.path().to_string_lossy()];
    assert_eq!(call(import).code, Some(0));
    let (code, found) = verified(&crate::support::only_run(out.path()));
    assert_eq!(code, Some(0), "implausible is not false: {found}");
    let found: Verification = serde_json::from_value(found).unwrap();
    assert!(found.cells.iter().all(|cell| cell.reach == Reach::NoTrace));
    let warned = |check: Check, cell: Option<&str>| {
        found.findings.iter().any(|finding| finding.check == check && finding.cell.as_deref() == cell)
    };
    // What reviewers of this page found: no completed request, a TTFT out of its row, rates that do not multiply up.
    assert!(warned(Check::Lint, None) && warned(Check::Lint, Some("decode-8192-2")), "{:#?}", found.findings);
    assert!(warned(Check::LittlesLaw, Some("decode-8192-2")), "{:#?}", found.findings);
    assert!(found.not_checked.iter().any(|not| not.what.contains("bounds")));
}

#[test]
fn a_folder_that_is_not_there_is_another_matter() {
    let ended = call(["verify", "/nowhere/at/all"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.line("error: ").contains("/nowhere/at/all"));
}
