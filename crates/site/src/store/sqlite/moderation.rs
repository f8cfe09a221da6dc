//! The moderation log, and reports of problems.

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::damaged;
use crate::domain::{Millis, ModerationEntry, NewProblem, Problem};
use crate::store::StoreError;

pub(super) async fn log(
    connection: &mut SqliteConnection,
    entry: &ModerationEntry,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO moderation (at, actor, action, run_id, reason) VALUES ($1, $2, $3, $4, $5)")
        .bind(entry.at)
        .bind(&entry.actor)
        .bind(entry.action.code())
        .bind(&entry.run_id)
        .bind(&entry.reason)
        .execute(connection)
        .await?;
    Ok(())
}

pub(super) async fn entries(
    pool: &SqlitePool,
    run_id: Option<&str>,
    limit: u32,
) -> Result<Vec<ModerationEntry>, StoreError> {
    let rows = match run_id {
        Some(run_id) => {
            sqlx::query("SELECT * FROM moderation WHERE run_id = $1 ORDER BY id DESC LIMIT $2")
                .bind(run_id)
                .bind(limit)
                .fetch_all(pool)
                .await?
        }
        None => {
            sqlx::query("SELECT * FROM moderation ORDER BY id DESC LIMIT $1")
                .bind(limit)
                .fetch_all(pool)
                .await?
        }
    };
    rows.iter().map(entry_of).collect()
}

pub(super) async fn add_problem(
    pool: &SqlitePool,
    problem: &NewProblem,
    now: Millis,
) -> Result<i64, StoreError> {
    let row = sqlx::query(
        "INSERT INTO problems (run_id, cell, at, reporter, kind, text) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id",
    )
    .bind(&problem.run_id)
    .bind(&problem.cell)
    .bind(now)
    .bind(&problem.reporter)
    .bind(problem.kind.code())
    .bind(&problem.text)
    .fetch_one(pool)
    .await?;
    Ok(row.try_get(0)?)
}

pub(super) async fn problems(
    pool: &SqlitePool,
    run_id: Option<&str>,
    only_open: bool,
    limit: u32,
) -> Result<Vec<Problem>, StoreError> {
    let rows = sqlx::query(
        "SELECT * FROM problems WHERE ($1 IS NULL OR run_id = $1) AND ($2 = 0 OR closed_at IS NULL) \
         ORDER BY id DESC LIMIT $3",
    )
    .bind(run_id)
    .bind(i64::from(only_open))
    .bind(limit)
    .fetch_all(pool)
    .await?;
    rows.iter().map(problem_of).collect()
}

pub(super) async fn close_problem(
    connection: &mut SqliteConnection,
    id: i64,
    resolution: &str,
    entry: &ModerationEntry,
) -> Result<bool, StoreError> {
    let closed = sqlx::query(
        "UPDATE problems SET closed_at = $1, closed_by = $2, resolution = $3 \
         WHERE id = $4 AND closed_at IS NULL RETURNING run_id",
    )
    .bind(entry.at)
    .bind(&entry.actor)
    .bind(resolution)
    .bind(id)
    .fetch_optional(&mut *connection)
    .await?;
    let Some(closed) = closed else { return Ok(false) };
    let entry = ModerationEntry { run_id: Some(closed.try_get(0)?), ..entry.clone() };
    log(connection, &entry).await?;
    Ok(true)
}

fn entry_of(row: &SqliteRow) -> Result<ModerationEntry, StoreError> {
    let action: &str = row.try_get("action")?;
    Ok(ModerationEntry {
        at: row.try_get("at")?,
        actor: row.try_get("actor")?,
        action: action.parse().map_err(|why: String| damaged("the moderation log", why))?,
        run_id: row.try_get("run_id")?,
        reason: row.try_get("reason")?,
    })
}

fn problem_of(row: &SqliteRow) -> Result<Problem, StoreError> {
    let kind: &str = row.try_get("kind")?;
    Ok(Problem {
        id: row.try_get("id")?,
        run_id: row.try_get("run_id")?,
        cell: row.try_get("cell")?,
        at: row.try_get("at")?,
        reporter: row.try_get("reporter")?,
        kind: kind.parse().map_err(|why: String| damaged("a report", why))?,
        text: row.try_get("text")?,
        closed_at: row.try_get("closed_at")?,
        resolution: row.try_get("resolution")?,
    })
}
