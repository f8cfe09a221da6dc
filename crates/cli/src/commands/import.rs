//! `tokometer import FILE`.

use anyhow::Context;
use tokometer_record::RunFolder;

use crate::args::report::ImportArgs;
use crate::failure::Hinted;
use crate::out;

/// Turns the result file of another tool, or a published matrix, into a record with its page.
pub(crate) fn import(args: &ImportArgs) -> anyhow::Result<u8> {
    let text = std::fs::read_to_string(&args.file).with_context(|| {
        Hinted::new(
            format!("cannot read {}", args.file.display()),
            "give the JSON file of a published matrix, or a result file of another tool",
        )
    })?;
    let name = args.file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let run = tokometer_record::import::read(&text, &name)?;
    let folder = RunFolder::create(&args.out, &run.id)?;
    folder.save_run(&run)?;
    folder.save_report(&tokometer_report::html(&run)?)?;
    let page = folder.report_file();
    if args.quiet {
        out::result_line(&page.display().to_string())?;
    } else {
        out::result(&tokometer_report::terminal(&run, out::width(), out::colour()))?;
        out::say(&format!("record: {}", folder.run_file().display()));
        out::say(&format!("page:   {}", page.display()));
    }
    Ok(0)
}
