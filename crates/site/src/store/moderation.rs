//! The moderation log, and reports of problems.

use super::database::Connection;
use super::sql::{Row, sql};
use super::{Store, StoreError, damaged, groups};
use crate::domain::{Millis, ModerationEntry, NewProblem, Problem};

impl Store {
    /// Takes a run down (`Shelf::Withdrawn`) and writes the log. False if it is down already.
    pub async fn withdraw(&self, run_id: &str, entry: &ModerationEntry) -> Result<bool, StoreError> {
        self.put(run_id, Some(&entry.reason), entry).await
    }

    /// Shows a run again that was taken down, and writes the log. False if it is shown already.
    pub async fn restore(&self, run_id: &str, entry: &ModerationEntry) -> Result<bool, StoreError> {
        self.put(run_id, None, entry).await
    }

    async fn put(
        &self,
        run_id: &str,
        withdrawn: Option<&str>,
        entry: &ModerationEntry,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.database.transaction().await?;
        let done = groups::put(&mut transaction, run_id, withdrawn, entry).await?;
        transaction.commit().await?;
        Ok(done)
    }

    /// Lines of the moderation log, newest first; of one run, or of all.
    pub async fn moderation_log(
        &self,
        run_id: Option<&str>,
        limit: u32,
    ) -> Result<Vec<ModerationEntry>, StoreError> {
        let mut reader = self.database.reader().await?;
        let query = match run_id {
            Some(run_id) => {
                sql("SELECT * FROM moderation WHERE run_id = $1 ORDER BY id DESC LIMIT $2").bind(run_id)
            }
            None => sql("SELECT * FROM moderation ORDER BY id DESC LIMIT $1"),
        };
        query.bind(limit).all(&mut reader).await?.iter().map(entry_of).collect()
    }

    /// Adds a report; its number.
    pub async fn add_problem(&self, problem: &NewProblem, now: Millis) -> Result<i64, StoreError> {
        let mut writer = self.database.writer().await?;
        let row = sql(
            "INSERT INTO problems (run_id, cell, at, reporter, kind, text) VALUES ($1, $2, $3, $4, $5, $6) \
             RETURNING id",
        )
        .bind(&problem.run_id)
        .bind(problem.cell.as_deref())
        .bind(now)
        .bind(problem.reporter.as_deref())
        .bind(problem.kind.code())
        .bind(&problem.text)
        .one(&mut writer)
        .await?;
        row.get(0)
    }

    /// Reports, newest first; of one run or all, open ones or all.
    pub async fn problems(
        &self,
        run_id: Option<&str>,
        only_open: bool,
        limit: u32,
    ) -> Result<Vec<Problem>, StoreError> {
        let mut reader = self.database.reader().await?;
        let rows = sql(
            "SELECT * FROM problems WHERE ($1 IS NULL OR run_id = $1) AND ($2 = 0 OR closed_at IS NULL) \
             ORDER BY id DESC LIMIT $3",
        )
        .bind(run_id)
        .bind(only_open)
        .bind(limit)
        .all(&mut reader)
        .await?;
        rows.iter().map(problem_of).collect()
    }

    /// Closes a report and writes the log. False if it is closed already.
    pub async fn close_problem(
        &self,
        id: i64,
        resolution: &str,
        entry: &ModerationEntry,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.database.transaction().await?;
        let closed = sql("UPDATE problems SET closed_at = $1, closed_by = $2, resolution = $3 \
             WHERE id = $4 AND closed_at IS NULL RETURNING run_id")
        .bind(entry.at)
        .bind(&entry.actor)
        .bind(resolution)
        .bind(id)
        .maybe(&mut transaction)
        .await?;
        let Some(closed) = closed else { return Ok(false) };
        let entry = ModerationEntry { run_id: Some(closed.get(0)?), ..entry.clone() };
        log(&mut transaction, &entry).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

pub(super) async fn log(connection: &mut Connection, entry: &ModerationEntry) -> Result<(), StoreError> {
    sql("INSERT INTO moderation (at, actor, action, run_id, reason) VALUES ($1, $2, $3, $4, $5)")
        .bind(entry.at)
        .bind(&entry.actor)
        .bind(entry.action.code())
        .bind(entry.run_id.as_deref())
        .bind(&entry.reason)
        .run(connection)
        .await?;
    Ok(())
}

fn entry_of(row: &Row) -> Result<ModerationEntry, StoreError> {
    let action: &str = row.get("action")?;
    Ok(ModerationEntry {
        at: row.get("at")?,
        actor: row.get("actor")?,
        action: action.parse().map_err(|why: String| damaged("the moderation log", why))?,
        run_id: row.get("run_id")?,
        reason: row.get("reason")?,
    })
}

fn problem_of(row: &Row) -> Result<Problem, StoreError> {
    let kind: &str = row.get("kind")?;
    Ok(Problem {
        id: row.get("id")?,
        run_id: row.get("run_id")?,
        cell: row.get("cell")?,
        at: row.get("at")?,
        reporter: row.get("reporter")?,
        kind: kind.parse().map_err(|why: String| damaged("a report", why))?,
        text: row.get("text")?,
        closed_at: row.get("closed_at")?,
        resolution: row.get("resolution")?,
    })
}
