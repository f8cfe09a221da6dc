//! Prints the report of a published matrix: `cargo run --example report -- h200 html > page.html`.

use std::io::Write;

use tokometer_record::{import, published};
use tokometer_report::{Format, Terminal};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (text, file) = match arguments.next().as_deref() {
        Some("rtx") => (published::RTX_PRO_6000_X4, "rtx-pro-6000-x4.json"),
        _ => (published::H200_X4, "h200-x4.json"),
    };
    let format: Format = arguments.next().as_deref().unwrap_or("terminal").parse()?;
    let width = arguments.next().map_or(Ok(100), |width| width.parse())?;
    let run = import::published(text, file)?;
    let report = format.render(&run, Terminal { width, colour: false })?;
    std::io::stdout().write_all(report.as_bytes())?;
    Ok(())
}
