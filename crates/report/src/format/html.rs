//! One HTML page: style, script and record inside, nothing loaded. All of it can be read without its script.

use askama::Template;
use tokometer_record::{CellDetail, Run, page};

use super::csv;
use crate::ReportError;
use crate::csp;
use crate::view::View;

/// The style sheet, inlined.
const STYLE: &str = concat!(include_str!("../../assets/page.css"), include_str!("../../assets/chart.css"));
/// What runs before the page is drawn, so that nothing moves when the other script comes.
const EARLY: &str = include_str!("../../assets/early.js");
/// What makes the page easier to use.
const SCRIPT: &str = include_str!("../../assets/page.js");

#[derive(Template)]
#[template(path = "run.html")]
struct Page<'a> {
    view: &'a View,
    style: &'a str,
    early: &'static str,
    script: &'static str,
    policy: String,
    record: String,
    details: String,
    csv: String,
    version: &'static str,
}

/// The whole page, with the details of cells that are at hand.
pub(crate) fn render(run: &Run, details: &[CellDetail]) -> Result<String, ReportError> {
    let view = View::with(run, details);
    // The matrix's width goes by its columns. Style attributes are not allowed by the policy, so the number
    // stands in the style sheet.
    let style = format!("{STYLE}\n.matrix {{ --columns: {}; }}\n", view.matrix.columns.len());
    let page = Page {
        view: &view,
        style: &style,
        early: EARLY,
        script: SCRIPT,
        policy: csp::policy(&style, &[EARLY, SCRIPT]),
        record: page::escape(&serde_json::to_string(run)?),
        details: page::escape(&serde_json::to_string(details)?),
        csv: page::escape(&serde_json::to_string(&csv::render(run))?),
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(page.render()?)
}
