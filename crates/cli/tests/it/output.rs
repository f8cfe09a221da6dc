//! Standard output and standard error.

use std::process::Stdio;

use crate::support::{call, load, only_run, tokometer};

#[test]
fn the_schema_is_the_records() {
    let ended = call(["schema"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(ended.json(), serde_json::to_value(tokometer_record::schema::run()).unwrap());
}

#[test]
fn quiet_prints_the_path_of_the_page_alone() {
    let out = tempfile::tempdir().unwrap();
    let ended = call(["demo", "--dry-run", "--quiet", "--out", &out.path().to_string_lossy()]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let page = only_run(out.path()).join("report.html");
    assert_eq!(ended.stdout, format!("{}\n", page.display()));
    assert!(std::fs::read_to_string(page).unwrap().contains("SIMULATED"));
}

#[test]
fn json_prints_the_record_alone() {
    let out = tempfile::tempdir().unwrap();
    let ended = call(["demo", "--dry-run", "--json", "--out", &out.path().to_string_lossy()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.json(), serde_json::to_value(load(&only_run(out.path()))).unwrap());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_string_lossy();
    assert_eq!(call(["demo", "--dry-run", "--quiet", "--out", &folder]).code, Some(0));
    let run = only_run(out.path());
    let run = run.to_string_lossy();
    for args in [
        ["report", &run, "--format", "html"].as_slice(),
        &["report", &run],
        &["report", &run, "--format", "json"],
        &["schema"],
        &["demo", "--dry-run", "--json", "--out", &folder],
        &["--help"],
    ] {
        let mut child = tokometer().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{args:?}: {ended:?}");
        assert!(!String::from_utf8_lossy(&ended.stderr).contains("error"), "{args:?}: {ended:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_result_that_cannot_be_written_is_a_failure() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = tokometer().arg("schema").stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("cannot write to standard output"));
}
