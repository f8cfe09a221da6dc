//! The page's parts: views, charts, cells with their details, evidence.

use std::io::Write;

use scraper::{Html, Selector};
use tokometer_record::page::embedded;
use tokometer_record::{CellDetail, Phase, Run, Status, TraceFile, import, published};
use tokometer_report::{csv, page};

use crate::hostile::{EVIL, poisoned};
use crate::html::{parsed, select, text};
use crate::support::{details, everything, full, h200, rtx};

#[test]
fn every_view_has_every_valid_cell() {
    let run = h200();
    let page = parsed(&run);
    let valid: Vec<_> =
        run.cells.iter().filter(|cell| cell.phase == Phase::Decode && cell.status == Status::Valid).collect();
    for (key, get) in [
        (
            "total",
            (|cell| cell.throughput.as_ref().map(|it| it.total))
                as fn(&tokometer_record::Cell) -> Option<f64>,
        ),
        ("request", |cell| cell.per_request_rate.as_ref()?.p50),
        ("gpu", |cell| Some(cell.throughput.as_ref()?.total / 4.0)),
        ("ttft", |cell| cell.ttft_ms.as_ref()?.p50),
        ("gap", |cell| cell.time_between_tokens_ms.as_ref()?.p50),
    ] {
        assert_eq!(select(&page, &format!("input#view-{key}[name=view]")).len(), 1);
        assert_eq!(select(&page, &format!(".legend.{key} .step")).len(), 7);
        for cell in &valid {
            let face = &select(&page, &format!("td#{} .face.{key} b", cell.name()))[0];
            let shown: f64 = text(face).replace(',', "").parse().unwrap();
            let value = get(cell).unwrap();
            assert!((shown - value).abs() <= 0.005 * value, "{key} of {}: {shown} for {value}", cell.name());
        }
    }
}

#[test]
fn views_without_a_figure_are_not_offered() {
    let mut run = h200();
    run.hardware.accelerators.clear();
    run.cells.iter_mut().for_each(|cell| cell.ttft_ms = None);
    let page = parsed(&run);
    let offered: Vec<&str> =
        select(&page, "input[name=view]").iter().filter_map(|input| input.value().id()).collect();
    assert_eq!(offered, ["view-total", "view-request", "view-gap"]);
    assert!(text(&select(&page, "#interactivity figure")[0]).contains("tok/s in all"));
}

#[test]
fn intervals_stand_beside_their_figures() {
    let page = parsed(&everything());
    let face = |key: &str| text(&select(&page, &format!("td#decode-8192-1 .face.{key}"))[0]);
    assert!(face("total").starts_with("220.1 tok/s ± 2.2"), "{}", face("total"));
    assert!(face("gpu").starts_with("55.0 tok/s per GPU ± 0.6"), "{}", face("gpu"));
    let mut run = everything();
    let cell = run.cells.iter_mut().find(|cell| cell.name() == "decode-8192-1").unwrap();
    cell.ttft_ms.as_mut().unwrap().p50_interval = Some([140.0, 163.5]);
    cell.ttft_ms.as_mut().unwrap().p90 = Some(170.0);
    let page = parsed(&run);
    let ttft = text(&select(&page, "td#decode-8192-1 .face.ttft")[0]);
    assert_eq!(ttft, "150 msajklm 140–164 p90 170 n 2, valid");
}

#[test]
fn charts_have_names_and_tables() {
    for run in [h200(), rtx(), everything()] {
        let page = parsed(&run);
        let charts = select(&page, "svg.chart");
        assert!(charts.len() >= 4, "two charts in two sizes each");
        for chart in charts {
            assert_eq!(chart.value().attr("role"), Some("img"));
            let names = chart.value().attr("aria-labelledby").unwrap();
            for name in names.split(' ') {
                assert!(!text(&select(&page, &format!("[id='{name}']"))[0]).is_empty());
            }
        }
        let points = run
            .cells
            .iter()
            .filter(|cell| cell.phase == Phase::Decode && cell.status == Status::Valid)
            .count();
        assert_eq!(select(&page, "#interactivity tbody tr").len(), points);
        let chart = &select(&page, "#interactivity svg.chart")[0];
        assert_eq!(chart.select(&Selector::parse("path.mark > title").unwrap()).count(), points);
    }
}

#[test]
fn every_row_has_a_sheet() {
    let run = everything();
    let made = details(&run);
    let document = Html::parse_document(&page(&run, &made).unwrap());
    assert!(document.errors.is_empty(), "{:?}", document.errors);
    for cell in &run.cells {
        let sheet = &select(&document, &format!("#cell-{}", cell.name()))[0];
        let words = text(sheet);
        assert!(words.contains(cell.status.words()), "{words}");
        for flag in &cell.flags {
            assert!(words.contains(&flag.detail), "{} of {}", flag.code.code(), cell.name());
        }
        if let Some(failure) = &cell.error {
            assert!(words.contains(failure.body.as_deref().unwrap()));
        }
        for found in &cell.loops {
            assert!(words.contains(&found.excerpt));
        }
        let detail = made.iter().find(|detail| detail.cell == cell.name());
        let charts = sheet.select(&Selector::parse("svg.chart").unwrap()).count();
        let rows = sheet.select(&Selector::parse("table.requests tbody tr").unwrap()).count();
        match detail {
            Some(detail) => assert_eq!((charts, rows), (3, detail.requests.len())),
            None => assert_eq!((charts, rows), (0, 0)),
        }
    }
}

#[test]
fn details_are_read_back() {
    let run = everything();
    let made = details(&run);
    let text = page(&run, &made).unwrap();
    let read: Vec<CellDetail> = serde_json::from_str(embedded(&text, "details").unwrap()).unwrap();
    assert_eq!(read, made);
    assert_eq!(tokometer_record::page::run(&text, "report.html".as_ref()).unwrap(), run);
    // A page made from what a page holds is the same page.
    assert_eq!(page(&run, &read).unwrap(), text);
    let table: String = serde_json::from_str(embedded(&text, "csv").unwrap()).unwrap();
    assert_eq!(table, csv(&run));
}

#[test]
fn flags_of_the_launch_command_are_explained() {
    let page = parsed(&h200());
    let rows: Vec<String> = select(&page, ".flags-list div").iter().map(text).collect();
    assert_eq!(rows.len(), 14);
    assert!(
        rows.iter()
            .any(|row| row == "--tensor-parallel-size 4Splits every layer over this many accelerators.")
    );
    assert!(rows.iter().any(|row| row.starts_with("--engram-config") && row.contains("Not known here")));
    assert!(text(&select(&page, ".subtitle")[0]).ends_with("TP 4 EPspeculative decoding mtp, 1 token"));
}

#[test]
fn evidence_names_what_figures_rest_on() {
    let mut run = everything();
    let cell = run.cells.iter_mut().find(|cell| cell.name() == "decode-8192-8").unwrap();
    cell.trace =
        Some(TraceFile { file: "trace/x.parquet".to_owned(), sha256: "ab".repeat(32), bytes: 12_345 });
    (cell.tokens.server, cell.tokens.client) = (Some(1010), Some(1000));
    let page = parsed(&run);
    let words = text(&select(&page, "#evidence")[0]);
    for said in [
        "8K × 81,0101,000+1.00",
        "trace/x.parquet12,345",
        &"ab".repeat(32),
        "engine.version0.11.2GET /version",
    ] {
        assert!(words.replace('\u{a0}', " ").contains(said), "{said}: {words}");
    }
    assert!(
        text(&select(&parsed(&h200()), "#evidence")[0]).contains("has no traces to compute them from again")
    );
}

/// Whatever free text a record holds: no element and no attribute of the page comes from it.
#[test]
fn every_string_of_a_record_is_inert() {
    for run in [everything(), h200(), import::published(published::RTX_PRO_6000_X4, EVIL).unwrap()] {
        let (evil, replaced) = poisoned(&run);
        assert!(replaced > 20, "{replaced} strings were replaced");
        let made = details(&evil);
        let text = page(&evil, &made).unwrap();
        let (before, after) =
            (Html::parse_document(&page(&run, &details(&run)).unwrap()), Html::parse_document(&text));
        assert!(after.errors.is_empty(), "{:?}", after.errors);
        let shape = |page: &Html, selector: &str| select(page, selector).len();
        for selector in
            ["script", "style", "dialog", "svg", "td", "details", "img", "iframe", "[onerror]", "table"]
        {
            // Known flags are told from unknown ones, so a launch command may lose its list; nothing may come.
            assert!(shape(&after, selector) <= shape(&before, selector), "{selector}");
        }
        for element in select(&after, "*") {
            for (name, value) in element.value().attrs() {
                assert!(
                    !name.starts_with("on") && !value.trim().starts_with("javascript:"),
                    "{name}={value}"
                );
            }
        }
        let visible = &text[..text.find("<script type=\"application/json\"").unwrap()];
        assert!(!visible.contains(['\u{202e}', '\u{1b}', '\u{0}']), "controls are spelled out");
        assert_eq!(serde_json::from_str::<Run>(embedded(&text, "run").unwrap()).unwrap(), evil);
    }
}

#[test]
fn energy_is_a_view_and_an_answer() {
    let run = everything();
    let page = parsed(&run);
    let measured = |cell: &&tokometer_record::Cell| {
        cell.phase == Phase::Decode && cell.status == Status::Valid && cell.telemetry.is_some()
    };
    let cells: Vec<_> = run.cells.iter().filter(measured).collect();
    assert_eq!(select(&page, ".face.energy").len(), cells.len());
    let face = text(&select(&page, "td#decode-8192-1 .face.energy")[0]);
    assert!(face.starts_with("10.9 J per token") && face.contains("590–605 W each"), "{face}");
    let joules = |cell: &&tokometer_record::Cell| cell.telemetry.as_ref().unwrap().joules_per_token.unwrap();
    let least = cells.iter().map(joules).fold(f64::INFINITY, f64::min);
    let answer =
        select(&page, ".answer").iter().map(text).find(|said| said.starts_with("Least energy")).unwrap();
    assert!(
        answer.contains(&format!("{least:.3} J/tok")) && answer.contains("4 boards measured"),
        "{answer}"
    );
    assert!(text(&select(&page, "#definitions")[0]).contains("Energy per token"));
    // Nothing is said of energy where none was measured.
    let page = parsed(&h200());
    assert!(select(&page, ".face.energy, #view-energy").is_empty());
    assert!(!text(&select(&page, "main")[0]).contains("nergy"));
}

#[test]
fn drawers_tell_of_the_machine_and_of_figures() {
    let run = everything();
    let page = parsed(&run);
    let sheet = text(&select(&page, "#cell-decode-8192-8")[0]);
    for said in [
        "Energy of all boards72,000 J, by the boards' own counters",
        "Held by the power limit12 % of 240 busy readings",
        "01,980 (1,921–2,000)590 (572–596)61 (59–62)",
        "figure: 12.5 s, limit 10 s",
    ] {
        assert!(sheet.contains(said), "{said}: {sheet}");
    }
    let queued = run.cells.iter().find(|cell| cell.status == Status::Queued).unwrap();
    let sheet = text(&select(&page, &format!("#cell-{}", queued.name()))[0]);
    assert!(
        sheet.contains("Requests waited in 34 %") && sheet.contains("share of it: 12 %, limit 10 %"),
        "{sheet}"
    );
}

#[test]
fn calibrations_are_evidence() {
    let page = parsed(&everything());
    let said = text(&select(&page, "#calibration")[0]);
    for part in [
        "✕ not as the method needs it",
        "128 streams of 50 tok/s, for 10 s, read by 4 threads",
        "TTFT off the truth byp50 0.011 ms, p99 0.088 ms",
        "512,000, limited by the engine: the client can do more",
        "no token lost: found✕ no",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(text(&select(&page, "#evidence")[0]).contains("telemetry.parquet1,234,567cdcd"));
    assert!(select(&parsed(&h200()), "#calibration").is_empty());
}

#[test]
fn lines_begin_with_a_capital() {
    let page = parsed(&everything());
    for line in select(&page, ".remarks li, .because > bdi, .notices li") {
        let first = text(&line).chars().next().unwrap();
        assert!(!first.is_ascii_lowercase(), "{}", text(&line));
    }
}

/// The page without the data that it holds: 100 KB at the most as it is sent.
#[test]
fn pages_are_light() {
    let whole = full();
    let made = details(&whole);
    assert_eq!(made.len(), 48);
    for (run, made) in [(h200(), &[][..]), (rtx(), &[]), (everything(), &[]), (whole, &made)] {
        let mut page = page(&run, made).unwrap();
        for name in ["run", "details", "csv"] {
            let data = embedded(&page, name).unwrap().to_owned();
            page = page.replacen(&data, "", 1);
        }
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(page.as_bytes()).unwrap();
        let size = encoder.finish().unwrap().len();
        println!("{}: {size} bytes compressed, {} as they are", run.display_title(), page.len());
        assert!(size <= 100_000, "{size} bytes compressed");
    }
}
