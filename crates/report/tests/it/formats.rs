//! Formats by name, and what all of them must say.

use tokometer_record::Run;
use tokometer_report::{Format, Picture, Terminal, csv, html, json, markdown, png, svg, terminal};

use crate::support::{everything, h200};

#[test]
fn names_and_formats_go_both_ways() {
    for format in Format::ALL {
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
        assert_eq!(format.to_string(), format.name());
    }
    let error = "svgg".parse::<Format>().unwrap_err().to_string();
    assert_eq!(
        error,
        "no report format is called \"svgg\"; use one of html, terminal, json, markdown, csv, svg, png"
    );
}

#[test]
fn render_is_the_same_as_the_functions() {
    let run = h200();
    let size = Terminal { width: 100, colour: true };
    assert_eq!(Format::Html.render(&run, size).unwrap(), html(&run).unwrap().into_bytes());
    assert_eq!(Format::Terminal.render(&run, size).unwrap(), terminal(&run, 100, true).into_bytes());
    assert_eq!(Format::Json.render(&run, size).unwrap(), json(&run).unwrap().into_bytes());
    assert_eq!(Format::Markdown.render(&run, size).unwrap(), markdown(&run).into_bytes());
    assert_eq!(Format::Svg.render(&run, size).unwrap(), svg(&run, Picture::Card).unwrap().into_bytes());
    assert_eq!(Format::Png.render(&run, size).unwrap(), png(&run, Picture::Card).unwrap());
    assert_eq!(Format::Csv.render(&run, size).unwrap(), csv(&run).into_bytes());
}

#[test]
fn the_same_record_gives_the_same_bytes() {
    let run = everything();
    for format in Format::ALL {
        let size = Terminal { width: 90, colour: true };
        assert_eq!(
            format.render(&run, size).unwrap(),
            format.render(&run.clone(), size).unwrap(),
            "{format}"
        );
    }
}

#[test]
fn json_reads_back_as_the_same_run() {
    let run = everything();
    assert_eq!(serde_json::from_str::<Run>(&json(&run).unwrap()).unwrap(), run);
}

#[test]
fn simulated_runs_say_so_first() {
    let run = everything();
    assert!(terminal(&run, 80, false).starts_with("SIMULATED · Everything at once\n"));
    let text = terminal(&run, 80, false);
    for table in ["PREFILL  ", "DECODE  ", "TTFT ms", "TIME BETWEEN TOKENS ms"] {
        assert!(text.contains(&format!("\nSIMULATED · {table}")), "{table}");
    }
    let real = h200();
    let page = html(&real).unwrap();
    // The script has the word for another report that may be.
    let (content, _script) = page.rsplit_once("<script>").unwrap();
    for text in [&*terminal(&real, 80, false), content] {
        assert!(!text.contains("SIMULATED"));
    }
}

#[test]
fn runs_without_a_measurement_can_be_shown() {
    let mut run = everything();
    run.cells.clear();
    assert!(html(&run).unwrap().contains("Everything at once"));
    assert!(terminal(&run, 80, false).contains("Everything at once"));
}
