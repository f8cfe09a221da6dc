//! Why a file is no sweep.

/// A file that no sweep can be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// It is no TOML.
    #[error("it cannot be read as TOML: {why}")]
    Toml {
        /// What the parser says, with line and column.
        why: String,
    },
    /// A key that nobody knows.
    #[error("{place} has an unknown key {key:?}{}", near(.nearest.as_deref()))]
    Key {
        /// Where it stands: `entry 2`.
        place: String,
        /// The key.
        key: String,
        /// The known one that looks most like it.
        nearest: Option<String>,
    },
    /// An option that no run has, or that a sweep sets by itself.
    #[error("{place} sets the option {name:?}, {why}")]
    RunOption {
        /// Where it stands.
        place: String,
        /// The option.
        name: String,
        /// What is wrong with it, or what to use instead.
        why: String,
    },
    /// A value of the wrong kind.
    #[error("{place}: {key} must be {expected}")]
    Value {
        /// Where it stands.
        place: String,
        /// The key.
        key: String,
        /// What it may be.
        expected: String,
    },
    /// A `{name}` that is in no grid.
    #[error(
        "{place}: {{{name}}} in {key} is no variable of its grid, which has {}; write {{{{{name}}}}} where the braces \
         are meant",
        list(known)
    )]
    Variable {
        /// Where it stands.
        place: String,
        /// The key whose text it is in.
        key: String,
        /// The name.
        name: String,
        /// The variables that there are.
        known: Vec<String>,
    },
    /// A variable that changes nothing.
    #[error(
        "{place}: the variable {name:?} of its grid stands nowhere, so that all its values would measure the same"
    )]
    Unused {
        /// Where it stands.
        place: String,
        /// The variable.
        name: String,
    },
    /// What is measured is not said, or twice.
    #[error("{place} needs one of launch (with or without url), url, or profile")]
    Subject {
        /// Where it stands.
        place: String,
    },
    /// Two entries of one name.
    #[error(
        "two entries are called {name:?}: give each a name of its own (grid variables may stand in names)"
    )]
    Twice {
        /// The name.
        name: String,
    },
    /// No entry is called like the base.
    #[error("base = {name:?} names no entry{}", near(.nearest.as_deref()))]
    Base {
        /// The name.
        name: String,
        /// The entry whose name looks most like it.
        nearest: Option<String>,
    },
    /// There is nothing to do.
    #[error("it has no [[entry]]: name at least one server to measure")]
    Empty,
    /// There is too much to do.
    #[error("its grids stand for more than {most} entries: leave values out")]
    TooMany {
        /// How many there may be.
        most: usize,
    },
}

fn near(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" (is {name:?} meant?)"))
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Least likeness of a name that is proposed.
const LIKE: f64 = 0.75;

/// The name that looks most like `given`, if any does.
pub(super) fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(given, name), name))
        .filter(|(likeness, _)| *likeness >= LIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, name)| name.to_owned())
}
