//! The text of outputs.

use std::collections::HashSet;

use tokometer_sim::text::{LOOP_CHARACTERS, Writer};
use tokometer_sim::tokenizer;

fn written(tokens: usize, write: impl Fn(&mut Writer, &mut Vec<u8>)) -> String {
    let (mut writer, mut out) = (Writer::new(7), Vec::new());
    (0..tokens).for_each(|_| write(&mut writer, &mut out));
    String::from_utf8(out).unwrap()
}

#[test]
fn normal_text_never_says_eight_words_twice() {
    let text = written(100_000, Writer::write);
    let words: Vec<&str> = text.split(' ').collect();
    let mut seen = HashSet::new();
    for window in words.windows(8) {
        assert!(seen.insert(window), "twice: {}", window.join(" "));
    }
}

#[test]
fn looping_text_repeats_exactly() {
    let text = written(1000, Writer::write_loop);
    let bytes = text.as_bytes();
    assert!(bytes.len() > 4 * LOOP_CHARACTERS && bytes.len() > 4096);
    assert!((LOOP_CHARACTERS..bytes.len()).all(|at| bytes[at] == bytes[at - LOOP_CHARACTERS]));
    assert!((1..LOOP_CHARACTERS).all(|period| bytes[period..] != bytes[..bytes.len() - period]));
}

#[test]
fn a_loop_shows_after_few_tokens() {
    // 4096 characters are there after 5 seconds at 70 tokens per second.
    assert!(written(350, Writer::write_loop).len() >= 4096);
}

#[test]
fn each_token_of_the_text_is_one_of_the_tokenizer() {
    assert_eq!(tokenizer::count(&written(20_000, Writer::write)), 20_000);
    assert_eq!(tokenizer::count(&written(500, Writer::write_loop)), 500);
}

#[test]
fn text_can_stand_in_json_as_it_is() {
    let text = written(20_000, Writer::write) + &written(100, Writer::write_loop);
    assert!(text.bytes().all(|byte| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\'));
}

#[test]
fn seeds_make_texts() {
    let of = |seed| {
        let (mut writer, mut out) = (Writer::new(seed), Vec::new());
        (0..50).for_each(|_| writer.write(&mut out));
        out
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}
