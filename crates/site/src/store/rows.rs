//! Rows of the database as what they mean.

use super::database::Connection;
use super::sql::{Row, sql};
use super::{Store, StoreError, damaged};
use crate::domain::{CellRow, Evidence, EvidenceLevel, Headline, Revision, RunRow, StoredRun};
use crate::packed;

impl Store {
    /// Runs, withdrawn ones too.
    pub async fn count_runs(&self) -> Result<u64, StoreError> {
        let mut reader = self.database.reader().await?;
        sql("SELECT COUNT(*) FROM runs").one(&mut reader).await?.number(0)
    }

    /// A run's row.
    pub async fn row(&self, run_id: &str) -> Result<Option<RunRow>, StoreError> {
        row_in(&mut self.database.reader().await?, run_id).await
    }

    /// Id of the user who published a run.
    pub async fn owner(&self, run_id: &str) -> Result<Option<String>, StoreError> {
        let mut reader = self.database.reader().await?;
        let row = sql("SELECT user_id FROM runs WHERE id = $1").bind(run_id).maybe(&mut reader).await?;
        row.map(|row| row.get(0)).transpose()
    }

    /// A run with its document; none as revision: the newest.
    pub async fn run(&self, run_id: &str, revision: Option<u32>) -> Result<Option<StoredRun>, StoreError> {
        let mut reader = self.database.reader().await?;
        let Some(row) = row_in(&mut reader, run_id).await? else { return Ok(None) };
        let found = sql(
            "SELECT revisions.*, users.handle FROM revisions JOIN users ON users.id = revisions.user_id \
             WHERE run_id = $1 AND revision = $2",
        )
        .bind(run_id)
        .bind(revision.unwrap_or(row.revision))
        .maybe(&mut reader)
        .await?;
        let Some(found) = found else { return Ok(None) };
        let unpacked = |column: &str| -> Result<Vec<u8>, StoreError> {
            packed::unpack(found.get(column)?).map_err(|why| damaged(column, why))
        };
        let run = serde_json::from_slice(&unpacked("document")?).map_err(|why| damaged("a document", why))?;
        let verification = serde_json::from_slice(&unpacked("verification")?)
            .map_err(|why| damaged("the check of a document", why))?;
        Ok(Some(StoredRun { row, revision: revision_of(&found)?, run, verification }))
    }

    /// The revisions of a run, oldest first.
    pub async fn revisions(&self, run_id: &str) -> Result<Vec<Revision>, StoreError> {
        let mut reader = self.database.reader().await?;
        let rows =
            sql("SELECT revision, revisions.created_at, note, content_sha256, users.handle FROM revisions \
             JOIN users ON users.id = revisions.user_id WHERE run_id = $1 ORDER BY revision")
            .bind(run_id)
            .all(&mut reader)
            .await?;
        rows.iter().map(revision_of).collect()
    }

    /// The cells of a run, by phase, context and concurrency.
    pub async fn cells(&self, run_id: &str) -> Result<Vec<CellRow>, StoreError> {
        let mut reader = self.database.reader().await?;
        let rows =
            sql("SELECT * FROM cells WHERE run_id = $1 ORDER BY phase DESC, context, concurrency, name")
                .bind(run_id)
                .all(&mut reader)
                .await?;
        rows.iter().map(cell_row).collect()
    }
}

pub(super) async fn row_in(connection: &mut Connection, run_id: &str) -> Result<Option<RunRow>, StoreError> {
    let row = sql("SELECT * FROM runs WHERE id = $1").bind(run_id).maybe(connection).await?;
    row.as_ref().map(run_row).transpose()
}

/// A row of `runs`.
pub(super) fn run_row(row: &Row) -> Result<RunRow, StoreError> {
    let text = |column: &str| row.get::<String, _>(column);
    let number = |column: &str| row.get::<Option<f64>, _>(column);
    let level: i64 = row.get("evidence")?;
    let reasons: &str = row.get("evidence_reasons")?;
    let spread: &str = row.get("spread")?;
    let contexts: &str = row.get("contexts")?;
    Ok(RunRow {
        id: text("id")?,
        submitter: text("handle")?,
        revision: row.number("revision")?,
        shelf: row.get::<&str, _>("shelf")?.parse().map_err(|why: String| damaged("a shelf", why))?,
        measured_at: row.get("measured_at")?,
        published_at: row.get("published_at")?,
        revised_at: row.get("revised_at")?,
        withdrawn_reason: row.get("withdrawn_reason")?,
        title: text("title")?,
        model: text("model")?,
        hardware: text("hardware")?,
        accelerators: row.maybe_number("accelerators")?,
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
        users_at_limits: row.maybe_number("users_at_limits")?,
        joules_per_token: number("joules_per_token")?,
        valid_cells: row.number("valid_cells")?,
        all_cells: row.number("all_cells")?,
        is_lead: row.flag("is_lead")?,
        replicates: row.number("replicates")?,
        submitters: row.number("submitters")?,
        spread: serde_json::from_str(spread).map_err(|why| damaged("a spread", why))?,
    })
}

pub(super) fn headline(
    row: &Row,
    value: &str,
    low: &str,
    high: &str,
) -> Result<Option<Headline>, StoreError> {
    let Some(value) = row.get(value)? else { return Ok(None) };
    Ok(Some(Headline { value, low: row.get(low)?, high: row.get(high)? }))
}

fn revision_of(row: &Row) -> Result<Revision, StoreError> {
    Ok(Revision {
        revision: row.number("revision")?,
        created_at: row.get("created_at")?,
        author: row.get("handle")?,
        note: row.get("note")?,
        content_sha256: row.get("content_sha256")?,
    })
}

pub(super) fn cell_row(row: &Row) -> Result<CellRow, StoreError> {
    let phase = if row.get::<&str, _>("phase")? == "decode" { "decode" } else { "prefill" };
    let status: &str = row.get("status")?;
    let status: tokometer_record::Status =
        serde_json::from_value(status.into()).map_err(|why| damaged("a cell's status", why))?;
    Ok(CellRow {
        name: row.get("name")?,
        phase,
        context: row.number("context")?,
        concurrency: row.number("concurrency")?,
        status: status.code(),
        total: headline(row, "total", "total_low", "total_high")?,
        prefill_rate: row.get("prefill_rate")?,
        ttft_p50: row.get("ttft_p50")?,
        per_request_p50: row.get("per_request_p50")?,
        joules_per_token: row.get("joules_per_token")?,
        acceptance_length: row.get("acceptance_length")?,
    })
}
