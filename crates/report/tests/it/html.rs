//! The page: its form, its safety, its words.

use scraper::{ElementRef, Html, Selector};
use sha2::{Digest, Sha256};
use tokometer_record::page::embedded;
use tokometer_record::{Phase, Run};
use tokometer_report::html;

use crate::hostile::hostile;
use crate::support::{FLAGS, STATUSES, everything, h200};

pub(crate) fn select<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

pub(crate) fn text(element: &ElementRef<'_>) -> String {
    element.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn parsed(run: &Run) -> Html {
    Html::parse_document(&html(run).unwrap())
}

#[test]
fn pages_are_well_formed() {
    for run in [h200, crate::support::rtx, everything, hostile, only_prefill] {
        let run = run();
        let page = parsed(&run);
        assert!(page.errors.is_empty(), "{:?}", page.errors);
        let mut ids: Vec<&str> =
            select(&page, "[id]").iter().filter_map(|element| element.value().id()).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "ids are used once");
        for link in select(&page, "a") {
            let target =
                link.value().attr("href").unwrap().strip_prefix('#').expect("links stay on the page");
            assert!(ids.contains(&target), "no element is called {target}");
        }
        for region in select(&page, "[aria-labelledby]") {
            for name in region.value().attr("aria-labelledby").unwrap().split(' ') {
                assert!(ids.contains(&name), "no element is called {name}");
            }
        }
        for label in select(&page, "label") {
            assert!(ids.contains(&label.value().attr("for").unwrap()));
        }
        for table in select(&page, "table") {
            assert!(!table.select(&Selector::parse("th[scope]").unwrap()).collect::<Vec<_>>().is_empty());
        }
    }
}

/// A run of prefill rows alone, one of which failed.
fn only_prefill() -> Run {
    let mut run = everything();
    run.cells.retain(|cell| cell.phase == Phase::Prefill);
    run
}

#[test]
fn figures_are_grouped_and_exact() {
    let page = parsed(&everything());
    let heads = select(&page, "table.all thead th");
    for (key, exact, shown) in [("prefill_rate", "27000", "27,000"), ("tokens.out", "6603", "6,603")] {
        let place = heads.iter().position(|head| head.value().attr("data-key") == Some(key)).unwrap() + 1;
        let cells = select(&page, &format!("table.all tbody tr > :nth-child({place})"));
        let found = cells.iter().find(|cell| cell.value().attr("data-value") == Some(exact));
        assert_eq!(text(found.unwrap_or_else(|| panic!("{key} {exact}"))), shown);
    }
}

#[test]
fn nothing_is_loaded_or_run() {
    for run in [h200(), everything(), hostile()] {
        let page = parsed(&run);
        assert!(select(&page, "[src], link, iframe, object, embed, img, form, base").is_empty());
        assert!(select(&page, "[style]").is_empty(), "the policy takes no style attributes");
        let policy =
            select(&page, "meta[http-equiv='Content-Security-Policy']")[0].value().attr("content").unwrap();
        let mut own = 0;
        for script in select(&page, "script") {
            if let Some(kind) = script.value().attr("type") {
                assert_eq!(kind, "application/json");
            } else {
                own += 1;
                let code: String = script.text().collect();
                assert!(policy.contains(&format!("'sha256-{}'", base64_sha256(&code))), "{policy}");
            }
        }
        assert_eq!(own, 2);
        let handlers = select(&page, "*")
            .iter()
            .flat_map(|element| element.value().attrs().map(|(name, _)| name.to_owned()).collect::<Vec<_>>())
            .filter(|name| name.starts_with("on"))
            .count();
        assert_eq!(handlers, 0);
        let style = text_of_style(&page);
        assert!(!style.contains("url(") && !style.contains("@import"));
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
    }
}

#[test]
fn the_record_is_inside() {
    for run in [h200(), everything(), hostile()] {
        let page = html(&run).unwrap();
        for name in ["run", "details", "csv"] {
            assert!(!embedded(&page, name).unwrap().contains('<'));
        }
        let data = embedded(&page, "run").unwrap();
        assert_eq!(serde_json::from_str::<Run>(data).unwrap(), run);
    }
}

#[test]
fn simulated_is_said_everywhere() {
    let page = parsed(&everything());
    for selector in [
        "head > title",
        "h1",
        ".banner",
        "#decode h2",
        "#prefill h2",
        "#interactivity h2",
        "#cells h2",
        "#measurements h2",
        "footer",
    ] {
        let found = select(&page, selector);
        assert!(
            !found.is_empty() && found.iter().all(|element| text(element).contains("SIMULATED")),
            "{selector}"
        );
    }
}

#[test]
fn interrupted_runs_say_so() {
    let page = parsed(&everything());
    let badges: Vec<String> = select(&page, ".badge").iter().map(text).collect();
    assert!(badges[0].starts_with("Interrupted: "), "{badges:?}");
    assert!(select(&page, ".remarks li").iter().any(|remark| text(remark).contains("Ended by the user")));
}

#[test]
fn cells_without_a_number_say_why() {
    let page = parsed(&everything());
    let body = text(&select(&page, "main")[0]);
    for status in &STATUSES[..13] {
        let notes = select(&page, &format!("#note-{}", status.code()));
        assert!(text(&notes[0]).contains(status.words()), "{status:?}");
        let cells = select(&page, &format!("td.hatch.{}", status.code()));
        assert!(
            !cells.is_empty() && cells.iter().all(|cell| text(cell).contains(status.words())),
            "{status:?}"
        );
    }
    for code in FLAGS {
        let notes = select(&page, &format!("#note-{}", code.code()));
        assert!(
            text(&notes[0]).contains(&format!("{} was 12.5 with a limit of 10", code.code())),
            "{code:?}"
        );
    }
    for figures in [
        "needs 4,718,592 has 1,048,576 KV tokens",
        "needs 4,718,592 tokens of KV cache, 1,048,576 available",
        "stream 2 repeated 812 characters of reasoning 6 times (4,872 in all)",
        "the server said “{\"error\":\"too many requests\"}”",
        "the server is on another host",
    ] {
        assert!(body.contains(figures), "{figures}");
    }
}

#[test]
fn hostile_text_stays_text() {
    let page = html(&hostile()).unwrap();
    assert!(!page.contains("<img") && page.matches("<script>").count() == 2 && !page.contains("onerror=\""));
    let visible = &page[..page.find("<script type=\"application/json\"").unwrap()];
    assert!(!visible.contains('\u{202e}') && !visible.contains('\u{1b}'), "controls are spelled out");
    let page = Html::parse_document(&page);
    assert!(text(&select(&page, "h1")[0]).chars().count() < 250, "long names are cut in the title");
}

fn text_of_style(page: &Html) -> String {
    select(page, "style")[0].text().collect()
}

/// SHA-256 in base64, by a way of its own.
fn base64_sha256(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |byte: u8, place: u32| usize::from(byte >> (7 - place) & 1);
    let mut bits: Vec<usize> = Sha256::digest(text.as_bytes())
        .iter()
        .flat_map(|byte| (0..8).map(move |place| bit(*byte, place)))
        .collect();
    bits.extend([0, 0]);
    let letters =
        bits.chunks(6).map(|six| char::from(LETTERS[six.iter().fold(0, |value, bit| value * 2 + bit)]));
    letters.collect::<String>() + "="
}
