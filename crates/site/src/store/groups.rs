//! Runs of one group: who stands for it, what they say together, and whether they replicate each other.

use std::collections::BTreeSet;

use super::database::Connection;
use super::rows::{headline, row_in, run_row};
use super::sql::sql;
use super::{changed, moderation};
use crate::domain::{EvidenceLevel, GroupFacts, ModerationEntry, RunRow, Shelf};
use crate::store::StoreError;
use crate::trust::replicates;

/// Runs of a group that are looked at for one another's replicates: the newest.
const COMPARED: usize = 40;

/// Finds anew what the rows of a group say of each other.
pub(super) async fn settle(connection: &mut Connection, group_hash: &str) -> Result<(), StoreError> {
    let rows = sql("SELECT * FROM runs WHERE group_hash = $1 ORDER BY published_at DESC, id DESC")
        .bind(group_hash)
        .all(connection)
        .await?;
    let mut members = Vec::new();
    for row in &rows {
        let own: i64 = row.get("own_evidence")?;
        let own = EvidenceLevel::of_number(own).unwrap_or(EvidenceLevel::Reported);
        members.push((run_row(row)?, row.get::<String, _>("user_id")?, own));
    }
    for shelf in [Shelf::Ranked, Shelf::Reported, Shelf::Simulated, Shelf::Withdrawn] {
        let mut of_shelf: Vec<(RunRow, String, EvidenceLevel)> =
            members.iter().filter(|(row, ..)| row.shelf == shelf).cloned().collect();
        let facts = if of_shelf.len() > 1 && shelf == Shelf::Ranked {
            facts(connection, &of_shelf).await?
        } else {
            Vec::new()
        };
        for (index, (row, _, own)) in of_shelf.iter_mut().enumerate() {
            let replicated = facts.get(index).and_then(|mine| replicates::replicated(mine, &facts));
            replicates::judge(&mut row.evidence, *own, replicated.as_deref());
        }
        save(connection, shelf, &of_shelf).await?;
    }
    Ok(())
}

/// The rates of the runs that may replicate each other.
async fn facts(
    connection: &mut Connection,
    members: &[(RunRow, String, EvidenceLevel)],
) -> Result<Vec<GroupFacts>, StoreError> {
    let mut facts = Vec::new();
    for (row, user_id, own) in members.iter().take(COMPARED) {
        let found = sql("SELECT name, total, total_low, total_high FROM cells \
             WHERE run_id = $1 AND phase = 'decode' AND status = 'valid' AND total IS NOT NULL")
        .bind(&row.id)
        .all(connection)
        .await?;
        let mut rates = Vec::new();
        for cell in &found {
            if let Some(rate) = headline(cell, "total", "total_low", "total_high")? {
                rates.push((cell.get("name")?, rate));
            }
        }
        facts.push(GroupFacts { id: row.id.clone(), user_id: user_id.clone(), own: *own, rates });
    }
    Ok(facts)
}

async fn save(
    connection: &mut Connection,
    shelf: Shelf,
    members: &[(RunRow, String, EvidenceLevel)],
) -> Result<(), StoreError> {
    // The best proved stands for them; of equal ones the newest.
    let lead = members
        .iter()
        .max_by_key(|(row, ..)| (row.evidence.level, row.published_at, &row.id))
        .map(|(row, ..)| row.id.clone());
    let spread = replicates::spread(&members.iter().map(|(row, ..)| row));
    let spread = serde_json::to_string(&spread).unwrap_or_else(|_| "{}".to_owned());
    let submitters: BTreeSet<&str> = members.iter().map(|(_, user, _)| user.as_str()).collect();
    for (row, ..) in members {
        let is_lead = shelf != Shelf::Withdrawn && lead.as_deref() == Some(row.id.as_str());
        sql("UPDATE runs SET evidence = $1, evidence_reasons = $2, is_lead = $3, replicates = $4, \
             submitters = $5, spread = $6 WHERE id = $7")
        .bind(row.evidence.level.number())
        .bind(serde_json::Value::from(row.evidence.reasons.clone()).to_string())
        .bind(is_lead)
        .bind(members.len() as u32)
        .bind(submitters.len() as u32)
        .bind(&spread)
        .bind(&row.id)
        .run(connection)
        .await?;
    }
    Ok(())
}

/// Puts a run on the shelf of what was taken down, with a reason, or back to where it belongs, without.
pub(super) async fn put(
    connection: &mut Connection,
    run_id: &str,
    withdrawn: Option<&str>,
    entry: &ModerationEntry,
) -> Result<bool, StoreError> {
    let Some(row) = row_in(connection, run_id).await? else { return Ok(false) };
    if (row.shelf == Shelf::Withdrawn) == withdrawn.is_some() {
        return Ok(false);
    }
    let shelf = match withdrawn {
        Some(_) => Shelf::Withdrawn,
        None => home(connection, run_id).await?,
    };
    sql("UPDATE runs SET shelf = $1, withdrawn_reason = $2 WHERE id = $3")
        .bind(shelf.code())
        .bind(withdrawn)
        .bind(run_id)
        .run(connection)
        .await?;
    let mut entry = entry.clone();
    if withdrawn.is_some() {
        // Whatever clocks say: it comes after the dumps that are begun already, and they may hold it.
        let last = sql("SELECT MAX(COALESCE(made_at, claimed_at)) FROM dumps").one(connection).await?;
        entry.at = entry.at.max(last.get::<Option<i64>, _>(0)?.unwrap_or(0));
    }
    moderation::log(connection, &entry).await?;
    settle(connection, &row.group_hash).await?;
    changed(connection).await?;
    Ok(true)
}

/// The shelf of a run that nobody took down.
async fn home(connection: &mut Connection, run_id: &str) -> Result<Shelf, StoreError> {
    let row =
        sql("SELECT own_evidence, is_simulated FROM runs WHERE id = $1").bind(run_id).one(connection).await?;
    let own = EvidenceLevel::of_number(row.get(0)?).unwrap_or(EvidenceLevel::Reported);
    Ok(Shelf::of(row.flag(1)?, own))
}
