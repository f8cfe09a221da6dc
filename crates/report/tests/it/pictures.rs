//! Pictures, Markdown and comma-separated values.

use tokometer_record::Phase;
use tokometer_report::{Picture, csv, markdown, png, svg};

use crate::hostile::{EVIL, poisoned};
use crate::support::{everything, h200, rtx};

/// Width and height of a PNG, from its header.
fn size(png: &[u8]) -> (u32, u32) {
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
fn every_picture_of_every_run_is_drawn() {
    for run in [h200(), rtx(), everything(), poisoned(&everything()).0] {
        for picture in Picture::ALL {
            let made = svg(&run, picture).unwrap();
            assert!(made.starts_with("<svg xmlns=") && !made.contains("<script") && !made.contains("<img"));
            let (width, height) = size(&png(&run, picture).unwrap());
            match picture {
                Picture::Card => assert_eq!((width, height), (1200, 630)),
                _ => assert!(width == 1200 && height > 300, "{picture}: {width} × {height}"),
            }
        }
    }
}

#[test]
fn cards_say_what_was_measured() {
    let card = svg(&h200(), Picture::Card).unwrap();
    for said in [
        "Qwen/Qwen3.8-Flash-Next",
        "224.2",
        "7,950",
        "35.5K",
        "4 × H200 SXM",
        "looped",
        "over cap.",
        "×128",
        "251K",
    ] {
        assert!(card.contains(said), "{said}");
    }
    assert!(!card.contains("SIMULATED"));
    let card = svg(&everything(), Picture::Card).unwrap();
    assert!(card.matches("SIMULATED").count() >= 2 && card.contains("2026-11-30"));
}

#[test]
fn pictures_without_figures_say_so() {
    let mut run = h200();
    run.cells.clear();
    assert!(svg(&run, Picture::Card).is_ok());
    for picture in [Picture::Matrix, Picture::Prefill, Picture::Interactivity] {
        let error = svg(&run, picture).unwrap_err().to_string();
        assert!(error.contains(picture.name()), "{error}");
    }
    assert!("circle".parse::<Picture>().is_err());
    for picture in Picture::ALL {
        assert_eq!(picture.to_string().parse::<Picture>().unwrap(), picture);
    }
}

#[test]
fn markdown_has_the_tables_and_no_markup_of_others() {
    let text = markdown(&h200());
    for line in [
        "## Qwen/Qwen3.8-Flash-Next",
        "| Context | ×1 | ×2 | ×4 | ×8 | ×16 | ×32 | ×64 | ×128 |",
        "| 8K | 224.2 | 404.6 | 694.2 | 1,145 | 1,924 | 3,258 | 5,281 | 7,950 |",
        "| 64K | 35.5K | 1,806 |",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(text.contains("▨ over cap.") && text.contains("--speculative-config"));
    let evil = markdown(&poisoned(&everything()).0);
    let outside: String = evil.split("```").step_by(2).collect();
    assert!(!outside.contains('<') && !outside.contains("[a](b)"), "{outside}");
}

#[test]
fn columns_of_values_stay() {
    let text = csv(&rtx());
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    // New columns come behind these.
    let first = [
        "cell",
        "phase",
        "context",
        "context_nominal_tokens",
        "context_actual_p50_tokens",
        "concurrency",
        "status",
        "flags",
        "total_tok_per_s",
        "total_low_tok_per_s",
        "total_high_tok_per_s",
        "interval_scope",
        "decoding_tok_per_s",
        "per_gpu_tok_per_s",
        "per_request_p50_tok_per_s",
        "prefill_tok_per_s",
        "ttft_p50_ms",
    ];
    assert_eq!(head[..first.len()], first);
    assert_eq!(lines.clone().count(), rtx().cells.len());
    let row = lines.find(|line| line.starts_with("decode-8192-1,")).unwrap();
    let fields: Vec<&str> = row.split(',').collect();
    assert_eq!(fields.len(), head.len());
    assert_eq!((fields[8], fields[9], fields[13]), ("108.2", "", "27.05"));
    let decode = rtx().cells.iter().filter(|cell| cell.phase == Phase::Decode).count();
    assert_eq!(text.lines().filter(|line| line.starts_with("decode-")).count(), decode);
    // Text that a spreadsheet would run is none any more.
    let (mut evil, _) = poisoned(&everything());
    evil.cells[5].reason.iter_mut().for_each(|reason| reason.text = "=1+1".to_owned());
    assert!(!csv(&evil).contains(",=1+1") && csv(&evil).contains(&EVIL[..9]));
}
