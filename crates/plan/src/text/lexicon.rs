//! The vocabulary with its inflected forms, each form numbered once.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::vocabulary as words;

/// Number of a word form or punctuation mark: equal text, equal number.
pub(super) type Unit = u16;

/// The one lexicon of this program.
pub(super) static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::build);

/// A verb: base form, past, participle, gerund.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verb {
    pub(super) base: Unit,
    pub(super) past: Unit,
    pub(super) participle: Unit,
    pub(super) gerund: Unit,
}

/// A noun: singular and plural.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noun {
    pub(super) singular: Unit,
    pub(super) plural: Unit,
}

/// All forms by number, and the parts of speech that the grammar draws from.
#[derive(Debug)]
pub(super) struct Lexicon {
    forms: Vec<String>,
    numbers: HashMap<String, Unit>,
    pub(super) nouns: Vec<Noun>,
    pub(super) mass_nouns: Vec<Unit>,
    pub(super) transitive: Vec<Verb>,
    pub(super) intransitive: Vec<Verb>,
    pub(super) adjectives: Vec<Unit>,
    pub(super) adverbs: Vec<Unit>,
    /// Sentence openers, each of one word or several.
    pub(super) openers: Vec<Vec<Unit>>,
    pub(super) prepositions: Vec<Unit>,
    pub(super) determiners: Vec<Unit>,
    pub(super) plural_determiners: Vec<Unit>,
    pub(super) subordinators: Vec<Unit>,
    pub(super) coordinators: Vec<Unit>,
    pub(super) speech: Vec<Vec<Unit>>,
    pub(super) opinion: Vec<Unit>,
    pub(super) modals: Vec<Unit>,
    pub(super) names: Vec<Unit>,
    pub(super) places: Vec<Unit>,
    /// Singular nouns and adjectives, for salts: plain words of a few letters.
    pub(super) plain: Vec<Unit>,
}

/// Fewest letters that a token of a word is counted with.
const LETTERS_PER_TOKEN: usize = 4;

impl Lexicon {
    fn build() -> Lexicon {
        let mut forms = Forms::default();
        for mark in [".", ",", "?", "!", ";", ":", "'s", OPEN_QUOTE, CLOSE_QUOTE, PARAGRAPH] {
            forms.number(mark);
        }
        forms.list(words::PARTICLES);
        let nouns = words::NOUNS
            .split_whitespace()
            .map(|word| Noun { singular: forms.number(word), plural: forms.number(&plural(word)) })
            .collect();
        let mut transitive = forms.regular(words::TRANSITIVE);
        transitive.extend(forms.irregular(words::IRREGULAR_TRANSITIVE));
        let mut intransitive = forms.regular(words::INTRANSITIVE);
        intransitive.extend(forms.irregular(words::IRREGULAR_INTRANSITIVE));
        let adjectives = forms.list(words::ADJECTIVES);
        let mut plain: Vec<Unit> = words::NOUNS
            .split_whitespace()
            .filter(|word| (4..=7).contains(&word.len()))
            .map(|word| forms.number(word))
            .collect();
        plain.extend(
            adjectives.iter().filter(|unit| (4..=7).contains(&forms.text[usize::from(**unit)].len())),
        );
        plain.sort_unstable();
        plain.dedup();
        Lexicon {
            nouns,
            mass_nouns: forms.list(words::MASS_NOUNS),
            transitive,
            intransitive,
            adjectives,
            adverbs: forms.list(words::ADVERBS),
            openers: forms.phrases(words::OPENERS),
            prepositions: forms.list(words::PREPOSITIONS),
            determiners: forms.list(words::DETERMINERS),
            plural_determiners: forms.list(words::PLURAL_DETERMINERS),
            subordinators: forms.list(words::SUBORDINATORS),
            coordinators: forms.list(words::COORDINATORS),
            speech: forms.phrases(words::SPEECH),
            opinion: forms.list(words::OPINION),
            modals: forms.list(words::MODALS),
            names: forms.list(words::NAMES),
            places: forms.list(words::PLACES),
            plain,
            forms: forms.text,
            numbers: forms.numbers,
        }
    }

    /// The text of a unit; both quotes are written alike.
    pub(super) fn text(&self, unit: Unit) -> &str {
        match self.forms[usize::from(unit)].as_str() {
            OPEN_QUOTE | CLOSE_QUOTE => "\"",
            text => text,
        }
    }

    /// The number of a word or mark that the grammar writes itself; it must be in the lists.
    pub(super) fn unit(&self, text: &str) -> Unit {
        match self.numbers.get(text) {
            Some(unit) => *unit,
            None => unreachable!("the grammar writes {text:?}, which is in no list of the vocabulary"),
        }
    }

    /// Tokens that the unit takes at most in a vocabulary of a usual size. Most words take one, but names,
    /// long words, and words that stand without a space in front (behind a break) may be cut in pieces.
    pub(super) fn most_tokens(&self, unit: Unit) -> usize {
        let form = &self.forms[usize::from(unit)];
        match form.as_str() {
            PARAGRAPH => 3,
            form => {
                form.len().div_ceil(LETTERS_PER_TOKEN) + usize::from(form.starts_with(char::is_uppercase))
            }
        }
    }

    /// True for punctuation.
    pub(super) fn is_mark(&self, unit: Unit) -> bool {
        self.forms[usize::from(unit)].starts_with(|first: char| !first.is_alphabetic())
    }
}

/// The quote that opens speech, as a unit of its own.
pub(super) const OPEN_QUOTE: &str = "\"(";
/// The break between paragraphs.
pub(super) const PARAGRAPH: &str = "\n\n";
/// The quote that closes speech.
pub(super) const CLOSE_QUOTE: &str = "\")";

/// Numbers forms as they come.
#[derive(Default)]
struct Forms {
    text: Vec<String>,
    numbers: HashMap<String, Unit>,
}

impl Forms {
    fn number(&mut self, form: &str) -> Unit {
        if let Some(unit) = self.numbers.get(form) {
            return *unit;
        }
        let unit = self.text.len() as Unit;
        self.text.push(form.to_owned());
        self.numbers.insert(form.to_owned(), unit);
        unit
    }

    fn list(&mut self, words: &str) -> Vec<Unit> {
        words.split_whitespace().map(|word| self.number(word)).collect()
    }

    fn phrases(&mut self, words: &str) -> Vec<Vec<Unit>> {
        words
            .split_whitespace()
            .map(|phrase| phrase.split('_').map(|word| self.number(word)).collect())
            .collect()
    }

    fn regular(&mut self, words: &str) -> Vec<Verb> {
        words
            .split_whitespace()
            .map(|base| {
                let past = self.number(&past(base));
                Verb { base: self.number(base), past, participle: past, gerund: self.number(&gerund(base)) }
            })
            .collect()
    }

    fn irregular(&mut self, words: &str) -> Vec<Verb> {
        words
            .split_whitespace()
            .filter_map(|entry| {
                let mut parts = entry.split('/');
                let (base, past, participle) = (parts.next()?, parts.next()?, parts.next()?);
                Some(Verb {
                    base: self.number(base),
                    past: self.number(past),
                    participle: self.number(participle),
                    gerund: self.number(&gerund(base)),
                })
            })
            .collect()
    }
}

fn is_vowel(letter: Option<u8>) -> bool {
    letter.is_some_and(|letter| b"aeiou".contains(&letter))
}

/// `word` without its last letter.
fn stem(word: &str) -> &str {
    &word[..word.len() - 1]
}

/// True for words such as `stop` and `omit`, which double their last letter before `-ed` and `-ing`.
fn doubles(word: &str) -> bool {
    const STRESSED: [&str; 9] =
        ["admit", "begin", "forget", "prefer", "refer", "transfer", "unpack", "omit", "permit"];
    let letters = word.as_bytes();
    let [.., before, vowel, last] = letters else { return false };
    let shape = !is_vowel(Some(*before)) && is_vowel(Some(*vowel)) && !b"aeiouwxy".contains(last);
    let vowels = letters.iter().filter(|letter| is_vowel(Some(**letter))).count();
    shape && (vowels == 1 || STRESSED.contains(&word)) || word == "equip" || word == "quit"
}

fn past(base: &str) -> String {
    let letters = base.as_bytes();
    let before = letters.len().checked_sub(2).map(|at| letters[at]);
    match letters.last() {
        Some(b'e') => format!("{base}d"),
        Some(b'y') if !is_vowel(before) => format!("{}ied", stem(base)),
        Some(last) if doubles(base) => format!("{base}{}ed", char::from(*last)),
        _ => format!("{base}ed"),
    }
}

fn gerund(base: &str) -> String {
    let letters = base.as_bytes();
    match letters.last() {
        Some(b'e') if !base.ends_with("ee") && !base.ends_with("ye") => format!("{}ing", stem(base)),
        Some(last) if doubles(base) => format!("{base}{}ing", char::from(*last)),
        _ => format!("{base}ing"),
    }
}

fn plural(noun: &str) -> String {
    const IRREGULAR: [(&str, &str); 20] = [
        ("child", "children"),
        ("deer", "deer"),
        ("fish", "fish"),
        ("foot", "feet"),
        ("goose", "geese"),
        ("half", "halves"),
        ("knife", "knives"),
        ("leaf", "leaves"),
        ("mouse", "mice"),
        ("salesman", "salesmen"),
        ("series", "series"),
        ("sheep", "sheep"),
        ("shelf", "shelves"),
        ("species", "species"),
        ("thief", "thieves"),
        ("tooth", "teeth"),
        ("axis", "axes"),
        ("wife", "wives"),
        ("wolf", "wolves"),
        ("woman", "women"),
    ];
    const PLAIN_O: [&str; 6] = ["photo", "piano", "radio", "studio", "video", "portfolio"];
    if let Some((_, plural)) = IRREGULAR.iter().find(|(singular, _)| *singular == noun) {
        return (*plural).to_owned();
    }
    let letters = noun.as_bytes();
    let before = letters.len().checked_sub(2).map(|at| letters[at]);
    let hissing = ["s", "x", "z", "ch", "sh"].iter().any(|end| noun.ends_with(end)) && noun != "stomach";
    match letters.last() {
        Some(b'y') if !is_vowel(before) => format!("{}ies", stem(noun)),
        Some(b'o') if !is_vowel(before) && !PLAIN_O.contains(&noun) => format!("{noun}es"),
        _ if hissing => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}
