//! Rows of the database as what they mean.

use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqlitePool, SqliteRow};

use super::damaged;
use crate::domain::{CellRow, Evidence, EvidenceLevel, Headline, Revision, RunRow, StoredRun};
use crate::packed;
use crate::store::StoreError;

pub(super) async fn row(pool: &SqlitePool, run_id: &str) -> Result<Option<RunRow>, StoreError> {
    let mut connection = pool.acquire().await?;
    row_in(&mut connection, run_id).await
}

pub(super) async fn row_in(
    connection: &mut SqliteConnection,
    run_id: &str,
) -> Result<Option<RunRow>, StoreError> {
    let row = sqlx::query("SELECT * FROM runs WHERE id = $1").bind(run_id).fetch_optional(connection).await?;
    row.as_ref().map(run_row).transpose()
}

pub(super) async fn run(
    pool: &SqlitePool,
    run_id: &str,
    revision: Option<u32>,
) -> Result<Option<StoredRun>, StoreError> {
    let mut connection = pool.acquire().await?;
    let Some(row) = row_in(&mut connection, run_id).await? else { return Ok(None) };
    let found = sqlx::query(
        "SELECT revisions.*, users.handle FROM revisions JOIN users ON users.id = revisions.user_id \
         WHERE run_id = $1 AND revision = $2",
    )
    .bind(run_id)
    .bind(revision.unwrap_or(row.revision))
    .fetch_optional(&mut *connection)
    .await?;
    let Some(found) = found else { return Ok(None) };
    let unpacked = |column: &str| -> Result<Vec<u8>, StoreError> {
        packed::unpack(found.try_get(column)?).map_err(|why| damaged(column, why))
    };
    let run = serde_json::from_slice(&unpacked("document")?).map_err(|why| damaged("a document", why))?;
    let verification = serde_json::from_slice(&unpacked("verification")?)
        .map_err(|why| damaged("the check of a document", why))?;
    Ok(Some(StoredRun { row, revision: revision_of(&found)?, run, verification }))
}

pub(super) async fn revisions(pool: &SqlitePool, run_id: &str) -> Result<Vec<Revision>, StoreError> {
    let rows = sqlx::query(
        "SELECT revision, revisions.created_at, note, content_sha256, users.handle FROM revisions \
         JOIN users ON users.id = revisions.user_id WHERE run_id = $1 ORDER BY revision",
    )
    .bind(run_id)
    .fetch_all(pool)
    .await?;
    rows.iter().map(revision_of).collect()
}

pub(super) async fn cells(pool: &SqlitePool, run_id: &str) -> Result<Vec<CellRow>, StoreError> {
    let rows = sqlx::query("SELECT * FROM cells WHERE run_id = $1 ORDER BY phase DESC, context, concurrency")
        .bind(run_id)
        .fetch_all(pool)
        .await?;
    rows.iter().map(cell_row).collect()
}

/// A row of `runs`.
pub(super) fn run_row(row: &SqliteRow) -> Result<RunRow, StoreError> {
    let text = |column: &str| row.try_get::<String, _>(column);
    let number = |column: &str| row.try_get::<Option<f64>, _>(column);
    let level: i64 = row.try_get("evidence")?;
    let reasons: &str = row.try_get("evidence_reasons")?;
    let spread: &str = row.try_get("spread")?;
    let contexts: &str = row.try_get("contexts")?;
    Ok(RunRow {
        id: text("id")?,
        submitter: text("handle")?,
        revision: row.try_get("revision")?,
        shelf: row.try_get::<&str, _>("shelf")?.parse().map_err(|why: String| damaged("a shelf", why))?,
        measured_at: row.try_get("measured_at")?,
        published_at: row.try_get("published_at")?,
        revised_at: row.try_get("revised_at")?,
        withdrawn_reason: row.try_get("withdrawn_reason")?,
        title: text("title")?,
        model: text("model")?,
        hardware: text("hardware")?,
        accelerators: row.try_get("accelerators")?,
        engine: text("engine")?,
        engine_version: text("engine_version")?,
        quantization: text("quantization")?,
        speculative: text("speculative")?,
        contexts: contexts.split_whitespace().filter_map(|context| context.parse().ok()).collect(),
        method: text("method")?,
        evidence: Evidence {
            level: EvidenceLevel::of_number(level).ok_or_else(|| damaged("a level of evidence", level))?,
            reasons: serde_json::from_str(reasons).map_err(|why| damaged("reasons of evidence", why))?,
        },
        group_hash: text("group_hash")?,
        series_hash: text("series_hash")?,
        content_sha256: text("content_sha256")?,
        one_user: headline(row, "one_user", "one_user_low", "one_user_high")?,
        peak: headline(row, "peak", "peak_low", "peak_high")?,
        peak_per_accelerator: number("peak_per_accelerator")?,
        prefill: number("prefill")?,
        users_at_limits: row.try_get("users_at_limits")?,
        joules_per_token: number("joules_per_token")?,
        valid_cells: row.try_get("valid_cells")?,
        all_cells: row.try_get("all_cells")?,
        is_lead: row.try_get::<i64, _>("is_lead")? == 1,
        replicates: row.try_get("replicates")?,
        submitters: row.try_get("submitters")?,
        spread: serde_json::from_str(spread).map_err(|why| damaged("a spread", why))?,
    })
}

pub(super) fn headline(
    row: &SqliteRow,
    value: &str,
    low: &str,
    high: &str,
) -> Result<Option<Headline>, StoreError> {
    let Some(value) = row.try_get(value)? else { return Ok(None) };
    Ok(Some(Headline { value, low: row.try_get(low)?, high: row.try_get(high)? }))
}

fn revision_of(row: &SqliteRow) -> Result<Revision, StoreError> {
    Ok(Revision {
        revision: row.try_get("revision")?,
        created_at: row.try_get("created_at")?,
        author: row.try_get("handle")?,
        note: row.try_get("note")?,
        content_sha256: row.try_get("content_sha256")?,
    })
}

fn cell_row(row: &SqliteRow) -> Result<CellRow, StoreError> {
    let phase = if row.try_get::<&str, _>("phase")? == "decode" { "decode" } else { "prefill" };
    let status: &str = row.try_get("status")?;
    let status: tokometer_record::Status =
        serde_json::from_value(status.into()).map_err(|why| damaged("a cell's status", why))?;
    Ok(CellRow {
        name: row.try_get("name")?,
        phase,
        context: row.try_get::<i64, _>("context")? as u64,
        concurrency: row.try_get("concurrency")?,
        status: status.code(),
        total: headline(row, "total", "total_low", "total_high")?,
        prefill_rate: row.try_get("prefill_rate")?,
        ttft_p50: row.try_get("ttft_p50")?,
        per_request_p50: row.try_get("per_request_p50")?,
        joules_per_token: row.try_get("joules_per_token")?,
        acceptance_length: row.try_get("acceptance_length")?,
    })
}
