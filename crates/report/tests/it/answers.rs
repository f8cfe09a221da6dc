//! The answer strip: figures that the record has, and no others.

use tokometer_record::{Phase, Run, RunState, Status};
use tokometer_report::{html, terminal};

use crate::html::{parsed, select, text};
use crate::support::{decode, everything, h200, rtx};

/// What each context's users are said to be.
fn users(run: &Run) -> Vec<String> {
    select(&parsed(run), ".users dl b").iter().map(text).collect()
}

#[test]
fn answers_come_from_valid_cells() {
    assert_eq!(users(&h200()), ["32", "32", "16", "8", "8", "1"]);
    assert_eq!(users(&rtx()), ["16", "16", "8", "8", "4", "2"]);

    let mut run = h200();
    let peak =
        run.cells.iter_mut().find(|cell| cell.concurrency == 128 && cell.context_nominal == 8192).unwrap();
    peak.status = Status::Unstable;
    let page = parsed(&run);
    let answers = text(&select(&page, ".answers")[0]);
    assert!(answers.contains("Peak 7,875 tok/s 16K × 128"), "{answers}");
}

/// The h200 run with a state and statuses as `change` makes them, rows of decode by row number.
fn changed(state: RunState, change: impl Fn(usize, Phase) -> Option<Status>) -> Run {
    let mut run = h200();
    run.state = state;
    for (place, cell) in run.cells.iter_mut().enumerate() {
        if let Some(status) = change(place, cell.phase) {
            *cell = tokometer_record::Cell::planned(cell.phase, cell.context_nominal, cell.concurrency);
            cell.status = status;
        }
    }
    run
}

#[test]
fn dry_runs_have_no_answers() {
    let run = changed(RunState::DryRun, |_, _| Some(Status::Planned));
    let page = parsed(&run);
    assert!(select(&page, ".answers").is_empty());
    let words = text(&select(&page, "main")[0]);
    let said = terminal(&run, 120, false);
    for absent in ["medians over", "does not tell over how many", "n not in the record"] {
        assert!(!words.contains(absent) && !said.contains(absent), "{absent}");
    }
    assert!(!said.contains("Peak") && !said.contains("Users"));
}

#[test]
fn interrupted_runs_answer_for_what_they_reached() {
    let run = changed(RunState::Interrupted, |place, phase| {
        (phase == Phase::Decode && place > 10).then_some(Status::Planned)
    });
    let reached: Vec<&tokometer_record::Cell> =
        run.cells.iter().filter(|cell| cell.phase == Phase::Decode && cell.status == Status::Valid).collect();
    assert!(!reached.is_empty() && reached.iter().all(|cell| cell.context_nominal == 8192));
    let users = users(&run);
    assert!(users[0].parse::<u32>().is_ok(), "{users:?}");
    assert!(users[1..].iter().all(|most| most == "–"), "no figure where nothing was measured: {users:?}");
    assert!(html(&run).unwrap().contains("<h2>Peak so far</h2>"));
    assert!(terminal(&run, 120, false).contains("\nPeak so far"));
    assert!(!html(&h200()).unwrap().contains("so far"));
}

#[test]
fn a_failed_first_cell_is_not_nobody_served() {
    let mut run = everything();
    run.cells = vec![decode(8192, 1), decode(16384, 1)];
    run.cells[1].status = Status::Error;
    assert_eq!(users(&run), ["1", "–"]);
    run.cells[1].status = Status::OverCapacity;
    assert_eq!(users(&run), ["1", "none"]);
}

#[test]
fn one_request_is_no_median() {
    for said in [html(&h200()).unwrap(), terminal(&h200(), 120, false)] {
        assert!(said.contains("one request each") && !said.contains("medians over n requests"));
    }
    let mut run = everything();
    assert!(terminal(&run, 120, false).contains("PREFILL  medians over n requests · "));
    run.cells.retain(|cell| cell.phase == Phase::Prefill && cell.context_nominal == 8192);
    run.cells[0].status = Status::Planned;
    assert!(html(&run).unwrap().contains("Interrupted: 1 of 1 row not reached"));
}
