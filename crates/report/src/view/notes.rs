//! Footnotes: why cells have no number, and what flags say.

use std::collections::BTreeMap;

use tokometer_record::{Cell, FlagCode, Run, Status};

use super::reason;
use crate::definitions::{flag_meaning, status_meaning};
use crate::words::{cell_label, clean, counted, glyph};

/// Statuses with a footnote, in the order of the verdict (method section 7).
pub(crate) const STATUS_ORDER: [Status; 13] = [
    Status::Planned,
    Status::OverLimit,
    Status::OverCapacity,
    Status::Skipped,
    Status::Interrupted,
    Status::Error,
    Status::Looped,
    Status::ClientLimited,
    Status::Contaminated,
    Status::Queued,
    Status::Short,
    Status::Throttled,
    Status::Unstable,
];

const FLAG_ORDER: [FlagCode; 14] = [
    FlagCode::Simulated,
    FlagCode::NotReady,
    FlagCode::Underfilled,
    FlagCode::PromptLength,
    FlagCode::TokenMismatch,
    FlagCode::TokensEstimated,
    FlagCode::Coalesced,
    FlagCode::PrefixHit,
    FlagCode::PowerCapped,
    FlagCode::OverRatedClock,
    FlagCode::ClockStep,
    FlagCode::SyntheticAcceptance,
    FlagCode::Retuned,
    FlagCode::FewSamples,
];

/// Code of the remark on requests that were sent again; no flag of the method.
pub(crate) const RESENT: &str = "resent";

/// What it says.
const RESENT_MEANING: &str = "The server had closed the kept connection before it answered, so requests were sent again on a new one. Each counts once, from the second sending.";

/// One footnote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// The status's symbol or the flag's letter.
    pub(crate) mark: String,
    /// The same letter raised, for terminals; empty for statuses.
    pub(crate) raised: &'static str,
    /// Name of its anchor on a page: `note-over_capacity`.
    pub(crate) anchor: String,
    /// `Over capacity`, `few_samples`.
    pub(crate) title: String,
    /// What it means.
    pub(crate) meaning: &'static str,
    /// True if every row with figures has it, so that none is marked.
    pub(crate) everywhere: bool,
    /// True for flags, and for what is marked as they are.
    pub(crate) flag: bool,
    /// The rows with their figures; rows with the same text together.
    pub(crate) groups: Vec<Group>,
}

/// Rows that share a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// `32K × 64`.
    pub(crate) cells: Vec<String>,
    /// What there is to say about them; may be empty.
    pub(crate) text: String,
}

/// All footnotes of a run.
#[derive(Debug)]
pub(crate) struct Notes {
    list: Vec<Note>,
    marks: BTreeMap<&'static str, (String, &'static str)>,
}

/// A flag's mark at a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    /// `a`.
    pub(crate) letter: String,
    /// `ᵃ`.
    pub(crate) raised: &'static str,
    /// `few_samples`.
    pub(crate) code: &'static str,
    /// The flag's detail at this cell.
    pub(crate) detail: String,
}

impl Notes {
    /// Collects the footnotes of a run: statuses first, then flags by letter.
    pub(crate) fn of(run: &Run) -> Notes {
        let mut notes = Notes { list: Vec::new(), marks: BTreeMap::new() };
        for status in STATUS_ORDER {
            let cells: Vec<&Cell> = run.cells.iter().filter(|cell| cell.status == status).collect();
            if !cells.is_empty() {
                notes.list.push(status_note(status, &cells));
            }
        }
        let valid = run.cells.iter().filter(|cell| cell.status == Status::Valid).count();
        let mut letters = LETTERS.iter();
        for code in FLAG_ORDER {
            let cells: Vec<&Cell> = run.cells.iter().filter(|cell| cell.flag(code).is_some()).collect();
            if cells.is_empty() {
                continue;
            }
            let flagged = cells.iter().filter(|cell| cell.status == Status::Valid).count();
            let everywhere = code == FlagCode::Simulated || (flagged > 1 && flagged == valid);
            let (letter, raised) =
                if everywhere { ("*", "") } else { *letters.next().unwrap_or(&("+", "⁺")) };
            if !everywhere {
                notes.marks.insert(code.code(), (letter.to_owned(), raised));
            }
            notes.list.push(flag_note(code, letter, raised, everywhere, &cells));
        }
        let (letter, raised) = *letters.next().unwrap_or(&("+", "⁺"));
        notes.list.extend(resent_note(letter, raised, &run.cells));
        notes.marks.insert(RESENT, (letter.to_owned(), raised));
        notes
    }

    /// The marks of a cell's flags; flags that every row has need none.
    pub(crate) fn marks(&self, cell: &Cell) -> Vec<Mark> {
        let mark = |code: &'static str, detail: String| {
            let (letter, raised) = self.marks.get(code)?;
            Some(Mark { letter: letter.clone(), raised, code, detail })
        };
        let flags = cell.flags.iter().filter_map(|flag| mark(flag.code.code(), clean(&flag.detail)));
        let mut marks: Vec<Mark> =
            flags.chain(resent(cell).and_then(|detail| mark(RESENT, detail))).collect();
        marks.sort_by(|one, other| one.letter.cmp(&other.letter));
        marks
    }

    /// The footnotes in order.
    pub(crate) fn into_list(self) -> Vec<Note> {
        self.list
    }
}

/// Letters for flags and for [`RESENT`], plain and raised; there are as many as those.
const LETTERS: [(&str, &str); 15] = [
    ("a", "ᵃ"),
    ("b", "ᵇ"),
    ("c", "ᶜ"),
    ("d", "ᵈ"),
    ("e", "ᵉ"),
    ("f", "ᶠ"),
    ("g", "ᵍ"),
    ("h", "ʰ"),
    ("i", "ⁱ"),
    ("j", "ʲ"),
    ("k", "ᵏ"),
    ("l", "ˡ"),
    ("m", "ᵐ"),
    ("n", "ⁿ"),
    ("o", "ᵒ"),
];

fn status_note(status: Status, cells: &[&Cell]) -> Note {
    Note {
        mark: glyph(status).to_owned(),
        raised: "",
        anchor: format!("note-{}", status.code()),
        title: status.words().to_owned(),
        meaning: status_meaning(status),
        everywhere: false,
        flag: false,
        groups: grouped(cells.iter().map(|cell| (cell_label(cell), reason::full(cell)))),
    }
}

fn flag_note(code: FlagCode, letter: &str, raised: &'static str, everywhere: bool, cells: &[&Cell]) -> Note {
    let said = cells.iter().flat_map(|cell| {
        cell.flags
            .iter()
            .filter(move |flag| flag.code == code)
            .map(|flag| (cell_label(cell), clean(&flag.detail)))
    });
    let mut groups = grouped(said);
    if everywhere && groups.len() == 1 {
        groups[0].cells = vec!["all rows with figures".to_owned()];
    }
    Note {
        mark: letter.to_owned(),
        raised,
        anchor: format!("note-{}", code.code()),
        title: code.code().to_owned(),
        meaning: flag_meaning(code),
        everywhere,
        flag: true,
        groups,
    }
}

/// `2 requests were sent again`; none where the record has none.
pub(crate) fn resent(cell: &Cell) -> Option<String> {
    let number = cell.requests.resent.filter(|number| *number > 0)?;
    Some(format!("{} {} sent again", counted(number, "request"), if number == 1 { "was" } else { "were" }))
}

fn resent_note(letter: &str, raised: &'static str, cells: &[Cell]) -> Option<Note> {
    let groups = grouped(cells.iter().filter_map(|cell| Some((cell_label(cell), resent(cell)?))));
    (!groups.is_empty()).then(|| Note {
        mark: letter.to_owned(),
        raised,
        anchor: format!("note-{RESENT}"),
        title: RESENT.to_owned(),
        meaning: RESENT_MEANING,
        everywhere: false,
        flag: true,
        groups,
    })
}

/// Rows with the same text together, in order of first appearance.
fn grouped(said: impl Iterator<Item = (String, String)>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (cell, text) in said {
        match groups.iter_mut().find(|group| group.text == text) {
            Some(group) => group.cells.push(cell),
            None => groups.push(Group { cells: vec![cell], text }),
        }
    }
    groups
}
