//! Who may do what: the one table that API and pages ask.

use super::{Role, Scope};

/// What is done by somebody with an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Deed {
    /// Read, where the site asks everybody to sign in.
    Read,
    /// See and end one's own tokens and sign-in identities.
    KeepAccount,
    /// Publish runs, and bring their files.
    Publish,
    /// Change title and note of a run; of another's: see [`Deed::ModerateRuns`].
    Revise,
    /// Take down a run of one's own.
    Withdraw,
    /// Take down any run, and show one again.
    ModerateRuns,
    /// Read and close reports of problems.
    CloseReports,
    /// See who has an account, and with which role.
    SeeUsers,
    /// Change a role.
    ChangeRoles,
}

impl Deed {
    /// All of them.
    pub const ALL: [Deed; 9] = [
        Deed::Read,
        Deed::KeepAccount,
        Deed::Publish,
        Deed::Revise,
        Deed::Withdraw,
        Deed::ModerateRuns,
        Deed::CloseReports,
        Deed::SeeUsers,
        Deed::ChangeRoles,
    ];

    /// What a token must be good for.
    pub fn scope(self) -> Scope {
        match self {
            Deed::Read | Deed::KeepAccount => Scope::Read,
            Deed::Publish | Deed::Revise | Deed::Withdraw => Scope::Publish,
            Deed::ModerateRuns | Deed::CloseReports => Scope::Moderate,
            Deed::SeeUsers | Deed::ChangeRoles => Scope::Admin,
        }
    }

    /// The least role.
    pub fn least(self) -> Role {
        self.scope().least()
    }

    /// What it is, after "you may".
    pub fn words(self) -> &'static str {
        match self {
            Deed::Read => "read everything here",
            Deed::KeepAccount => "keep tokens, and report problems under your name",
            Deed::Publish => "publish runs",
            Deed::Revise => "change titles and notes of your runs",
            Deed::Withdraw => "take down your runs",
            Deed::ModerateRuns => "take down any run, and show one again",
            Deed::CloseReports => "read and close reports of problems",
            Deed::SeeUsers => "see who has an account",
            Deed::ChangeRoles => "change roles",
        }
    }
}
