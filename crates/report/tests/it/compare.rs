//! The page of a comparison.

use scraper::Html;
use tokometer_analysis::{CompareOptions, compare};
use tokometer_record::page::embedded;
use tokometer_record::{Comparison, Run};
use tokometer_report::compare_page;

use crate::hostile::poisoned;
use crate::html::{select, text};
use crate::support::{everything, h200, rtx};

fn made(runs: &[Run]) -> (Comparison, Html, String) {
    let comparison = compare(runs, &CompareOptions::default()).unwrap();
    let text = compare_page(&comparison, runs).unwrap();
    let page = Html::parse_document(&text);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    (comparison, page, text)
}

#[test]
fn what_differs_comes_before_the_ratios() {
    let (comparison, page, whole) = made(&[rtx(), h200()]);
    let sections: Vec<&str> =
        select(&page, "main section").iter().filter_map(|section| section.value().id()).collect();
    assert_eq!(sections[..2], ["settings", "against-b"]);
    assert_eq!(
        text(&select(&page, "h1")[0]),
        "Qwen/Qwen3.8-Flash-Next: 4 × H200 SXM against 4 × RTX PRO 6000 Blackwell Server Edition"
    );
    let means = select(&page, ".means li").iter().map(text).collect::<Vec<_>>();
    assert!(means[0].starts_with("Total rate: × 2.29 (2."), "{means:?}");
    assert!(select(&page, ".ratios td.none").iter().any(|cell| text(cell).contains("base: over capacity")));
    for notice in &comparison.notices {
        assert!(
            select(&page, ".notices li").iter().any(|said| text(said).eq_ignore_ascii_case(&notice.text)),
            "{}",
            notice.text
        );
    }
    let said = text(&select(&page, "#settings")[0]).to_lowercase();
    for difference in &comparison.differences {
        assert!(said.contains(&difference.name.to_lowercase()), "{}", difference.name);
    }
    let read: Comparison = serde_json::from_str(embedded(&whole, "comparison").unwrap()).unwrap();
    assert_eq!(read, comparison);
}

#[test]
fn every_ratio_is_there() {
    let (comparison, page, _) = made(&[rtx(), h200()]);
    let ratios = &comparison.against[0];
    assert!(ratios.decode_pairs > 20);
    let headline = &select(&page, "table.ratios")[0];
    let cells =
        headline.select(&scraper::Selector::parse("td").unwrap()).map(|cell| text(&cell)).collect::<Vec<_>>();
    assert_eq!(cells.len(), 48);
    let shown = cells.iter().filter(|cell| cell.contains('→')).count();
    assert_eq!(shown, ratios.decode_pairs as usize);
    assert!(cells[0].starts_with("2.07108.2 → 224.2 tok/s"), "{}", cells[0]);
    assert!(
        text(&select(&page, "#against-b")[0])
            .contains(&format!("{} of 48 decode cells", ratios.decode_pairs))
    );
    let charts = select(&page, "#overlays svg.chart");
    assert_eq!(charts.len(), 7, "a chart for each of six contexts, and prefill");
}

#[test]
fn six_runs_fit_and_simulated_ones_are_told() {
    let runs: Vec<Run> = (0..6)
        .map(|place| {
            let mut run = everything();
            run.id = format!("0190b6d2-0000-7000-8000-00000000000{place}");
            run
        })
        .collect();
    let (_, page, _) = made(&runs);
    assert_eq!(select(&page, "table.ratios").len() % 5, 0);
    for selector in [".banner", "footer", "#against-f h2"] {
        assert!(text(&select(&page, selector)[0]).contains("SIMULATED"), "{selector}");
    }
    let ids: Vec<&str> = select(&page, "[id]").iter().filter_map(|element| element.value().id()).collect();
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len());
}

#[test]
fn foreign_text_in_a_comparison_is_inert() {
    let runs = [poisoned(&rtx()).0, poisoned(&everything()).0, poisoned(&h200()).0];
    let mut runs = runs.to_vec();
    for (place, run) in runs.iter_mut().enumerate() {
        run.id = place.to_string();
    }
    let (_, page, whole) = made(&runs);
    assert_eq!(select(&page, "script:not([type])").len(), 2);
    assert!(select(&page, "img, iframe, [onerror]").is_empty());
    let visible = &whole[..whole.find("<script type=\"application/json\"").unwrap()];
    assert!(!visible.contains(['\u{202e}', '\u{1b}', '\u{0}']));
}
