//! A database of a PostgreSQL server, which several processes may use at once.

mod url;

use std::time::Duration;

use sqlx::postgres::{PgConnection, PgPoolOptions};
use sqlx::{Connection, Postgres};

use super::{Pools, migrator};
use crate::store::StoreError;

pub use url::{BadDatabaseUrl, DatabaseUrl};

/// Connections that read.
const READERS: u32 = 12;
/// Connections that write. Transactions wait for each other, single statements don't.
const WRITERS: u32 = 6;
/// Connections that hold a lock while a file is added or cleared away.
const HOLDERS: u32 = 10;
/// Longest time for that.
const HOLDING: [(&str, &str); 1] = [("idle_in_transaction_session_timeout", "10min")];
/// How long a request waits for a connection, also while the server is away.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same for one that writes, which comes behind all others that do.
const WRITERS_PATIENCE: Duration = Duration::from_secs(20);
/// Longest statement, longest wait for another one's lock, longest transaction that does nothing.
const BOUNDS: [(&str, &str); 3] =
    [("statement_timeout", "60s"), ("lock_timeout", "30s"), ("idle_in_transaction_session_timeout", "30s")];
/// From an empty database on.
const STEPS: [(i64, &str, &str); 3] = [
    (1, "initial", include_str!("../../../migrations/postgres/0001_initial.sql")),
    (2, "sign in", include_str!("../../../migrations/postgres/0002_sign_in.sql")),
    (3, "open data", include_str!("../../../migrations/postgres/0003_open_data.sql")),
];

/// Connects, and brings the tables up to date. Of processes that start at once one does, and the others wait for it.
pub(super) async fn open(url: &DatabaseUrl) -> Result<Pools<Postgres>, StoreError> {
    let options = url.options().clone();
    // A step may take longer than a request.
    let mut connection = PgConnection::connect_with(&options).await?;
    migrator(&STEPS).run(&mut connection).await?;
    connection.close().await?;
    let writing = options.options(BOUNDS);
    let reading = writing.clone().options([("default_transaction_read_only", "on")]);
    let pool = |most: u32, time| PgPoolOptions::new().max_connections(most).acquire_timeout(time);
    let holders = pool(HOLDERS, WRITERS_PATIENCE).connect_lazy_with(writing.clone().options(HOLDING));
    let writers = pool(WRITERS, WRITERS_PATIENCE).connect_with(writing).await?;
    let readers = pool(READERS, PATIENCE).connect_with(reading).await?;
    Ok(Pools { writers, readers, holders })
}

/// Tables were changed by a newer server, and this connection still has statements for the old ones.
const OLD_STATEMENT: &str = "0A000";

/// Hands a result on. Where the tables were changed meanwhile, the connection forgets its statements, so that the next
/// try makes new ones: a server goes on while another one of a newer version begins.
pub(in crate::store) async fn looked_at<T>(
    result: Result<T, sqlx::Error>,
    connection: &mut PgConnection,
) -> Result<T, sqlx::Error> {
    if let Err(sqlx::Error::Database(error)) = &result
        && error.code().is_some_and(|code| code == OLD_STATEMENT)
    {
        // Should it fail, the pool finds out what is wrong with the connection.
        drop(connection.clear_cached_statements().await);
    }
    result
}

/// True for what ends by itself, or by the hand of who runs the server: it is away, full, read-only, restarting, or
/// asks for another try.
pub(super) fn is_passing(code: &str) -> bool {
    // Classes: connection, authorisation, missing database, resources, operator, system.
    ["08", "28", "3D", "53", "57", "58"].iter().any(|class| code.starts_with(class))
        // Serialisation, deadlock, lock not to be had, read-only, ended in a transaction; changed tables.
        || matches!(code, "40001" | "40P01" | "55P03" | "25006" | "25P03" | OLD_STATEMENT)
}
