//! One SQLite file in WAL mode.

use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePoolOptions,
    SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Sqlite};

use super::{Pools, migrator};
use crate::store::{StoreError, damaged};

/// Connections that read.
const READERS: u32 = 8;
/// How long a write waits for another process's write.
const PATIENCE: Duration = Duration::from_secs(30);
/// From an empty file on.
const STEPS: [(i64, &str, &str); 3] = [
    (1, "initial", include_str!("../../../migrations/sqlite/0001_initial.sql")),
    (2, "sign in", include_str!("../../../migrations/sqlite/0002_sign_in.sql")),
    (3, "open data", include_str!("../../../migrations/sqlite/0003_open_data.sql")),
];

/// Opens the file, or makes it, and brings its tables up to date.
///
/// One connection writes: SQLite has one writer at a time, and waiting for it here costs less than being refused
/// there. What a commit has acknowledged is on disk (`synchronous = FULL`).
pub(super) async fn open(path: &Path) -> Result<Pools<Sqlite>, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .busy_timeout(PATIENCE)
        .statement_cache_capacity(200);
    // How the file is kept is for who may write it; a connection that reads alone finds it so.
    let writing = options
        .clone()
        .create_if_missing(true)
        .auto_vacuum(SqliteAutoVacuum::Incremental)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    bring_up_to_date(&writing).await?;
    let pool = |most: u32| SqlitePoolOptions::new().max_connections(most).acquire_timeout(PATIENCE);
    let writer = pool(1).after_release(|connection, _| Box::pin(is_sound(connection)));
    let writers = writer.connect_with(writing).await?;
    let readers = pool(READERS).connect_with(options.read_only(true)).await?;
    // Locks are taken in the process.
    Ok(Pools { writers, holders: readers.clone(), readers })
}

/// Runs the steps that are missing.
///
/// Some make a table anew, which rows of others refer to: references are not enforced meanwhile, and looked through
/// afterwards. Of several processes that start at once one does it at a time.
async fn bring_up_to_date(options: &SqliteConnectOptions) -> Result<(), StoreError> {
    let mut connection = options.clone().foreign_keys(false).connect().await?;
    let done = async {
        migrator(&STEPS).run(&mut connection).await?;
        sqlx::query("PRAGMA foreign_key_check").fetch_all(&mut connection).await.map_err(StoreError::from)
    };
    let broken = done.await?;
    connection.close().await?;
    if broken.is_empty() {
        Ok(())
    } else {
        Err(damaged("a reference", format_args!("{} lead nowhere", broken.len())))
    }
}

/// True if a connection can be used again.
///
/// Where a commit fails for want of space, SQLite ends the transaction by itself, and the library still counts it: every
/// later one on that connection would be refused. Such a connection is closed, and the next one is new.
async fn is_sound(connection: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    // What was left to be undone is done before this is answered.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

/// SQLITE_BUSY, SQLITE_LOCKED, SQLITE_IOERR, SQLITE_FULL, SQLITE_CANTOPEN; extended codes hold them in the low byte.
pub(super) fn is_passing(code: &str) -> bool {
    let code = code.parse::<u32>().unwrap_or(0);
    matches!(code & 0xff, 5 | 6 | 10 | 13 | 14)
}
