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
/// How long a request waits for a connection, also while the server is away.
const PATIENCE: Duration = Duration::from_secs(5);
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
    let pool = |most: u32| PgPoolOptions::new().max_connections(most).acquire_timeout(PATIENCE);
    let writers = pool(WRITERS).connect_with(writing).await?;
    let readers = pool(READERS).connect_with(reading).await?;
    Ok(Pools { writers, readers })
}

/// True for what ends by itself, or by the hand of who runs the server: it is away, full, read-only, restarting, or
/// asks for another try.
pub(super) fn is_passing(code: &str) -> bool {
    // Classes: connection, authorisation, missing database, resources, operator, system.
    ["08", "28", "3D", "53", "57", "58"].iter().any(|class| code.starts_with(class))
        // Serialisation, deadlock, lock not to be had, read-only, ended in a transaction.
        || matches!(code, "40001" | "40P01" | "55P03" | "25006" | "25P03")
}
