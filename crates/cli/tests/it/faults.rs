//! Servers whose figures must not count: the simulated engine plays them, and the cell says so.

use tokometer_record::{Cell, FlagCode, Phase, Run, Status};
use tokometer_sim::{Profile, Server, ServerOptions};

use crate::support::{call, load, only_run};

/// A short run of two streams against an engine with this fault.
fn run_against(fault: &str, more: &[&str], codes: &[i32]) -> Run {
    let faults = vec![fault.parse().unwrap()];
    let options = ServerOptions { faults, ..ServerOptions::default() };
    let server = Server::start(Profile::builtin("h200-x4").unwrap(), options).unwrap();
    let out = tempfile::tempdir().unwrap();
    let (url, folder) = (format!("http://{}", server.addr()), out.path().to_string_lossy().into_owned());
    let small = ["--contexts", "1k", "--concurrency", "2", "--duration", "2s", "--prefill-repeats", "1"];
    let rest = ["run", &url, "--yes", "--out", &folder];
    let ended = call(rest.into_iter().chain(small).chain(more.iter().copied()));
    assert!(ended.code.is_some_and(|code| codes.contains(&code)), "{fault}: {ended:?}");
    load(&only_run(out.path()))
}

/// The decode cell of such a run.
fn cell_against(fault: &str, more: &[&str]) -> Cell {
    let run = run_against(fault, more, &[3]);
    run.cells.into_iter().find(|cell| cell.phase == Phase::Decode).unwrap()
}

#[test]
fn text_that_repeats_itself_is_looped() {
    let cell = cell_against("loop@20", &[]);
    assert_eq!(cell.status, Status::Looped, "{:?}", cell.reason);
    assert_eq!(cell.loops[0].period, 400, "{:?}", cell.loops);
}

#[test]
fn answers_that_end_early_are_short() {
    let cell = cell_against("early-end@200", &[]);
    assert_eq!(cell.status, Status::Short, "{:?}", cell.reason);
    assert_eq!(cell.reason.unwrap().figures[0].value, 201.0);
}

#[test]
fn a_server_that_works_for_others_is_contaminated() {
    let cell = cell_against("other-traffic", &[]);
    assert_eq!(cell.status, Status::Contaminated, "{:?}", cell.reason);
    assert!(cell.tokens.server > cell.tokens.client, "{:?}", cell.tokens);
}

/// It takes a minute: streams that wait never become ready.
#[test]
fn requests_that_are_held_back_are_queued() {
    let cell = cell_against("fewer-running", &["--max-output", "256"]);
    assert_eq!(cell.status, Status::Queued, "{:?}", cell.reason);
}

#[test]
fn a_warm_cache_that_is_sold_as_cold_is_flagged() {
    // The flag makes nothing unsound; a busy machine may.
    let run = run_against("warm-cache", &[], &[0, 3]);
    let prefill = run.cells.iter().find(|cell| cell.phase == Phase::Prefill).unwrap();
    let flag = prefill.flag(FlagCode::PrefixHit).unwrap_or_else(|| panic!("{prefill:?}"));
    assert!(flag.figures[0].value > 0.0, "{flag:?}");
}

/// Answers are short, so that many are asked for; what happens to each fortieth befalls none of those before the cell.
#[test]
fn requests_that_fail_among_good_ones_make_the_cell_an_error() {
    for fault in ["error@5/40", "truncated@5/40", "tokenless/40", "reset@5/40", "stall@5/40", "rate-limit/40"]
    {
        let cell = cell_against(fault, &["--max-output", "16", "--timeout", "1s"]);
        assert_eq!(cell.status, Status::Error, "{fault}: {:?}", cell.reason);
        assert!(
            cell.requests.failed > Some(0) && cell.requests.ended > Some(0),
            "{fault}: {:?}",
            cell.requests
        );
    }
}
