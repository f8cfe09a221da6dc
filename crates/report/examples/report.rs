//! Prints the report of a published matrix, or of a run's record, in any format:
//! `cargo run --example report -- h200 html > page.html`, `… -- path/to/run.json terminal 120`.

use std::io::Write;

use tokometer_record::{Run, import, published};
use tokometer_report::{Format, Terminal};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let run: Run = match arguments.next().as_deref() {
        None | Some("h200") => import::published(published::H200_X4, "h200-x4.json")?,
        Some("rtx") => import::published(published::RTX_PRO_6000_X4, "rtx-pro-6000-x4.json")?,
        Some(path) => serde_json::from_str(&std::fs::read_to_string(path)?)?,
    };
    let format: Format = arguments.next().as_deref().unwrap_or("terminal").parse()?;
    let width = arguments.next().map_or(Ok(100), |width| width.parse())?;
    let report = format.render(&run, Terminal { width, colour: false })?;
    std::io::stdout().write_all(&report)?;
    Ok(())
}
