//! What is known of files: who brought them, which run names them.

use super::database::Connection;
use super::sql::sql;
use super::{Store, StoreError};
use crate::domain::Millis;

impl Store {
    /// Those of these hashes that no file is kept for.
    pub async fn missing_artefacts(&self, sha256: &[String]) -> Result<Vec<String>, StoreError> {
        missing(&mut self.database.reader().await?, sha256.iter().map(String::as_str)).await
    }

    /// Keeps that a file is there.
    pub async fn add_artefact(
        &self,
        sha256: &str,
        bytes: u64,
        user_id: &str,
        now: Millis,
    ) -> Result<(), StoreError> {
        let mut writer = self.database.writer().await?;
        sql("INSERT INTO artefacts (sha256, bytes, user_id, created_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (sha256) DO UPDATE SET created_at = excluded.created_at")
        .bind(sha256)
        .bind(bytes)
        .bind(user_id)
        .bind(now)
        .run(&mut writer)
        .await?;
        Ok(())
    }

    /// Bytes of files that a user brought and that no run names yet.
    pub async fn loose_bytes(&self, user_id: &str) -> Result<u64, StoreError> {
        let mut reader = self.database.reader().await?;
        let row = sql(
            "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM artefacts WHERE user_id = $1 AND NOT EXISTS \
             (SELECT 1 FROM run_artefacts WHERE run_artefacts.sha256 = artefacts.sha256)",
        )
        .bind(user_id)
        .one(&mut reader)
        .await?;
        row.number(0)
    }

    /// Forgets files that no run names and that came before `before`; their hashes.
    pub async fn forget_loose(&self, before: Millis) -> Result<Vec<String>, StoreError> {
        let mut transaction = self.database.transaction().await?;
        let rows = sql("DELETE FROM artefacts WHERE created_at < $1 AND NOT EXISTS \
             (SELECT 1 FROM run_artefacts WHERE run_artefacts.sha256 = artefacts.sha256) RETURNING sha256")
        .bind(before)
        .all(&mut transaction)
        .await?;
        transaction.commit().await?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Name and hash of each file of a run.
    pub async fn artefacts(&self, run_id: &str) -> Result<Vec<(String, String)>, StoreError> {
        let mut reader = self.database.reader().await?;
        let rows = sql("SELECT name, sha256 FROM run_artefacts WHERE run_id = $1 ORDER BY name")
            .bind(run_id)
            .all(&mut reader)
            .await?;
        rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
    }

    /// The hash of each file that some run names, withdrawn ones too.
    pub async fn named_artefacts(&self) -> Result<Vec<String>, StoreError> {
        let mut reader = self.database.reader().await?;
        let rows = sql("SELECT DISTINCT sha256 FROM run_artefacts ORDER BY sha256").all(&mut reader).await?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// True if some run that is not withdrawn names this file.
    pub async fn is_published_artefact(&self, sha256: &str) -> Result<bool, StoreError> {
        let mut reader = self.database.reader().await?;
        let row = sql("SELECT 1 FROM run_artefacts JOIN runs ON runs.id = run_artefacts.run_id \
             WHERE run_artefacts.sha256 = $1 AND runs.shelf <> 'withdrawn' LIMIT 1")
        .bind(sha256)
        .maybe(&mut reader)
        .await?;
        Ok(row.is_some())
    }
}

pub(super) async fn missing(
    connection: &mut Connection,
    sha256: impl Iterator<Item = &str>,
) -> Result<Vec<String>, StoreError> {
    let mut missing: Vec<String> = Vec::new();
    for hash in sha256 {
        let row = sql("SELECT 1 FROM artefacts WHERE sha256 = $1").bind(hash).maybe(connection).await?;
        if row.is_none() && !missing.iter().any(|other| other == hash) {
            missing.push(hash.to_owned());
        }
    }
    Ok(missing)
}
