//! The text of the simulated model: one word, comma or full stop per token.
//!
//! Sentences are drawn word by word from a seed and do not repeat themselves. Where the profile says so, the
//! text turns into one cycle of [`LOOP_CHARACTERS`] characters, again and again.

mod vocabulary;

use std::sync::LazyLock;

use crate::random::Random;
use vocabulary::{LOOP, Part, SENTENCES, words};

/// Length of the cycle of a text that loops.
pub const LOOP_CHARACTERS: usize = 400;

/// The output of one request, token by token. All of it is ASCII without quotes and backslashes.
#[derive(Debug, Clone)]
pub struct Writer {
    random: Random,
    sentence: &'static [Part],
    at: usize,
    begun: bool,
    loop_at: usize,
}

impl Writer {
    /// The text of this seed.
    pub fn new(seed: u64) -> Writer {
        Writer { random: Random::new(seed), sentence: &[], at: 0, begun: false, loop_at: 0 }
    }

    /// Appends the next token of a text that does not repeat itself.
    pub fn write(&mut self, out: &mut Vec<u8>) {
        if self.at == self.sentence.len() {
            self.sentence = SENTENCES[self.random.below(SENTENCES.len() as u64) as usize];
            self.at = 0;
        }
        let part = self.sentence[self.at];
        let words = &VOCABULARY[part as usize];
        let word = words[self.random.below(words.len() as u64) as usize];
        let opens = self.at == 0;
        self.at += 1;
        if part == Part::Comma || part == Part::Stop {
            out.extend_from_slice(word.as_bytes());
            return;
        }
        self.space(out);
        let start = out.len();
        out.extend_from_slice(word.as_bytes());
        if opens {
            out[start..=start].make_ascii_uppercase();
        }
    }

    /// Appends the next token of a text that repeats itself.
    pub fn write_loop(&mut self, out: &mut Vec<u8>) {
        self.space(out);
        out.extend_from_slice(LOOP_WORDS[self.loop_at].as_bytes());
        self.loop_at = (self.loop_at + 1) % LOOP_WORDS.len();
    }

    fn space(&mut self, out: &mut Vec<u8>) {
        if self.begun {
            out.push(b' ');
        }
        self.begun = true;
    }
}

static LOOP_WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| LOOP.split(' ').collect());

/// Words by part, in the order of [`Part`].
static VOCABULARY: LazyLock<Vec<Vec<&str>>> = LazyLock::new(|| {
    let parts = [
        Part::Determiner,
        Part::Adjective,
        Part::Noun,
        Part::Verb,
        Part::Adverb,
        Part::Preposition,
        Part::Link,
        Part::Comma,
        Part::Stop,
    ];
    parts.iter().map(|&part| words(part).split(' ').collect()).collect()
});
