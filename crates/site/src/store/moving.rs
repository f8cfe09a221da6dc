//! From one database to another: all rows of all tables, in one transaction, each compared afterwards.

mod table;

use super::database::{Connection, Database};
use super::sql::{Sql, Value, sql};
use super::{Store, StoreError};
use table::Table;

/// Rows that are read and written at once.
const PAGE: usize = 100;
/// The one table that has a row from the start.
const SEEDED: &str = "generation";

/// Whether a move is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rehearsal {
    /// All is done, compared, and undone; the target keeps its empty tables.
    Yes,
    /// It stays.
    No,
}

/// What was moved: rows by table, in the order of the move.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Moved {
    /// Name of a table and how many rows it has.
    pub tables: Vec<(String, u64)>,
}

impl Moved {
    /// Rows of one table.
    pub fn rows(&self, table: &str) -> u64 {
        self.tables.iter().find(|(name, _)| name == table).map_or(0, |(_, rows)| *rows)
    }
}

impl Store {
    /// Copies everything of this database, an SQLite file, to another one that has no rows yet, and compares each row
    /// of both before it makes the copy last. What is written to the source meanwhile is not in it.
    ///
    /// # Errors
    /// The target has rows, or its tables are others; a database fails; a row differs. Then the target is as before.
    pub async fn move_to(&self, target: &Store, rehearsal: Rehearsal) -> Result<Moved, StoreError> {
        let mut from = self.database.snapshot().await?;
        let tables = Table::all(&mut from).await?;
        let mut to = target.database.transaction().await?;
        for table in tables.iter().filter(|table| table.name != SEEDED) {
            if !table.page(&mut to, None).await?.is_empty() {
                return Err(StoreError::NotEmpty { table: table.name.clone() });
            }
        }
        sql("DELETE FROM generation").run(&mut to).await?;
        for table in &tables {
            copy(table, &mut from, &mut to).await?;
        }
        let mut moved = Moved::default();
        for table in &tables {
            moved.tables.push((table.name.clone(), compare(table, &mut from, &mut to).await?));
        }
        if matches!(target.database, Database::Postgres(_)) {
            count_on(&tables, &mut to).await?;
        }
        if rehearsal == Rehearsal::No {
            to.commit().await?;
        }
        Ok(moved)
    }
}

async fn copy(table: &Table, from: &mut Connection, to: &mut Connection) -> Result<(), StoreError> {
    let mut last = None;
    loop {
        let rows = table.page(from, last.as_deref()).await?;
        let Some(end) = rows.last() else { return Ok(()) };
        last = Some(table.key_of(end));
        table.insert(to, &rows).await?;
    }
}

/// Reads both side by side; how many rows there are.
async fn compare(table: &Table, from: &mut Connection, to: &mut Connection) -> Result<u64, StoreError> {
    let mut last: Option<Vec<Value>> = None;
    let mut count = 0;
    loop {
        let rows = table.page(from, last.as_deref()).await?;
        let others = table.page(to, last.as_deref()).await?;
        if rows.len() != others.len() {
            return Err(StoreError::Differs { what: format!("the number of rows in {}", table.name) });
        }
        if let Some(place) = rows.iter().zip(&others).position(|(row, other)| row != other) {
            return Err(StoreError::Differs { what: format!("row {} of {}", count + place, table.name) });
        }
        let Some(end) = rows.last() else { return Ok(count as u64) };
        last = Some(table.key_of(end));
        count += rows.len();
    }
}

/// Numbers that the server gives go on behind those that were moved.
async fn count_on(tables: &[Table], to: &mut Connection) -> Result<(), StoreError> {
    for table in tables {
        let found = sql("SELECT column_name::text FROM information_schema.columns \
             WHERE table_schema = current_schema() AND table_name = $1 AND is_identity = 'YES'")
        .bind(&table.name)
        .all(to)
        .await?;
        for row in found {
            let (name, column): (&str, String) = (&table.name, row.get(0)?);
            let text = format!(
                "SELECT setval(pg_get_serial_sequence('{name}', '{column}'), \
                 (SELECT COALESCE(MAX({column}), 0) + 1 FROM {name}), false)"
            );
            Sql::of_schema(text).one(to).await?;
        }
    }
    Ok(())
}
