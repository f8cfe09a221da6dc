//! What the site speaks of: users and tokens, runs and their revisions, evidence, moderation, and questions to the list.

mod access;
mod account;
mod dump;
mod evidence;
mod moderation;
mod query;
mod run;
mod sign_in;
mod suspicion;

pub use access::Deed;
pub use account::{NewSession, NewToken, Role, Scope, Scopes, Session, TokenRow, User};
pub use dump::{Dump, DumpFile};
pub use evidence::{Evidence, EvidenceLevel};
pub use moderation::{Action, ModerationEntry, NewProblem, Problem, ProblemKind};
pub use query::{Cursor, FacetCount, Facets, Filters, Goal, ListCounts, RunList, RunQuery};
pub use run::{
    CellRow, GroupFacts, Headline, NewRun, Publication, Revision, RunRow, Shelf, Spread, StoredRun,
};
pub use sign_in::{Identity, NewDevice, Poll, Subject, WaitingDevice};
pub use suspicion::{Kin, NewSuspicion, Suspicion, SuspicionKind};

/// Milliseconds since 1970, UTC.
pub type Millis = i64;
