//! Dumps of the public tables: who makes one, which there are, and what goes into one.

use super::rows::{cell_row, run_row};
use super::sql::{Row, sql};
use super::{Store, StoreError, damaged};
use crate::domain::{CellRow, Dump, DumpFile, Millis, RunRow};

/// A claim that led to nothing is void after this time, ms.
const PATIENCE: Millis = 3_600_000;
/// Runs of dumps: those that are listed and measured.
const PUBLIC: &str = "shelf IN ('ranked', 'reported')";

impl Store {
    /// Dumps that are whole, newest first. One that holds a run which was taken down since is not among them.
    pub async fn dumps(&self) -> Result<Vec<Dump>, StoreError> {
        let mut reader = self.database.reader().await?;
        let rows = sql("SELECT * FROM dumps WHERE made_at IS NOT NULL AND ")
            .add(NOTHING_TAKEN_DOWN)
            .add(" ORDER BY day DESC")
            .all(&mut reader)
            .await?;
        rows.iter().map(dump_of).collect()
    }

    /// True if a dump has this file.
    pub async fn is_dump_file(&self, sha256: &str) -> Result<bool, StoreError> {
        let mut reader = self.database.reader().await?;
        let row = sql("SELECT 1 FROM dumps WHERE files LIKE '%' || $1 || '%' LIMIT 1").bind(sha256);
        Ok(row.maybe(&mut reader).await?.is_some())
    }

    /// Takes on the dump of a day. False if it is there, or somebody makes it.
    pub async fn claim_dump(&self, day: &str, now: Millis) -> Result<bool, StoreError> {
        // Not beside a run that is being taken down: that is before this, or after it.
        let mut writer = self.database.transaction().await?;
        let claimed = sql("INSERT INTO dumps (day, claimed_at) VALUES ($1, $2) ON CONFLICT (day) DO UPDATE \
             SET claimed_at = excluded.claimed_at \
             WHERE dumps.made_at IS NULL AND dumps.claimed_at < excluded.claimed_at - $3")
        .bind(day)
        .bind(now)
        .bind(PATIENCE)
        .run(&mut writer)
        .await?;
        writer.commit().await?;
        Ok(claimed == 1)
    }

    /// Says that a dump is whole, and where its files are.
    pub async fn add_dump(&self, dump: &Dump) -> Result<(), StoreError> {
        let files = serde_json::to_string(&dump.files).map_err(|why| damaged("a dump", why))?;
        sql("UPDATE dumps SET made_at = $1, files = $2 WHERE day = $3")
            .bind(dump.made_at)
            .bind(files)
            .bind(&dump.day)
            .run(&mut self.database.writer().await?)
            .await?;
        Ok(())
    }

    /// Forgets dumps that are older than the newest `keep`, or that hold a run which was taken down since; the hashes of
    /// their files.
    pub async fn forget_dumps(&self, keep: u32) -> Result<Vec<String>, StoreError> {
        let mut transaction = self.database.transaction().await?;
        let rows = sql("SELECT * FROM dumps WHERE made_at IS NOT NULL AND (NOT ")
            .add(NOTHING_TAKEN_DOWN)
            .add(" OR day NOT IN (SELECT day FROM dumps WHERE made_at IS NOT NULL ORDER BY day DESC LIMIT $1))")
            .bind(keep)
            .all(&mut transaction)
            .await?;
        let mut files = Vec::new();
        for row in &rows {
            let dump = dump_of(row)?;
            sql("DELETE FROM dumps WHERE day = $1").bind(&dump.day).run(&mut transaction).await?;
            files.extend(dump.files.into_iter().map(|file| file.sha256));
        }
        transaction.commit().await?;
        Ok(files)
    }

    /// Runs that go into a dump, by their ids, behind one of them.
    pub async fn dumped_runs(&self, after: &str, limit: u32) -> Result<Vec<RunRow>, StoreError> {
        let mut reader = self.database.reader().await?;
        let rows = sql("SELECT * FROM runs WHERE id > $1 AND ")
            .add(PUBLIC)
            .add(" ORDER BY id LIMIT $2")
            .bind(after)
            .bind(limit)
            .all(&mut reader)
            .await?;
        rows.iter().map(run_row).collect()
    }

    /// The cells of the runs of a dump with ids behind `after` up to `last`: the run's id, the cell.
    pub async fn dumped_cells(&self, after: &str, last: &str) -> Result<Vec<(String, CellRow)>, StoreError> {
        let mut reader = self.database.reader().await?;
        let rows = sql("SELECT cells.* FROM cells JOIN runs ON runs.id = cells.run_id \
             WHERE run_id > $1 AND run_id <= $2 AND ")
        .add(PUBLIC)
        .add(" ORDER BY run_id, phase DESC, context, concurrency, name")
        .bind(after)
        .bind(last)
        .all(&mut reader)
        .await?;
        rows.iter().map(|row| Ok((row.get("run_id")?, cell_row(row)?))).collect()
    }

    /// Id and time of the newest revision of each run of a dump, by id, from the `skip`th on: for maps of the site.
    pub async fn addresses(&self, skip: u64, limit: u32) -> Result<Vec<(String, Millis)>, StoreError> {
        let mut reader = self.database.reader().await?;
        let rows = sql("SELECT id, revised_at FROM runs WHERE ")
            .add(PUBLIC)
            .add(" ORDER BY id LIMIT $1 OFFSET $2")
            .bind(limit)
            .bind(skip)
            .all(&mut reader)
            .await?;
        rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
    }

    /// How many these are.
    pub async fn count_addresses(&self) -> Result<u64, StoreError> {
        let mut reader = self.database.reader().await?;
        sql("SELECT COUNT(*) FROM runs WHERE ").add(PUBLIC).one(&mut reader).await?.number(0)
    }
}

/// No run that a dump may hold was taken down after it was begun. What is published while it is made may be in it.
const NOTHING_TAKEN_DOWN: &str = "NOT EXISTS (SELECT 1 FROM runs JOIN moderation ON moderation.run_id = runs.id \
     WHERE runs.shelf = 'withdrawn' AND runs.is_simulated = 0 AND moderation.action = 'withdrawn' \
     AND runs.published_at <= dumps.made_at + 3600000 AND moderation.at >= dumps.made_at)";

fn dump_of(row: &Row) -> Result<Dump, StoreError> {
    let files: Vec<DumpFile> =
        serde_json::from_str(row.get("files")?).map_err(|why| damaged("the files of a dump", why))?;
    Ok(Dump {
        day: row.get("day")?,
        made_at: row.get::<Option<i64>, _>("made_at")?.unwrap_or_default(),
        files,
    })
}
