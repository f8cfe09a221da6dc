//! Exit codes (method section 8).

use tokometer_analysis::exit_code;
use tokometer_record::{Cell, Phase, Run, RunState, Status, Tool};

use crate::build::settings;

fn code(state: RunState, statuses: &[Status]) -> u8 {
    let mut run = Run::new("id".to_owned(), Tool::default(), settings());
    run.state = state;
    run.cells = statuses
        .iter()
        .map(|status| Cell { status: *status, ..Cell::planned(Phase::Decode, 8192, 1) })
        .collect();
    exit_code(&run)
}

#[test]
fn a_finished_run_by_its_cells() {
    let good = [Status::Valid, Status::OverCapacity, Status::OverLimit];
    assert_eq!(code(RunState::Finished, &good), 0);
    for bad in [
        Status::Planned,
        Status::Skipped,
        Status::Error,
        Status::Looped,
        Status::ClientLimited,
        Status::Contaminated,
        Status::Queued,
        Status::Short,
        Status::Throttled,
        Status::Unstable,
    ] {
        assert_eq!(code(RunState::Finished, &[good[0], bad]), 3, "{bad:?}");
    }
}

#[test]
fn runs_that_did_not_finish() {
    assert_eq!(code(RunState::Interrupted, &[Status::Valid]), 130);
    assert_eq!(code(RunState::Finished, &[Status::Interrupted]), 130);
    assert_eq!(code(RunState::Failed, &[Status::Valid, Status::Planned]), 1);
    assert_eq!(code(RunState::DryRun, &[Status::Planned, Status::OverCapacity]), 0);
    assert_eq!(code(RunState::Running, &[Status::Valid, Status::Planned]), 3);
}
