//! What a reader does on a page: views, the drawer, keys, theme, sorting, copying, limits; also without scripts, on
//! paper, and with a screen reader's eyes.

use std::path::Path;

use serde_json::{Value, json};

use tokometer_browser::{Browser, SEEN, axe_now};

/// Each view shows its own figures, words and legend, and no others.
pub(crate) fn views_switch(browser: &Browser) {
    let lenses =
        browser.run("return [...document.querySelectorAll('input[name=view]')].map((i) => i.id.slice(5))");
    assert!(lenses.as_array().unwrap().len() >= 4, "{lenses}");
    for lens in lenses.as_array().unwrap() {
        let lens = lens.as_str().unwrap();
        let shown = browser.run(&format!(
            "{SEEN} document.querySelector('label[for=view-{lens}]').click();
             return [new Set(seen('.face').map((f) => f.classList[1])), new Set(seen('.lead.lens').map((f) => f.classList[2])),
                     new Set(seen('.legend').map((f) => f.classList[2]))].map((s) => [...s].join())"
        ));
        assert_eq!(shown, json!([lens, lens, lens]));
        let named = browser.run(
            "const cell = document.querySelector('.matrix .face').closest('td');
             return [cell.innerText.endsWith(', valid'), cell.parentElement.cells[0].innerText.includes('context')]",
        );
        assert_eq!(named, json!([true, true]));
    }
    browser.run("document.querySelector('label[for=view-total]').click()");
}

/// The drawer opens on a click, has the cell's parts, goes on to the next cell, and gives the focus back.
pub(crate) fn the_drawer_opens(browser: &Browser, cell: &str, with_trace: bool) {
    let opened = browser.run(&format!(
        "document.querySelector('td[id=\"{cell}\"] a.open').click();
         const drawer = document.getElementById('drawer');
         return [drawer.open, document.querySelector('#drawer .sheet').id, location.hash]"
    ));
    assert_eq!(opened, json!([true, format!("cell-{cell}"), format!("#cell-{cell}")]));
    let parts = browser.run(
        "const body = document.querySelector('.drawer-body');
         return [body.querySelectorAll('svg.chart').length, body.querySelectorAll('table.requests tbody tr').length > 0,
                 body.scrollWidth <= body.clientWidth]",
    );
    assert_eq!(parts, json!([if with_trace { 3 } else { 0 }, with_trace, true]));
    let title = "return document.getElementById('drawer-title').textContent";
    let first = browser.run(title);
    browser.run("document.getElementById('drawer-after').click()");
    assert_ne!(browser.run(title), first);
    browser.run("document.getElementById('drawer-before').click()");
    assert_eq!(browser.run(title), first);
    browser.key("Escape");
    let closed = browser.run(
        "return [document.getElementById('drawer').open, document.querySelectorAll('#cells .sheet').length,
                 document.activeElement.id, location.hash]",
    );
    let sheets = browser.run("return document.querySelectorAll('.sheet').length");
    assert_eq!(closed, json!([false, sheets, cell, ""]));
}

/// One stop for Tab; arrows, Home, End; Enter opens, Esc closes, `?` helps.
pub(crate) fn keys_walk_the_matrix(browser: &Browser) {
    let at = || browser.run("return document.activeElement.id");
    let ids = browser.run("return [...document.querySelectorAll('.matrix tbody tr')].map((r) => [...r.cells].slice(1).map((c) => c.id))");
    let cell = |row: usize, column: usize| ids[row][column].clone();
    let (rows, columns) = (ids.as_array().unwrap().len(), ids[0].as_array().unwrap().len());
    browser.run("window.scrollTo(0, 0); document.querySelector('.matrix [tabindex=\"0\"]').focus()");
    let stops = browser.run(
        "return document.querySelectorAll('.matrix [tabindex=\"0\"], .matrix a:not([tabindex])').length",
    );
    assert_eq!(stops, 1, "one stop in the matrix");
    browser.chord("Home", true);
    assert_eq!(at(), cell(0, 0));
    browser.key("ArrowLeft");
    browser.key("ArrowUp");
    assert_eq!(at(), cell(0, 0), "the edge holds");
    browser.key("ArrowRight");
    browser.key("ArrowDown");
    assert_eq!(at(), cell(1, 1));
    browser.key("End");
    assert_eq!(at(), cell(1, columns - 1));
    browser.key("Home");
    assert_eq!(at(), cell(1, 0));
    browser.chord("End", true);
    assert_eq!(at(), cell(rows - 1, columns - 1));
    browser.chord("Home", true);
    browser.key("Enter");
    let open = "return document.querySelector('dialog[open]')?.id ?? null";
    assert_eq!(browser.run(open), "drawer");
    browser.key("Escape");
    assert_eq!((browser.run(open), at()), (Value::Null, cell(0, 0)));
    browser.key("?");
    assert_eq!(browser.run(open), "help");
    browser.key("Escape");
    assert_eq!(browser.run(open), Value::Null);
    browser.key("Tab");
    let left = browser.run("return document.activeElement.closest('.matrix') === null");
    assert_eq!(left, true, "Tab leaves the matrix");
}

/// The theme's button goes around, and the choice is there after a reload.
pub(crate) fn the_theme_is_kept(browser: &Browser, file: &Path) {
    let ground = || browser.run("return getComputedStyle(document.body).backgroundColor");
    let press = || browser.run("document.getElementById('theme').click()");
    let light = ground();
    press();
    assert_eq!(ground(), light, "light by day is as the system");
    press();
    let dark = ground();
    assert_ne!(dark, light);
    browser.open(file);
    assert_eq!(ground(), dark, "kept");
    assert_eq!(browser.run("return document.getElementById('theme-name').textContent"), "Dark");
    press();
    assert_eq!(ground(), light, "as the system again");
}

/// Columns of all measurements sort up, down, and back; missing figures come last.
pub(crate) fn measurements_sort(browser: &Browser) {
    let column = browser.run("return [...document.querySelectorAll('.all thead th')].findIndex((h) => h.dataset.key === 'throughput.total')");
    let values = || {
        let found = browser.run(&format!(
            "return [...document.querySelectorAll('.all tbody tr')].map((r) => r.cells[{column}].dataset.value ?? null)"
        ));
        found
            .as_array()
            .unwrap()
            .iter()
            .map(|value| value.as_str().map(|text| text.parse::<f64>().unwrap()))
            .collect::<Vec<_>>()
    };
    let press = || {
        browser.run(&format!(
            "document.querySelectorAll('.all thead th')[{column}].querySelector('button').click()"
        ))
    };
    let recorded = values();
    let numbers = |values: &[Option<f64>]| values.iter().map_while(|value| *value).collect::<Vec<f64>>();
    let count = recorded.iter().flatten().count();
    press();
    let up = numbers(&values());
    assert!(up.len() == count && up.is_sorted());
    press();
    let down = numbers(&values());
    assert!(down.len() == count && down.iter().rev().is_sorted());
    press();
    assert_eq!(values(), recorded);
}

/// What is copied is the table of values, the record, the launch command.
pub(crate) fn copies_are_made(browser: &Browser, names: &[&str]) {
    browser.devtools(
        "Browser.grantPermissions",
        &json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] }),
    );
    for &name in names {
        let copied = browser.run(&format!(
            "const button = document.querySelector('[data-copy={name}]');
             if (!button) return null;
             button.click();
             return (async () => {{
               for (let tries = 0; button.textContent !== 'Copied'; tries += 1) {{
                 if (tries > 200) return button.textContent;
                 await new Promise((done) => setTimeout(done, 10));
               }}
               return navigator.clipboard.readText().catch(() => 'Copied');
             }})()"
        ));
        if name == "launch" && copied == Value::Null {
            continue;
        }
        let copied = copied.as_str().unwrap();
        let fits = match name {
            "csv" => copied.starts_with("cell,phase,context,"),
            "run" => copied.starts_with("{\"schema\":\"tokometer.run/1\""),
            "comparison" => copied.starts_with("{\"schema\":\"tokometer.comparison/1\""),
            _ => !copied.is_empty(),
        };
        assert!(fits || copied == "Copied", "{name}: {}", &copied[..copied.len().min(80)]);
    }
}

/// Nothing moves once it is drawn.
pub(crate) fn nothing_shifts(browser: &Browser, file: &Path) {
    browser.open(file);
    let shifted = browser.run(
        "return new Promise((done) => {
           let sum = 0;
           new PerformanceObserver((list) => { for (const entry of list.getEntries()) sum += entry.value; })
             .observe({ type: 'layout-shift', buffered: true });
           requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum), 50)));
         })",
    );
    assert_eq!(shifted.as_f64(), Some(0.0), "layout shift");
}

/// Without scripts everything can be read, and links lead to what they name.
pub(crate) fn reads_without_scripts(browser: &Browser, file: &Path, cell: &str) {
    browser.devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    browser.open(file);
    let seen = browser.run(&format!(
        "{SEEN} return [document.documentElement.className, seen('.js-only').length, seen('#cells details').length > 0,
                 seen('.face.total').length > 0, seen('.matrix td a.open').length > 0]"
    ));
    assert_eq!(seen, json!(["", 0, true, true, true]));
    // Views are switched by the style sheet alone.
    let ttft = browser.run(&format!(
        "{SEEN} document.getElementById('view-ttft').checked = true; const n = [seen('.face.ttft').length > 0, seen('.face.total').length];
         document.getElementById('view-total').checked = true; return n"
    ));
    assert_eq!(ttft, json!([true, 0]));
    let opened = browser.run(&format!(
        "{SEEN} document.getElementById('cell-{cell}').closest('details').open = true; return seen('[id=\"cell-{cell}\"]').length"
    ));
    assert_eq!(opened, 1);
    browser.devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": false }));
    browser.open(file);
}

/// On paper there is nothing to press, notes are open, and all is dark on white.
pub(crate) fn prints(browser: &Browser) {
    browser.medium("print", "dark");
    let found = browser.run(&format!(
        "{SEEN} return [seen('button:not(.sort), .switches, dialog, #cells').length, getComputedStyle(document.body).backgroundColor,
                 seen('.notes li').length === document.querySelectorAll('.notes li').length]"
    ));
    assert_eq!(found, json!([0, "rgb(255, 255, 255)", true]));
    let printed = browser.devtools("Page.printToPDF", &json!({ "preferCSSPageSize": true }));
    assert!(printed["data"].as_str().unwrap().len() > 10_000);
    browser.medium("", "light");
}

/// On a phone the contexts can be seen one at a time.
pub(crate) fn one_context_at_a_time(browser: &Browser) {
    browser.screen(360, 800, true);
    let found = browser.run(
        "document.querySelector('label[for=layout-list]').click();
         const rows = [...document.querySelectorAll('.matrix tbody tr')];
         const [first, second] = rows.map((row) => row.getBoundingClientRect());
         const cells = [...rows[0].cells].slice(1).map((cell) => cell.getBoundingClientRect());
         const answer = [first.left >= 0 && first.right <= innerWidth, rows.length < 2 || second.right > innerWidth,
                         cells.every((cell, place) => place === 0 || cell.top > cells[place - 1].top),
                         document.documentElement.scrollWidth];
         document.querySelector('label[for=layout-table]').click();
         return answer;",
    );
    assert_eq!(found, json!([true, true, true, 360]));
    browser.screen(1400, 900, false);
}

/// No rule of axe-core is broken: by day and night, with the drawer of a cell open, on a phone.
pub(crate) fn axe_finds_nothing(browser: &Browser, axe: &str, cell: Option<&str>) {
    axe_now(browser, axe, "by day");
    browser.medium("", "dark");
    axe_now(browser, axe, "by night");
    browser.medium("", "light");
    if let Some(cell) = cell {
        browser.run(&format!(
            "document.querySelector('td[id=\"{cell}\"] a.open').click(); document.getAnimations().forEach((a) => a.finish())"
        ));
        axe_now(browser, axe, "drawer");
        browser.key("Escape");
    }
    browser.screen(360, 800, true);
    axe_now(browser, axe, "phone");
    browser.screen(1400, 900, false);
}
