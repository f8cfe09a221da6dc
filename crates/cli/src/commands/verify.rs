//! `tokometer verify RUN`.

use tokometer_analysis::verify as analysis;
use tokometer_record::{Cell, RecordError, Run, RunFolder, TraceFile, Verification};

use crate::args::judge::VerifyArgs;
use crate::failure;
use crate::out;

/// Checks a run. The exit code says whether it holds.
pub(crate) fn verify(args: &VerifyArgs) -> anyhow::Result<u8> {
    let verification = match check(args) {
        Ok(verification) => verification,
        // A record that can't be read does not hold; a file that is not there is another matter.
        Err(error @ (RecordError::Damaged { .. } | RecordError::NotARecord { .. })) => {
            analysis::unreadable(&error.to_string())
        }
        Err(error) => return Err(error.into()),
    };
    if args.json {
        out::result_line(&serde_json::to_string_pretty(&verification)?)?;
    } else {
        out::result(&tokometer_report::verify_terminal(&verification, out::width(), out::colour()))?;
    }
    Ok(if verification.passed { 0 } else { failure::NO_RUN })
}

fn check(args: &VerifyArgs) -> Result<Verification, RecordError> {
    let folder = RunFolder::open(&args.run)?;
    let document = folder.load_document()?;
    let run: Run = folder.load_run()?;
    // A page travels alone; where it lies with its traces, none of them may be missing.
    let is_page = folder.run_file().extension().is_some_and(|extension| extension == "html");
    let beside =
        || run.cells.iter().flat_map(Cell::traces).any(|file| folder.path.join(&file.file).is_file());
    let traces_expected = !is_page || beside();
    let series = folder.find_series(&run);
    Ok(analysis::verify(&run, Some(&document), traces_expected, series, |file| found(&folder, file)))
}

fn found(folder: &RunFolder, file: &TraceFile) -> analysis::FoundTrace {
    match folder.find_trace(file) {
        Ok(None) => analysis::FoundTrace::Missing,
        Ok(Some(stored)) => match stored.trace {
            Ok(trace) => analysis::FoundTrace::Read {
                sha256: stored.sha256,
                bytes: stored.bytes,
                trace: Box::new(trace),
            },
            Err(error) => analysis::FoundTrace::Unreadable {
                sha256: stored.sha256,
                bytes: stored.bytes,
                why: error.to_string(),
            },
        },
        Err(error) => {
            analysis::FoundTrace::Unreadable { sha256: String::new(), bytes: 0, why: error.to_string() }
        }
    }
}
