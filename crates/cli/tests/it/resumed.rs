//! Runs that were broken off at any moment and taken up again, by the real binary.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokometer_analysis::adaptive::replay;
use tokometer_record::{AdaptiveEnd, Cell, Phase, Run, RunFolder, RunState, Status};
use tokometer_sim::{Profile, Running, Server, ServerOptions};

use crate::support::{Ended, SMALL, Watched, call, load, only_run, simulated, tokometer};

/// A run of the smallest matrix takes about so long.
const WHOLE_RUN: Duration = Duration::from_secs(26);

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn start(server: &Running, out: &Path, args: &[&str]) -> Watched {
    let mut command = tokometer();
    command.args(["run", &server.addr().to_string(), "--yes", "--out"]).arg(out).args(args);
    Watched::start(&mut command)
}

fn resume(folder: &Path, args: &[&str]) -> Ended {
    let folder = folder.to_string_lossy().into_owned();
    call(["run", "--yes", "--resume", &folder].iter().copied().chain(args.iter().copied()))
}

fn places(run: &Run) -> Vec<String> {
    run.cells.iter().map(Cell::name).collect()
}

/// The record is whole: every cell measured, every number follows from its trace.
fn is_whole(folder: &Path) -> Run {
    let run = load(folder);
    assert_eq!(run.state, RunState::Finished, "{:?}", run.state_reason);
    for cell in &run.cells {
        assert!(!matches!(cell.status, Status::Planned | Status::Interrupted | Status::Error), "{cell:?}");
        assert!(cell.traces().next().is_some(), "{cell:?}");
    }
    let verified = call(["verify", &folder.to_string_lossy()]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    run
}

/// Kills a run after so long, takes it up again until it ends; what it left when it was killed.
fn killed_and_resumed(after: Duration) -> (Run, Run) {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let mut running = start(&server, out.path(), &SMALL);
    // The folder is made before this line is printed.
    running.wait_for("building prompts");
    running.kill_after(after);
    let folder = only_run(out.path());
    let left = load(&folder);
    let ended = resume(&folder, &[]);
    assert!(matches!(ended.code, Some(0 | 3)), "{after:?}: {ended:?}");
    (left, is_whole(&folder))
}

fn check(left: &Run, resumed: &Run) {
    assert_eq!(places(resumed), ["prefill-1024", "decode-1024-1", "decode-1024-2"]);
    assert_eq!(resumed.id, left.id);
    assert_eq!(resumed.created_at, left.created_at);
    for (before, after) in left.cells.iter().zip(&resumed.cells) {
        if before.status == Status::Planned {
            let segment = after.trace.as_ref().unwrap().file.ends_with(".s2.parquet");
            assert!(segment || left.state == RunState::Finished, "measured in the second segment: {after:?}");
        } else {
            assert_eq!(before, after, "what was measured is kept");
        }
    }
    if left.state == RunState::Finished {
        return assert!(resumed.breaks.is_empty());
    }
    let all_measured = left.cells.iter().all(|cell| cell.status != Status::Planned);
    let [found] = resumed.breaks.as_slice() else { return assert!(all_measured, "{:?}", resumed.breaks) };
    assert_eq!((found.segment, found.left_state), (2, RunState::Running));
    assert_eq!(found.left_seconds, left.elapsed_seconds);
    assert!(found.resumed_seconds > left.elapsed_seconds.unwrap_or(0.0));
    assert_eq!(found.salt, format!("{}/2", resumed.id));
    assert!(found.differences.is_empty(), "{:?}", found.differences);
    assert!(resumed.remarks.iter().any(|remark| remark.contains("segment 2")), "{:?}", resumed.remarks);
}

/// Several at once: each has a server of its own.
fn kill_at(moments: &[Duration], at_once: usize) {
    for group in moments.chunks(at_once) {
        std::thread::scope(|scope| {
            let work: Vec<_> =
                group.iter().map(|after| scope.spawn(move || killed_and_resumed(*after))).collect();
            for thread in work {
                let (left, resumed) = thread.join().unwrap();
                check(&left, &resumed);
            }
        });
    }
}

fn moments(seed: u64, count: usize) -> Vec<Duration> {
    let mut state = seed;
    (0..count).map(|_| WHOLE_RUN.mul_f64((random(&mut state) >> 11) as f64 / (1_u64 << 53) as f64)).collect()
}

#[test]
fn a_run_killed_at_a_random_moment_ends_with_the_cells_of_an_unbroken_one() {
    kill_at(&moments(9, 3), 3);
}

/// Takes about five minutes: `cargo test -p tokometer -- --ignored twenty`.
#[test]
#[ignore = "twenty whole runs take minutes; three are killed in every test run"]
fn a_run_killed_at_twenty_random_moments() {
    kill_at(&moments(20, 20), 4);
}

#[test]
fn repeats_in_shuffled_order_go_on_and_chosen_ones_are_measured_again() {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let args = [
        "--contexts",
        "1k",
        "--concurrency",
        "1,2",
        "--duration",
        "1s",
        "--repeats",
        "2",
        "--order",
        "shuffled",
    ];
    let mut running = start(&server, out.path(), &args);
    running.wait_for("[ 4/6]");
    running.signal("INT");
    let ended = running.ended();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let folder = only_run(out.path());
    let left = load(&folder);
    assert_eq!(left.state, RunState::Interrupted);
    let measured = |run: &Run| -> usize { run.cells.iter().map(|cell| cell.repeats.len()).sum() };
    assert!((4..6).contains(&measured(&left)), "{ended:?}");

    let ended = resume(&folder, &[]);
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let run = is_whole(&folder);
    assert_eq!(measured(&run), 6);
    assert!(!run.remarks.iter().any(|remark| remark.contains("cut short")), "{:?}", run.remarks);
    assert_eq!(run.breaks[0].left_state, RunState::Interrupted);
    // Trace by trace what was measured before is the same.
    for (before, after) in left.cells.iter().zip(&run.cells) {
        for repeat in before.repeats.iter().filter(|repeat| repeat.status != Status::Interrupted) {
            let same = after.repeats.iter().find(|other| other.repeat == repeat.repeat).unwrap();
            assert_eq!(same.trace, repeat.trace);
        }
    }

    let ended = resume(&folder, &["--redo", "cell=decode-1024-2"]);
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let again = is_whole(&folder);
    assert_eq!(again.breaks.len(), 2);
    assert_eq!(again.breaks[1].redo, ["cell=decode-1024-2"]);
    let aside: Vec<String> = again.set_aside.iter().map(tokometer_record::SetAside::name).collect();
    assert!(aside.ends_with(&["decode-1024-2.1".to_owned(), "decode-1024-2.2".to_owned()]), "{aside:?}");
    let of = |run: &Run| run.cells.iter().find(|cell| cell.name() == "decode-1024-2").unwrap().clone();
    for (old, new) in of(&run).traces().zip(of(&again).traces()) {
        assert_ne!(old.file, new.file);
        assert!(folder.join(&old.file).is_file() && new.file.ends_with(".s3.parquet"));
    }
}

#[test]
fn adaptive_windows_go_on_by_the_same_rule() {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let args = ["--contexts", "1k", "--concurrency", "1,2", "--duration", "5s", "--adaptive"];
    let mut running = start(&server, out.path(), &args);
    // In the window of the last cell.
    running.wait_for("[ 2/3]");
    running.signal("KILL");
    drop(running.ended());
    let folder = only_run(out.path());
    let left = load(&folder);
    assert!(left.settings.adaptive && left.state == RunState::Running);
    let ended = resume(&folder, &[]);
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let run = is_whole(&folder);
    assert!(run.settings.adaptive && run.settings.duration_seconds == left.settings.duration_seconds);
    let saved = RunFolder::open(&folder).unwrap();
    let decode: Vec<&Cell> = run.cells.iter().filter(|cell| cell.phase == Phase::Decode).collect();
    assert_eq!(decode.len(), 2);
    for (segment, cell) in [None, Some(2)].into_iter().zip(decode) {
        let trace = saved.load_trace(cell.trace.as_ref().unwrap()).unwrap();
        assert_eq!(trace.meta.segment, segment);
        let told = cell.adaptive.as_ref().unwrap();
        assert_eq!((told.asked_seconds, told.longest_seconds), (5.0, 120.0));
        // The checks that were made are those that the rule makes of the trace.
        let again = replay(&trace).unwrap();
        assert_eq!((again.end, again.checks.len()), (told.end, told.checks.len()));
        assert!(told.end != AdaptiveEnd::Undecided && !told.checks.is_empty(), "{told:?}");
    }
}

#[test]
fn a_finished_run_has_nothing_left() {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let ended = start(&server, out.path(), &SMALL).ended();
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let folder = only_run(out.path());
    let before = std::fs::read(folder.join("run.json")).unwrap();
    let again = resume(&folder, &[]);
    assert_eq!(again.code, ended.code, "{again:?}");
    assert!(again.stderr.contains("nothing is left") && again.stderr.contains("--redo"), "{again:?}");
    assert_eq!(std::fs::read(folder.join("run.json")).unwrap(), before);
    resume(&folder, &["--redo", "cell=decode-1024-64"]).failed_with(2, &["decode-1024-64", "decode-1024-2"]);
    let plan = resume(&folder, &["--duration", "2s"]);
    plan.failed_with(2, &["--duration", "--resume"]);
}

#[test]
fn another_server_is_refused_and_told() {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let mut running = start(&server, out.path(), &SMALL);
    running.wait_for("[ 1/3]");
    running.signal("KILL");
    assert_eq!(running.ended().code, None);
    let folder = only_run(out.path());
    let before = std::fs::read(folder.join("run.json")).unwrap();

    let other =
        Server::start(Profile::builtin("rtx-pro-6000-x4").unwrap(), ServerOptions::default()).unwrap();
    let url = other.addr().to_string();
    let refused = resume(&folder, &[&url]);
    refused.failed_with(1, &["capacity.kv_tokens", "--allow-changed"]);
    assert_eq!(std::fs::read(folder.join("run.json")).unwrap(), before, "nothing was written");

    let ended = resume(&folder, &[&url, "--allow-changed"]);
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let run = is_whole(&folder);
    assert!(
        run.breaks[0].differences.iter().any(|one| one.field == "capacity.kv_tokens"),
        "{:?}",
        run.breaks
    );
    assert!(ended.stderr.contains("differs: capacity.kv_tokens"), "{ended:?}");
}

#[test]
fn a_run_is_measured_by_one_process_at_a_time() {
    let server = simulated(None);
    let out = tempfile::tempdir().unwrap();
    let mut running =
        start(&server, out.path(), &["--contexts", "1k", "--concurrency", "1", "--duration", "1h"]);
    running.wait_for("[ 1/2]");
    let folder: PathBuf = only_run(out.path());
    let second = resume(&folder, &[]);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.line("error: ").contains("another tokometer"), "{second:?}");
    running.signal("KILL");
    drop(running.ended());
}

#[test]
fn a_demo_goes_on_with_an_engine_of_its_own() {
    let out = tempfile::tempdir().unwrap();
    let mut command = tokometer();
    let mut running = Watched::start(command.args(["demo", "--out"]).arg(out.path()).args(SMALL));
    running.wait_for("[ 1/3]");
    running.signal("KILL");
    drop(running.ended());
    let folder = only_run(out.path());
    let ended = call(["demo", "--resume", &folder.to_string_lossy()]);
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    let run = is_whole(&folder);
    assert_eq!(places(&run), ["prefill-1024", "decode-1024-1", "decode-1024-2"]);
    assert_eq!(run.breaks.len(), 1);
    let refused = call(["demo", "--resume", &folder.to_string_lossy(), "--redo", "status=odd"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}
