//! Words of the site's own pages.

use tokometer_report::number;

use crate::clock;
use crate::domain::{EvidenceLevel, Goal, Millis, Shelf};

/// A day: `2026-11-30`.
pub(super) fn day(at: Millis) -> String {
    clock::text(at).chars().take(10).collect()
}

/// `1 run`, `2,048 runs`.
pub(super) fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", number::count(number), if number == 1 { "" } else { "s" })
}

/// `8K`; other lengths as they are.
pub(super) fn context(text: &str) -> String {
    text.parse().map_or_else(|_| text.to_owned(), tokometer_record::context_label)
}

/// What a level of evidence means, for a reader who has not met it.
pub(super) fn meaning(level: EvidenceLevel) -> &'static str {
    match level {
        EvidenceLevel::Reported => {
            "The numbers are as they were given: there are no traces, or too little that could be checked. Listed apart, never ranked."
        }
        EvidenceLevel::Recomputed => {
            "The site computed every measured row again from the run's traces and got the same numbers, and none is more than the hardware can do."
        }
        EvidenceLevel::CountersAgree => {
            "In every valid decode cell the server's own token counters agree with what the client counted, within 1 %."
        }
        EvidenceLevel::Replicated => {
            "Somebody else published the same set-up, as well proved, and the rates agree."
        }
    }
}

/// The class of a level's badge.
pub(super) fn tone(level: EvidenceLevel) -> &'static str {
    match level {
        EvidenceLevel::Reported => "warn",
        EvidenceLevel::Recomputed => "",
        EvidenceLevel::CountersAgree | EvidenceLevel::Replicated => "good",
    }
}

/// The name of a list.
pub(super) fn shelf(shelf: Shelf) -> &'static str {
    match shelf {
        Shelf::Ranked => "Ranked",
        Shelf::Reported => "Reported",
        Shelf::Simulated => "Simulated",
        Shelf::Withdrawn => "Withdrawn",
    }
}

/// What a column of a goal's figures is called, and its unit.
pub(super) fn column(goal: Goal) -> (&'static str, &'static str) {
    match goal {
        Goal::Users => ("Users", "≥ 50 tok/s, ≤ 1 s"),
        Goal::OneUser => ("One user", "tok/s"),
        Goal::Peak => ("Peak", "tok/s"),
        Goal::PeakPerAccelerator => ("Peak per GPU", "tok/s/GPU"),
        Goal::Prefill => ("Prefill", "tok/s"),
        Goal::Energy => ("Energy", "J/tok"),
        Goal::Newest => ("Published", ""),
    }
}

/// What a goal asks, on its button.
pub(super) fn goal(goal: Goal) -> &'static str {
    match goal {
        Goal::Users => "Most users",
        Goal::OneUser => "One user",
        Goal::Peak => "Peak",
        Goal::PeakPerAccelerator => "Per GPU",
        Goal::Prefill => "Prefill",
        Goal::Energy => "Energy",
        Goal::Newest => "Newest",
    }
}

/// What a goal asks, in a sentence.
pub(super) fn goal_meaning(goal: Goal) -> &'static str {
    match goal {
        Goal::Users => {
            "Most users served at once at the shortest context, each with at least 50 tok/s and a median time to the first token of at most 1 s."
        }
        Goal::OneUser => "Highest rate of one user alone, at the shortest context.",
        Goal::Peak => "Highest total rate of any valid cell.",
        Goal::PeakPerAccelerator => "Highest total rate of any valid cell, by accelerator.",
        Goal::Prefill => "Highest rate at which a cold prompt is read.",
        Goal::Energy => {
            "Least energy for a token in the cell with the highest total rate, accelerators only."
        }
        Goal::Newest => "The latest first.",
    }
}

/// A figure of a goal as text.
pub(super) fn value(goal: Goal, value: f64) -> String {
    match goal {
        Goal::Users => number::count(value as u64),
        Goal::Prefill => number::rate_compact(value),
        Goal::Energy => number::joules(value),
        Goal::Newest => day(value as Millis),
        Goal::OneUser | Goal::Peak | Goal::PeakPerAccelerator => number::rate(value),
    }
}
