//! One HTML page: style, script and record inside, nothing loaded. All of it can be read without its script.

use askama::Template;
use tokometer_record::{CellDetail, Comparison, Run, SweepSummary, page};

use super::csv;
use crate::ReportError;
use crate::csp;
use crate::view::View;
use crate::view::compare::CompareView;
use crate::view::sweep::SweepView;

/// The style sheet, inlined.
const STYLE: &str = concat!(include_str!("../../assets/page.css"), include_str!("../../assets/chart.css"));
/// What runs before the page is drawn, so that nothing moves when the other script comes.
const EARLY: &str = include_str!("../../assets/early.js");
/// What makes the page of a run easier to use.
const SCRIPT: &str = concat!(include_str!("../../assets/common.js"), include_str!("../../assets/page.js"));
/// The same for a comparison.
const COMPARE_SCRIPT: &str = include_str!("../../assets/common.js");

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

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage<'a> {
    view: &'a CompareView,
    style: &'static str,
    early: &'static str,
    script: &'static str,
    policy: String,
    comparison: String,
    version: &'static str,
}

/// The page of a comparison; `runs` are those that it was made of, in its order.
pub(crate) fn compare(comparison: &Comparison, runs: &[Run]) -> Result<String, ReportError> {
    let view = CompareView::of(comparison, runs);
    let page = ComparePage {
        view: &view,
        style: STYLE,
        early: EARLY,
        script: COMPARE_SCRIPT,
        policy: csp::policy(STYLE, &[EARLY, COMPARE_SCRIPT]),
        comparison: page::escape(&serde_json::to_string(comparison)?),
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "sweep.html")]
struct SweepPage<'a> {
    view: &'a SweepView,
    style: &'static str,
    early: &'static str,
    script: &'static str,
    policy: String,
    summary: String,
    version: &'static str,
}

/// The page of a sweep of more entries than one comparison holds: a table, and where they are compared.
pub(crate) fn sweep(summary: &SweepSummary) -> Result<String, ReportError> {
    let page = SweepPage {
        view: &SweepView::of(summary),
        style: STYLE,
        early: EARLY,
        script: COMPARE_SCRIPT,
        policy: csp::policy(STYLE, &[EARLY, COMPARE_SCRIPT]),
        summary: page::escape(&serde_json::to_string(summary)?),
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(page.render()?)
}
