//! The two databases, and all in which they differ.

mod postgres;
mod sqlite;

use std::ops::{Deref, DerefMut};
use std::path::Path;

use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::pool::PoolConnection;
use sqlx::{Pool, Postgres, SqlSafeStr, Sqlite, Transaction};

use super::StoreError;
use super::sql::sql;

pub use postgres::{BadDatabaseUrl, DatabaseUrl};

/// A database that is open.
#[derive(Debug)]
pub(super) enum Database {
    /// A file.
    Sqlite(Pools<Sqlite>),
    /// A server.
    Postgres(Pools<Postgres>),
}

/// Its connections. What they read never waits for what they write.
#[derive(Debug)]
pub(super) struct Pools<DB: sqlx::Database> {
    writers: Pool<DB>,
    readers: Pool<DB>,
}

/// A connection that is lent for a while.
#[derive(Debug)]
pub(super) enum Connection {
    /// To a file.
    Sqlite(Lent<Sqlite>),
    /// To a server.
    Postgres(Lent<Postgres>),
}

/// With a transaction, or for single statements.
#[derive(Debug)]
pub(super) enum Lent<DB: sqlx::Database> {
    /// Each statement is a transaction of its own.
    Single(PoolConnection<DB>),
    /// All of it happens with [`Connection::commit`]; dropped before, none of it does.
    Transaction(Transaction<'static, DB>),
}

impl Database {
    /// Opens a file, or makes it, and brings its tables up to date.
    pub(super) async fn sqlite(path: &Path) -> Result<Database, StoreError> {
        Ok(Database::Sqlite(sqlite::open(path).await?))
    }

    /// Connects to a server and brings the tables of its database up to date.
    pub(super) async fn postgres(url: &DatabaseUrl) -> Result<Database, StoreError> {
        Ok(Database::Postgres(postgres::open(url).await?))
    }

    /// A connection that reads.
    pub(super) async fn reader(&self) -> Result<Connection, StoreError> {
        Ok(match self {
            Database::Sqlite(pools) => Connection::Sqlite(Lent::Single(pools.readers.acquire().await?)),
            Database::Postgres(pools) => Connection::Postgres(Lent::Single(pools.readers.acquire().await?)),
        })
    }

    /// A connection for one statement that writes and that holds by itself.
    pub(super) async fn writer(&self) -> Result<Connection, StoreError> {
        Ok(match self {
            Database::Sqlite(pools) => Connection::Sqlite(Lent::Single(pools.writers.acquire().await?)),
            Database::Postgres(pools) => Connection::Postgres(Lent::Single(pools.writers.acquire().await?)),
        })
    }

    /// A transaction that writes, alone from its start: no other one, of this process or another, runs beside it. What
    /// it has read holds until it ends.
    pub(super) async fn transaction(&self) -> Result<Connection, StoreError> {
        match self {
            Database::Sqlite(pools) => {
                let transaction = pools.writers.begin_with("BEGIN IMMEDIATE").await?;
                Ok(Connection::Sqlite(Lent::Transaction(transaction)))
            }
            Database::Postgres(pools) => {
                let mut connection = Connection::Postgres(Lent::Transaction(pools.writers.begin().await?));
                sql("SELECT value FROM generation WHERE id = 1 FOR UPDATE").one(&mut connection).await?;
                Ok(connection)
            }
        }
    }

    /// Ends all connections.
    pub(super) async fn close(&self) {
        match self {
            Database::Sqlite(pools) => pools.close().await,
            Database::Postgres(pools) => pools.close().await,
        }
    }
}

impl<DB: sqlx::Database> Pools<DB> {
    async fn close(&self) {
        self.readers.close().await;
        self.writers.close().await;
    }
}

impl Connection {
    /// Makes what a transaction did last.
    pub(super) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Connection::Sqlite(Lent::Transaction(transaction)) => transaction.commit().await?,
            Connection::Postgres(Lent::Transaction(transaction)) => transaction.commit().await?,
            Connection::Sqlite(Lent::Single(_)) | Connection::Postgres(Lent::Single(_)) => {}
        }
        Ok(())
    }
}

impl<DB: sqlx::Database> Deref for Lent<DB> {
    type Target = DB::Connection;

    fn deref(&self) -> &DB::Connection {
        match self {
            Lent::Single(connection) => connection,
            Lent::Transaction(transaction) => transaction,
        }
    }
}

impl<DB: sqlx::Database> DerefMut for Lent<DB> {
    fn deref_mut(&mut self) -> &mut DB::Connection {
        match self {
            Lent::Single(connection) => connection,
            Lent::Transaction(transaction) => transaction,
        }
    }
}

/// True where trying again later can help: the disk is full, the database is busy or away.
pub(super) fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            if error.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
                sqlite::is_passing(&code)
            } else {
                postgres::is_passing(&code)
            }
        }
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => true,
        _ => false,
    }
}

/// The steps from an empty database on: number, name, text. Steps are never edited: a change is a new one.
fn migrator(steps: &[(i64, &'static str, &'static str)]) -> Migrator {
    let step = |(version, name, text): &(i64, &'static str, &'static str)| {
        Migration::new(*version, (*name).into(), MigrationType::Simple, text.into_sql_str(), false)
    };
    Migrator::with_migrations(steps.iter().map(step).collect())
}
