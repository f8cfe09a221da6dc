//! `tokometer calibrate`, with the real binary on both sides.

use std::path::Path;

use serde_json::Value;
use tokometer_record::{Calibration, Run};

use crate::support::{Ended, call, load, only_run, simulated, tokometer};

/// A load that the slowest machine holds.
const LIGHT: [&str; 7] = ["calibrate", "--streams", "4", "--rate", "20", "--duration", "1s"];

fn calibrated(file: &Path, more: &[&str]) -> Ended {
    tokometer().args(LIGHT).args(more).arg("--save").arg(file).output().unwrap().into()
}

/// A dry run that finds this file.
fn run_with(file: &Path) -> Run {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let ended: Ended = tokometer()
        .args(["run", &format!("http://{}", server.addr()), "--dry-run", "--quiet", "--out"])
        .arg(out.path())
        .env("TOKOMETER_CALIBRATION", file)
        .output()
        .unwrap()
        .into();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    load(&only_run(out.path()))
}

#[test]
fn it_counts_every_token_and_keeps_what_it_found_for_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state/calibration.json");
    let ended = calibrated(&file, &["--json"]);
    // A busy machine may fail a check on times, and then says so by its code.
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let printed: Calibration = serde_json::from_value(ended.json()).unwrap();
    assert_eq!(ended.code, Some(if printed.passed() { 0 } else { 3 }));
    let kept = Calibration::load(&file).unwrap();
    assert_eq!(kept, printed);
    assert_eq!((kept.streams, kept.rate, kept.events_per_write), (4, 20.0, 1));
    assert!(kept.tokens.counted > 0);
    assert_eq!((kept.tokens.counted, kept.tokens.unequal_requests), (kept.tokens.sent, 0), "{kept:?}");
    assert!(kept.ttft_error.n >= 4 && kept.cpu_us_per_event.is_some_and(|cpu| cpu > 0.0), "{kept:?}");
    let ceiling = kept.ceiling.as_ref().unwrap();
    assert!(ceiling.events_per_second > 0.0 && ceiling.events_per_write == 8, "{ceiling:?}");
    assert!(kept.start_to_first_request_ms.is_some_and(|ms| ms > 0.0));

    let run = run_with(&file);
    assert_eq!(run.calibration, Some(kept));
    assert!(!run.unknown.contains_key("calibration"));
}

#[test]
fn it_says_what_each_line_means() {
    let folder = tempfile::tempdir().unwrap();
    let ended = calibrated(&folder.path().join("c.json"), &["--events-per-write", "2"]);
    for word in ["TTFT error", "gap error", "counted", "ceiling", "µs an event", "KiB a stream", "exactly 1"]
    {
        assert!(ended.stdout.contains(word), "{word:?} in {ended:?}");
    }
    let verdict = ended.stdout.lines().last().unwrap();
    let words = match ended.code {
        Some(0) => "verdict: this host measures 4 streams × 20 tokens/s truthfully: TTFT to ",
        _ => "verdict: this host does not measure 4 streams × 20 tokens/s truthfully: ",
    };
    assert!(verdict.starts_with(words), "{ended:?}");
}

#[test]
fn a_run_says_why_it_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("calibration.json");
    let run = run_with(&file);
    assert_eq!(run.calibration, None);
    assert!(run.unknown["calibration"].contains("never calibrated"), "{:?}", run.unknown);

    let ended = calibrated(&file, &[]);
    assert!(file.exists(), "{ended:?}");
    let mut document: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    document["host"]["cpu"] = "Another processor".into();
    std::fs::write(&file, document.to_string()).unwrap();
    let run = run_with(&file);
    assert_eq!(run.calibration, None);
    assert!(run.unknown["calibration"].contains("another host"), "{:?}", run.unknown);

    std::fs::write(&file, "{").unwrap();
    assert!(run_with(&file).unknown["calibration"].contains("damaged"));
}

#[test]
fn a_load_that_is_none_is_refused() {
    for args in [["--streams", "0"], ["--rate", "0"], ["--duration", "0s"], ["--events-per-write", "0"]] {
        let ended = call(std::iter::once("calibrate").chain(args));
        assert_eq!(ended.code, Some(2), "{args:?}: {ended:?}");
    }
}
