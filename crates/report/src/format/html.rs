//! Pages in HTML: of a run, and of a comparison. All of them can be read without their script.

use askama::Template;
use tokometer_record::{CellDetail, Comparison, Run, page};

use super::csv;
use crate::ReportError;
use crate::shell::{COMPARE_SCRIPT, Data, Frame, RUN_SCRIPT, Shell};
use crate::view::View;
use crate::view::compare::CompareView;

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage<'a> {
    view: &'a View,
    frame: Frame<'a>,
    limits: String,
    record: String,
    details: String,
    csv: String,
}

/// The page of a run, with the details of cells that are at hand.
pub(crate) fn run(run: &Run, details: &[CellDetail], shell: &Shell<'_>) -> Result<String, ReportError> {
    let view = View::with(run, details);
    let embedded = |json: &dyn Fn() -> serde_json::Result<String>| match shell.data {
        Data::Embedded => json().map(|json| page::escape(&json)),
        Data::LeftOut => Ok(String::new()),
    };
    let page = RunPage {
        view: &view,
        frame: Frame::new(shell, RUN_SCRIPT),
        limits: page::escape(&serde_json::to_string(&view.answers.judged)?),
        record: embedded(&|| serde_json::to_string(run))?,
        details: embedded(&|| serde_json::to_string(details))?,
        csv: embedded(&|| serde_json::to_string(&csv::render(run)))?,
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage<'a> {
    view: &'a CompareView,
    frame: Frame<'a>,
    comparison: String,
}

/// The page of a comparison; `runs` are those that it was made of, in its order.
pub(crate) fn compare(
    comparison: &Comparison,
    runs: &[Run],
    shell: &Shell<'_>,
) -> Result<String, ReportError> {
    let view = CompareView::of(comparison, runs);
    let page = ComparePage {
        view: &view,
        frame: Frame::new(shell, COMPARE_SCRIPT),
        comparison: match shell.data {
            Data::Embedded => page::escape(&serde_json::to_string(comparison)?),
            Data::LeftOut => String::new(),
        },
    };
    Ok(page.render()?)
}
