//! The store in one SQLite file.

mod accounts;
mod counts;
mod facets;
mod groups;
mod list;
mod moderation;
mod publish;
mod rows;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool,
    SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection, Row, SqlSafeStr, Sqlite, Transaction};

use super::{Store, StoreError};
use crate::domain::{
    CellRow, Facets, ListCounts, Millis, ModerationEntry, NewProblem, NewRun, NewToken, Problem, Publication,
    Revision, Role, RunList, RunQuery, RunRow, Session, StoredRun, TokenRow, User,
};

/// Connections that read.
const READERS: u32 = 8;
/// How long a write waits for another process's write.
const PATIENCE: Duration = Duration::from_secs(30);

/// The store in one SQLite file (WAL mode).
///
/// One connection writes: SQLite has one writer at a time, and waiting for it here costs less than being refused
/// there. What a commit has acknowledged is on disk (`synchronous = FULL`).
#[derive(Debug)]
pub struct SqliteStore {
    writer: SqlitePool,
    readers: SqlitePool,
    counts: Mutex<facets::Kept>,
}

impl SqliteStore {
    /// Opens the file, or makes it, and brings its tables up to date.
    pub async fn open(path: &Path) -> Result<SqliteStore, StoreError> {
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
        let pool = |most: u32| SqlitePoolOptions::new().max_connections(most).acquire_timeout(PATIENCE);
        let writer = pool(1).after_release(|connection, _| Box::pin(is_sound(connection)));
        let writer = writer.connect_with(writing).await?;
        migrations().run(&writer).await?;
        let readers = pool(READERS).connect_with(options.read_only(true)).await?;
        Ok(SqliteStore { writer, readers, counts: Mutex::default() })
    }

    /// A transaction that writes from its start, so that it can't fail half-way for somebody else's write.
    async fn write(&self) -> Result<Transaction<'static, Sqlite>, StoreError> {
        Ok(self.writer.begin_with("BEGIN IMMEDIATE").await?)
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

/// Every step from an empty file on. Steps are never edited: a change is a new one.
fn migrations() -> Migrator {
    let steps = [(1, "initial", include_str!("../../migrations/sqlite/0001_initial.sql"))];
    Migrator::with_migrations(
        steps
            .into_iter()
            .map(|(version, name, sql)| {
                Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
            })
            .collect(),
    )
}

/// Says that what lists show has changed.
async fn changed(transaction: &mut SqliteConnection) -> Result<(), StoreError> {
    sqlx::query("UPDATE generation SET value = value + 1 WHERE id = 1").execute(transaction).await?;
    Ok(())
}

fn damaged(what: &str, why: impl std::fmt::Display) -> StoreError {
    StoreError::Damaged { what: what.to_owned(), why: why.to_string() }
}

#[async_trait]
impl Store for SqliteStore {
    async fn ready(&self) -> Result<(), StoreError> {
        // A write that changes nothing: a disk that is full or became read-only shows here.
        let mut transaction = self.write().await?;
        sqlx::query("UPDATE generation SET value = value WHERE id = 1").execute(&mut *transaction).await?;
        Ok(transaction.commit().await?)
    }

    async fn generation(&self) -> Result<i64, StoreError> {
        let row = sqlx::query("SELECT value FROM generation WHERE id = 1").fetch_one(&self.readers).await?;
        Ok(row.try_get(0)?)
    }

    async fn add_user(&self, user: &User) -> Result<(), StoreError> {
        let mut transaction = self.write().await?;
        accounts::add_user(&mut transaction, user).await?;
        Ok(transaction.commit().await?)
    }

    async fn user(&self, handle: &str) -> Result<Option<User>, StoreError> {
        accounts::user(&self.readers, handle).await
    }

    async fn users(&self) -> Result<Vec<User>, StoreError> {
        accounts::users(&self.readers).await
    }

    async fn disable_user(&self, handle: &str, entry: &ModerationEntry) -> Result<bool, StoreError> {
        let mut transaction = self.write().await?;
        let found = accounts::disable(&mut transaction, handle, entry.at).await?;
        if found {
            moderation::log(&mut transaction, entry).await?;
        }
        transaction.commit().await?;
        Ok(found)
    }

    async fn add_token(&self, token: &NewToken, now: Millis) -> Result<(), StoreError> {
        let mut transaction = self.write().await?;
        accounts::add_token(&mut transaction, token, now).await?;
        Ok(transaction.commit().await?)
    }

    async fn token(&self, id: &str) -> Result<Option<TokenRow>, StoreError> {
        accounts::token(&self.readers, id).await
    }

    async fn tokens(&self, user_id: &str) -> Result<Vec<TokenRow>, StoreError> {
        accounts::tokens(&self.readers, user_id).await
    }

    async fn touch_token(&self, id: &str, now: Millis) -> Result<(), StoreError> {
        sqlx::query("UPDATE tokens SET last_used_at = $1 WHERE id = $2")
            .bind(now)
            .bind(id)
            .execute(&self.writer)
            .await?;
        Ok(())
    }

    async fn revoke_token(&self, id: &str, now: Millis) -> Result<bool, StoreError> {
        let done = sqlx::query("UPDATE tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL")
            .bind(now)
            .bind(id)
            .execute(&self.writer)
            .await?;
        Ok(done.rows_affected() > 0)
    }

    async fn add_session(
        &self,
        hash: &[u8; 32],
        user_id: &str,
        form_key: &str,
        now: Millis,
        expires_at: Millis,
    ) -> Result<(), StoreError> {
        accounts::add_session(&self.writer, hash, user_id, form_key, now, expires_at).await
    }

    async fn session(&self, hash: &[u8; 32], now: Millis) -> Result<Option<Session>, StoreError> {
        accounts::session(&self.readers, hash, now).await
    }

    async fn end_session(&self, hash: &[u8; 32]) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM sessions WHERE hash = $1")
            .bind(hash.as_slice())
            .execute(&self.writer)
            .await?;
        Ok(())
    }

    async fn add_invitation(
        &self,
        hash: &[u8; 32],
        role: Role,
        note: Option<&str>,
        now: Millis,
        expires_at: Millis,
    ) -> Result<(), StoreError> {
        accounts::add_invitation(&self.writer, hash, role, note, now, expires_at).await
    }

    async fn invitation(&self, hash: &[u8; 32], now: Millis) -> Result<Option<Role>, StoreError> {
        accounts::invitation(&self.readers, hash, now).await
    }

    async fn accept_invitation(
        &self,
        hash: &[u8; 32],
        user: &User,
        token: &NewToken,
        now: Millis,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.write().await?;
        accounts::add_user(&mut transaction, user).await?;
        if !accounts::use_invitation(&mut transaction, hash, &user.id, now).await? {
            transaction.rollback().await?;
            return Ok(false);
        }
        accounts::add_token(&mut transaction, token, now).await?;
        transaction.commit().await?;
        Ok(true)
    }

    async fn missing_artefacts(&self, sha256: &[String]) -> Result<Vec<String>, StoreError> {
        let mut connection = self.readers.acquire().await?;
        publish::missing(&mut connection, sha256.iter().map(String::as_str)).await
    }

    async fn add_artefact(
        &self,
        sha256: &str,
        bytes: u64,
        user_id: &str,
        now: Millis,
    ) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO artefacts (sha256, bytes, user_id, created_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (sha256) DO UPDATE SET created_at = excluded.created_at",
        )
        .bind(sha256)
        .bind(bytes as i64)
        .bind(user_id)
        .bind(now)
        .execute(&self.writer)
        .await?;
        Ok(())
    }

    async fn loose_bytes(&self, user_id: &str) -> Result<u64, StoreError> {
        let row = sqlx::query(
            "SELECT COALESCE(SUM(bytes), 0) FROM artefacts WHERE user_id = $1 AND NOT EXISTS \
             (SELECT 1 FROM run_artefacts WHERE run_artefacts.sha256 = artefacts.sha256)",
        )
        .bind(user_id)
        .fetch_one(&self.readers)
        .await?;
        Ok(row.try_get::<i64, _>(0)? as u64)
    }

    async fn forget_loose(&self, before: Millis) -> Result<Vec<String>, StoreError> {
        let rows = sqlx::query(
            "DELETE FROM artefacts WHERE created_at < $1 AND NOT EXISTS \
             (SELECT 1 FROM run_artefacts WHERE run_artefacts.sha256 = artefacts.sha256) RETURNING sha256",
        )
        .bind(before)
        .fetch_all(&self.writer)
        .await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    async fn artefacts(&self, run_id: &str) -> Result<Vec<(String, String)>, StoreError> {
        let rows = sqlx::query("SELECT name, sha256 FROM run_artefacts WHERE run_id = $1 ORDER BY name")
            .bind(run_id)
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
    }

    async fn named_artefacts(&self) -> Result<Vec<String>, StoreError> {
        let rows = sqlx::query("SELECT DISTINCT sha256 FROM run_artefacts ORDER BY sha256")
            .fetch_all(&self.readers)
            .await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    async fn count_runs(&self) -> Result<u64, StoreError> {
        let row = sqlx::query("SELECT COUNT(*) FROM runs").fetch_one(&self.readers).await?;
        Ok(row.try_get::<i64, _>(0)? as u64)
    }

    async fn is_published_artefact(&self, sha256: &str) -> Result<bool, StoreError> {
        let row = sqlx::query(
            "SELECT 1 FROM run_artefacts JOIN runs ON runs.id = run_artefacts.run_id \
             WHERE run_artefacts.sha256 = $1 AND runs.shelf <> 'withdrawn' LIMIT 1",
        )
        .bind(sha256)
        .fetch_optional(&self.readers)
        .await?;
        Ok(row.is_some())
    }

    async fn idempotent(&self, user_id: &str, key: &str) -> Result<Option<(String, String)>, StoreError> {
        let mut connection = self.readers.acquire().await?;
        publish::idempotent(&mut connection, user_id, key).await
    }

    async fn publish(&self, new: NewRun) -> Result<Publication, StoreError> {
        let mut transaction = self.write().await?;
        let publication = publish::publish(&mut transaction, new).await?;
        if publication == Publication::Created {
            transaction.commit().await?;
        } else {
            transaction.rollback().await?;
        }
        Ok(publication)
    }

    async fn revise(
        &self,
        user_id: &str,
        row: &RunRow,
        document: &[u8],
        note: Option<&str>,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.write().await?;
        let done = publish::revise(&mut transaction, user_id, row, document, note).await?;
        transaction.commit().await?;
        Ok(done)
    }

    async fn withdraw(&self, run_id: &str, entry: &ModerationEntry) -> Result<bool, StoreError> {
        let mut transaction = self.write().await?;
        let done = groups::withdraw(&mut transaction, run_id, entry).await?;
        transaction.commit().await?;
        Ok(done)
    }

    async fn restore(&self, run_id: &str, entry: &ModerationEntry) -> Result<bool, StoreError> {
        let mut transaction = self.write().await?;
        let done = groups::restore(&mut transaction, run_id, entry).await?;
        transaction.commit().await?;
        Ok(done)
    }

    async fn row(&self, run_id: &str) -> Result<Option<RunRow>, StoreError> {
        rows::row(&self.readers, run_id).await
    }

    async fn owner(&self, run_id: &str) -> Result<Option<String>, StoreError> {
        let row = sqlx::query("SELECT user_id FROM runs WHERE id = $1")
            .bind(run_id)
            .fetch_optional(&self.readers)
            .await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    async fn run(&self, run_id: &str, revision: Option<u32>) -> Result<Option<StoredRun>, StoreError> {
        rows::run(&self.readers, run_id, revision).await
    }

    async fn revisions(&self, run_id: &str) -> Result<Vec<Revision>, StoreError> {
        rows::revisions(&self.readers, run_id).await
    }

    async fn cells(&self, run_id: &str) -> Result<Vec<CellRow>, StoreError> {
        rows::cells(&self.readers, run_id).await
    }

    async fn list(&self, query: &RunQuery) -> Result<RunList, StoreError> {
        list::list(&self.readers, query).await
    }

    async fn counts(&self, query: &RunQuery, since: &[Millis]) -> Result<ListCounts, StoreError> {
        counts::counts(&self.readers, query, since).await
    }

    async fn facets(&self, query: &RunQuery) -> Result<Facets, StoreError> {
        let generation = self.generation().await?;
        let wanted = facets::Wanted::of(query);
        let kept = self.counts.lock().ok().and_then(|kept| kept.get(&wanted, generation));
        let combinations = if let Some(combinations) = kept {
            combinations
        } else {
            let found = Arc::new(facets::combinations(&self.readers, query).await?);
            if let Ok(mut kept) = self.counts.lock() {
                kept.put(wanted, generation, Arc::clone(&found));
            }
            found
        };
        Ok(facets::count(&combinations, &query.filters))
    }

    async fn moderation_log(
        &self,
        run_id: Option<&str>,
        limit: u32,
    ) -> Result<Vec<ModerationEntry>, StoreError> {
        moderation::entries(&self.readers, run_id, limit).await
    }

    async fn add_problem(&self, problem: &NewProblem, now: Millis) -> Result<i64, StoreError> {
        moderation::add_problem(&self.writer, problem, now).await
    }

    async fn problems(
        &self,
        run_id: Option<&str>,
        only_open: bool,
        limit: u32,
    ) -> Result<Vec<Problem>, StoreError> {
        moderation::problems(&self.readers, run_id, only_open, limit).await
    }

    async fn close_problem(
        &self,
        id: i64,
        resolution: &str,
        entry: &ModerationEntry,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.write().await?;
        let done = moderation::close_problem(&mut transaction, id, resolution, entry).await?;
        transaction.commit().await?;
        Ok(done)
    }

    async fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        let path = path.to_str().ok_or_else(|| damaged("the path of the copy", "it is no UTF-8"))?;
        sqlx::query("VACUUM INTO $1").bind(path).execute(&self.readers).await?;
        Ok(())
    }

    async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}
