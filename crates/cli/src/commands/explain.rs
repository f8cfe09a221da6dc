//! `tokometer explain TERM`.

use std::fmt::Write;

use crate::args::tool::ExplainArgs;
use crate::explain::{self, Found};
use crate::failure::Hinted;
use crate::out;

/// Where a text may be broken at most.
const WIDEST: usize = 100;
/// Meanings of one word that are shown; the rest is counted.
const MOST: usize = 8;

/// Prints the definition of a word.
pub(crate) fn explain(args: &ExplainArgs) -> anyhow::Result<u8> {
    let term = args.term.join(" ");
    if term.trim().is_empty() {
        return list();
    }
    let found = explain::find(&term);
    if found.is_empty() {
        let hint = match explain::nearest(&term) {
            Some(near) => format!("did you mean {near}? tokometer explain lists the words of a report"),
            None => "tokometer explain lists the words of a report; tokometer schema has all of the record"
                .to_owned(),
        };
        return Err(Hinted::usage(format!("no word {term:?} is known"), hint).into());
    }
    let width = out::width().min(WIDEST);
    let mut text = String::new();
    for Found { term, kind, meaning } in found.iter().take(MOST) {
        let _ = writeln!(text, "{term}  ({kind})\n{}\n", wrapped(meaning, width, "  "));
    }
    if found.len() > MOST {
        let more = out::count(found.len() - MOST, "other field");
        let next = &found[MOST].term;
        let _ = writeln!(text, "and {more} of this name: name one by its path, such as {next}");
    }
    out::result_line(text.trim_end())?;
    Ok(0)
}

fn list() -> anyhow::Result<u8> {
    let mut text = String::new();
    let mut section = "";
    for word in tokometer_report::glossary() {
        if word.section != section {
            section = &word.section;
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{section}");
        }
        let _ = writeln!(text, "  {}", word.term);
    }
    out::result(&text)?;
    Ok(0)
}

/// `text` broken into lines of at most `width` characters.
fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![indent.to_owned()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().filter(|line| {
            line.len() == indent.len() || line.chars().count() + 1 + word.chars().count() <= width
        });
        match line {
            Some(line) if line.len() == indent.len() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(format!("{indent}{word}")),
        }
    }
    lines.join("\n")
}
