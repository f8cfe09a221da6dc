//! Reports of problems, and what was done about them.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Millis;

/// What a moderator, an owner or the site itself did. The log of it is public.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A run was taken down; its address shows a tombstone.
    Withdrawn,
    /// A run that was taken down is shown again.
    Restored,
    /// A report of a problem was closed.
    ProblemClosed,
    /// The site found a run's figures above what its hardware can do, and keeps it out of rankings.
    Implausible,
    /// A user's account was closed.
    UserDisabled,
    /// A user's role was changed.
    RoleChanged,
}

impl Action {
    const ALL: [Action; 6] = [
        Action::Withdrawn,
        Action::Restored,
        Action::ProblemClosed,
        Action::Implausible,
        Action::UserDisabled,
        Action::RoleChanged,
    ];

    /// The word in files and answers.
    pub fn code(self) -> &'static str {
        match self {
            Action::Withdrawn => "withdrawn",
            Action::Restored => "restored",
            Action::ProblemClosed => "problem_closed",
            Action::Implausible => "implausible",
            Action::UserDisabled => "user_disabled",
            Action::RoleChanged => "role_changed",
        }
    }
}

impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Action, String> {
        Action::ALL
            .into_iter()
            .find(|action| action.code() == text)
            .ok_or_else(|| format!("no action {text:?}"))
    }
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ModerationEntry {
    /// When.
    #[serde(serialize_with = "crate::clock::as_text")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub at: Millis,
    /// Who: a handle, or `site`.
    pub actor: String,
    /// What.
    pub action: Action,
    /// To which run.
    #[serde(rename = "run")]
    pub run_id: Option<String>,
    /// Why.
    pub reason: String,
}

/// What a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// A number that can't be right.
    WrongNumber,
    /// Hardware, engine, model or settings are not those that are named.
    WrongSetup,
    /// Something private or secret is shown.
    Private,
    /// Anything else.
    Other,
}

impl ProblemKind {
    /// All of them, in the order of forms.
    pub const ALL: [ProblemKind; 4] =
        [ProblemKind::WrongNumber, ProblemKind::WrongSetup, ProblemKind::Private, ProblemKind::Other];

    /// The word in files, forms and answers.
    pub fn code(self) -> &'static str {
        match self {
            ProblemKind::WrongNumber => "wrong_number",
            ProblemKind::WrongSetup => "wrong_setup",
            ProblemKind::Private => "private",
            ProblemKind::Other => "other",
        }
    }

    /// The words on a page.
    pub fn words(self) -> &'static str {
        match self {
            ProblemKind::WrongNumber => "A number can't be right",
            ProblemKind::WrongSetup => "The set-up is not what it says",
            ProblemKind::Private => "It shows something private",
            ProblemKind::Other => "Something else",
        }
    }
}

impl FromStr for ProblemKind {
    type Err = String;

    fn from_str(text: &str) -> Result<ProblemKind, String> {
        ProblemKind::ALL
            .into_iter()
            .find(|kind| kind.code() == text)
            .ok_or_else(|| format!("{text:?} is no kind; use wrong_number, wrong_setup, private or other"))
    }
}

/// A report to be stored.
#[derive(Debug, Clone)]
pub struct NewProblem {
    /// The run.
    pub run_id: String,
    /// The cell's name, if it is about one.
    pub cell: Option<String>,
    /// Handle of who reports; none for a reader without an account.
    pub reporter: Option<String>,
    /// What it is about.
    pub kind: ProblemKind,
    /// What was seen.
    pub text: String,
}

/// A report of a problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// Its number.
    pub id: i64,
    /// The run.
    pub run_id: String,
    /// The cell's name, if it is about one.
    pub cell: Option<String>,
    /// When it came.
    #[serde(serialize_with = "crate::clock::as_text")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub at: Millis,
    /// Handle of who reported; none for a reader without an account.
    pub reporter: Option<String>,
    /// What it is about.
    pub kind: ProblemKind,
    /// What was seen.
    pub text: String,
    /// When it was closed.
    #[serde(serialize_with = "crate::clock::as_text_or_null")]
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub closed_at: Option<Millis>,
    /// What came of it.
    pub resolution: Option<String>,
}
