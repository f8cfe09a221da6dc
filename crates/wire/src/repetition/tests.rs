use std::fmt::Write as _;

use proptest::prelude::*;

use super::{Detector, KEEP, SLACK, STEP};
use crate::exchange::{Channel, Repetition};

/// Pushes text in pieces of a size.
fn detect(text: &str, piece: usize) -> Option<Repetition> {
    let mut detector = Detector::default();
    for bytes in text.as_bytes().chunks(piece) {
        detector.push(bytes, false);
    }
    detector.evidence(Channel::Content)
}

/// Text without any repetition to speak of.
fn varied(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let letters = std::iter::from_fn(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Some(char::from(b"abcdefghijklmnopqrstuvwxyz     "[(state >> 33) as usize % 31]))
    });
    letters.take(length).collect()
}

#[test]
fn varied_text_is_no_repetition() {
    assert_eq!(detect(&varied(1, 400_000), 7), None);
    assert_eq!(detect("", 1), None);
}

#[test]
fn the_smallest_run_that_counts() {
    // 4096 characters of a short cycle, whatever stands around them.
    for (before, behind) in [(0, 0), (1, 1), (777, 900), (5000, 3000)] {
        let (before, behind) = (varied(2, before), varied(3, behind));
        let run = |length| format!("{before}{}{behind}", &"0123456789".repeat(500)[..length]);
        let found = detect(&run(4096), 13).unwrap_or_else(|| panic!("{} {}", before.len(), behind.len()));
        assert_eq!((found.period, found.cycles, found.repeated_characters), (10, 409, 4096));
        assert_eq!(detect(&run(4095), 13), None);
    }
}

#[test]
fn long_cycles_need_four_rounds() {
    for period in [1025, 4096, 10_000, 32_768] {
        let cycle = varied(period as u64, period);
        let four = format!("{}{}{}", varied(8, 3000), cycle.repeat(4), varied(9, 3000));
        let found = detect(&four, 50).unwrap_or_else(|| panic!("{period}"));
        assert_eq!((found.period, found.cycles), (period as u64, 4));
        assert!(
            found.repeated_characters >= 4 * period as u64
                && found.repeated_characters < 4 * period as u64 + 4
        );
        let excerpt = &cycle[..period.min(512)];
        assert!(
            found.excerpt.starts_with(&excerpt[3..]) || found.excerpt.contains(&excerpt[3..400]),
            "{period}"
        );
        let three = format!("{}{}{}#", varied(8, 3000), cycle.repeat(3), &cycle[..period - 1]);
        assert_eq!(detect(&three, 50), None, "{period}");
    }
    let too_long = varied(4, 33_000);
    assert_eq!(detect(&too_long.repeat(5), 50), None);
}

#[test]
fn a_counter_in_the_cycle_makes_it_no_exact_repetition() {
    let mut text = String::new();
    for number in 0..2000 {
        writeln!(text, "Row {number:05} of the table is like the others.").unwrap();
    }
    assert_eq!(detect(&text, 9), None);
}

#[test]
fn blank_cycles_are_ignored() {
    assert_eq!(detect(&" ".repeat(20_000), 5), None);
    assert_eq!(detect(&"\n\n\t ".repeat(5_000), 5), None);
    assert!(detect(&"\n\n- ".repeat(5_000), 5).is_some());
}

#[test]
fn characters_are_counted_not_bytes() {
    let cycle = "同じ文がもう一度。";
    let found = detect(&cycle.repeat(456), 10).unwrap();
    assert_eq!((found.period, found.repeated_characters), (9, 9 * 456));
    assert!(found.excerpt.starts_with(cycle));
    // 4095 characters are 12285 bytes, and still too few.
    assert_eq!(detect(&cycle.repeat(455), 10), None);
}

#[test]
fn cycles_inside_cycles() {
    // Each cycle holds a run of its own that is too short to count.
    let inner = "na ".repeat(700);
    let cycle = format!("{inner}{}", varied(5, 1500));
    let found = detect(&format!("{}{}", varied(6, 2000), cycle.repeat(5)), 11).unwrap();
    assert_eq!((found.period, found.cycles), (3600, 5));
}

#[test]
fn a_repetition_after_much_text_is_found_in_bounded_memory() {
    let mut detector = Detector::default();
    for seed in 0..40 {
        detector.push(varied(seed, 20_000).as_bytes(), false);
        assert!(detector.text.capacity() <= KEEP + SLACK + 2 * STEP + SLACK, "{}", detector.text.capacity());
    }
    assert_eq!(detector.whole_text(), None);
    for _ in 0..3000 {
        detector.push(b"And so it goes on, and on, and on. ", false);
    }
    let found = detector.evidence(Channel::Text).unwrap();
    assert_eq!((found.period, found.channel), (35, Channel::Text));
    assert!(found.repeated_characters >= 105_000, "{found:?}");
}

#[test]
fn a_detector_starts_anew() {
    let mut detector = Detector::default();
    detector.push("ab".repeat(4000).as_bytes(), false);
    assert!(detector.evidence(Channel::Content).is_some());
    detector.reset();
    assert_eq!(detector.evidence(Channel::Content), None);
    detector.push(varied(7, 9000).as_bytes(), false);
    assert_eq!(detector.evidence(Channel::Content), None);
}

#[test]
fn escapes_are_resolved() {
    let mut detector = Detector::default();
    let escaped = r#"\"line\" one\n"#.repeat(1000);
    detector.push(escaped.as_bytes(), true);
    assert_eq!(detector.evidence(Channel::Content).unwrap().period, 11);
}

/// The longest run by trying every period: slow and plain.
fn by_hand(text: &[u8], period: usize) -> usize {
    let (mut best, mut run) = (0, 0);
    for at in period..text.len() {
        run = if text[at] == text[at - period] { run + 1 } else { 0 };
        best = best.max(run);
    }
    if best > 0 { best + period } else { 0 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn agrees_with_trying_every_period(
        seed: u64,
        before in 0..6000usize,
        period in 1..3000usize,
        length in 2000..16_000usize,
        behind in 0..3000usize,
        piece in 1..3000usize,
    ) {
        let cycle = varied(seed, period);
        let run: String = cycle.chars().cycle().take(length).collect();
        let text = format!("{}{run}{}", varied(seed ^ 1, before), varied(seed ^ 2, behind));
        let found = detect(&text, piece);
        let longest = (1..=3000)
            .map(|period| (period, by_hand(text.as_bytes(), period)))
            .find(|&(period, length)| length >= 4096 && length >= 4 * period);
        let blank = cycle.trim().is_empty();
        match longest {
            Some((period, length)) if !blank => {
                let found = found.expect("a run was missed");
                prop_assert_eq!((found.period, found.repeated_characters), (period as u64, length as u64));
            }
            _ => prop_assert_eq!(found, None),
        }
    }
}
