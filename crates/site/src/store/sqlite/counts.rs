//! How long lists are, beside the one that is shown: those of the other shelves, and of the last days.

use sqlx::sqlite::SqlitePool;
use sqlx::{QueryBuilder, Row};

use super::list;
use crate::domain::{Filters, ListCounts, Millis, RunQuery};
use crate::store::StoreError;

/// Counts the rows of every shelf with the query's filters in force, and those of the query's shelf that are as young
/// as `since`, whatever span the query itself is narrowed to.
pub(super) async fn counts(
    pool: &SqlitePool,
    query: &RunQuery,
    since: &[Millis],
) -> Result<ListCounts, StoreError> {
    let mut sql = QueryBuilder::new("SELECT shelf, SUM(published_at >= ");
    sql.push_bind(query.filters.since.unwrap_or(Millis::MIN)).push(")");
    for at in since {
        sql.push(", SUM(published_at >= ").push_bind(*at).push(")");
    }
    sql.push(" FROM runs WHERE shelf <> 'withdrawn'");
    if query.fold {
        sql.push(" AND is_lead = 1");
    }
    let filters = Filters { since: None, ..query.filters.clone() };
    list::narrow(&mut sql, &filters);
    list::facets(&mut sql, &filters);
    sql.push(" GROUP BY shelf");
    let mut counts = ListCounts { shelves: Vec::new(), since: vec![0; since.len()] };
    for row in sql.build().fetch_all(pool).await? {
        let shelf =
            row.try_get::<&str, _>(0)?.parse().map_err(|why: String| super::damaged("a shelf", why))?;
        let number = |place: usize| row.try_get::<i64, _>(place).map(|count| count as u64);
        counts.shelves.push((shelf, number(1)?));
        if shelf == query.shelf {
            for (place, count) in counts.since.iter_mut().enumerate() {
                *count = number(place + 2)?;
            }
        }
    }
    Ok(counts)
}
