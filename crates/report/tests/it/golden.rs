//! What a reader reads on whole pages, line by line: of both published matrices, and of a recorded run of the demo.

use std::path::Path;

use scraper::{ElementRef, Html};
use tokometer_analysis::detail;
use tokometer_record::{Cell, CellDetail, Run, RunFolder};
use tokometer_report::page;

use crate::html::text;
use crate::support::{h200, rtx};

/// A run of the demo with its traces: `tokometer demo --contexts 8k,32k --concurrency 1,4 --duration 11s`.
pub(crate) fn demo() -> (Run, Vec<CellDetail>) {
    let folder = RunFolder::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/demo")).unwrap();
    let run = folder.load_run().unwrap();
    let files = run.cells.iter().flat_map(Cell::traces);
    let details = files.map(|file| detail(&folder.load_trace(file).unwrap())).collect();
    (run, details)
}

#[test]
fn pages_read_as_they_did() {
    let (run, details) = demo();
    assert_eq!(details.len(), run.cells.len());
    for (name, run, details) in
        [("h200", h200(), Vec::new()), ("rtx", rtx(), Vec::new()), ("demo", run, details)]
    {
        let made = page(&run, &details).unwrap();
        assert_eq!(page(&run, &details).unwrap(), made, "{name}: the same page each time");
        let mut lines = Vec::new();
        outline(Html::parse_document(&made).root_element(), &mut lines);
        // What this program's version is called has no say in it.
        let version = format!("Made by tokometer {}", env!("CARGO_PKG_VERSION"));
        insta::assert_snapshot!(name, lines.join("\n").replace(&version, "Made by tokometer VERSION"));
    }
}

/// A line for each heading, paragraph, item, pair of a list, and row of a table; a chart is its title and its words.
fn outline(element: ElementRef<'_>, lines: &mut Vec<String>) {
    let mut push = |kind: &str, words: String| lines.push(format!("{kind} {words}").trim_end().to_owned());
    let within = |name: &str| {
        element.children().filter_map(ElementRef::wrap).any(|child| child.value().name() == name)
    };
    match element.value().name() {
        "head" | "script" | "style" => {}
        "h1" => push("#", text(&element)),
        "h2" => push("\n##", text(&element)),
        "h3" => push("###", text(&element)),
        "p" | "aside" | "pre" | "legend" | "label" | "button" => push("  ", text(&element)),
        "li" => push("  -", text(&element)),
        "summary" => push("  >", text(&element)),
        "svg" => {
            let said: Vec<String> = element
                .children()
                .filter_map(ElementRef::wrap)
                .filter(|child| matches!(child.value().name(), "title" | "desc"))
                .map(|child| text(&child))
                .collect();
            if !said.is_empty() {
                push("  [chart]", said.join(" · "));
            }
        }
        "tr" => {
            let cells: Vec<String> =
                element.children().filter_map(ElementRef::wrap).map(|cell| text(&cell)).collect();
            push("  |", cells.join(" | "));
        }
        "div" if within("dt") => {
            let parts: Vec<String> =
                element.children().filter_map(ElementRef::wrap).map(|part| text(&part)).collect();
            push("  :", parts.join(": "));
        }
        _ => {
            for child in element.children().filter_map(ElementRef::wrap) {
                outline(child, lines);
            }
        }
    }
}
