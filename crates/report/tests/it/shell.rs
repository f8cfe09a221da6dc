//! Pages in the shell of a web site.

use scraper::Html;
use tokometer_analysis::{CompareOptions, compare};
use tokometer_record::page::embedded;
use tokometer_report::{
    Assets, COMMON_SCRIPT, COMPARE_SCRIPT, Data, EARLY, RUN_SCRIPT, STYLE, Shell, cell_page, comparison_page,
    page, plain_page, run_page,
};

use crate::html::{select, text};
use crate::support::{details, everything, h200, rtx};

fn site() -> Shell<'static> {
    Shell {
        site: "speed.example",
        head: "<link rel=\"canonical\" href=\"https://speed.example/r/1\">",
        header: "<nav class=\"masthead\"><a href=\"/\">Runs</a></nav>",
        actions: "<a class=\"tool\" href=\"/r/1/csv\">CSV</a>",
        notice: "<p id=\"level\">Recomputed</p>",
        after: "<section id=\"replicates\"><h2>Replicates</h2></section>",
        footer: "<p id=\"imprint\">Imprint</p>",
        assets: Assets::Linked { style: "/a/page.css", early: "/a/early.js", script: "/a/page.js" },
        data: Data::LeftOut,
        method: Some("/method/1.0"),
        cells: Some("/r/1/cells/"),
        runs: &["/r/1", ""],
    }
}

#[test]
fn a_site_fills_the_slots() {
    let run = everything();
    let made = details(&run);
    let whole = run_page(&run, &made, &site()).unwrap();
    let page = Html::parse_document(&whole);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    assert_eq!(text(&select(&page, "head > title")[0]), format!("{} · speed.example", run.display_title()));
    for selector in [
        "head > link[rel=canonical]",
        "body > nav.masthead a",
        ".head .tools a.tool",
        ".head #level",
        "main > #replicates:last-child",
        "footer #imprint",
        "#definitions a[href='/method/1.0']",
        "head > link[rel=stylesheet][href='/a/page.css']",
        "head > script[src='/a/early.js']",
        "body > script[src='/a/page.js']",
    ] {
        assert_eq!(select(&page, selector).len(), 1, "{selector}");
    }
    // Nothing that the policy of a site would refuse, and nothing that takes the page for a file.
    assert!(select(&page, "style, [style], meta[http-equiv], script:not([src]):not([type])").is_empty());
    for name in ["run", "details", "csv"] {
        assert!(embedded(&whole, name).is_none(), "{name}");
    }
    assert!(select(&page, "[data-copy=run], [data-copy=csv], #beside-button").is_empty());
    let words = text(&select(&page, "body")[0]);
    assert!(!words.contains("this file") && !words.contains("inside this page"));
    // Everything else is as in the file.
    let file = Html::parse_document(&tokometer_report::page(&run, &made).unwrap());
    for selector in ["main > section", "td", "svg.chart", ".sheet", "#drawer", "#limits"] {
        let extra = usize::from(selector == "main > section");
        assert_eq!(select(&page, selector).len(), select(&file, selector).len() + extra, "{selector}");
    }
}

#[test]
fn a_cell_has_a_page_of_its_own() {
    let run = everything();
    let made = details(&run);
    let sheets = Html::parse_document(&run_page(&run, &made, &site()).unwrap());
    assert!(!select(&sheets, ".sheet a[href='/r/1/cells/decode-8192-8']").is_empty());
    let detail = made.iter().find(|detail| detail.cell == "decode-8192-8");
    assert!(detail.is_some());
    let shell = Shell { cells: None, ..site() };
    let page = cell_page(&run, "decode-8192-8", detail, &shell).unwrap().unwrap();
    let page = Html::parse_document(&page);
    assert_eq!((select(&page, ".sheet").len(), select(&page, "svg.chart").len()), (1, 3));
    assert!(select(&page, "style, script:not([src]):not([type])").is_empty());
    assert_eq!(select(&page, ".banner").len(), usize::from(run.simulated));
    assert!(cell_page(&run, "decode-1-1", None, &shell).unwrap().is_none());
}

#[test]
fn a_page_of_the_site_stands_in_the_same_shell() {
    let page = plain_page("Runs <b>", "<h1>All</h1>", &site()).unwrap();
    let page = Html::parse_document(&page);
    assert_eq!(text(&select(&page, "head > title")[0]), "Runs <b> · speed.example");
    assert_eq!(select(&page, "main > h1").len(), 1);
    assert_eq!(select(&page, "main > #replicates:last-child, footer #imprint").len(), 2);
}

#[test]
fn a_comparison_links_its_runs() {
    let runs = [rtx(), h200()];
    let comparison = compare(&runs, &CompareOptions::default()).unwrap();
    let page = Html::parse_document(&comparison_page(&comparison, &runs, &site()).unwrap());
    let links: Vec<_> =
        select(&page, "header.head table a").iter().filter_map(|a| a.value().attr("href")).collect();
    assert_eq!(links, ["/r/1"]);
    assert!(select(&page, "style, script#comparison, [data-copy]").is_empty());
}

#[test]
fn files_have_their_assets_inside() {
    let page = page(&h200(), &[]).unwrap();
    assert!(page.contains(STYLE) && page.contains(EARLY) && page.contains(RUN_SCRIPT));
    assert!(RUN_SCRIPT.starts_with(COMMON_SCRIPT) && COMPARE_SCRIPT == COMMON_SCRIPT);
}
