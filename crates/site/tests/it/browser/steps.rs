//! What readers do.

use serde_json::json;

use super::Reader;
use crate::gallery::Gallery;

/// A site without runs says what to do.
pub(super) fn an_empty_site(reader: &Reader<'_>) {
    reader.go("/");
    let says = reader.says(".empty");
    assert!(
        says.contains("Nothing is published yet") && says.contains("--publish http://127.0.0.1"),
        "{says}"
    );
    reader.holds("empty");
    reader.go("/models");
    assert!(reader.says(".empty").contains("No ranked run yet"));
}

/// The list: filters with honest counts, goals, replicates in one row, others apart.
pub(super) fn finding(reader: &Reader<'_>, gallery: &Gallery) {
    reader.go("/");
    assert_eq!(reader.count(".runs tbody tr"), gallery.ranked as u64, "replicates are one row");
    assert_eq!(reader.count(".runs .simulated"), 0);
    assert!(reader.says(".runs tbody").contains("3 runs by 2"), "{}", reader.says(".runs tbody"));
    assert!(
        reader.says(".runs thead [aria-sort]").starts_with("One user")
            || reader.says(".runs thead [aria-sort]").starts_with("Users")
    );
    assert!(reader.count(".scatter .chart").eq(&2) && reader.count(".scatter .chart a") > 10);
    reader.holds("index");
    // A count says what one would see.
    let promised = reader.text(
        "const link = [...document.querySelectorAll('.facet a')].find((a) => a.textContent.includes('RTX PRO 6000'));
         link.id = 'wanted'; return link.querySelector('.count').textContent",
    );
    reader.follow("#wanted");
    assert!(reader.place().contains("hardware=RTX+PRO+6000"), "{}", reader.place());
    assert_eq!(reader.count(".runs tbody tr").to_string(), promised);
    let shown = reader.browser.run(
        "return [...document.querySelectorAll('.runs tbody .under')].filter((e) => e.textContent.includes('×')).every((e) => e.textContent.startsWith('RTX PRO 6000'))",
    );
    assert_eq!(shown, true);
    reader.holds("filtered");
    // The filter is taken away again.
    reader.follow(".chip");
    assert_eq!(reader.place(), "/");
    // Another goal is another order, and stays in the address.
    reader.follow(".goals a[href*=prefill]");
    assert!(reader.says(".runs thead [aria-sort]").starts_with("Prefill"));
    // Simulated runs are apart, say so, and have no ranks.
    reader.go("/");
    reader.follow(".shelves a[href*=simulated]");
    assert_eq!(
        (reader.count(".runs tbody tr"), reader.count(".runs .simulated"), reader.count(".goals")),
        (1, 1, 0)
    );
    reader.holds("simulated");
    reader.go("/?text=there+is+no+such+run");
    assert!(reader.says(".results .empty").contains("No run is like that"));
    reader.holds("nothing");
    // Pages follow each other without a gap.
    let mut seen = Vec::new();
    reader.go("/?limit=5");
    for page in 0..3 {
        seen.extend(
            reader
                .browser
                .run("return [...document.querySelectorAll('.runs tbody th > a')].map((a) => a.pathname)")
                .as_array()
                .unwrap()
                .clone(),
        );
        if page < 2 {
            reader.follow("a[rel=next]");
        }
    }
    assert_eq!(reader.count("a[rel=next]"), 0);
    let all = seen.len();
    seen.sort_by_key(ToString::to_string);
    seen.dedup();
    assert_eq!((seen.len(), all), (gallery.ranked, gallery.ranked));
    reader.go("/?nonsense=1");
    assert!(reader.says("main").contains("nonsense"), "{}", reader.says("main"));
}

/// A run, its evidence, its cells.
pub(super) fn reading(reader: &Reader<'_>, gallery: &Gallery) {
    reader.go(&format!("/runs/{}", gallery.replicated));
    assert!(reader.says(".proof").contains("T3"), "{}", reader.says(".proof"));
    assert_eq!(reader.count("#replicates .runs tbody tr"), 3);
    let card = reader.text("return document.querySelector('meta[property=\"og:image\"]').content");
    let drawn = reader.browser.run(&format!(
        "return fetch(`{card}`).then((answer) => answer.blob()).then((blob) => createImageBitmap(blob)).then((image) => [image.width, image.height])"
    ));
    assert_eq!(drawn, json!([1200, 630]), "the card is a picture");
    reader.browser.run("document.querySelector('.ladder summary').click()");
    assert_eq!(reader.count(".ladder .reached"), 4);
    reader.holds("run");
    // The drawer, and from it the cell's own page with what only its trace has.
    reader.browser.run("document.querySelector('td[id=\"decode-8192-4\"] a.open').click()");
    assert_eq!(reader.text("return location.hash"), "#cell-decode-8192-4");
    reader.follow("#drawer .sheet a[href*='/cells/']");
    assert_eq!(reader.place(), format!("/runs/{}/cells/decode-8192-4", gallery.replicated));
    assert!(reader.count("svg.chart") >= 3, "{} charts", reader.count("svg.chart"));
    assert!(reader.count("table.requests tbody tr") > 0);
    reader.holds("cell");
    reader.follow("a[rel=prev]");
    assert!(reader.place().ends_with("/cells/decode-8192-1"), "{}", reader.place());
    reader.go(&format!("/runs/{}", gallery.simulated));
    assert!(reader.says(".banner").contains("SIMULATED") && reader.says(".proof").contains("In no ranking"));
    reader.go(&format!("/runs/{}", gallery.imported));
    assert!(reader.says(".proof").contains("T0"));
    reader.holds("imported");
}

/// From boxes in the list to ratios.
pub(super) fn comparing(reader: &Reader<'_>, gallery: &Gallery) {
    reader.go("/");
    let choose =
        |id: &str| reader.browser.run(&format!("document.querySelector('input[value=\"{id}\"]').click()"));
    choose(&gallery.other);
    assert_eq!(reader.browser.run("return document.querySelector('.compare-bar button').disabled"), true);
    let lead = reader.text("return [...document.querySelectorAll('.runs tbody tr')].find((row) => row.textContent.includes('3 runs by 2')).querySelector('input').value");
    choose(&lead);
    reader.follow(".compare-bar button");
    let place = reader.place();
    assert!(
        place.starts_with("/compare?runs=") && place.contains(&gallery.other) && place.contains(&lead),
        "{place}"
    );
    assert!(reader.count(".ratios td") > 0 && reader.count("th ~ td a[href^='/runs/']") >= 2);
    reader.holds("compare");
    reader.go(&format!("/compare?runs={}", gallery.other));
    assert!(reader.says("main").contains("Beside") && reader.count(".runs tbody tr") > 1);
    reader.holds("compare-choose");
}

/// Everything else that there is to read.
pub(super) fn other_pages(reader: &Reader<'_>, gallery: &Gallery) {
    reader.go("/models");
    reader.holds("models");
    reader.follow(".entities a[href*='Qwen3.8']");
    assert_eq!(reader.place(), "/models/Qwen/Qwen3.8-Flash-Next");
    assert!(reader.count(".best .answer") >= 2 && reader.count(".runs tbody tr") > 3);
    reader.holds("model");
    reader.go("/hardware/H200%20SXM");
    assert_eq!(reader.says("h1"), "H200 SXM");
    reader.holds("hardware");
    reader.go("/engines/vllm");
    assert!(reader.says("main").contains("0.32.1"));
    reader.go(&format!("/runs/{}", gallery.replicated));
    reader.follow("a[href^='/series/']");
    let versions = reader
        .browser
        .run("return [...document.querySelectorAll('table.plain tbody th')].map((e) => e.innerText)");
    assert_eq!(versions, json!(["0.9.2", "0.32.1", "0.33.0"]), "in the order of their numbers");
    assert!(reader.says("table.plain tbody").contains('%'));
    reader.holds("series");
    for (path, name, says) in [
        ("/methods", "methods", "Method 1.0"),
        ("/methods/1.0", "method", "Quantities"),
        ("/about", "about", "T3"),
        ("/publish", "publish", "tokometer publish"),
        ("/sign-in", "sign-in", "Token"),
        ("/moderation", "moderation-empty", "Nothing has been moderated"),
        ("/runs/0190b6d2-0000-7000-8000-000000000009", "missing", "Nothing is here"),
        ("/models/nobody/knows", "missing-model", "Nothing is here"),
        ("/no/such/page", "no-page", "Nothing is here"),
    ] {
        reader.go(path);
        assert!(reader.says("main").contains(says), "{path}: {}", reader.says("main"));
        reader.holds(name);
    }
}

/// All of it without scripts.
pub(super) fn without_scripts(reader: &Reader<'_>, gallery: &Gallery) {
    reader.scripts(false);
    reader.go("/");
    assert_eq!(reader.says("html.js"), "nothing is there", "no script ran");
    assert_eq!(
        reader.browser.run(
            "return [...document.querySelectorAll('.js-only')].filter((e) => e.checkVisibility()).length"
        ),
        0
    );
    assert_eq!(reader.count(".runs tbody tr"), gallery.ranked as u64);
    reader.go("/?hardware=B200&goal=peak");
    assert_eq!(reader.count(".runs tbody tr"), 1);
    reader.go(&format!("/compare?runs={}&runs={}", gallery.other, gallery.replicated));
    assert!(reader.count(".ratios td") > 0);
    reader.go(&format!("/runs/{}", gallery.other));
    assert!(reader.count("#cells details.cell") > 0);
    reader.scripts(true);
}

/// A reader reports a problem; a moderator takes the run down; its address says why.
pub(super) fn a_problem_and_a_tombstone(reader: &Reader<'_>, gallery: &Gallery, token: &str) {
    let page = format!("/runs/{}", gallery.doomed);
    reader.go(&page);
    reader.browser.run(
        "document.getElementById('kind').value = 'wrong_setup';
         document.getElementById('cell').value = 'decode-8192-1';
         document.getElementById('problem-text').value = 'This is no B300.\\nIts <b>clock</b> says so.'",
    );
    reader.follow("#problem button[type=submit]");
    assert!(reader.place().starts_with(&format!("{page}?reported=")), "{}", reader.place());
    assert!(reader.says(".said-thanks").contains("Thank you"));
    assert!(reader.says(".origin").contains("1 open report"), "{}", reader.says(".origin"));
    // Nobody but the owner and moderators can take it down.
    assert_eq!(reader.count("form[action$='/withdraw']"), 0);
    reader.go("/sign-in");
    reader.browser.run("document.getElementById('token').value = 'tokometer_wrong'");
    reader.follow("main button[type=submit]");
    assert!(reader.says("main").contains("not known here"));
    reader.browser.run(&format!("document.getElementById('token').value = '{token}'"));
    reader.follow("main button[type=submit]");
    assert!(reader.says(".masthead").contains("Sign out"), "{}", reader.says(".masthead"));
    reader.go("/moderation");
    let waiting = reader.says(".report");
    assert!(waiting.contains("This is no B300.") && waiting.contains("<b>clock</b>"), "{waiting}");
    reader.holds("moderation");
    reader.go(&page);
    reader.browser.run("document.getElementById('reason').value = 'Not the hardware that it names.'");
    reader.follow("form[action$='/withdraw'] button");
    assert_eq!(reader.place(), page);
    assert!(
        reader.says("main").contains("This run was taken down")
            && reader.says("main").contains("Not the hardware")
    );
    reader.holds("tombstone");
    let status = reader.browser.run("return fetch(location.href).then((answer) => answer.status)");
    assert_eq!(status, 410);
    reader.go("/moderation");
    reader.browser.run("document.querySelector('.report input[name=reason]').value = 'Taken down.'");
    reader.follow(".report button");
    assert_eq!((reader.count(".report"), reader.count(".log tbody tr")), (0, 2));
    reader.go("/");
    assert_eq!(reader.count(".runs tbody tr"), gallery.ranked as u64 - 1, "in no list any more");
    reader.go(&page);
    reader.browser.run("document.getElementById('reason').value = 'It was the hardware after all.'");
    reader.follow("form[action$='/restore'] button");
    assert_eq!(reader.says("h1"), reader.says("h1"));
    assert!(reader.count(".proof") == 1, "it is shown again");
    reader.follow(".masthead form button");
    assert!(reader.says(".masthead").contains("Sign in"));
}
