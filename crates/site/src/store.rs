//! Where the site keeps what it must not lose.
//!
//! [`Store`] is all that pages and API know of it; [`SqliteStore`] is one file in WAL mode. Queries are made at run
//! time with bound values only, and number their parameters, so that another database can follow behind the same trait.

mod sqlite;

use std::path::Path;

use async_trait::async_trait;

use crate::domain::{
    CellRow, Facets, ListCounts, Millis, ModerationEntry, NewProblem, NewRun, NewToken, Problem, Publication,
    Revision, Role, RunList, RunQuery, RunRow, Session, StoredRun, TokenRow, User,
};

pub use sqlite::SqliteStore;

/// Why the store could not do it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database refused, or is not there.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// Its tables could not be brought up to date.
    #[error(
        "the tables of the database could not be brought up to date: {0}; restore a backup, or use the tokometer that made them"
    )]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// Something is stored that can't be read.
    #[error("{what} in the database is damaged: {why}; restore a backup")]
    Damaged {
        /// What.
        what: String,
        /// Why it can't be read.
        why: String,
    },
    /// The name is in use.
    #[error("{what} is taken; choose another one")]
    Taken {
        /// Which name.
        what: String,
    },
}

impl StoreError {
    /// True where trying again later can help: the disk is full, the database is busy or away.
    pub fn is_passing(&self) -> bool {
        match self {
            StoreError::Database(sqlx::Error::Database(error)) => {
                // SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN; extended codes hold them
                // in the low byte.
                let code = error.code().and_then(|code| code.parse::<u32>().ok()).unwrap_or(0);
                matches!(code & 0xff, 5 | 6 | 10 | 13 | 14)
            }
            StoreError::Database(error) => {
                matches!(error, sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed)
            }
            _ => false,
        }
    }
}

/// What the site asks of its database. Each method is one transaction: it happens whole or not at all.
#[async_trait]
pub trait Store: Send + Sync {
    /// Answers if the database can be read and written.
    async fn ready(&self) -> Result<(), StoreError>;

    /// A number that changes whenever a list may.
    async fn generation(&self) -> Result<i64, StoreError>;

    /// Adds a user.
    async fn add_user(&self, user: &User) -> Result<(), StoreError>;

    /// A user by the public name.
    async fn user(&self, handle: &str) -> Result<Option<User>, StoreError>;

    /// Everybody, by name.
    async fn users(&self) -> Result<Vec<User>, StoreError>;

    /// Closes an account: its tokens and sessions end.
    async fn disable_user(&self, handle: &str, entry: &ModerationEntry) -> Result<bool, StoreError>;

    /// Adds a token.
    async fn add_token(&self, token: &NewToken, now: Millis) -> Result<(), StoreError>;

    /// A token by its public part.
    async fn token(&self, id: &str) -> Result<Option<TokenRow>, StoreError>;

    /// The tokens of a user, newest first.
    async fn tokens(&self, user_id: &str) -> Result<Vec<TokenRow>, StoreError>;

    /// Keeps that a token was used.
    async fn touch_token(&self, id: &str, now: Millis) -> Result<(), StoreError>;

    /// Ends a token.
    async fn revoke_token(&self, id: &str, now: Millis) -> Result<bool, StoreError>;

    /// Adds a session under the hash of its cookie.
    async fn add_session(
        &self,
        hash: &[u8; 32],
        user_id: &str,
        form_key: &str,
        now: Millis,
        expires_at: Millis,
    ) -> Result<(), StoreError>;

    /// The session of a cookie, if it still holds.
    async fn session(&self, hash: &[u8; 32], now: Millis) -> Result<Option<Session>, StoreError>;

    /// Ends a session.
    async fn end_session(&self, hash: &[u8; 32]) -> Result<(), StoreError>;

    /// Adds an invitation under the hash of its code.
    async fn add_invitation(
        &self,
        hash: &[u8; 32],
        role: Role,
        note: Option<&str>,
        now: Millis,
        expires_at: Millis,
    ) -> Result<(), StoreError>;

    /// The role that a code still invites to.
    async fn invitation(&self, hash: &[u8; 32], now: Millis) -> Result<Option<Role>, StoreError>;

    /// Uses an invitation up and adds its user and first token. False if it no longer holds.
    async fn accept_invitation(
        &self,
        hash: &[u8; 32],
        user: &User,
        token: &NewToken,
        now: Millis,
    ) -> Result<bool, StoreError>;

    /// Those of these hashes that no file is kept for.
    async fn missing_artefacts(&self, sha256: &[String]) -> Result<Vec<String>, StoreError>;

    /// Keeps that a file is there.
    async fn add_artefact(
        &self,
        sha256: &str,
        bytes: u64,
        user_id: &str,
        now: Millis,
    ) -> Result<(), StoreError>;

    /// Bytes of files that a user brought and that no run names yet.
    async fn loose_bytes(&self, user_id: &str) -> Result<u64, StoreError>;

    /// Forgets files that no run names and that came before `before`; their hashes.
    async fn forget_loose(&self, before: Millis) -> Result<Vec<String>, StoreError>;

    /// Name and hash of each file of a run.
    async fn artefacts(&self, run_id: &str) -> Result<Vec<(String, String)>, StoreError>;

    /// The hash of each file that some run names, withdrawn ones too.
    async fn named_artefacts(&self) -> Result<Vec<String>, StoreError>;

    /// Runs, withdrawn ones too.
    async fn count_runs(&self) -> Result<u64, StoreError>;

    /// True if some run that is not withdrawn names this file.
    async fn is_published_artefact(&self, sha256: &str) -> Result<bool, StoreError>;

    /// The run that a key of a user led to, and the hash of what came with it.
    async fn idempotent(&self, user_id: &str, key: &str) -> Result<Option<(String, String)>, StoreError>;

    /// Adds a run, or says why not.
    async fn publish(&self, new: NewRun) -> Result<Publication, StoreError>;

    /// Adds a revision with another title or note. False if `row.revision` is no longer the next one.
    async fn revise(
        &self,
        user_id: &str,
        row: &RunRow,
        document: &[u8],
        note: Option<&str>,
    ) -> Result<bool, StoreError>;

    /// Takes a run down (`Shelf::Withdrawn`) or shows it again, and writes the log. False if it is there already.
    async fn withdraw(&self, run_id: &str, entry: &ModerationEntry) -> Result<bool, StoreError>;

    /// Shows a run again that was taken down, and writes the log. False if it is shown already.
    async fn restore(&self, run_id: &str, entry: &ModerationEntry) -> Result<bool, StoreError>;

    /// A run's row.
    async fn row(&self, run_id: &str) -> Result<Option<RunRow>, StoreError>;

    /// Id of the user who published a run.
    async fn owner(&self, run_id: &str) -> Result<Option<String>, StoreError>;

    /// A run with its document; none as revision: the newest.
    async fn run(&self, run_id: &str, revision: Option<u32>) -> Result<Option<StoredRun>, StoreError>;

    /// The revisions of a run, oldest first.
    async fn revisions(&self, run_id: &str) -> Result<Vec<Revision>, StoreError>;

    /// The cells of a run, by phase, context and concurrency.
    async fn cells(&self, run_id: &str) -> Result<Vec<CellRow>, StoreError>;

    /// A page of a list.
    async fn list(&self, query: &RunQuery) -> Result<RunList, StoreError>;

    /// How long the lists of every shelf are with a query's filters in force, and how many rows of its own shelf are
    /// as young as each of these times.
    async fn counts(&self, query: &RunQuery, since: &[Millis]) -> Result<ListCounts, StoreError>;

    /// The counts of a list.
    async fn facets(&self, query: &RunQuery) -> Result<Facets, StoreError>;

    /// Lines of the moderation log, newest first; of one run, or of all.
    async fn moderation_log(
        &self,
        run_id: Option<&str>,
        limit: u32,
    ) -> Result<Vec<ModerationEntry>, StoreError>;

    /// Adds a report; its number.
    async fn add_problem(&self, problem: &NewProblem, now: Millis) -> Result<i64, StoreError>;

    /// Reports, newest first; of one run or all, open ones or all.
    async fn problems(
        &self,
        run_id: Option<&str>,
        only_open: bool,
        limit: u32,
    ) -> Result<Vec<Problem>, StoreError>;

    /// Closes a report and writes the log. False if it is closed already.
    async fn close_problem(
        &self,
        id: i64,
        resolution: &str,
        entry: &ModerationEntry,
    ) -> Result<bool, StoreError>;

    /// Writes a consistent copy of the whole database to a file that is not there yet.
    async fn copy_to(&self, path: &Path) -> Result<(), StoreError>;

    /// Ends all connections.
    async fn close(&self);
}
