//! Sentences of many shapes, as units of the lexicon.

use super::lexicon::{CLOSE_QUOTE, LEXICON, Lexicon, OPEN_QUOTE, Unit, Verb};
use super::random::Random;

/// How deep phrases may nest.
const MAX_DEPTH: u32 = 2;

/// Writes one sentence at a time into `units`.
pub(super) struct Sentence<'a> {
    lexicon: &'static Lexicon,
    random: &'a mut Random,
    units: &'a mut Vec<Unit>,
}

impl<'a> Sentence<'a> {
    /// Replaces `units` with a new sentence, its final mark included.
    pub(super) fn write(random: &'a mut Random, units: &'a mut Vec<Unit>) {
        units.clear();
        let mut sentence = Sentence { lexicon: &LEXICON, random, units };
        sentence.any();
        sentence.fix_articles();
    }

    fn any(&mut self) {
        match self.random.below(100) {
            0..14 => self.statement(),
            14..24 => {
                self.phrase(|lexicon| &lexicon.openers);
                self.word(",");
                self.clause(0);
                self.word(".");
            }
            24..34 => {
                self.pick(|lexicon| &lexicon.subordinators);
                self.clause(1);
                self.word(",");
                self.clause(0);
                self.word(".");
            }
            34..43 => {
                self.clause(1);
                self.word(",");
                self.pick(|lexicon| &lexicon.coordinators);
                self.clause(1);
                self.word(".");
            }
            43..48 => {
                self.clause(1);
                self.word(";");
                self.clause(1);
                self.word(".");
            }
            48..55 => self.question(),
            55..64 => self.speech(),
            64..69 => {
                self.noun_phrase(1);
                self.pick_verb(true, |verb| verb.past);
                self.series();
                self.word(".");
            }
            69..74 => self.existence(),
            74..80 => {
                self.person();
                self.pick(|lexicon| &lexicon.opinion);
                self.word("that");
                self.clause(0);
                self.word(".");
            }
            80..86 => {
                self.prepositional(0);
                self.word(",");
                self.clause(0);
                self.word(".");
            }
            86..91 => {
                self.pick_verb(true, |verb| verb.gerund);
                self.noun_phrase(1);
                self.word(",");
                self.clause(1);
                self.word(".");
            }
            91..95 => self.comparison(),
            95..98 => {
                self.clause(1);
                self.word(":");
                self.series();
                self.word(".");
            }
            _ => {
                self.word("what");
                self.word("a");
                self.pick(|lexicon| &lexicon.adjectives);
                let noun = *self.random.of(&self.lexicon.nouns);
                self.units.push(noun.singular);
                self.word("the");
                self.pick(|lexicon| &lexicon.adjectives);
                let other = *self.random.of(&self.lexicon.nouns);
                self.units.push(other.singular);
                self.word("was");
                self.word("!");
            }
        }
    }

    fn statement(&mut self) {
        self.clause(0);
        self.word(".");
    }

    /// Subject and predicate without an end mark.
    fn clause(&mut self, depth: u32) {
        let plural = self.noun_phrase(depth);
        match self.random.below(12) {
            0..4 => {
                self.pick_verb(true, |verb| verb.past);
                self.noun_phrase(depth + 1);
                self.ending(depth);
            }
            4..6 => {
                self.pick_verb(false, |verb| verb.past);
                self.ending(depth);
            }
            6 => {
                self.pick(|lexicon| &lexicon.modals);
                self.pick_verb(true, |verb| verb.base);
                self.noun_phrase(depth + 1);
                self.ending(depth);
            }
            7 => {
                self.word(if plural { "were" } else { "was" });
                self.pick_verb(false, |verb| verb.gerund);
                self.prepositional(depth);
            }
            8 => {
                self.word(if plural { "were" } else { "was" });
                self.degree();
                self.pick(|lexicon| &lexicon.adjectives);
                self.ending(depth);
            }
            9 => {
                self.word(if plural { "were" } else { "was" });
                self.pick_verb(true, |verb| verb.participle);
                self.word("by");
                self.noun_phrase(depth + 1);
                self.ending(depth + 1);
            }
            10 => {
                self.word("had");
                self.frequency();
                self.pick_verb(true, |verb| verb.participle);
                self.noun_phrase(depth + 1);
                self.ending(depth + 1);
            }
            _ => {
                self.pick(|lexicon| &lexicon.adverbs);
                self.pick_verb(true, |verb| verb.past);
                self.noun_phrase(depth + 1);
            }
        }
    }

    /// An adverb, a phrase of place, a purpose, or nothing.
    fn ending(&mut self, depth: u32) {
        match self.random.below(10) {
            0..3 => self.pick(|lexicon| &lexicon.adverbs),
            3..7 if depth < MAX_DEPTH => self.prepositional(depth + 1),
            7 if depth < MAX_DEPTH => {
                self.word("to");
                self.pick_verb(true, |verb| verb.base);
                self.noun_phrase(depth + 1);
            }
            8 if depth < MAX_DEPTH => {
                self.pick(|lexicon| &lexicon.subordinators);
                self.clause(depth + 1);
            }
            _ => {}
        }
    }

    /// Who or what; true if plural.
    fn noun_phrase(&mut self, depth: u32) -> bool {
        let plural = match self.random.below(20) {
            0..2 => {
                self.pick(|lexicon| &lexicon.names);
                return false;
            }
            2 => {
                self.pick(|lexicon| &lexicon.names);
                self.word("'s");
                self.adjectives();
                let noun = *self.random.of(&self.lexicon.nouns);
                self.units.push(noun.singular);
                return false;
            }
            3..5 => {
                self.adjectives();
                self.pick(|lexicon| &lexicon.mass_nouns);
                return false;
            }
            5 if depth < MAX_DEPTH => {
                self.pick_verb(true, |verb| verb.gerund);
                self.noun_phrase(depth + 1);
                return false;
            }
            6..13 => {
                self.pick(|lexicon| &lexicon.determiners);
                self.adjectives();
                let noun = *self.random.of(&self.lexicon.nouns);
                self.units.push(noun.singular);
                false
            }
            _ => {
                self.pick(|lexicon| &lexicon.plural_determiners);
                self.adjectives();
                let noun = *self.random.of(&self.lexicon.nouns);
                self.units.push(noun.plural);
                true
            }
        };
        if depth < MAX_DEPTH {
            match self.random.below(12) {
                0..2 => {
                    self.word("of");
                    self.noun_phrase(depth + 1);
                }
                2 => self.prepositional(depth + 1),
                3 => {
                    self.word("that");
                    self.pick_verb(true, |verb| verb.past);
                    self.noun_phrase(depth + 1);
                }
                _ => {}
            }
        }
        plural
    }

    fn adjectives(&mut self) {
        match self.random.below(10) {
            0..5 => self.pick(|lexicon| &lexicon.adjectives),
            5 => {
                self.pick(|lexicon| &lexicon.adjectives);
                self.word("and");
                self.pick(|lexicon| &lexicon.adjectives);
            }
            _ => {}
        }
    }

    fn prepositional(&mut self, depth: u32) {
        if self.random.below(6) == 0 {
            let place = *self.random.of(&["in", "near", "from", "outside", "across"]);
            self.word(place);
            self.pick(|lexicon| &lexicon.places);
        } else {
            self.pick(|lexicon| &lexicon.prepositions);
            self.noun_phrase(depth + 1);
        }
    }

    fn question(&mut self) {
        match self.random.below(4) {
            0 => {
                let opener = *self.random.of(&["why", "how", "when", "where"]);
                self.word(opener);
                self.word("did");
                self.noun_phrase(1);
                self.pick_verb(true, |verb| verb.base);
                self.noun_phrase(1);
            }
            1 => {
                self.word("who");
                self.pick_verb(true, |verb| verb.past);
                self.noun_phrase(0);
            }
            2 => {
                self.pick(|lexicon| &lexicon.modals);
                self.noun_phrase(1);
                self.pick_verb(false, |verb| verb.base);
                self.prepositional(1);
            }
            _ => {
                self.word("did");
                self.noun_phrase(1);
                self.pick_verb(true, |verb| verb.base);
                self.noun_phrase(1);
                self.ending(1);
            }
        }
        self.word("?");
    }

    fn speech(&mut self) {
        self.word(OPEN_QUOTE);
        self.clause(1);
        let mark = *self.random.of(&[",", ",", ",", "!", "?"]);
        self.word(mark);
        self.word(CLOSE_QUOTE);
        if self.random.below(2) == 0 {
            self.phrase(|lexicon| &lexicon.speech);
            self.person();
        } else {
            self.person();
            self.phrase(|lexicon| &lexicon.speech);
        }
        if self.random.below(3) == 0 {
            self.pick(|lexicon| &lexicon.adverbs);
        }
        self.word(".");
    }

    /// A name, or somebody by trade.
    fn person(&mut self) {
        if self.random.below(2) == 0 {
            self.pick(|lexicon| &lexicon.names);
        } else {
            self.word("the");
            self.adjectives();
            let noun = *self.random.of(&self.lexicon.nouns);
            self.units.push(noun.singular);
        }
    }

    /// `X, Y, and Z`, of three to five things.
    fn series(&mut self) {
        let things = 3 + self.random.below(3);
        for thing in 0..things {
            if thing > 0 {
                self.word(",");
            }
            if thing + 1 == things {
                self.word("and");
            }
            self.noun_phrase(MAX_DEPTH);
        }
    }

    fn existence(&mut self) {
        self.word("there");
        let plural = self.random.below(2) == 0;
        self.word(if plural { "were" } else { "was" });
        let determiner = *self.random.of(if plural {
            &["many", "several", "three", "no", "few"]
        } else {
            &["a", "no", "one", "another", "some"]
        });
        self.word(determiner);
        self.adjectives();
        let noun = *self.random.of(&self.lexicon.nouns);
        self.units.push(if plural { noun.plural } else { noun.singular });
        self.prepositional(0);
        self.word(".");
    }

    fn comparison(&mut self) {
        let plural = self.noun_phrase(1);
        self.word(if plural { "were" } else { "was" });
        let degree = *self.random.of(&["more", "less"]);
        self.word(degree);
        self.pick(|lexicon| &lexicon.adjectives);
        self.word("than");
        self.noun_phrase(1);
        self.ending(2);
        self.word(".");
    }

    fn degree(&mut self) {
        let word = *self.random.of(&["very", "rather", "quite", "too", "so", "almost", "", "", "", ""]);
        if !word.is_empty() {
            self.word(word);
        }
    }

    fn frequency(&mut self) {
        let word =
            *self.random.of(&["never", "always", "often", "seldom", "only", "even", "just", "", "", ""]);
        if !word.is_empty() {
            self.word(word);
        }
    }

    fn word(&mut self, text: &str) {
        self.units.push(self.lexicon.unit(text));
    }

    fn pick(&mut self, list: fn(&'static Lexicon) -> &'static Vec<Unit>) {
        let unit = *self.random.of(list(self.lexicon));
        self.units.push(unit);
    }

    fn phrase(&mut self, list: fn(&'static Lexicon) -> &'static Vec<Vec<Unit>>) {
        let units = self.random.of(list(self.lexicon));
        self.units.extend_from_slice(units);
    }

    fn pick_verb(&mut self, with_object: bool, form: fn(&Verb) -> Unit) {
        let list = if with_object { &self.lexicon.transitive } else { &self.lexicon.intransitive };
        let unit = form(self.random.of(list));
        self.units.push(unit);
    }

    /// `a` before a vowel becomes `an`.
    fn fix_articles(&mut self) {
        let (a, an) = (self.lexicon.unit("a"), self.lexicon.unit("an"));
        for at in 0..self.units.len().saturating_sub(1) {
            if self.units[at] == a && begins_with_vowel_sound(self.lexicon.text(self.units[at + 1])) {
                self.units[at] = an;
            }
        }
    }
}

fn begins_with_vowel_sound(word: &str) -> bool {
    const SILENT_H: [&str; 3] = ["hour", "honest", "honesty"];
    const YOU: [&str; 7] = ["unit", "uniq", "univ", "union", "usef", "usua", "Euro"];
    if YOU.iter().any(|start| word.starts_with(start)) || word == "one" {
        return false;
    }
    SILENT_H.contains(&word) || word.starts_with(['a', 'e', 'i', 'o', 'u'])
}
