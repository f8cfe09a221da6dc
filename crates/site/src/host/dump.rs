//! The public tables as files.

use std::path::Path;

use serde_json::json;

use crate::clock;
use crate::config::Config;
use crate::dump;
use crate::start::{SiteError, open_store};

/// Writes the public tables to a folder as Parquet files, with `dump.json` beside them; how much, in words.
pub async fn dump(config: &Config, to: &Path) -> Result<String, SiteError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| SiteError::Write { path, source }
    };
    std::fs::create_dir_all(to).map_err(failed(to))?;
    let store = open_store(config).await?;
    let now = clock::now();
    let day = dump::day(now);
    let made = dump::make(&store, &day).await;
    store.close().await;
    let mut said = Vec::new();
    let mut files = Vec::new();
    for (file, bytes) in made? {
        let path = to.join(format!("{}.parquet", file.table));
        std::fs::write(&path, bytes).map_err(failed(&path))?;
        said.push(format!("{} {}", file.rows, file.table));
        files.push(file);
    }
    let columns: serde_json::Map<String, serde_json::Value> =
        dump::TABLES.iter().map(|table| ((*table).to_owned(), json!(dump::described(table)))).collect();
    let about = json!({
        "schema": dump::SCHEMA,
        "licence": dump::LICENCE.0,
        "licence_url": dump::LICENCE.1,
        "day": day,
        "made_at": clock::text(now),
        "files": files,
        "columns": columns,
    });
    let path = to.join("dump.json");
    std::fs::write(&path, format!("{about:#}\n")).map_err(failed(&path))?;
    Ok(said.join(" and "))
}
