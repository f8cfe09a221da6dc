//! `tokometer report RUN`.

use tokometer_record::RunFolder;
use tokometer_report::{Format, Picture};

use crate::args::report::{FormatArg, ReportArgs};
use crate::failure::Hinted;
use crate::{details, out};

/// Shows a record.
pub(crate) fn report(args: &ReportArgs) -> anyhow::Result<u8> {
    let folder = RunFolder::open(&args.run)?;
    let run = folder.load_run()?;
    if args.chart.is_some() && !matches!(args.format, FormatArg::Svg | FormatArg::Png) {
        let hint = "add --format svg or --format png";
        return Err(Hinted::usage("--chart names a picture, and this format is none", hint).into());
    }
    let picture = args.chart.map_or_else(Picture::default, Picture::from);
    match Format::from(args.format) {
        Format::Terminal => out::result(&tokometer_report::terminal(&run, out::width(), out::colour()))?,
        Format::Html => out::result(&tokometer_report::page(&run, &details::of(&folder, &run)?)?)?,
        Format::Json => out::result_line(&tokometer_report::json(&run)?)?,
        Format::Markdown => out::result(&tokometer_report::markdown(&run))?,
        Format::Csv => out::result(&tokometer_report::csv(&run))?,
        Format::Svg => out::result(&tokometer_report::svg(&run, picture)?)?,
        Format::Png if out::stdout_is_terminal() => {
            let hint = "send it to a file: tokometer report RUN --format png > card.png";
            return Err(Hinted::new("a PNG picture is nothing to show in a terminal", hint).into());
        }
        Format::Png => out::result_bytes(&tokometer_report::png(&run, picture)?)?,
    }
    Ok(0)
}
