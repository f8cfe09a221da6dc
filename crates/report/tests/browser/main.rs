//! The page in a real browser: headless Chromium, driven over WebDriver.
//!
//! Runs with `TOKOMETER_BROWSER=1` and needs the programs `chromium` and `chromedriver`. Screenshots are
//! written to `$TOKOMETER_ARTIFACTS` where it is set.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

#[path = "../it/hostile.rs"]
mod hostile;
#[path = "../it/support.rs"]
mod support;
mod webdriver;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokometer_record::Run;
use tokometer_report::html;
use webdriver::Browser;

/// Text below 4.5 to 1 against what is behind it, each as `ratio text`.
const CONTRAST: &str = include_str!("contrast.js");

#[test]
fn pages_in_a_browser() {
    if std::env::var("TOKOMETER_BROWSER").as_deref() != Ok("1") {
        println!("skipped: set TOKOMETER_BROWSER=1 to run it");
        return;
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let browser = Browser::start(&folder);
    for (name, run, cells) in [
        ("h200", support::h200(), 48),
        ("rtx", support::rtx(), 48),
        ("everything", support::everything(), 24),
    ] {
        let file = open(&browser, &folder, name, &run);
        shows_the_run(&browser, &run, cells);
        is_dark_at_night(&browser);
        fits_every_width(&browser);
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
    // Foreign text of any kind and length changes none of this.
    let file = open(&browser, &folder, "hostile", &hostile::hostile());
    fits_every_width(&browser);
    loads_nothing(&browser, &file);
}

/// Writes the page of a run and opens it, by day and on a desk.
fn open(browser: &Browser, folder: &Path, name: &str, run: &Run) -> PathBuf {
    let file = folder.join(format!("{name}.html"));
    std::fs::write(&file, html(run).unwrap()).unwrap();
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
            "1,145 tok/s TTFT 307 ms 7.0 ms/token"
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
fn fits_every_width(browser: &Browser) {
    for width in [360, 480, 720, 900, 1100, 1400, 1920] {
        browser.screen(width, 800, width < 500);
        let found = browser.run("return [document.documentElement.scrollWidth, innerWidth]");
        assert_eq!(found, json!([width, width]), "the page is wider than {width}");
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

fn pictures(browser: &Browser, name: &str) {
    let Some(folder) = std::env::var_os("TOKOMETER_ARTIFACTS").map(PathBuf::from) else { return };
    std::fs::create_dir_all(&folder).unwrap();
    for width in [360, 900, 1400] {
        for scheme in ["light", "dark"] {
            browser.screen(width, 900, width < 500);
            browser.medium("", scheme);
            std::fs::write(folder.join(format!("{name}-{width}-{scheme}.png")), browser.picture()).unwrap();
        }
    }
    browser.screen(1040, 900, false);
    browser.medium("print", "dark");
    std::fs::write(folder.join(format!("{name}-print.png")), browser.picture()).unwrap();
    browser.medium("", "light");
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
