//! `tokometer sweep FILE.toml`.

use std::io::Write;
use std::path::Path;

use anyhow::Context;

use crate::args::sweep::SweepArgs;
use crate::failure::{self, Hinted};
use crate::out;
use crate::sweep::Prepared;

/// A sweep to begin with, every key explained.
const EXAMPLE: &str = include_str!("../../../../docs/sweep.toml");

/// Measures what a file lists.
pub(crate) fn sweep(args: &SweepArgs) -> anyhow::Result<u8> {
    if args.init {
        return init(&args.file);
    }
    let name = args.file.display();
    let text = std::fs::read_to_string(&args.file).with_context(|| {
        Hinted::usage(format!("cannot read {name}"), format!("begin with tokometer sweep --init {name}"))
    })?;
    let prepared = Prepared::new(&args.file, &text, &args.out)?;
    if !args.quiet {
        out::say(&prepared.plan_text());
    }
    if args.dry_run {
        return Ok(0);
    }
    if !args.yes && prepared.left() > 0 && out::can_ask() && !out::confirmed()? {
        out::say("nothing was measured");
        return Ok(failure::INTERRUPTED);
    }
    prepared.measure(args.quiet, args.json)
}

/// Writes the example, and never over a file that is there.
fn init(path: &Path) -> anyhow::Result<u8> {
    let name = path.display();
    let written = std::fs::File::create_new(path).and_then(|mut file| file.write_all(EXAMPLE.as_bytes()));
    written.map_err(|error| {
        Hinted::usage(
            format!("cannot write {name}: {error}"),
            "give the name of a file that is not there yet",
        )
    })?;
    out::say(&format!(
        "{name} is an example: change it, then look at its plan with tokometer sweep {name} --dry-run"
    ));
    Ok(0)
}
