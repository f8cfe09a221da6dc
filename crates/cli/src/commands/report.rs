//! `tokometer report RUN`.

use tokometer_record::RunFolder;

use crate::args::{FormatArg, ReportArgs};
use crate::out;

/// Shows a record.
pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<u8> {
    let run = RunFolder::open(&args.run)?.load_run()?;
    match args.format {
        FormatArg::Terminal => out::result(&tokometer_report::terminal(&run, out::width(), out::colour()))?,
        FormatArg::Html => out::result(&tokometer_report::html(&run)?)?,
        FormatArg::Json => out::result_line(&tokometer_report::json(&run)?)?,
    }
    Ok(0)
}
