//! The database of a test: an SQLite file in its folder, or a PostgreSQL database of its own where a server is named.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tokometer_site::store::DatabaseUrl;

/// Names a server on which databases may be made and dropped. Where it is set, all tests run on PostgreSQL.
const VARIABLE: &str = "TOKOMETER_POSTGRES";

/// An empty database that is dropped with this.
pub(crate) struct Scratch {
    server: String,
    name: String,
}

impl Scratch {
    /// None where tests run on SQLite.
    pub(crate) async fn new() -> Option<Scratch> {
        let server = std::env::var(VARIABLE).ok()?;
        let name = format!("test_{}", uuid::Uuid::now_v7().simple());
        run(&server, format!("CREATE DATABASE {name}")).await;
        Some(Scratch { server, name })
    }

    /// Its address, as text for another process.
    pub(crate) fn text(&self) -> String {
        let (place, query) = self.server.split_once('?').unwrap_or((&self.server, ""));
        let (start, _) = place.rsplit_once('/').unwrap();
        format!("{start}/{}?{query}", self.name)
    }

    /// Does something to it.
    pub(crate) async fn run(&self, text: &str) {
        run(&self.text(), text.to_owned()).await;
    }

    pub(crate) fn url(&self) -> DatabaseUrl {
        self.text().parse().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(run(&server, format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")));
        });
        // What is left of a scratch server's databases goes with it.
        drop(dropping.join());
    }
}

async fn run(server: &str, text: String) {
    let mut connection = PgConnection::connect(server).await.unwrap();
    connection.execute(AssertSqlSafe(text)).await.unwrap();
    connection.close().await.unwrap();
}
