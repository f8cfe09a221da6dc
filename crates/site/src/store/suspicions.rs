//! The queue of runs that are worth a moderator's look.

use super::database::Connection;
use super::rows::cell_row;
use super::sql::{Row, sql};
use super::{Store, StoreError, damaged};
use crate::domain::{Action, CellRow, Kin, Millis, NewRun, NewSuspicion, Shelf, Suspicion, SuspicionKind};
use crate::trust::suspicion;

/// Runs that may be the same, looked at closely.
const ALIKE: u32 = 20;
/// Rows of like runs that a run is held against, the newest.
const KIN: u32 = 20_000;

impl Store {
    /// Open suspicions of runs that are shown, newest first.
    pub async fn suspicions(&self, limit: u32) -> Result<Vec<Suspicion>, StoreError> {
        let mut reader = self.database.reader().await?;
        let rows = sql("SELECT suspicions.* FROM suspicions JOIN runs ON runs.id = suspicions.run_id \
             WHERE closed_at IS NULL AND shelf <> 'withdrawn' ORDER BY suspicions.id DESC LIMIT $1")
        .bind(limit)
        .all(&mut reader)
        .await?;
        rows.iter().map(suspicion_of).collect()
    }

    /// Puts a suspicion aside, with a reason. False if there is no open one of this number.
    pub async fn dismiss(&self, id: i64, by: &str, reason: &str, now: Millis) -> Result<bool, StoreError> {
        let closed = sql("UPDATE suspicions SET closed_at = $1, closed_by = $2, resolution = $3 \
             WHERE id = $4 AND closed_at IS NULL")
        .bind(now)
        .bind(by)
        .bind(reason)
        .bind(id)
        .run(&mut self.database.writer().await?)
        .await?;
        Ok(closed == 1)
    }
}

/// Looks at a run that was just added, and keeps what is odd about it.
pub(super) async fn look(connection: &mut Connection, new: &NewRun) -> Result<(), StoreError> {
    // What is simulated says nothing of hardware, and the same profile gives the same figures.
    if new.row.shelf == Shelf::Simulated {
        return Ok(());
    }
    let mut found: Vec<NewSuspicion> = Vec::new();
    for (action, reason) in &new.log {
        if *action == Action::Implausible {
            found.push(NewSuspicion { kind: SuspicionKind::Bound, other_id: None, text: reason.clone() });
        }
    }
    found.extend(suspicion::power(&new.row, &new.cells));
    found.extend(near_duplicate(connection, new).await?);
    found.extend(suspicion::outliers(&new.cells, &kin(connection, new).await?));
    for one in found {
        sql("INSERT INTO suspicions (run_id, kind, other_id, text, found_at) VALUES ($1, $2, $3, $4, $5)")
            .bind(&new.row.id)
            .bind(one.kind.code())
            .bind(one.other_id.as_deref())
            .bind(&one.text)
            .bind(new.row.published_at)
            .run(connection)
            .await?;
    }
    Ok(())
}

async fn near_duplicate(
    connection: &mut Connection,
    new: &NewRun,
) -> Result<Option<NewSuspicion>, StoreError> {
    let alike =
        sql("SELECT other.run_id FROM cells mine JOIN cells other ON other.ttft_p50 = mine.ttft_p50 \
         AND other.name = mine.name AND other.run_id <> mine.run_id JOIN runs ON runs.id = other.run_id \
         WHERE mine.run_id = $1 AND mine.ttft_p50 IS NOT NULL AND runs.is_simulated = 0 \
         GROUP BY other.run_id ORDER BY COUNT(*) DESC, other.run_id LIMIT $2")
        .bind(&new.row.id)
        .bind(ALIKE)
        .all(connection)
        .await?;
    for row in &alike {
        let other: String = row.get(0)?;
        let cells = sql("SELECT * FROM cells WHERE run_id = $1").bind(&other).all(connection).await?;
        let cells = cells.iter().map(cell_row).collect::<Result<Vec<CellRow>, _>>()?;
        if let Some(found) = suspicion::near_duplicate(&new.cells, &other, &cells) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Rates of valid cells of other ranked runs with the same model, precision, hardware and speculative decoding.
async fn kin(connection: &mut Connection, new: &NewRun) -> Result<Vec<Kin>, StoreError> {
    let row = &new.row;
    let rows = sql("SELECT cells.run_id, cells.name, cells.total, cells.prefill_rate, runs.group_hash \
         FROM runs JOIN cells ON cells.run_id = runs.id WHERE runs.shelf = 'ranked' AND runs.id <> $1 \
         AND runs.model = $2 AND runs.hardware = $3 AND runs.quantization = $4 AND runs.speculative = $5 \
         AND COALESCE(runs.accelerators, 0) = $6 AND cells.status = 'valid' \
         ORDER BY runs.published_at DESC LIMIT $7")
    .bind(&row.id)
    .bind(&row.model)
    .bind(&row.hardware)
    .bind(&row.quantization)
    .bind(&row.speculative)
    .bind(row.accelerators.unwrap_or(0))
    .bind(KIN)
    .all(connection)
    .await?;
    let mut kin = Vec::new();
    for found in &rows {
        let rate = found.get::<Option<f64>, _>("total")?.or(found.get("prefill_rate")?);
        if let Some(rate) = rate {
            kin.push(Kin {
                run_id: found.get("run_id")?,
                is_replicate: found.get::<&str, _>("group_hash")? == row.group_hash,
                cell: found.get("name")?,
                rate,
            });
        }
    }
    Ok(kin)
}

fn suspicion_of(row: &Row) -> Result<Suspicion, StoreError> {
    let kind: &str = row.get("kind")?;
    Ok(Suspicion {
        id: row.get("id")?,
        run_id: row.get("run_id")?,
        kind: kind.parse().map_err(|why: String| damaged("a suspicion", why))?,
        other_id: row.get("other_id")?,
        text: row.get("text")?,
        found_at: row.get("found_at")?,
    })
}
