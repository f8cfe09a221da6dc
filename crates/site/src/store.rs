//! Where the site keeps what it must not lose: one SQLite file, or a PostgreSQL database.
//!
//! [`Store`] is all that pages and API know of it. Each of its methods is one transaction: it happens whole or not at
//! all. Statements are written once for both databases (see `sql`); what differs between the two is in `database` and
//! in the folders of migrations.

mod accounts;
mod artefacts;
mod counts;
mod database;
mod devices;
mod dumps;
mod facets;
mod groups;
mod held;
mod identities;
mod list;
mod moderation;
mod moving;
mod publish;
mod rows;
mod sessions;
mod sql;
mod suspicions;

use std::path::Path;
use std::sync::{Arc, Mutex};

use database::{Connection, Database};
use sql::sql;
use tokio::sync::RwLock;

pub use database::{BadDatabaseUrl, DatabaseUrl};
pub use held::Held;
pub use moving::{Moved, Rehearsal};

/// The store.
#[derive(Debug)]
pub struct Store {
    database: Database,
    /// Counts of facets, as of one generation; another process's change shows in the generation.
    facets: Mutex<facets::Kept>,
    /// Held shared while a file is added, alone while files are cleared away.
    files: Arc<RwLock<()>>,
}

impl Store {
    /// Opens an SQLite file, or makes it, and brings its tables up to date.
    pub async fn sqlite(path: &Path) -> Result<Store, StoreError> {
        Ok(Store::of(Database::sqlite(path).await?))
    }

    /// Connects to a PostgreSQL database and brings its tables up to date.
    pub async fn postgres(url: &DatabaseUrl) -> Result<Store, StoreError> {
        Ok(Store::of(Database::postgres(url).await?))
    }

    fn of(database: Database) -> Store {
        Store { database, facets: Mutex::default(), files: Arc::default() }
    }

    /// True if other servers may use the same database.
    pub fn is_shared(&self) -> bool {
        matches!(self.database, Database::Postgres(_))
    }

    /// Answers if the database can be read and written.
    pub async fn ready(&self) -> Result<(), StoreError> {
        // A write that changes nothing: a disk that is full or became read-only shows here.
        let mut transaction = self.database.transaction().await?;
        sql("UPDATE generation SET value = value WHERE id = 1").run(&mut transaction).await?;
        transaction.commit().await
    }

    /// A number that changes whenever a list may.
    pub async fn generation(&self) -> Result<i64, StoreError> {
        let mut reader = self.database.reader().await?;
        sql("SELECT value FROM generation WHERE id = 1").one(&mut reader).await?.get(0)
    }

    /// Writes a consistent copy of the whole database to a file that is not there yet. For SQLite alone.
    pub async fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        let path = path.to_str().ok_or_else(|| damaged("the path of the copy", "it is no UTF-8"))?;
        sql("VACUUM INTO $1").bind(path).run(&mut self.database.reader().await?).await?;
        Ok(())
    }

    /// Ends all connections.
    pub async fn close(&self) {
        self.database.close().await;
    }
}

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
    /// A move between databases would write over something.
    #[error("the table {table} of the target has rows already; nothing was moved: name an empty database")]
    NotEmpty {
        /// Which.
        table: String,
    },
    /// What was moved is not what was there.
    #[error(
        "{what} differs between the two databases; nothing was kept: stop the server of the source, and move again"
    )]
    Differs {
        /// Which table or row.
        what: String,
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
        matches!(self, StoreError::Database(error) if database::is_passing(error))
    }
}

/// Says that what lists show has changed.
async fn changed(transaction: &mut Connection) -> Result<(), StoreError> {
    sql("UPDATE generation SET value = value + 1 WHERE id = 1").run(transaction).await?;
    Ok(())
}

fn damaged(what: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Damaged { what: what.to_owned(), why: why.to_string() }
}
