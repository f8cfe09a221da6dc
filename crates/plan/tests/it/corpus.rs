use std::sync::Arc;

use tokometer_plan::PlanError;
use tokometer_plan::text::{Corpus, Source};

fn numbered(words: usize) -> String {
    let word = |word: usize| format!("w{word}");
    let lines: Vec<_> = (0..words).map(word).collect();
    lines.chunks(10).map(|line| line.join(" ")).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn a_corpus_is_read_from_a_seeded_place_and_wraps() {
    let corpus = Arc::new(Corpus::new(numbered(200)).unwrap());
    assert_eq!(corpus.words(), 200);
    let mut source = Source::new(Some(&corpus), 4);
    let words: Vec<String> = source.text(450).split_whitespace().map(String::from).collect();
    assert_eq!(words.len(), 450);
    let first: usize = words[0][1..].parse().unwrap();
    for (at, word) in words.iter().enumerate() {
        assert_eq!(*word, format!("w{}", (first + at) % 200));
    }
    let short = source.text(123);
    assert!(source.text(300).starts_with(&short));
    let starts: std::collections::HashSet<_> =
        (0..20).map(|seed| Source::new(Some(&corpus), seed).text(1)).collect();
    assert!(starts.len() > 10);
}

#[test]
fn what_stands_between_words_is_kept() {
    let corpus = Arc::new(Corpus::new(numbered(200)).unwrap());
    let text = Source::new(Some(&corpus), 4).text(200);
    assert!(text.contains("9\n\nw"));
}

#[test]
fn a_short_corpus_is_refused_or_noted() {
    assert_eq!(
        Corpus::new("too few words".to_owned()).unwrap_err(),
        PlanError::ShortCorpus { words: 3, least: 100 }
    );
    let corpus = Corpus::new(numbered(200)).unwrap();
    assert_eq!(corpus.note(200), None);
    assert!(corpus.note(201).unwrap().contains("200 words"));
    let drumming = Corpus::new("one two three four ".repeat(3000)).unwrap();
    assert!(drumming.note(500).unwrap().starts_with("100 % of the corpus's sequences of 8 words"));
}
