//! Every row and value of the published matrices stands on the page of their import.

use std::collections::BTreeMap;

use scraper::{ElementRef, Html, Selector};
use serde_json::Value;
use tokometer_record::{Run, published};
use tokometer_report::html;

use crate::html::{select, text};
use crate::support::{h200, rtx};

/// Columns of a measurement row: the published name, and the column on the page.
const DECODE: [(&str, &str); 8] = [
    ("total_tok_per_s", "throughput.total"),
    ("ttft_ms", "ttft_ms.p50"),
    ("per_request_tok_per_s", "per_request_rate.p50"),
    ("inter_token_ms", "time_between_tokens_ms.p50"),
    ("average_active_requests", "average_active_requests"),
    ("completed_requests", "requests.ended"),
    ("output_tokens", "tokens.out"),
    ("measured_s", "window.seconds"),
];
const PREFILL: [(&str, &str); 3] = [
    ("prompt_tok_per_s", "prefill_rate"),
    ("ttft_ms", "ttft_ms.p50"),
    ("completed_requests", "requests.ended"),
];

/// What a row has beside its figures.
const ROW: [&str; 5] = ["phase", "context", "context_tokens", "concurrency", "status"];

#[test]
fn every_value_of_the_h200_page_is_there() {
    // 37 valid decode rows of 8 figures, the looped row's two zeros, 7 prefill rows of 3.
    assert_eq!(compare(&serde_json::from_str(published::H200_X4).unwrap(), &h200()), 319);
}

#[test]
fn every_value_of_the_rtx_page_is_there() {
    // 28 valid decode rows of 8 figures, 7 prefill rows of 3.
    assert_eq!(compare(&serde_json::from_str(published::RTX_PRO_6000_X4).unwrap(), &rtx()), 245);
}

/// Returns how many figures of the measurements were compared.
fn compare(published: &Value, run: &Run) -> usize {
    let page = Html::parse_document(&html(run).unwrap());
    compare_setup(published, &page);
    compare_matrix(&published["measurements"], &page);
    compare_bars(&published["measurements"], &page);
    compare_rows(&published["measurements"], &page)
}

/// Model, hardware, engine, run settings, launch command. Each published field is named here, so a field that
/// is new in the file fails the test.
fn compare_setup(published: &Value, page: &Html) {
    let shown = |path: &str| -> String {
        let found = select(page, &format!("#setup [data-path='{path}'] .value"));
        assert_eq!(found.len(), 1, "{path}");
        text(&found[0])
    };
    let exact = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    for (field, value) in published.as_object().unwrap() {
        match field.as_str() {
            "model" => assert_eq!(shown("model.id"), exact(value)),
            "served_model" => assert_eq!(shown("model.served_name"), exact(value)),
            "revision" => assert_eq!(shown("model.revision"), exact(value)),
            "launch_command" => {
                let command: String = select(page, "#launch code")[0].text().collect();
                assert_eq!(command, exact(value));
            }
            "hardware" | "engine" | "run" | "measurements" => {}
            other => panic!("the file has a field {other} that this test does not know"),
        }
    }
    for (field, value) in published["hardware"].as_object().unwrap() {
        match field.as_str() {
            "type" => assert_eq!(shown("hardware.class").to_lowercase().replace(' ', "_"), exact(value)),
            "gpu" => assert!(shown("hardware.accelerators").contains(&exact(value))),
            "gpu_count" => assert!(shown("hardware.accelerators").starts_with(&format!("{value} × "))),
            "vram_gb" => assert_eq!(shown("hardware.memory_gb"), format!("{value} GB")),
            "os" => assert_eq!(shown("hardware.os"), exact(value)),
            other => panic!("hardware has a field {other} that this test does not know"),
        }
    }
    for (field, value) in published["engine"].as_object().unwrap() {
        match field.as_str() {
            "quantization" => assert_eq!(shown("model.quantization"), exact(value)),
            "name" | "version" | "backend" | "build" | "commit" | "repository" => {
                assert_eq!(shown(&format!("engine.{field}")), exact(value));
            }
            other => panic!("engine has a field {other} that this test does not know"),
        }
    }
    let settings = &published["run"];
    for (field, value) in settings.as_object().unwrap() {
        match field.as_str() {
            "tool" | "tool_version" => {
                let tool = format!("{} {}", exact(&settings["tool"]), exact(&settings["tool_version"]));
                assert_eq!(shown("tool"), tool);
            }
            "decode_test" => assert_eq!(shown("settings.decode_test").replace(' ', "_"), exact(value)),
            "prefill_mode" => {
                assert_eq!(exact(value), "during_decode_warmup");
                assert_eq!(shown("settings.prefill_mode"), "measured during decode warm-up");
            }
            "seconds_per_measurement" => assert_eq!(shown("settings.duration_seconds"), format!("{value} s")),
            "max_output_tokens" => {
                assert_eq!(shown("settings.max_output_tokens").replace(',', ""), format!("{value} tokens"));
            }
            other => panic!("run has a field {other} that this test does not know"),
        }
    }
}

/// The table of all measurements, row by row and in order: no row more, none less. Returns how many figures
/// were compared.
fn compare_rows(measurements: &Value, page: &Html) -> usize {
    let keys: Vec<&str> = select(page, "table.all thead th")
        .iter()
        .map(|header| header.value().attr("data-key").unwrap())
        .collect();
    let cells = Selector::parse("th, td").unwrap();
    let rows: Vec<BTreeMap<&str, ElementRef<'_>>> = select(page, "table.all tbody tr")
        .iter()
        .map(|row| {
            let cells: Vec<ElementRef<'_>> = row.select(&cells).collect();
            assert_eq!(cells.len(), keys.len());
            keys.iter().copied().zip(cells).collect()
        })
        .collect();
    let measurements = measurements.as_array().unwrap();
    assert_eq!(rows.len(), measurements.len());
    let mut compared = 0;
    for (published, row) in measurements.iter().zip(&rows) {
        let value = |key: &str| row[key].value().attr("data-value");
        let decode = published["phase"] == "sustained_decode";
        assert_eq!(text(&row["phase"]), if decode { "Decode" } else { "Prefill" });
        assert_eq!(text(&row["context_nominal"]), published["context"].as_str().unwrap());
        assert_eq!(value("context_nominal").unwrap(), published["context_tokens"].to_string());
        assert_eq!(value("concurrency").unwrap(), published["concurrency"].to_string());
        assert_eq!(text(&row["concurrency"]), published["concurrency"].to_string());
        assert_eq!(value("status").unwrap(), published["status"].as_str().unwrap());
        let words = text(&row["status"]).to_lowercase().replace(' ', "_");
        assert!(words.ends_with(published["status"].as_str().unwrap()), "{words}");

        let columns = if decode { &DECODE[..] } else { &PREFILL[..] };
        for field in published.as_object().unwrap().keys() {
            let known = ROW.contains(&field.as_str()) || columns.iter().any(|(name, _)| name == field);
            assert!(known, "the file has a column {field} that this test does not know");
        }
        for (name, key) in columns {
            let (exact, shown) = (value(key), text(&row[*key]).replace(',', ""));
            match published[*name].as_f64() {
                Some(number) => {
                    assert_eq!(exact.unwrap().parse::<f64>().unwrap(), number, "{name} of {published}");
                    assert_eq!(shown.parse::<f64>().unwrap(), number, "{name} of {published}");
                    compared += 1;
                }
                None => assert_eq!((exact, shown.as_str()), (None, "–"), "{name} of {published}"),
            }
        }
    }
    compared
}

/// The heat map: each decode row stands in its cell, rounded; cells without a number have their word.
fn compare_matrix(measurements: &Value, page: &Html) {
    let decode: Vec<&Value> =
        measurements.as_array().unwrap().iter().filter(|row| row["phase"] == "sustained_decode").collect();
    assert_eq!(select(page, "table.matrix td").len(), decode.len());
    for published in decode {
        let id = format!("decode-{}-{}", published["context_tokens"], published["concurrency"]);
        let cell = &select(page, &format!("td#{id}"))[0];
        let words = text(cell);
        if let Some(total) = published["total_tok_per_s"].as_f64() {
            let shown: f64 = words.split(' ').next().unwrap().replace(',', "").parse().unwrap();
            assert!((shown - total).abs() <= 0.5, "{words}");
            let face = Selector::parse(".face.total").unwrap();
            let total = cell.select(&face).next().unwrap();
            assert!(total.value().classes().any(|class| class.starts_with("heat-")));
            let ttft = published["ttft_ms"].as_f64().unwrap();
            let gap = published["inter_token_ms"].as_f64().unwrap();
            let plain = words.replace(',', "");
            assert!(plain.contains(&format!("TTFT {ttft} ms")), "{words}");
            assert!(plain.contains(&format!("{gap:.1} ms/token")), "{words}");
        } else {
            let word = published["status"].as_str().unwrap().replace('_', " ");
            assert!(words.to_lowercase().contains(&word), "{words}");
            assert!(cell.value().classes().any(|class| class == "hatch"));
        }
    }
}

/// The prefill bars: rate in K, TTFT, n, and a bar in proportion.
fn compare_bars(measurements: &Value, page: &Html) {
    let prefill: Vec<&Value> =
        measurements.as_array().unwrap().iter().filter(|row| row["phase"] == "prefill").collect();
    let rows = select(page, "table.bars tbody tr");
    assert_eq!(rows.len(), prefill.len());
    let longest = prefill.iter().filter_map(|row| row["prompt_tok_per_s"].as_f64()).fold(0.0, f64::max);
    let bar = Selector::parse("rect").unwrap();
    for (published, row) in prefill.iter().zip(rows) {
        let rate = published["prompt_tok_per_s"].as_f64().unwrap();
        let words = text(&row);
        let rate_said = if rate < 10_000.0 { rate.to_string() } else { format!("{:.1}K", rate / 1000.0) };
        let said = format!(
            "{} {rate_said} {} {}",
            published["context"].as_str().unwrap(),
            published["ttft_ms"].as_f64().unwrap(),
            published["completed_requests"].as_f64().unwrap()
        );
        assert_eq!(words.replace(',', ""), said);
        let width: f64 = row
            .select(&bar)
            .next()
            .unwrap()
            .value()
            .attr("width")
            .unwrap()
            .trim_end_matches('%')
            .parse()
            .unwrap();
        assert!((width - 100.0 * rate / longest).abs() < 0.01);
    }
}
