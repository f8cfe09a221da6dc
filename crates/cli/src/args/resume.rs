//! Taking up a run that was broken off.

use std::path::PathBuf;
use std::str::FromStr;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use tokometer_record::{Cell, Status};

use super::matrix::MatrixArgs;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Resume")]
pub(crate) struct ResumeArgs {
    /// Go on with the run in this folder: its plan, its settings; what it has measured is kept
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
    /// Measure these again too: `status=unstable,error`, or `cell=decode-8192-32`; the old ones are kept aside
    #[arg(long, value_name = "WHICH", requires = "resume")]
    pub(crate) redo: Vec<Redo>,
    /// Resume although the model, the engine or the settings are not what they were; the record says what differs
    #[arg(long, requires = "resume")]
    pub(crate) allow_changed: bool,
}

/// Options of the matrix that may be given beside `--resume`: a record does not hold them, or they are the client's.
const FREE: [&str; 3] = ["corpus", "source_address", "load_threads"];

/// Options on the command line that would change the plan of the run that is resumed.
pub(crate) fn plan_options(matches: &ArgMatches) -> Vec<String> {
    let Some((_, matches)) = matches.subcommand() else { return Vec::new() };
    if !matches!(matches.try_get_one::<PathBuf>("resume"), Ok(Some(_))) {
        return Vec::new();
    }
    let plan = MatrixArgs::augment_args(clap::Command::new("plan"));
    let is_given = |arg: &&clap::Arg| {
        let id = arg.get_id().as_str();
        !FREE.contains(&id) && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    plan.get_arguments()
        .filter(is_given)
        .filter_map(|arg| arg.get_long().map(|long| format!("--{long}")))
        .collect()
}

/// What is measured again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Redo {
    /// Measurements with one of these verdicts.
    Statuses(Vec<Status>),
    /// Cells with one of these names.
    Cells(Vec<String>),
}

impl Redo {
    /// True if it chooses a measurement of `cell` whose verdict is `status`.
    pub(crate) fn chooses(&self, cell: &Cell, status: Status) -> bool {
        match self {
            Redo::Statuses(statuses) => statuses.contains(&status),
            Redo::Cells(names) => names.contains(&cell.name()),
        }
    }

    /// As the user wrote it.
    pub(crate) fn words(&self) -> String {
        match self {
            Redo::Statuses(statuses) => {
                format!(
                    "status={}",
                    statuses.iter().map(|status| status.code()).collect::<Vec<_>>().join(",")
                )
            }
            Redo::Cells(names) => format!("cell={}", names.join(",")),
        }
    }
}

impl FromStr for Redo {
    type Err = String;

    fn from_str(text: &str) -> Result<Redo, String> {
        let parts = |list: &str| {
            list.split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (kind, list) = text.split_once('=').unwrap_or(("", text));
        let parts = parts(list);
        match kind.trim() {
            "status" if !parts.is_empty() => {
                parts.iter().map(|word| status(word)).collect::<Result<_, _>>().map(Redo::Statuses)
            }
            "cell" if !parts.is_empty() => Ok(Redo::Cells(parts)),
            _ => Err("expected status=unstable,error or cell=decode-8192-32".to_owned()),
        }
    }
}

/// Verdicts of measurements; what was left out by plan or not reached yet is no measurement.
const CHOOSABLE: [Status; 11] = [
    Status::Skipped,
    Status::Interrupted,
    Status::Error,
    Status::Looped,
    Status::ClientLimited,
    Status::Contaminated,
    Status::Queued,
    Status::Short,
    Status::Throttled,
    Status::Unstable,
    Status::Valid,
];

fn status(word: &str) -> Result<Status, String> {
    CHOOSABLE.into_iter().find(|status| status.code() == word).ok_or_else(|| {
        let known = CHOOSABLE.map(Status::code).join(", ");
        format!("{word:?} is no verdict of a measurement; expected some of {known}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_measured_again_is_read_and_written_alike() {
        for text in ["status=unstable,error", "cell=decode-8192-32,prefill-8192"] {
            assert_eq!(text.parse::<Redo>().unwrap().words(), text);
        }
        for (text, word) in [
            ("unstable", "status="),
            ("status=", "status="),
            ("status=odd", "looped"),
            ("status=planned", "valid"),
        ] {
            assert!(text.parse::<Redo>().unwrap_err().contains(word), "{text}");
        }
    }
}
