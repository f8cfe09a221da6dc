//! `tokometer compare BASE NEW…`.

use tokometer_analysis::{CompareOptions, Gate, compare as analyse};
use tokometer_record::{Run, RunFolder};

use crate::args::judge::CompareArgs;
use crate::failure::{self, Hinted};
use crate::out;

/// Lays runs side by side.
pub(crate) fn compare(args: &CompareArgs) -> anyhow::Result<u8> {
    let mut options = CompareOptions::default();
    let usage = |error: tokometer_analysis::AnalysisError| {
        Hinted::usage(error.to_string(), "see tokometer compare --help")
    };
    options.gates =
        args.fail_if.iter().map(|gate| gate.parse::<Gate>()).collect::<Result<_, _>>().map_err(usage)?;
    options.level = tokometer_analysis::parse_service_level(&args.slo).map_err(usage)?;
    let runs = std::iter::once(&args.base)
        .chain(&args.new)
        .map(|path| Ok(RunFolder::open(path)?.load_run()?))
        .collect::<anyhow::Result<Vec<Run>>>()?;
    let comparison = analyse(&runs, &options).map_err(usage)?;
    if let Some(file) = &args.html {
        let page = tokometer_report::compare_page(&comparison, &runs)?;
        std::fs::write(file, page).map_err(|error| {
            Hinted::new(format!("cannot write {}: {error}", file.display()), "give another file with --html")
        })?;
        out::say(&format!("page: {}", file.display()));
    }
    if args.json {
        out::result_line(&serde_json::to_string_pretty(&comparison)?)?;
    } else {
        out::result(&tokometer_report::compare_terminal(&comparison, out::width(), out::colour()))?;
    }
    Ok(if comparison.gate_failed() { failure::GATE } else { 0 })
}
