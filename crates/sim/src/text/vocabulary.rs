//! The words of the simulated model. None is longer than one token.

/// A part of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Determiner,
    Adjective,
    Noun,
    Verb,
    Adverb,
    Preposition,
    Link,
    Comma,
    Stop,
}

use Part::{Adjective, Adverb, Comma, Determiner, Link, Noun, Preposition, Stop, Verb};

/// Shapes of sentences.
pub(super) const SENTENCES: [&[Part]; 8] = [
    &[Determiner, Noun, Adverb, Verb, Determiner, Adjective, Noun, Preposition, Determiner, Noun, Stop],
    &[Determiner, Adjective, Noun, Verb, Determiner, Noun, Link, Verb, Determiner, Adjective, Noun, Stop],
    &[Preposition, Determiner, Adjective, Noun, Comma, Determiner, Noun, Verb, Determiner, Noun, Stop],
    &[Determiner, Noun, Preposition, Determiner, Noun, Verb, Adverb, Preposition, Determiner, Noun, Stop],
    &[Adverb, Comma, Determiner, Adjective, Noun, Verb, Determiner, Adjective, Noun, Stop],
    &[Determiner, Noun, Verb, Determiner, Noun, Comma, Link, Determiner, Noun, Adverb, Verb, Noun, Stop],
    &[Adjective, Noun, Verb, Adjective, Noun, Preposition, Determiner, Adjective, Noun, Stop],
    &[Determiner, Adjective, Noun, Link, Determiner, Noun, Verb, Determiner, Noun, Preposition, Noun, Stop],
];

/// Words of a part, one space between them.
pub(super) fn words(part: Part) -> &'static str {
    match part {
        Determiner => "the a this that each every another some one our their any",
        Adjective => {
            "quiet narrow golden distant early careful broken gentle hollow heavy modest rapid silver steady \
             sudden warm winding ancient bright clever curious dusty endless faded famous foreign fragile \
             generous hidden humble idle jagged kindly lasting lively lonely lucid mellow misty northern \
             obscure patient plain polite proper purple ragged rare remote rural scarce shallow sharp simple \
             slender solemn stern subtle tidy timid tough tranquil uneven upper vacant vivid wooden"
        }
        Noun => {
            "harbour valley engine lantern orchard bridge window river teacher kitchen mirror meadow station \
             violin archive balcony basket beacon blanket border bottle bucket builder cabin canal candle \
             carpet castle cellar chapel chart choir cloud coast column compass cottage courier cradle \
             curtain desert diary doctor domain farmer feather ferry forest fountain gallery garden glacier \
             granite guitar hammer harvest helmet hillside horizon island journal journey kettle ladder \
             laundry ledger letter library machine market marsh meeting mineral mountain museum needle \
             notebook oven painter palace paper parcel pasture path pebble pencil planet pocket pottery \
             quarry railway recipe ribbon roof sailor saddle scholar season shelter signal slope spiral \
             spring statue stream studio summit surface tailor theatre thread ticket timber tower tunnel \
             valve vessel village wagon wardrobe weather whistle winter workshop"
        }
        Verb => {
            "carries follows crosses opens reaches shelters gathers measures paints repairs watches answers \
             borrows brings builds calls catches chooses collects covers divides draws encloses explains \
             finds guards guides hears holds hides honours invites joins keeps leaves lifts marks meets \
             mends needs notices offers orders passes plans praises protects raises reads recalls records \
             reflects remembers removes returns reveals scatters seeks sends shapes shares signals studies \
             supports surprises surrounds teaches touches traces turns visits welcomes"
        }
        Adverb => {
            "slowly often rarely quickly softly calmly boldly barely freely gladly hardly lately mostly nearly \
             neatly partly plainly proudly quietly safely seldom simply smoothly soon sternly surely twice \
             warmly wisely"
        }
        Preposition => {
            "across along around behind below beside beyond during inside near over past through toward under \
             without against among before after"
        }
        Link => "and but while because so yet until whenever where although",
        Comma => ",",
        Stop => ".",
    }
}

/// The words of a text that repeats itself: long ones, so that a loop shows after few tokens.
pub(super) const LOOP: &str = "requirement architecture foundations measurement observation explanation \
     performance development environment instruments combination temperature arrangement engineering \
     consequence expectation significant fundamental independent operational preparation manufacturer \
     composition distribution consistency intermediate illustrated organisation relationship possibility \
     information techniques conditions";
