//! The exit code that a run deserves (method section 8).

use tokometer_record::{Run, RunState, Status};

/// 0: all cells valid or not run by plan; 1: the run itself failed; 3: finished with cells that are neither;
/// 130: interrupted.
pub fn exit_code(run: &Run) -> u8 {
    let any = |status: Status| run.cells.iter().any(|cell| cell.status == status);
    match run.state {
        RunState::Interrupted => 130,
        _ if any(Status::Interrupted) => 130,
        RunState::Failed => 1,
        RunState::DryRun => 0,
        RunState::Running | RunState::Finished => {
            let good = |status: Status| status == Status::Valid || status.not_run_by_plan();
            if run.cells.iter().all(|cell| good(cell.status)) { 0 } else { 3 }
        }
    }
}
