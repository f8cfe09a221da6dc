//! Pages in HTML: of a run, and of a comparison. All of them can be read without their script.

use askama::Template;
use tokometer_record::{CellDetail, Comparison, Run, SweepSummary, page};

use super::csv;
use crate::ReportError;
use crate::shell::{COMMON_SCRIPT, COMPARE_SCRIPT, Data, Frame, RUN_SCRIPT, Shell};
use crate::view::View;
use crate::view::cells::Sheet;
use crate::view::compare::CompareView;
use crate::view::sweep::SweepView;

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
#[template(path = "cell.html")]
struct CellPage<'a> {
    view: &'a View,
    frame: Frame<'a>,
    sheet: &'a Sheet,
}

/// The page of one cell; none where there is no cell of this name.
pub(crate) fn cell(
    run: &Run,
    name: &str,
    detail: Option<&CellDetail>,
    shell: &Shell<'_>,
) -> Result<Option<String>, ReportError> {
    let view = View::with(run, detail.map(std::slice::from_ref).unwrap_or_default());
    let Some(sheet) = view.sheets.iter().find(|sheet| sheet.name == name) else { return Ok(None) };
    let page = CellPage { view: &view, frame: Frame::new(shell, COMMON_SCRIPT), sheet };
    Ok(Some(page.render()?))
}

/// What a page without a run shows.
struct Plain<'a> {
    title: &'a str,
}

#[derive(Template)]
#[template(path = "plain.html")]
struct PlainPage<'a> {
    view: Plain<'a>,
    frame: Frame<'a>,
    content: &'a str,
}

/// A page of a web site's own.
pub(crate) fn plain(title: &str, content: &str, shell: &Shell<'_>) -> Result<String, ReportError> {
    Ok(PlainPage { view: Plain { title }, frame: Frame::new(shell, COMMON_SCRIPT), content }.render()?)
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

#[derive(Template)]
#[template(path = "sweep.html")]
struct SweepPage<'a> {
    view: &'a SweepView,
    frame: Frame<'a>,
    summary: String,
}

/// The page of a sweep of more entries than one comparison holds: a table, and where they are compared.
pub(crate) fn sweep(summary: &SweepSummary) -> Result<String, ReportError> {
    let shell = Shell::default();
    let page = SweepPage {
        view: &SweepView::of(summary),
        frame: Frame::new(&shell, COMPARE_SCRIPT),
        summary: page::escape(&serde_json::to_string(summary)?),
    };
    Ok(page.render()?)
}
