//! How long lists are, beside the one that is shown: those of the other shelves, and of the last days.

use super::sql::sql;
use super::{Store, StoreError, damaged, list};
use crate::domain::{Filters, ListCounts, Millis, RunQuery};

impl Store {
    /// How long the lists of every shelf are with a query's filters in force, and how many rows of its own shelf are
    /// as young as each of these times, whatever span the query itself is narrowed to.
    pub async fn counts(&self, query: &RunQuery, since: &[Millis]) -> Result<ListCounts, StoreError> {
        let mut sql = sql("SELECT shelf");
        for at in [query.filters.since.unwrap_or(Millis::MIN)].iter().chain(since) {
            sql.push(", COUNT(*) FILTER (WHERE published_at >= ").push_bind(*at).push(")");
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
        for row in sql.all(&mut self.database.reader().await?).await? {
            let shelf = row.get::<&str, _>(0)?.parse().map_err(|why: String| damaged("a shelf", why))?;
            counts.shelves.push((shelf, row.number(1)?));
            if shelf == query.shelf {
                for (place, count) in counts.since.iter_mut().enumerate() {
                    *count = row.number(place + 2)?;
                }
            }
        }
        Ok(counts)
    }
}
