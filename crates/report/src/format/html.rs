//! One HTML file: style and record inside, nothing loaded, no script.

use askama::Template;
use tokometer_record::Run;

use crate::view::View;
use crate::{ReportError, csp};

/// The style sheet, inlined.
const STYLE: &str = include_str!("../../assets/page.css");

#[derive(Template)]
#[template(path = "run.html")]
struct Page<'a> {
    view: &'a View,
    style: &'a str,
    policy: String,
    record: String,
    version: &'static str,
}

/// The whole page.
pub(crate) fn render(run: &Run) -> Result<String, ReportError> {
    let view = View::of(run);
    // The matrix's width goes by its columns. Style attributes are not allowed by the policy, so the number
    // stands in the style sheet.
    let style = format!("{STYLE}\n.matrix {{ --columns: {}; }}\n", view.matrix.columns.len());
    let page = Page {
        view: &view,
        style: &style,
        policy: csp::policy(&style),
        record: embedded(run)?,
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(page.render()?)
}

/// The record as JSON that cannot end its `<script>` element or open a comment in it.
fn embedded(run: &Run) -> Result<String, ReportError> {
    Ok(serde_json::to_string(run)?.replace('<', "\\u003c"))
}
