//! A publication, and revisions behind it.

use super::database::Connection;
use super::sql::sql;
use super::{Store, StoreError, artefacts, changed, groups, moderation, suspicions};
use crate::domain::{CellRow, Millis, ModerationEntry, NewRun, Publication, RunRow, Shelf};
use crate::packed;

impl Store {
    /// The run that a key of a user led to, and the hash of what came with it.
    pub async fn idempotent(&self, user_id: &str, key: &str) -> Result<Option<(String, String)>, StoreError> {
        idempotent(&mut self.database.reader().await?, user_id, key).await
    }

    /// Forgets the keys of uploads from before `before`; how many. An upload that comes again is still known by its run.
    pub async fn forget_keys(&self, before: Millis) -> Result<u64, StoreError> {
        let mut writer = self.database.writer().await?;
        sql("DELETE FROM idempotency WHERE created_at < $1").bind(before).run(&mut writer).await
    }

    /// Adds a run, or says why not.
    pub async fn publish(&self, new: NewRun) -> Result<Publication, StoreError> {
        let mut transaction = self.database.transaction().await?;
        let publication = publish(&mut transaction, new).await?;
        if publication == Publication::Created {
            transaction.commit().await?;
        }
        Ok(publication)
    }

    /// Adds a revision with another title or note. False if `row.revision` is no longer the next one.
    pub async fn revise(
        &self,
        user_id: &str,
        row: &RunRow,
        document: &[u8],
        note: Option<&str>,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.database.transaction().await?;
        let done = revise(&mut transaction, user_id, row, document, note).await?;
        transaction.commit().await?;
        Ok(done)
    }
}

async fn idempotent(
    connection: &mut Connection,
    user_id: &str,
    key: &str,
) -> Result<Option<(String, String)>, StoreError> {
    let row = sql("SELECT run_id, body_sha256 FROM idempotency WHERE user_id = $1 AND key = $2")
        .bind(user_id)
        .bind(key)
        .maybe(connection)
        .await?;
    row.map(|row| Ok((row.get(0)?, row.get(1)?))).transpose()
}

async fn publish(connection: &mut Connection, new: NewRun) -> Result<Publication, StoreError> {
    if let Some(refusal) = refusal(connection, &new).await? {
        return Ok(refusal);
    }
    insert_row(connection, &new).await?;
    let (row, user_id) = (&new.row, &new.user_id);
    insert_revision(connection, user_id, row, &new.document, &packed::pack(&new.verification), None).await?;
    for cell in &new.cells {
        insert_cell(connection, &row.id, cell).await?;
    }
    for (name, sha256) in &new.artefacts {
        sql("INSERT INTO run_artefacts (run_id, name, sha256) VALUES ($1, $2, $3)")
            .bind(&row.id)
            .bind(name)
            .bind(sha256)
            .run(connection)
            .await?;
    }
    for print in &new.prints {
        sql("INSERT INTO trace_prints (print, run_id) VALUES ($1, $2)")
            .bind(print)
            .bind(&row.id)
            .run(connection)
            .await?;
    }
    if let Some((key, body_sha256)) = &new.idempotency {
        sql(
            "INSERT INTO idempotency (user_id, key, body_sha256, run_id, created_at) VALUES ($1, $2, $3, $4, $5)",
        )
        .bind(user_id)
        .bind(key)
        .bind(body_sha256)
        .bind(&row.id)
        .bind(row.published_at)
        .run(connection)
        .await?;
    }
    suspicions::look(connection, &new).await?;
    for (action, reason) in new.log {
        let entry = ModerationEntry {
            at: row.published_at,
            actor: "site".to_owned(),
            action,
            run_id: Some(row.id.clone()),
            reason,
        };
        moderation::log(connection, &entry).await?;
    }
    groups::settle(connection, &row.group_hash).await?;
    changed(connection).await?;
    Ok(Publication::Created)
}

/// Why it can't be added, looked at inside the transaction that would add it.
async fn refusal(connection: &mut Connection, new: &NewRun) -> Result<Option<Publication>, StoreError> {
    let row = &new.row;
    if let Some((key, body_sha256)) = &new.idempotency
        && let Some((run_id, before)) = idempotent(connection, &new.user_id, key).await?
    {
        let same = before == *body_sha256;
        return Ok(Some(if same { Publication::Replayed { run_id } } else { Publication::KeyReused }));
    }
    let there = sql("SELECT runs.user_id, revisions.content_sha256 FROM runs \
         JOIN revisions ON revisions.run_id = runs.id AND revisions.revision = 1 WHERE runs.id = $1")
    .bind(&row.id)
    .maybe(connection)
    .await?;
    if let Some(there) = there {
        let (user_id, content): (&str, &str) = (there.get(0)?, there.get(1)?);
        let same = user_id == new.user_id && content == row.content_sha256;
        let replayed = Publication::Replayed { run_id: row.id.clone() };
        return Ok(Some(if same { replayed } else { Publication::Taken }));
    }
    for print in &new.prints {
        let other =
            sql("SELECT run_id FROM trace_prints WHERE print = $1").bind(print).maybe(connection).await?;
        if let Some(other) = other {
            return Ok(Some(Publication::SameEvents { run_id: other.get(0)? }));
        }
    }
    let missing =
        artefacts::missing(connection, new.artefacts.iter().map(|(_, sha256)| sha256.as_str())).await?;
    Ok((!missing.is_empty()).then_some(Publication::Missing { sha256: missing }))
}

async fn insert_row(connection: &mut Connection, new: &NewRun) -> Result<(), StoreError> {
    let row = &new.row;
    let one_user = row.one_user.unwrap_or_default();
    let peak = row.peak.unwrap_or_default();
    let level = row.evidence.level.number();
    sql(
        "INSERT INTO runs (id, user_id, handle, revision, shelf, measured_at, published_at, revised_at, title, \
         model, hardware, accelerators, engine, engine_version, quantization, speculative, contexts, method, \
         is_simulated, evidence, evidence_reasons, own_evidence, group_hash, series_hash, content_sha256, one_user, one_user_low, \
         one_user_high, peak, peak_low, peak_high, peak_per_accelerator, prefill, users_at_limits, \
         joules_per_token, valid_cells, all_cells) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, \
         $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, \
         $35, $36, $37)",
    )
    .bind(&row.id)
    .bind(&new.user_id)
    .bind(&row.submitter)
    .bind(row.revision)
    .bind(row.shelf.code())
    .bind(row.measured_at)
    .bind(row.published_at)
    .bind(row.revised_at)
    .bind(&row.title)
    .bind(&row.model)
    .bind(&row.hardware)
    .bind(row.accelerators)
    .bind(&row.engine)
    .bind(&row.engine_version)
    .bind(&row.quantization)
    .bind(&row.speculative)
    .bind(contexts(row))
    .bind(&row.method)
    .bind(row.shelf == Shelf::Simulated)
    .bind(level)
    .bind(reasons(row))
    .bind(level.min(2))
    .bind(&row.group_hash)
    .bind(&row.series_hash)
    .bind(&row.content_sha256)
    .bind(row.one_user.map(|_| one_user.value))
    .bind(one_user.low)
    .bind(one_user.high)
    .bind(row.peak.map(|_| peak.value))
    .bind(peak.low)
    .bind(peak.high)
    .bind(row.peak_per_accelerator)
    .bind(row.prefill)
    .bind(row.users_at_limits)
    .bind(row.joules_per_token)
    .bind(row.valid_cells)
    .bind(row.all_cells)
    .run(connection)
    .await?;
    Ok(())
}

/// With a space on each side, so that one of them is found as ` 8192 `.
fn contexts(row: &RunRow) -> String {
    let list: Vec<String> = row.contexts.iter().map(ToString::to_string).collect();
    format!(" {} ", list.join(" "))
}

fn reasons(row: &RunRow) -> String {
    serde_json::Value::from(row.evidence.reasons.clone()).to_string()
}

async fn insert_revision(
    connection: &mut Connection,
    user_id: &str,
    row: &RunRow,
    document: &[u8],
    verification: &[u8],
    note: Option<&str>,
) -> Result<(), StoreError> {
    sql("INSERT INTO revisions (run_id, revision, user_id, created_at, note, content_sha256, document, \
         verification) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")
    .bind(&row.id)
    .bind(row.revision)
    .bind(user_id)
    .bind(row.revised_at)
    .bind(note)
    .bind(&row.content_sha256)
    .bind(packed::pack(document))
    .bind(verification)
    .run(connection)
    .await?;
    Ok(())
}

async fn insert_cell(connection: &mut Connection, run_id: &str, cell: &CellRow) -> Result<(), StoreError> {
    sql(
        "INSERT INTO cells (run_id, name, phase, context, concurrency, status, total, total_low, total_high, \
         prefill_rate, ttft_p50, per_request_p50, joules_per_token, acceptance_length) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    )
    .bind(run_id)
    .bind(&cell.name)
    .bind(cell.phase)
    .bind(cell.context)
    .bind(cell.concurrency)
    .bind(cell.status)
    .bind(cell.total.map(|total| total.value))
    .bind(cell.total.and_then(|total| total.low))
    .bind(cell.total.and_then(|total| total.high))
    .bind(cell.prefill_rate)
    .bind(cell.ttft_p50)
    .bind(cell.per_request_p50)
    .bind(cell.joules_per_token)
    .bind(cell.acceptance_length)
    .run(connection)
    .await?;
    Ok(())
}

/// A revision changes title and note; the numbers, and with them the check of them, stay.
async fn revise(
    connection: &mut Connection,
    user_id: &str,
    row: &RunRow,
    document: &[u8],
    note: Option<&str>,
) -> Result<bool, StoreError> {
    let updated = sql("UPDATE runs SET revision = $1, revised_at = $2, title = $3, content_sha256 = $4 \
         WHERE id = $5 AND revision = $1 - 1 AND shelf <> 'withdrawn'")
    .bind(row.revision)
    .bind(row.revised_at)
    .bind(&row.title)
    .bind(&row.content_sha256)
    .bind(&row.id)
    .run(connection)
    .await?;
    if updated == 0 {
        return Ok(false);
    }
    let before = sql("SELECT verification FROM revisions WHERE run_id = $1 AND revision = $2 - 1")
        .bind(&row.id)
        .bind(row.revision)
        .one(connection)
        .await?;
    let verification: Vec<u8> = before.get(0)?;
    insert_revision(connection, user_id, row, document, &verification, note).await?;
    changed(connection).await?;
    Ok(true)
}
