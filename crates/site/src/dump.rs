//! The public tables as Parquet files: every run that is listed and was measured, and its cells.
//!
//! A dump is made once a day by one of the processes that serve the site ([`keep`]), and by `tokometer site dump`. Its
//! files lie with the other files by hash, so every process can serve them. What was taken down is in no dump: one that
//! holds a run which is taken down later is withheld from that moment on, and made anew.

mod columns;

use serde::Serialize;
use serde_json::{Value, json};
use tokometer_record::columnar::table::Table;

use crate::app::App;
use crate::artefacts::Hash;
use crate::clock;
use crate::domain::{CellRow, Dump, DumpFile, RunRow};
use crate::store::{Store, StoreError};

pub(crate) use columns::{Described, described};

/// The licence of the data, and where it is.
pub(crate) const LICENCE: (&str, &str) = ("CC-BY-4.0", "https://creativecommons.org/licenses/by/4.0/");
/// Version of names and meanings of columns: raised where one changes or goes.
pub(crate) const SCHEMA: &str = "tokometer.dump/1";
/// Tables of a dump.
pub(crate) const TABLES: [&str; 2] = ["runs", "cells"];
/// Dumps that are kept.
const KEPT: u32 = 14;
/// Runs of one row group.
const PAGE: u32 = 1000;

/// Why a dump could not be made.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file could not be kept.
    #[error("a file of the dump could not be kept: {0}; check the space where files are kept")]
    File(#[from] std::io::Error),
    /// A table could not be written.
    #[error("a table of the dump could not be written: {0}; this is a fault of tokometer, please report it")]
    Table(String),
}

/// Files of a dump with their bytes.
pub(crate) type Made = Vec<(DumpFile, Vec<u8>)>;

/// Makes the dump of a day.
pub(crate) async fn make(store: &Store, day: &str) -> Result<Made, DumpError> {
    let table = |name: &str, columns: Vec<_>| Table::new(name, &columns).map_err(DumpError::Table);
    let mut runs = table("runs", columns::kinds(columns::RUNS))?;
    let mut cells = table("cells", columns::kinds(columns::CELLS))?;
    let (mut run_rows, mut cell_rows) = (0, 0);
    let mut after = String::new();
    loop {
        let page: Vec<RunRow> = store.dumped_runs(&after, PAGE).await?;
        let Some(last) = page.last().map(|row| row.id.clone()) else { break };
        let of_page: Vec<(String, CellRow)> = store.dumped_cells(&after, &last).await?;
        runs.add(page.len(), |name| columns::values(columns::RUNS, name, &page)).map_err(DumpError::Table)?;
        cells
            .add(of_page.len(), |name| columns::values(columns::CELLS, name, &of_page))
            .map_err(DumpError::Table)?;
        run_rows += page.len() as u64;
        cell_rows += of_page.len() as u64;
        after = last;
    }
    let whole = |table: Table, name: &str, rows: u64| -> Result<(DumpFile, Vec<u8>), DumpError> {
        let bytes = table.finish(&Meta::of(name, day)).map_err(DumpError::Table)?;
        let sha256 = tokometer_record::store::sha256(&bytes);
        Ok((DumpFile { table: name.to_owned(), sha256, bytes: bytes.len() as u64, rows }, bytes))
    };
    Ok(vec![whole(runs, TABLES[0], run_rows)?, whole(cells, TABLES[1], cell_rows)?])
}

/// What the metadata of a file says.
#[derive(Serialize)]
struct Meta<'a> {
    schema: &'static str,
    table: &'a str,
    day: &'a str,
    licence: &'static str,
    licence_url: &'static str,
    columns: Vec<Value>,
}

impl<'a> Meta<'a> {
    fn of(table: &'a str, day: &'a str) -> Meta<'a> {
        let columns = described(table).into_iter().map(|column| json!(column)).collect();
        Meta { schema: SCHEMA, table, day, licence: LICENCE.0, licence_url: LICENCE.1, columns }
    }
}

/// The day of a time: `2026-12-01`, UTC.
pub(crate) fn day(at: crate::domain::Millis) -> String {
    clock::text(at).chars().take(10).collect()
}

/// Clears old dumps away. A file that somebody has sent too, or that another dump has, stays.
async fn clear(app: &App) -> Result<(), DumpError> {
    let _alone = app.store.hold_files_alone().await?;
    for text in app.store.forget_dumps(KEPT).await? {
        let Some(name) = Hash::parse(&text) else { continue };
        let is_sent = app.store.missing_artefacts(std::slice::from_ref(&text)).await?.is_empty();
        if is_sent || app.store.is_dump_file(&text).await? {
            continue;
        }
        if let Err(error) = app.artefacts.remove(&name).await {
            tracing::warn!(%error, file = text, "a file of an old dump stays");
        }
    }
    Ok(())
}

/// Makes today's dump if nobody has, and clears away old ones. True if it made one.
pub(crate) async fn keep(app: &App) -> Result<bool, DumpError> {
    clear(app).await?;
    let today = day(clock::now());
    let is_there = app.store.dumps().await?.first().is_some_and(|dump| dump.day == today);
    // Of an empty site there is nothing to tell.
    if is_there || app.store.count_addresses().await? == 0 {
        return Ok(false);
    }
    // A run that comes meanwhile may or may not be in it; one that is taken down meanwhile withholds it.
    let made_at = clock::now();
    if !app.store.claim_dump(&today, made_at).await? {
        return Ok(false);
    }
    let mut files = Vec::new();
    let made = make(&app.store, &today).await?;
    let _held = app.store.hold_files().await?;
    for (file, bytes) in made {
        if let Some(name) = Hash::parse(&file.sha256) {
            app.artefacts.put(&name, bytes.into()).await?;
        }
        files.push(file);
    }
    app.store.add_dump(&Dump { day: today.clone(), made_at, files }).await?;
    tracing::info!(day = today, "the dump of the day is made");
    Ok(true)
}
