//! The text of prompts: varied, reproducible by seed, and without repetition.
//!
//! [`Generator`] writes English sentences from this crate's own vocabulary and grammar. Models that keep
//! tables of word sequences, and caches that match them, see no sequence twice: within one text no five
//! successive words, marks and paragraph breaks occur twice, nor fewer where they may take seven tokens. With
//! real vocabularies of 49K to 128K entries this leaves no run of eight tokens twice in 256K tokens; one
//! that cuts common words in pieces (a few thousand entries) may see some.
//!
//! [`Corpus`] gives a user's own text instead. Both are streams with stable prefixes: the text of 100 words is
//! the beginning of the text of 200.

mod corpus;
mod grammar;
mod lexicon;
mod random;
mod vocabulary;

use std::collections::HashSet;
use std::sync::Arc;

pub use corpus::{Corpus, CorpusText};

use self::grammar::Sentence;
use self::lexicon::{LEXICON, OPEN_QUOTE, PARAGRAPH, Unit};
pub(crate) use self::random::Random;
use crate::seed;

/// What every prompt ends with: an open task, so that a model has something to go on writing about.
pub const CLOSING: &str = "\n\nThe text above is a collection of unrelated sentences. Write a long and detailed \
    story in plain prose that begins where it ends. Bring in new people, places and events all the time, \
    never repeat an earlier sentence, and do not stop or sum up.";

/// No run of so many units occurs twice in a text.
const RUN: usize = 5;
/// Nor does a shorter one that may take so many tokens.
const RUN_TOKENS: usize = 7;
/// Sentences in a paragraph: at least this many, and up to as many more.
const SENTENCES: usize = 4;

/// Stands before the first unit of a text.
const START: Unit = Unit::MAX;

/// An endless text by seed.
///
/// ```
/// use tokometer_plan::text::Generator;
///
/// let mut generator = Generator::new(7);
/// let short = generator.text(50).to_owned();
/// assert!(generator.text(500).starts_with(&short));
/// ```
#[derive(Debug)]
pub struct Generator {
    random: Random,
    seen: HashSet<u128>,
    last: [Unit; RUN - 1],
    text: String,
    /// Where each word ends in `text`.
    ends: Vec<usize>,
    sentences_left: usize,
    sentence: Vec<Unit>,
}

impl Generator {
    /// The text that belongs to `seed`.
    pub fn new(seed: u64) -> Generator {
        let mut random = Random::new(seed);
        let sentences_left = SENTENCES + random.below(SENTENCES);
        Generator {
            random,
            seen: HashSet::new(),
            last: [START; RUN - 1],
            text: String::new(),
            ends: Vec::new(),
            sentences_left,
            sentence: Vec::new(),
        }
    }

    /// The first `words` words, with the marks between them.
    pub fn text(&mut self, words: usize) -> &str {
        while self.ends.len() < words {
            self.append_sentence();
        }
        match words.checked_sub(1) {
            Some(last) => &self.text[..self.ends[last]],
            None => "",
        }
    }

    fn append_sentence(&mut self) {
        let mut sentence = std::mem::take(&mut self.sentence);
        // A break that would repeat what stands before it waits for the next sentence.
        let paragraph = LEXICON.unit(PARAGRAPH);
        let breaks = self.sentences_left == 0 && !self.seen.contains(&run_ending(self.last, paragraph));
        loop {
            Sentence::write(&mut self.random, &mut sentence);
            if breaks {
                sentence.insert(0, paragraph);
            }
            if self.remember(&sentence) {
                break;
            }
        }
        if breaks {
            self.sentences_left = SENTENCES + self.random.below(SENTENCES);
        }
        self.sentences_left = self.sentences_left.saturating_sub(1);
        self.render(&sentence);
        self.sentence = sentence;
    }

    /// Enters the runs that end in `sentence`; false, and nothing entered, if one of them is not new.
    fn remember(&mut self, sentence: &[Unit]) -> bool {
        let mut window = self.last;
        let mut entered = Vec::with_capacity(sentence.len());
        for unit in sentence {
            let run = run_ending(window, *unit);
            if !self.seen.insert(run) {
                for run in entered {
                    self.seen.remove(&run);
                }
                return false;
            }
            entered.push(run);
            window.rotate_left(1);
            window[RUN - 2] = *unit;
        }
        self.last = window;
        true
    }

    fn render(&mut self, sentence: &[Unit]) {
        let (open_quote, paragraph) = (LEXICON.unit(OPEN_QUOTE), LEXICON.unit(PARAGRAPH));
        let (mut capital, mut space) = (true, !self.text.is_empty());
        for unit in sentence {
            let text = LEXICON.text(*unit);
            let is_mark = LEXICON.is_mark(*unit);
            if space && (*unit == open_quote || !is_mark) {
                self.text.push(' ');
            }
            space = *unit != open_quote && *unit != paragraph;
            if is_mark {
                self.text.push_str(text);
                capital |= *unit == open_quote;
                continue;
            }
            let first = text.chars().next().map_or(0, char::len_utf8);
            if std::mem::take(&mut capital) {
                self.text.push_str(&text[..first].to_uppercase());
            } else {
                self.text.push_str(&text[..first]);
            }
            self.text.push_str(&text[first..]);
            self.ends.push(self.text.len());
        }
    }
}

/// The run that ends with `unit` after `before`, as a number: the shortest that takes [`RUN_TOKENS`], at most
/// [`RUN`] units.
fn run_ending(before: [Unit; RUN - 1], unit: Unit) -> u128 {
    let (mut run, mut tokens) = (u128::from(unit), LEXICON.most_tokens(unit));
    for (earlier, place) in before.iter().rev().zip(1..) {
        if tokens >= RUN_TOKENS || *earlier == START {
            break;
        }
        tokens += LEXICON.most_tokens(*earlier);
        run |= (u128::from(*earlier) + 1) << (place * Unit::BITS);
    }
    run
}

/// Where the words of a prompt come from.
#[derive(Debug)]
pub enum Source {
    /// The built-in generator.
    Generator(Box<Generator>),
    /// A user's own text.
    Corpus(CorpusText),
}

impl Source {
    /// The built-in text of `seed`, or the corpus from the place that `seed` picks.
    pub fn new(corpus: Option<&Arc<Corpus>>, seed: u64) -> Source {
        match corpus {
            Some(corpus) => Source::Corpus(corpus.text_from(seed)),
            None => Source::Generator(Box::new(Generator::new(seed))),
        }
    }

    /// The first `words` words.
    pub fn text(&mut self, words: usize) -> String {
        match self {
            Source::Generator(generator) => generator.text(words).to_owned(),
            Source::Corpus(corpus) => corpus.text(words),
        }
    }
}

/// The few words that open the `index`-th prompt of a run, so that no prefix is found in a cache.
///
/// `run_seed` must be the run's own ([`seed::of_run`]), never the user's `--seed`: two runs with one seed
/// must not share a prefix. The first words of a run's salts differ as far as the vocabulary allows (about
/// a thousand), the first two always within a million.
pub fn salt(run_seed: u64, index: u64) -> String {
    let mut random = Random::new(run_seed);
    let mut plain = LEXICON.plain.clone();
    random.shuffle(&mut plain);
    let count = plain.len() as u64;
    let mut rest = Random::new(seed::mix(run_seed, index));
    let first = LEXICON.text(plain[(index % count) as usize]);
    let second = LEXICON.text(plain[((index / count + index) % count) as usize]);
    let third = LEXICON.text(*rest.of(&plain));
    let fourth = LEXICON.text(*rest.of(&plain));
    let capital = first[..1].to_uppercase();
    format!("{capital}{} {second} {third} {fourth}.", &first[1..])
}
