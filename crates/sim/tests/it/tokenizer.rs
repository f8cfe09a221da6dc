//! The tokenizer.

use tokometer_sim::tokenizer::{self, Prompt, count, tokenize};

use crate::runs::numbered_words;

fn ids(text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenize(text, |id| ids.push(id));
    ids
}

#[test]
fn pieces_are_as_documented() {
    for (text, tokens) in [
        ("", 0),
        ("word", 1),
        (" word", 1),
        ("two words", 2),
        ("internationalisation", 2),
        ("abcdefghijkl", 1),
        ("abcdefghijklm", 2),
        ("2048", 2),
        (" 204", 1),
        ("a, b.", 4),
        ("a1b2", 4),
        ("  two", 2),
        ("\n\nnew", 2),
        ("line\n next", 3),
        ("  ", 1),
        ("                 x", 2),
        ("                  x", 3),
        ("é", 1),
        ("日本語", 3),
        (" 日本", 2),
        ("naïve", 3),
        ("🦀 ok", 2),
    ] {
        assert_eq!(count(text), tokens, "{text:?}");
        assert_eq!(ids(text).len() as u64, tokens, "{text:?}");
    }
}

#[test]
fn text_is_additive_by_words() {
    let words =
        ["The", "harbour's", "internationalisation", "of", "1,048,576", "tokens;", "ünï", "x=y", "(end)."];
    let (mut text, mut sum, mut parts) = (String::new(), 0, Vec::new());
    for round in 0..200 {
        let word = words[(round * 7 + round / 3) % words.len()];
        let piece = if text.is_empty() { word.to_owned() } else { format!(" {word}") };
        text.push_str(&piece);
        sum += count(&piece);
        parts.extend(ids(&piece));
        assert_eq!(count(&text), sum);
    }
    assert_eq!(ids(&text), parts);
}

#[test]
fn every_byte_belongs_to_a_token() {
    // Any text of a few difficult characters is cut at their boundaries, and the cutting ends.
    let letters = ['a', 'Z', '7', ' ', '\n', '\t', '.', '"', 'é', '語', '🦀', '\u{0}', '\u{7f}'];
    let mut number = 1_u64;
    for _ in 0..5000 {
        let mut text = String::new();
        for _ in 0..12 {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push(letters[(number >> 33) as usize % letters.len()]);
        }
        let tokens = count(&text);
        assert!(tokens >= 1 && tokens <= text.chars().count() as u64, "{text:?}");
    }
}

#[test]
fn ids_are_in_the_vocabulary_and_tell_pieces_apart() {
    let (a, b) = (ids("harbour"), ids(" harbour"));
    assert_ne!(a, b);
    assert_eq!(ids("the harbour")[1..], b);
    assert!(ids("Any text, 日本 and 12345").iter().all(|&id| id < tokenizer::VOCABULARY));
}

#[test]
fn blocks_stand_for_whole_prefixes() {
    let text = numbered_words(100);
    let prompt = Prompt::from_text(&text);
    assert_eq!(prompt.blocks.len() as u64, prompt.tokens / tokenizer::BLOCK_TOKENS);
    let longer = Prompt::from_text(&format!("{text} and more words than there were before, in the end"));
    assert_eq!(longer.blocks[..prompt.blocks.len()], prompt.blocks);
    let other = Prompt::from_text(&format!("x{text}"));
    assert!(prompt.blocks.iter().all(|block| !other.blocks.contains(block)));
}
