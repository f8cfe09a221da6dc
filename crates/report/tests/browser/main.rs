//! The page in a real browser: headless Chromium, driven over WebDriver.
//!
//! Runs with `TOKOMETER_BROWSER=1` and needs the programs `chromium` and `chromedriver`. Screenshots are
//! written to `$TOKOMETER_ARTIFACTS` where it is set. `$TOKOMETER_AXE` names the script of axe-core, which checks
//! that everybody can use the page.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod comparing;
#[path = "../it/hostile.rs"]
mod hostile;
mod reading;
#[path = "../it/support.rs"]
mod support;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokometer_browser::{Browser, CONTRAST, artifacts, axe_now, fits, pictures_of};
use tokometer_record::Run;
use tokometer_report::{html, page};

#[test]
fn pages_in_a_browser() {
    if !tokometer_browser::is_wanted() {
        return;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let browser = Browser::start(&folder);
    let axe = tokometer_browser::axe();
    for (name, run, cells, with_traces) in [
        ("h200", support::h200(), 48, false),
        ("rtx", support::rtx(), 48, false),
        ("everything", support::everything(), 24, true),
    ] {
        let details = if with_traces { support::details(&run) } else { Vec::new() };
        let file = open_page(&browser, &folder, name, &page(&run, &details).unwrap());
        reading::nothing_shifts(&browser, &file);
        reading::views_switch(&browser);
        reading::the_drawer_opens(&browser, "decode-8192-8", with_traces);
        reading::keys_walk_the_matrix(&browser);
        reading::measurements_sort(&browser);
        reading::copies_are_made(&browser, &["csv", "run", "launch"]);
        comparing::limits_answer_as_the_analysis(&browser, &run);
        let other = if name == "rtx" { support::everything() } else { support::rtx() };
        comparing::reports_lie_side_by_side(&browser, &run, &other, axe.as_deref());
        reading::one_context_at_a_time(&browser);
        reading::prints(&browser);
        reading::the_theme_is_kept(&browser, &file);
        if let Some(axe) = &axe {
            reading::axe_finds_nothing(&browser, axe, Some("decode-8192-8"));
        }
        reading::reads_without_scripts(&browser, &file, "decode-8192-8");
        browser.log("performance");
        browser.open(&file);
        shows_the_run(&browser, &run, cells);
        is_dark_at_night(&browser);
        fits_every_width(&browser, true);
        prefill_fits_a_phone(&browser);
        all_measurements_fit_a_desk(&browser);
        pictures(&browser, name);
        loads_nothing(&browser, &file);
    }
    for columns in 1..=3 {
        let name = format!("columns-{columns}");
        let file = open(&browser, &folder, &name, &support::narrow(columns));
        few_columns_fit(&browser, columns);
        pictures(&browser, &name);
        loads_nothing(&browser, &file);
    }
    for (name, run) in
        [("failing", support::failing()), ("one-cell", support::one_cell()), ("full", support::full())]
    {
        let details = support::details(&run);
        let file = open_page(&browser, &folder, name, &page(&run, &details).unwrap());
        if let Some(axe) = axe.as_ref().filter(|_| name != "full") {
            axe_now(&browser, axe, name);
        }
        fits_every_width(&browser, name != "one-cell");
        pictures(&browser, name);
        browser.log("performance");
        browser.open(&file);
        loads_nothing(&browser, &file);
    }
    let six: Vec<Run> = (0..6)
        .map(|place| {
            let mut run = if place % 2 == 0 { support::h200() } else { support::rtx() };
            run.id = place.to_string();
            run
        })
        .collect();
    let two = [support::rtx(), support::h200()];
    comparing::comparisons_are_read(&browser, &folder, "compare", &two, axe.as_deref());
    comparing::comparisons_are_read(&browser, &folder, "compare-six", &six, axe.as_deref());
    // Foreign text of any kind and length changes none of this.
    let file = open(&browser, &folder, "hostile", &hostile::hostile());
    fits_every_width(&browser, true);
    loads_nothing(&browser, &file);
}

/// Writes the page of a run and opens it, by day and on a desk.
fn open(browser: &Browser, folder: &Path, name: &str, run: &Run) -> PathBuf {
    open_page(browser, folder, name, &html(run).unwrap())
}

fn open_page(browser: &Browser, folder: &Path, name: &str, page: &str) -> PathBuf {
    let file = folder.join(format!("{name}.html"));
    std::fs::write(&file, page).unwrap();
    browser.screen(1400, 900, false);
    browser.medium("", "light");
    browser.open(&file);
    file
}

fn shows_the_run(browser: &Browser, run: &Run, cells: u64) {
    assert_eq!(browser.run("return document.title"), format!("{} · tokometer", run.display_title()));
    assert_eq!(browser.run("return document.querySelectorAll('table.matrix td').length"), cells);
    assert_eq!(browser.run("return document.querySelectorAll('table.all tbody tr').length"), run.cells.len());
    let seen = |id: &str| {
        browser.run(&format!("return document.getElementById('{id}').innerText")).as_str().unwrap().to_owned()
    };
    if run.imported.is_some() && run.hardware.accelerators[0].name.starts_with("H200") {
        assert_eq!(
            seen("decode-8192-8").split_whitespace().collect::<Vec<_>>().join(" "),
            "1,145 tok/s TTFT 307 ms 7.0 ms/token , valid"
        );
        assert!(seen("decode-32768-64").contains("Looped"));
        assert!(seen("decode-257024-128").contains("Over capacity"));
        assert!(seen("launch").contains("--tensor-parallel-size 4"));
    }
    if run.simulated {
        assert!(seen("decode-title").contains("SIMULATED"));
        assert!(seen("launch").starts_with("Unknown:"));
    }
}

fn is_dark_at_night(browser: &Browser) {
    let ground = || browser.run("return getComputedStyle(document.body).backgroundColor");
    let readable = |scheme: &str| {
        let faint = browser.run(CONTRAST);
        assert_eq!(faint, json!([]), "{scheme}: text that is hard to read");
    };
    assert_eq!(ground(), "rgb(247, 247, 244)");
    readable("light");
    browser.medium("", "dark");
    assert_eq!(ground(), "rgb(14, 18, 23)");
    readable("dark");
    browser.medium("", "light");
}

/// Only the tables may be wider than the screen, and they scroll by themselves, with the first column in sight.
fn fits_every_width(browser: &Browser, scrolls: bool) {
    fits(browser);
    if !scrolls {
        return;
    }
    browser.screen(360, 800, true);
    let sticky = browser.run(
        "const box = document.querySelector('#decode .scroll'); box.scrollLeft = 300;
         const label = box.querySelector('tbody th').getBoundingClientRect();
         const first = box.querySelector('tbody td').getBoundingClientRect();
         const answer = [box.scrollLeft, label.left >= 0 && label.left < 40, first.left < 0];
         box.scrollLeft = 0; return answer;",
    );
    assert_eq!(sticky, json!([300, true, true]), "the first column stays while the matrix scrolls");
}

/// No column of the table of all measurements is cut on a desk; on a phone a shadow tells that it goes on.
fn all_measurements_fit_a_desk(browser: &Browser) {
    let hidden = || {
        browser.run(
            "const box = document.querySelector('#measurements .scroll');
             return [box.scrollWidth - box.clientWidth, getComputedStyle(box).backgroundAttachment]",
        )
    };
    browser.screen(1400, 900, false);
    assert_eq!(hidden()[0], 0, "all measurements at 1400 px");
    browser.screen(360, 800, true);
    let phone = hidden();
    assert!(phone[0].as_i64().unwrap() > 0 && phone[1] == "local, scroll, scroll", "{phone}");
}

/// The prefill row is seen whole, or nearly so.
fn prefill_fits_a_phone(browser: &Browser) {
    browser.screen(360, 800, true);
    let bars = browser.run(
        "const box = document.querySelector('#prefill .scroll'); return box.scrollWidth - box.clientWidth",
    );
    assert!(bars.as_i64().unwrap() <= 60, "the prefill row nearly fits a phone: {bars} px too wide");
}

/// Up to three columns are seen whole on a phone, and their cells stay cells on a desk.
fn few_columns_fit(browser: &Browser, columns: usize) {
    browser.screen(390, 800, true);
    let found = browser.run(
        "const box = document.querySelector('#decode .scroll');
         const cut = [...box.querySelectorAll('td')].filter((td) => td.scrollWidth > td.clientWidth);
         return [box.scrollWidth - box.clientWidth, cut.map((td) => td.innerText)]",
    );
    assert_eq!(found, json!([0, []]), "{columns} columns on a phone");
    browser.screen(1400, 900, false);
    let widest = browser
        .run("return Math.max(...[...document.querySelectorAll('.matrix td')].map((td) => td.offsetWidth))");
    assert!(widest.as_i64().unwrap() <= 240, "a cell of {columns} columns is {widest} px wide");
}

/// What is on a screen of this width.
fn screenful(browser: &Browser, name: &str, width: u32) {
    let Some(folder) = artifacts() else { return };
    browser.screen(width, 900, width < 500);
    std::fs::write(folder.join(format!("{name}-{width}.png")), browser.screenful()).unwrap();
}

fn pictures(browser: &Browser, name: &str) {
    if artifacts().is_none() {
        return;
    }
    pictures_of(browser, name);
    for (width, kind) in [(360, "list"), (360, "drawer"), (1400, "drawer"), (1400, "ttft")] {
        browser.screen(width, 900, width < 500);
        browser.run(match kind {
            "list" => "document.querySelector('label[for=layout-list]')?.click()",
            "ttft" => "document.querySelector('label[for=view-ttft]')?.click()",
            _ => "document.querySelector('td a.open').click(); document.getAnimations().forEach((a) => a.finish())",
        });
        screenful(browser, &format!("{name}-{kind}"), width);
        browser.run(
            "document.getElementById('drawer').close();
             for (const name of ['layout-table', 'view-total']) document.querySelector(`label[for=${name}]`)?.click();",
        );
    }
    browser.screen(1400, 900, false);
}

/// No request but for the page itself, and nothing on the console.
fn loads_nothing(browser: &Browser, file: &Path) {
    let messages: Vec<Value> = browser.log("browser");
    assert!(messages.is_empty(), "{messages:?}");
    let mut own = 0;
    for entry in browser.log("performance") {
        let message: Value = serde_json::from_str(entry["message"].as_str().unwrap()).unwrap();
        let asked = &message["message"]["params"];
        // The browser opens a page of its own before ours.
        let by_browser = asked["documentURL"].as_str().is_some_and(|page| page.starts_with("chrome:"));
        if message["message"]["method"] == "Network.requestWillBeSent" && !by_browser {
            assert_eq!(
                asked["request"]["url"],
                format!("file://{}", file.display()),
                "the page asked for something"
            );
            own += 1;
        }
    }
    assert_eq!(own, 1);
}
