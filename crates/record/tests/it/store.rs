//! A run's folder on a real disk.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tokometer_record::{RecordError, RunFolder, Status, published};

use crate::sample;

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_run_is_saved_and_found_by_folder_and_by_file() {
    let out = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&out.path().join("new/runs"), "0189").unwrap();
    let mut run = sample::run();
    folder.save_run(&run).unwrap();
    run.cells[1].status = Status::Valid;
    folder.save_run(&run).unwrap();
    folder.save_report("<!doctype html>").unwrap();
    assert_eq!(names(&folder.path), ["report.html", "run.json", "trace"]);
    for path in [folder.path.clone(), folder.run_file()] {
        assert_eq!(RunFolder::open(&path).unwrap().load_run().unwrap(), run);
    }
    let copy = out.path().join("copy.json");
    fs::copy(folder.run_file(), &copy).unwrap();
    assert_eq!(RunFolder::open(&copy).unwrap().load_run().unwrap(), run);
}

#[test]
fn a_trace_is_saved_whole_and_checked_by_its_hash() {
    let out = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(out.path(), "0189").unwrap();
    let trace = sample::trace();
    let file = folder.save_trace(&trace).unwrap();
    assert_eq!(file.file, "trace/decode-8192-4.2.parquet");
    assert_eq!(names(&folder.path.join("trace")), ["decode-8192-4.2.parquet"]);
    let path = folder.path.join(&file.file);
    let bytes = fs::read(&path).unwrap();
    assert_eq!(file.bytes, bytes.len() as u64);
    assert_eq!(folder.load_trace(&file).unwrap(), trace);

    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert!(matches!(folder.load_trace(&file), Err(RecordError::TraceChanged { .. })));
    fs::remove_file(&path).unwrap();
    let message = folder.load_trace(&file).unwrap_err().to_string();
    assert!(message.contains("can't read") && message.contains("decode-8192-4.2.parquet"), "{message}");
}

#[test]
fn a_trace_outside_of_the_folder_is_refused() {
    let out = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(out.path(), "0189").unwrap();
    let mut file = folder.save_trace(&sample::trace()).unwrap();
    for path in ["../trace.parquet", "/etc/passwd", "trace/../../x"] {
        path.clone_into(&mut file.file);
        assert!(folder.load_trace(&file).unwrap_err().to_string().contains("outside"), "{path}");
    }
}

#[test]
fn folders_that_do_not_work_are_named() {
    let out = tempfile::tempdir().unwrap();
    RunFolder::create(out.path(), "0189").unwrap();
    let message = RunFolder::create(out.path(), "0189").unwrap_err().to_string();
    assert!(message.contains("exists already") && message.contains("--out"), "{message}");

    for id in ["", "../0189", "a/b", ".hidden"] {
        assert!(matches!(RunFolder::create(out.path(), id), Err(RecordError::BadId { .. })), "{id}");
    }

    let file = out.path().join("file");
    fs::write(&file, "x").unwrap();
    let message = RunFolder::create(&file, "0189").unwrap_err().to_string();
    assert!(message.contains("can't write") && message.contains("file"), "{message}");
}

#[test]
#[cfg(target_os = "linux")]
fn what_the_system_refuses_is_told_with_its_reason() {
    // Even root can't make folders in /proc.
    let message = RunFolder::create(Path::new("/proc/tokometer"), "0189").unwrap_err().to_string();
    assert!(message.starts_with("can't write /proc/tokometer: "), "{message}");
}

#[test]
fn a_full_disk_keeps_path_and_reason_and_says_what_to_do() {
    let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
    let message = RecordError::Write { path: "/data/run.json".into(), source }.to_string();
    for part in ["can't write /data/run.json", "no storage space", "free some space", "--out"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_failed_write_leaves_the_record_before_it() {
    let out = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(out.path(), "0189").unwrap();
    let run = sample::run();
    folder.save_run(&run).unwrap();
    // A folder where the temporary file would go makes the next write fail.
    fs::create_dir(folder.path.join("run.json.tmp")).unwrap();
    let changed = tokometer_record::Run { title: None, ..run.clone() };
    assert!(matches!(folder.save_run(&changed), Err(RecordError::Write { .. })));
    assert_eq!(folder.load_run().unwrap(), run);
}

/// Opens a file of this text, and gives the message.
fn refused(text: &str) -> String {
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("some.json");
    fs::write(&path, text).unwrap();
    let opened = RunFolder::open(&path).and_then(|folder| folder.load_run());
    let message = opened.unwrap_err().to_string();
    assert!(message.contains("some.json"), "{message}");
    message
}

#[test]
fn what_is_no_record_says_so() {
    assert!(refused("hello").contains("not a record of tokometer"));
    assert!(refused("[]").contains("not a record of tokometer"));
    assert!(refused("{\"schema\": 1}").contains("not a record of tokometer"));
    assert!(refused("{\"schema\": \"other/1\"}").contains("its schema is \"other/1\""));
    assert!(refused("{\"schema\": \"tokometer.run/2\", \"x\": []}").contains("update tokometer"));
    assert!(refused("{\"schema\": \"tokometer.run/1\"}").contains("damaged: missing field"));
    assert!(refused(published::H200_X4).contains("tokometer import "));

    let empty = tempfile::tempdir().unwrap();
    assert!(RunFolder::open(empty.path()).unwrap_err().to_string().contains("no run.json"));
    let gone = empty.path().join("gone");
    assert!(RunFolder::open(&gone).unwrap_err().to_string().contains("can't read"));
}

#[test]
fn fields_of_a_later_version_are_passed_over() {
    let mut document = serde_json::to_value(sample::run()).unwrap();
    document["cells"][1]["energy_per_token"] = Value::from(1.5);
    let out = tempfile::tempdir().unwrap();
    let path = out.path().join("run.json");
    fs::write(&path, document.to_string()).unwrap();
    assert_eq!(RunFolder::open(out.path()).unwrap().load_run().unwrap(), sample::run());
}

#[test]
fn a_reserve_is_held_and_given_back() {
    let out = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(out.path(), "run").unwrap();
    folder.hold_reserve().unwrap();
    let reserve = folder.path.join(".reserve");
    assert!(std::fs::metadata(&reserve).unwrap().len() >= 256 * 1024);
    folder.release_reserve();
    folder.release_reserve();
    assert!(!reserve.exists());
}
