//! What the words of a report mean, in the sense of the method, version 1.0. The definitions stand in one file,
//! `docs/words.md`, which people read too.

use std::sync::LazyLock;

use tokometer_record::{Cell, FlagCode, Prompts, Run, Status};

/// The file that the definitions are taken from.
const WORDS: &str = include_str!("../../../docs/words.md");

/// Its entries, in order.
static GLOSSARY: LazyLock<Vec<Definition>> = LazyLock::new(|| read(WORDS));

/// A word of the page and its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    /// The heading that it stands under.
    section: String,
    /// The word.
    pub(crate) term: String,
    /// Its meaning, with the unit.
    pub(crate) meaning: String,
}

const QUANTITIES: &str = "Quantities";
const VERDICTS: &str = "Verdicts";
const FLAGS: &str = "Flags";
const TTFT: &str = "TTFT";
const ENERGY: &str = "Energy per token";
const PER_STEP: &str = "Tokens per step";

/// The words that a page uses, as they apply to this run.
pub(crate) fn terms(run: &Run) -> Vec<Definition> {
    let mut terms = Vec::with_capacity(GLOSSARY.len());
    let has = |what: fn(&Cell) -> bool| run.cells.iter().any(what);
    let unused = |term: &str| match term {
        ENERGY => !has(|cell| cell.telemetry.as_ref().is_some_and(|found| found.joules_per_token.is_some())),
        PER_STEP => !has(|cell| cell.speculative.is_some()),
        _ => false,
    };
    for term in GLOSSARY.iter().filter(|entry| entry.section == QUANTITIES && !unused(&entry.term)) {
        terms.push(term.clone());
        if term.term == TTFT {
            terms.push(Definition {
                section: term.section.clone(),
                term: "TTFT in decode cells".to_owned(),
                meaning: decode_ttft(run).to_owned(),
            });
        }
    }
    terms
}

/// How much of prefill is in the TTFT of decode cells, by what was asked of the run.
fn decode_ttft(run: &Run) -> &'static str {
    match (run.settings.prompts, run.settings.cold) {
        (None, _) => {
            "The record does not tell whether prompts of decode cells were in the server's prefix cache, and so how much of prefill is in their TTFT."
        }
        (Some(_), _) if run.engine.prefix_caching == Some(false) => {
            "The server keeps no prefix cache, so all of prefill is in the TTFT of every request."
        }
        (Some(Prompts::Unique), Some(true)) => {
            "Each stream has a prompt of its own that was not sent before: the stream's first request is cold, with all of prefill in its TTFT. Later requests of the same stream find their own prompt in the server's prefix cache."
        }
        (Some(Prompts::Unique), _) => {
            "Each stream has a prompt of its own, sent once before the measured requests: they find it in the server's prefix cache, so most of prefill is not in their TTFT."
        }
        (Some(Prompts::Shared), _) => {
            "All streams of a context send the same prompt, which is already in the server's prefix cache, so most of prefill is not in their TTFT."
        }
    }
}

/// What a status says about its cell.
pub(crate) fn status_meaning(status: Status) -> &'static str {
    meaning(VERDICTS, status.code())
}

/// What a flag says about its cell.
pub(crate) fn flag_meaning(code: FlagCode) -> &'static str {
    meaning(FLAGS, code.code())
}

/// The meaning of a word; a test holds that every code has one.
fn meaning(section: &str, term: &str) -> &'static str {
    let found = GLOSSARY.iter().find(|entry| entry.section == section && entry.term == term);
    found.map_or("", |entry| &entry.meaning)
}

/// Reads `- **term**: meaning` items, which may go on over indented lines, under their `##` headings.
fn read(text: &str) -> Vec<Definition> {
    let mut section = String::new();
    let mut entries: Vec<Definition> = Vec::new();
    let mut in_item = false;
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.trim().clone_into(&mut section);
        }
        let item = line.strip_prefix("- **").and_then(|item| item.split_once("**: "));
        if let Some((term, meaning)) = item {
            entries.push(Definition {
                section: section.clone(),
                term: term.to_owned(),
                meaning: meaning.trim().to_owned(),
            });
            in_item = true;
        } else if let (true, Some(more), Some(entry)) = (in_item, line.strip_prefix("  "), entries.last_mut())
        {
            entry.meaning.push(' ');
            entry.meaning.push_str(more.trim());
        } else {
            in_item = false;
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_go_on_over_lines() {
        let read = read("# x\n\n## One\n\ntext\n- **a b**: first\n  second\n- **c**: third\n\n  not this\n");
        let entry = |term: &str, meaning: &str| Definition {
            section: "One".to_owned(),
            term: term.to_owned(),
            meaning: meaning.to_owned(),
        };
        assert_eq!(read, [entry("a b", "first second"), entry("c", "third")]);
    }

    #[test]
    fn every_word_has_one_meaning() {
        for entry in GLOSSARY.iter() {
            let same = |other: &&Definition| (&other.section, &other.term) == (&entry.section, &entry.term);
            assert_eq!(GLOSSARY.iter().filter(same).count(), 1, "{}", entry.term);
            assert!(entry.meaning.ends_with('.'), "{}", entry.term);
        }
        for term in [TTFT, ENERGY, PER_STEP] {
            assert!(GLOSSARY.iter().any(|entry| entry.term == term), "{term}");
        }
    }
}
