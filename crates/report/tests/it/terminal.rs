//! The terminal's table.

use tokometer_report::terminal;
use unicode_width::UnicodeWidthStr;

use crate::support::{FLAGS, STATUSES, everything, h200, rtx};

#[test]
fn snapshots() {
    for width in [80, 110, 150] {
        insta::assert_snapshot!(format!("h200_{width}"), terminal(&h200(), width, false));
        insta::assert_snapshot!(format!("everything_{width}"), terminal(&everything(), width, false));
    }
    insta::assert_snapshot!("everything_50", terminal(&everything(), 50, false));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for run in [h200(), rtx(), everything()] {
        for width in 40..200 {
            for line in terminal(&run, width, false).lines() {
                assert!(line.width() <= width, "{width} columns: {line:?}");
            }
        }
    }
}

#[test]
fn colour_adds_codes_and_nothing_else() {
    for run in [h200(), everything()] {
        let plain = terminal(&run, 110, false);
        assert!(!plain.contains('\u{1b}'));
        let painted = terminal(&run, 110, true);
        assert!(painted.contains("\u{1b}[48;5;"), "the matrix is a heat map");
        let stripped: Vec<String> = strip(&painted).lines().map(|line| line.trim_end().to_owned()).collect();
        assert_eq!(stripped, plain.lines().collect::<Vec<_>>());
    }
}

#[test]
fn every_status_and_flag_has_its_footnote() {
    let text = terminal(&everything(), 120, false);
    for status in &STATUSES[..13] {
        assert!(text.contains(&format!(" {}. ", status.words())), "{status:?}\n{text}");
    }
    for code in FLAGS {
        assert!(text.contains(&format!(" {}", code.code())), "{code:?}");
        assert!(text.contains(&format!("{} was 12.5 with a limit of 10", code.code())), "{code:?}");
    }
    for figures in [
        "needs 4,718,592 tokens of KV cache, 1,048,576 available",
        "needs 266,240 tokens, the model takes 262,144",
        "stream 2 repeated 812 characters of reasoning 6 times (4,872 in all)",
        "rejected 503: the server answered 503",
        "requests waited in 34 % of 30 samples (limit 10 %)",
    ] {
        assert!(text.contains(figures), "{figures}\n{text}");
    }
}

#[test]
fn labels_of_cells_begin_their_footnotes() {
    let text = terminal(&everything(), 160, false);
    for status in &STATUSES[..13] {
        let words = status.words().to_lowercase();
        let start: String = words.chars().take(5).collect();
        let mark = glyph(&text, status.words());
        assert!(text.contains(&format!("{mark} {start}")), "{mark} {start}\n{text}");
    }
    for gone in ["foreign", "■ cut", "· planned", "▨ capacity", "⊘ limit"] {
        assert!(!text.contains(gone), "{gone}");
    }
}

/// The symbol of the footnote with this title.
fn glyph<'a>(text: &'a str, title: &str) -> &'a str {
    let note = text.lines().find(|line| line.contains(&format!(" {title}. "))).unwrap();
    note.split(' ').next().unwrap()
}

#[test]
fn escape_codes_of_foreign_text_stay_inert() {
    let mut run = everything();
    run.title = Some("evil \u{1b}]0;owned\u{7} \u{1b}[2J\u{202e}name\r\n".to_owned());
    run.note = Some("note \u{9b}31m".to_owned());
    let text = terminal(&run, 100, false);
    assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()), "{text:?}");
    assert!(text.contains("\\u{1b}[2J\\u{202e}name"));
}

/// The text without escape codes.
fn strip(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').unwrap().1);
    }
    plain
}
