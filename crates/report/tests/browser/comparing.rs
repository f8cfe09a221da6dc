//! What a reader does on the page of a comparison, and with another report beside the page of a run.

use std::path::Path;

use serde_json::{Value, json};
use tokometer_analysis::{CompareOptions, DEFAULT_LEVEL, compare, users_by_medians};
use tokometer_browser::{Browser, SEEN, axe_now};
use tokometer_record::Run;
use tokometer_record::comparison::ServiceLevel;
use tokometer_report::{compare_page, html};

use crate::reading;
use crate::{fits, is_dark_at_night, loads_nothing, open_page};

/// Every view of a comparison, on every screen, and for everybody.
pub(crate) fn comparisons_are_read(
    browser: &Browser,
    folder: &Path,
    name: &str,
    runs: &[Run],
    axe: Option<&str>,
) {
    let comparison = compare(runs, &CompareOptions::default()).unwrap();
    let file = open_page(browser, folder, name, &compare_page(&comparison, runs).unwrap());
    reading::nothing_shifts(browser, &file);
    tables_open_by_keyboard(browser);
    reading::copies_are_made(browser, &["comparison"]);
    reading::the_theme_is_kept(browser, &file);
    if let Some(axe) = axe {
        reading::axe_finds_nothing(browser, axe, None);
    }
    prints(browser);
    reads_without_scripts(browser, &file);
    browser.log("performance");
    browser.open(&file);
    is_dark_at_night(browser);
    fits(browser);
    browser.screen(360, 800, true);
    let charts = browser.run(&format!(
        "{SEEN} return [seen('svg.chart').length, document.querySelectorAll('svg.chart').length]"
    ));
    assert!(charts[0].as_u64() > Some(0) && charts[0] == charts[1], "charts on a phone: {charts}");
    loads_nothing(browser, &file);
    crate::pictures_of(browser, name);
}

/// The first table of ratios is open; the others open with Enter on their names.
fn tables_open_by_keyboard(browser: &Browser) {
    let count = |selector: &str| {
        browser.run(&format!("return document.querySelectorAll('{selector}').length")).as_u64().unwrap()
    };
    assert!(count("details.ratio-table") >= 3);
    let open = || count("details.ratio-table[open]");
    let first = open();
    browser.run("document.querySelectorAll('details.ratio-table:not([open]) summary')[0].focus()");
    browser.key("Enter");
    assert_eq!(open(), first + 1);
    browser.key("Enter");
    assert_eq!(open(), first);
    // A ratio is never told by its colour alone.
    let bare = browser.run(
        "return [...document.querySelectorAll('.ratios td')].filter((td) => !td.classList.contains('none') &&
           !/\\d/.test(td.querySelector('b').textContent)).length",
    );
    assert_eq!(bare, 0);
}

fn prints(browser: &Browser) {
    browser.medium("print", "dark");
    let found = browser.run(&format!(
        "{SEEN} return [seen('button').length, getComputedStyle(document.body).backgroundColor,
                 seen('.ratios').length === document.querySelectorAll('.ratios').length]"
    ));
    assert_eq!(found, json!([0, "rgb(255, 255, 255)", true]));
    let printed = browser.devtools("Page.printToPDF", &json!({ "preferCSSPageSize": true }));
    assert!(printed["data"].as_str().unwrap().len() > 10_000);
    browser.medium("", "light");
}

fn reads_without_scripts(browser: &Browser, file: &Path) {
    browser.devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    browser.open(file);
    let seen = browser.run(&format!(
        "{SEEN} return [document.documentElement.className, seen('.js-only').length, seen('.ratios td').length > 0,
                 seen('#settings').length, seen('#rules').length]"
    ));
    assert_eq!(seen, json!(["", 0, true, 1, 1]));
    browser.devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": false }));
    browser.open(file);
}

/// Figures of the table of another report that are not as the page's own matrix writes them.
const UNLIKE: &str = r"
const faces = { 'Total': 'total', 'Per request': 'request', 'TTFT': 'ttft', 'Time between tokens': 'gap', 'Energy': 'energy' };
const shown = (cell, face) => cell.querySelector(`.face.${face} b`)?.textContent;
const cells = new Map([...document.querySelectorAll('.matrix td[id]')].map((cell) => {
  const [, context, streams] = cell.id.split('-');
  return [`${context % 1024 ? context : context / 1024 + 'K'} × ${streams}`, cell];
}));
const unlike = [];
for (const part of document.querySelectorAll('#beside-result details')) {
  const face = faces[part.querySelector('summary').firstChild.data.trim()];
  for (const row of face ? part.querySelectorAll('tbody tr') : []) {
    const [name, one, two] = [...row.cells].map((cell) => cell.textContent);
    const page = shown(cells.get(name), face);
    const alike = (said) => (page === undefined ? !/\d/.test(said) : said === page);
    if (!alike(one) || !alike(two)) unlike.push([name, face, page, one, two].join(' | '));
  }
}
return unlike;";

/// Another report is dropped, or chosen after the key `c`; its figures stand beside those of the page.
pub(crate) fn reports_lie_side_by_side(browser: &Browser, run: &Run, other: &Run, axe: Option<&str>) {
    browser.key("c");
    let open = "return document.querySelector('dialog[open]')?.id ?? null";
    assert_eq!(browser.run(open), "beside");
    browser.key("Escape");
    assert_eq!(browser.run(open), Value::Null);

    // Itself: nothing differs, and every figure is as the page writes it.
    drop_file(browser, "again.html", &html(run).unwrap());
    let said = browser.run(
        "return [document.querySelectorAll('#beside-result table').length > 3,
                 document.querySelector('#beside-result h3 + p')?.textContent ?? ''];",
    );
    assert_eq!(said, json!([true, "None of the settings that are looked at here."]));
    assert_eq!(browser.run(UNLIKE), json!([]));
    browser.key("Escape");

    // Another one, as a bare record.
    drop_file(browser, "other run.json", &serde_json::to_string(other).unwrap());
    let said = browser.run("return document.getElementById('beside-result').textContent");
    let title = other.display_title();
    for part in [&*title, "Launch command", "tokometer compare ", "'other run.json' --html comparison.html"] {
        assert!(said.as_str().unwrap().contains(part), "{part}: {said}");
    }
    if let Some(axe) = axe {
        axe_now(browser, axe, "beside another report");
    }
    crate::screenful(browser, "beside", 360);
    crate::screenful(browser, "beside", 1400);
    browser.screen(1400, 900, false);
    browser.key("Escape");

    // What is none, and what is hostile.
    drop_file(browser, "notes.txt", "no record");
    let alert = browser.run("return document.querySelector('#beside-result [role=alert]').textContent");
    assert!(alert.as_str().unwrap().starts_with("notes.txt is no report"), "{alert}");
    browser.key("Escape");
    drop_file(browser, "<img src=x>.html", &html(&crate::hostile::hostile()).unwrap());
    let found = browser.run(
        "const box = document.getElementById('beside-result');
         return [box.querySelectorAll('img, script, iframe, a, [onerror]').length, /[\\u202e\\u001b]/.test(box.textContent)]",
    );
    assert_eq!(found, json!([0, false]));
    browser.key("Escape");
}

fn drop_file(browser: &Browser, name: &str, text: &str) {
    let dropped = browser.run(&format!(
        "const brought = new DataTransfer();
         brought.items.add(new File([{}], {}));
         document.getElementById('beside-result').replaceChildren();
         document.body.dispatchEvent(new DragEvent('drop', {{ dataTransfer: brought, bubbles: true, cancelable: true }}));
         return (async () => {{
           for (let tries = 0; !document.getElementById('beside-result').childNodes.length; tries += 1) {{
             if (tries > 500) return false;
             await new Promise((done) => setTimeout(done, 10));
           }}
           document.getAnimations().forEach((animation) => animation.finish());
           return document.getElementById('beside').open;
         }})()",
        json!(text),
        json!(name)
    ));
    assert_eq!(dropped, true, "{name}");
}

/// The script judges by other limits as the analysis does.
pub(crate) fn limits_answer_as_the_analysis(browser: &Browser, run: &Run) {
    for (rate, seconds) in [(20.0, 0.3), (100.0, 5.0), (150.0, 0.16), (500.0, 100.0), (50.0, 1.0)] {
        let level =
            ServiceLevel { least_rate: Some(rate), most_ttft_ms: Some(seconds * 1000.0), ..DEFAULT_LEVEL };
        let users = users_by_medians(std::slice::from_ref(run), level).unwrap();
        let wanted: Vec<Value> = users
            .contexts
            .iter()
            .map(|context| {
                let answer = &context.runs[0];
                let most = match answer.users {
                    Some(0) => "none".to_owned(),
                    Some(users) => users.to_string(),
                    None => "–".to_owned(),
                };
                let mut lines = match &answer.next {
                    Some(next) => vec![format!("at {}:", next.concurrency), next.why.clone()],
                    None => vec!["highest".to_owned(), "measured".to_owned()],
                };
                lines.extend(match &answer.below[..] {
                    [] => None,
                    [one] => Some(format!("not at {}: {}", one.concurrency, one.why)),
                    more => {
                        let all: Vec<String> = more.iter().map(|miss| miss.concurrency.to_string()).collect();
                        Some(format!("not at {}", all.join(", ")))
                    }
                });
                json!([most, lines])
            })
            .collect();
        let found = browser.run(&format!(
            "for (const [name, value] of [['least-rate', {rate}], ['most-ttft', {seconds}]]) {{
               document.getElementById(name).value = value;
               document.getElementById(name).dispatchEvent(new Event('input'));
             }}
             return [...document.querySelectorAll('#users dl > div')].map((entry) =>
               [entry.querySelector('b').textContent, [...entry.querySelectorAll('span')].map((line) => line.textContent)])"
        ));
        assert_eq!(found, json!(wanted), "at ≥ {rate} tok/s and ≤ {seconds} s");
    }
}
