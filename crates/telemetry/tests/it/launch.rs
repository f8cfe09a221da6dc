//! Servers that are started and ended, with everything that they started.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokometer_telemetry::launch::Launched;

/// True while a process runs (and is not merely not yet waited for).
fn runs(pid: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit_once(')').unwrap().1.trim_start().starts_with(['Z', 'X'])
}

/// Waits until a launched script has written so many process ids.
fn pids(file: &Path, count: usize) -> Vec<String> {
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let found: Vec<String> = text.lines().map(str::to_owned).collect();
        if found.len() >= count && text.ends_with('\n') {
            return found;
        }
        std::thread::yield_now();
    }
}

fn files() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (log, pids) = (folder.path().join("server.log"), folder.path().join("pids"));
    (folder, log, pids)
}

#[test]
fn children_end_too_also_those_that_left_the_group() {
    let (_folder, log, file) = files();
    let path = file.display();
    let script = format!(
        "sleep 600 & echo $! >> {path}; setsid sleep 600 & echo $! >> {path}; echo $$ >> {path}; wait"
    );
    let mut launched = Launched::start(&script, &log).unwrap();
    let all = pids(&file, 3);
    assert!(launched.ended().is_none());
    assert!(all.iter().all(|pid| runs(pid)));
    launched.stop(Duration::from_secs(10));
    for pid in &all {
        assert!(!runs(pid), "{pid} of {all:?}");
    }
}

#[test]
fn who_does_not_hear_is_ended_all_the_same() {
    let (_folder, log, file) = files();
    let script = format!("trap '' TERM; echo $$ >> {}; while :; do sleep 1; done", file.display());
    let mut launched = Launched::start(&script, &log).unwrap();
    let all = pids(&file, 1);
    launched.stop(Duration::from_millis(200));
    assert!(!runs(&all[0]));
}

#[test]
fn a_panic_ends_it() {
    let (_folder, log, file) = files();
    let script = format!("echo $$ >> {}; exec sleep 600", file.display());
    let launched = Launched::start(&script, &log).unwrap();
    let all = pids(&file, 1);
    let panicked = std::thread::spawn(move || {
        let _kept = launched;
        panic!("on purpose");
    });
    assert!(panicked.join().is_err());
    assert!(!runs(&all[0]));
}

#[test]
fn the_log_is_kept_without_secrets_and_its_end_is_at_hand() {
    let (folder, log, _) = files();
    let script = "echo started with hunter2secret; printf 'loading 1%%\\rloading 100%%\\n'; \
                  printf 'no end of line' ; : --api-key hunter2secret";
    let mut launched = Launched::start(script, &log).unwrap();
    while launched.ended().is_none() {
        std::thread::yield_now();
    }
    let moved = folder.path().join("moved.log");
    launched.move_log(&moved).unwrap();
    launched.stop(Duration::from_secs(1));
    assert_eq!(launched.last_lines(), ["started with <redacted>", "loading 100%", "no end of line"]);
    let text = std::fs::read_to_string(moved).unwrap();
    assert!(text.contains("<redacted>") && !text.contains("hunter2secret"), "{text}");
    assert!(launched.ended().unwrap().success());
}
