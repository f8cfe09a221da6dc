//! A real browser for the tests of pages: headless Chromium, driven over WebDriver, and what any page must keep.
//!
//! Needs the programs `chromium` and `chromedriver`. `$TOKOMETER_AXE` names the script of axe-core, `$TOKOMETER_ARTIFACTS`
//! a folder for pictures. For tests alone: whatever fails here panics.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![expect(clippy::print_stdout, reason = "a test says what it leaves out")]

mod webdriver;

use std::path::PathBuf;

use serde_json::json;

pub use webdriver::Browser;

/// Text below 4.5 to 1 against what is behind it, each as `ratio text`; a function body for [`Browser::run`].
pub const CONTRAST: &str = include_str!("contrast.js");

/// Which of some elements are seen; the start of a function body.
pub const SEEN: &str =
    "const seen = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility());";

/// Widths that pages are looked at, CSS pixels.
pub const WIDTHS: [u32; 7] = [360, 480, 720, 900, 1100, 1400, 1920];

/// True where browser tests are wanted: `TOKOMETER_BROWSER=1`.
pub fn is_wanted() -> bool {
    let wanted = std::env::var("TOKOMETER_BROWSER").as_deref() == Ok("1");
    if !wanted {
        println!("skipped: set TOKOMETER_BROWSER=1 to run it");
    }
    wanted
}

/// The script of axe-core, where it is at hand.
pub fn axe() -> Option<String> {
    let axe = std::env::var_os("TOKOMETER_AXE").map(|path| std::fs::read_to_string(path).unwrap());
    if axe.is_none() {
        println!("axe-core is not run: set TOKOMETER_AXE to its axe.min.js");
    }
    axe
}

/// Where pictures go; none where none are wanted.
pub fn artifacts() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("TOKOMETER_ARTIFACTS")?);
    std::fs::create_dir_all(&folder).unwrap();
    Some(folder)
}

/// No rule of axe-core is broken by what is on the screen.
#[track_caller]
pub fn axe_now(browser: &Browser, axe: &str, place: &str) {
    let found = browser.run(&format!(
        "{axe}; return axe.run(document, {{ resultTypes: ['violations'] }}).then((result) => result.violations.map(
           (rule) => `${{rule.id}}: ${{rule.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')}}`))"
    ));
    assert_eq!(found, json!([]), "{place}");
}

/// Nothing is wider than the screen, whatever its width.
#[track_caller]
pub fn fits(browser: &Browser) {
    for width in WIDTHS {
        browser.screen(width, 800, width < 500);
        let found = browser.run("return [document.documentElement.scrollWidth, innerWidth]");
        assert_eq!(found, json!([width, width]), "the page is wider than {width}");
    }
}

/// All text can be read, by day and by night.
#[track_caller]
pub fn has_contrast(browser: &Browser) {
    for scheme in ["light", "dark"] {
        browser.medium("", scheme);
        assert_eq!(browser.run(CONTRAST), json!([]), "{scheme}: text that is hard to read");
    }
    browser.medium("", "light");
}

/// A page at three widths, by day and night, and on paper.
pub fn pictures_of(browser: &Browser, name: &str) {
    let Some(folder) = artifacts() else { return };
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
