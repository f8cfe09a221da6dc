use std::collections::{HashMap, HashSet};

use tokometer_plan::text::{CLOSING, Generator, Source, salt};

/// A stand-in for a real tokenizer, cutting more than those of 49K to 128K entries do: a token for each mark,
/// line end and short word, two or three for longer words, many for a word that has no space in front.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut after_break = true;
    for chunk in text.split_inclusive(|letter: char| !letter.is_alphabetic()) {
        let word = chunk.trim_end_matches(|letter: char| !letter.is_alphabetic());
        let pieces = match word.len() {
            0 => 0,
            length if after_break => length.div_ceil(3),
            length => length.div_ceil(6),
        };
        for piece in 0..pieces {
            tokens.push(word[word.len() * piece / pieces..word.len() * (piece + 1) / pieces].to_lowercase());
        }
        after_break = chunk.ends_with(['\n', '"']) || after_break && word.is_empty();
        tokens.extend(chunk[word.len()..].chars().filter(|mark| *mark != ' ').map(String::from));
    }
    tokens
}

fn repeated(tokens: &[String], run: usize) -> Option<String> {
    let mut numbers = HashMap::new();
    let numbered: Vec<u32> = tokens
        .iter()
        .map(|token| {
            let next = numbers.len() as u32;
            *numbers.entry(token).or_insert(next)
        })
        .collect();
    let mut seen = HashSet::new();
    let at = numbered.windows(run).position(|window| !seen.insert(window))?;
    Some(tokens[at..at + run].join("·"))
}

#[test]
fn no_run_of_eight_tokens_occurs_twice_in_256k_tokens() {
    for seed in [0, 1, 7, u64::MAX] {
        let text = Generator::new(seed).text(262_144).to_owned();
        let tokens = tokens(&text);
        assert!(tokens.len() >= 262_144, "{}", tokens.len());
        assert_eq!(repeated(&tokens, 8), None, "seed {seed}");
    }
}

#[test]
fn no_run_of_five_words_and_marks_occurs_twice() {
    for seed in [2, 3] {
        let text = Generator::new(seed).text(230_000).to_lowercase();
        let mut units = Vec::new();
        for word in text.split([' ', '\n']) {
            if word.is_empty() {
                // Between the two line ends of a break.
                units.push("break".to_owned());
                continue;
            }
            let opened = word.trim_start_matches('"');
            units.extend((opened.len() < word.len()).then(|| "open quote".to_owned()));
            let bare = opened.trim_end_matches(|mark: char| !mark.is_alphabetic());
            let (stem, possessive) = bare.strip_suffix("'s").map_or((bare, false), |stem| (stem, true));
            units.push(stem.to_owned());
            units.extend(possessive.then(|| "'s".to_owned()));
            units.extend(opened[bare.len()..].chars().map(String::from));
        }
        assert!(units.len() > 250_000);
        assert_eq!(repeated(&units, 5), None, "seed {seed}");
    }
}

#[test]
fn the_text_of_more_words_begins_with_that_of_fewer() {
    let mut generator = Generator::new(11);
    let long = generator.text(5000).to_owned();
    assert_eq!(long.split_whitespace().count(), 5000);
    for words in [0, 1, 2, 499, 4999] {
        let short = generator.text(words);
        assert_eq!(short.split_whitespace().count(), words);
        assert!(long.starts_with(short));
        assert_eq!(short, Generator::new(11).text(words));
    }
}

#[test]
fn seeds_give_texts_that_share_next_to_nothing() {
    let [one, other] = [5, 6].map(|seed| tokens(Generator::new(seed).text(20_000)));
    let runs: HashSet<_> = one.windows(8).collect();
    // A few times both open a paragraph with one phrase.
    let shared = other.windows(8).filter(|run| runs.contains(run)).count();
    assert!(shared < 20, "{shared}");
}

#[test]
fn the_text_is_varied_english() {
    let text = Generator::new(1).text(100_000).to_owned();
    let mut counts = HashMap::new();
    for word in text.split(|letter: char| !letter.is_alphabetic()).filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_insert(0_usize) += 1;
    }
    assert!(counts.len() >= 2500, "{} different words", counts.len());
    let most = counts.values().max().unwrap();
    assert!(*most < 8000, "one word makes up {most} of 100000");
    for mark in [", ", ". ", "? ", "! ", "; ", ": ", "\"", "'s ", "\n\n"] {
        assert!(text.contains(mark), "no {mark:?}");
    }
    assert!(!text.contains("  ") && !text.contains(" ,") && !text.contains(" ."));
    for sentence in text.split("\n\n") {
        assert!(sentence.starts_with(|first: char| first.is_uppercase() || first == '"'), "{sentence}");
    }
    assert!(text.is_ascii());
}

#[test]
fn a_fixed_seed_gives_a_fixed_text() {
    // A change of this text changes every prompt: it needs a new method version.
    let text = Generator::new(42).text(12).to_owned();
    assert_eq!(text, Source::new(None, 42).text(12));
    assert_eq!(text, "In fact, no current mark expanded. A natural court wept deeply; Isaac");
}

#[test]
fn salts_differ_in_their_first_word() {
    let first = |salt: &str| salt.split(' ').next().unwrap().to_owned();
    let salts: Vec<_> = (0..900).map(|index| salt(99, index)).collect();
    let firsts: HashSet<_> = salts.iter().map(|salt| first(salt)).collect();
    assert_eq!(firsts.len(), 900);

    let all: HashSet<_> = (0..20_000)
        .step_by(7)
        .map(|index| salt(99, index).split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(all.len(), 20_000_usize.div_ceil(7));

    let other_run: Vec<_> = (0..900).map(|index| salt(100, index)).collect();
    assert!(salts.iter().zip(&other_run).filter(|(one, other)| first(one) == first(other)).count() < 10);
    assert_eq!(salt(99, 3), salts[3]);
    assert!(salts.iter().all(|salt| salt.split(' ').count() == 4 && salt.ends_with('.')));
}

#[test]
fn the_closing_asks_for_a_long_text() {
    assert!(CLOSING.starts_with("\n\n") && CLOSING.contains("long"));
}
