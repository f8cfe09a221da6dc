//! Lists of runs: filters, order, pages.

use super::rows::run_row;
use super::sql::{Sql, Value, sql};
use super::{Store, StoreError};
use crate::domain::{Cursor, Filters, Goal, RunList, RunQuery};

impl Store {
    /// A page of a list.
    pub async fn list(&self, query: &RunQuery) -> Result<RunList, StoreError> {
        let mut sql = sql("SELECT * FROM runs WHERE shelf = ");
        sql.push_bind(query.shelf.code());
        if query.fold {
            sql.push(" AND is_lead = 1");
        }
        narrow(&mut sql, &query.filters);
        facets(&mut sql, &query.filters);
        let column = column(query.goal);
        if let Some(cursor) = &query.after {
            behind(&mut sql, column, query.goal.higher_is_better(), cursor);
        }
        let order = if query.goal.higher_is_better() { " DESC NULLS LAST, id" } else { " NULLS LAST, id" };
        sql.push(" ORDER BY ").push(column).push(order);
        // One more tells whether the list goes on.
        let limit = query.limit.clamp(1, RunQuery::MOST);
        sql.push(" LIMIT ").push_bind(limit + 1);
        let found = sql.all(&mut self.database.reader().await?).await?;
        let mut rows = found.iter().map(run_row).collect::<Result<Vec<_>, _>>()?;
        let goes_on = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let next = rows
            .last()
            .filter(|_| goes_on)
            .map(|row| Cursor { figure: row.figure(query.goal), id: row.id.clone() });
        Ok(RunList { rows, next })
    }
}

fn column(goal: Goal) -> &'static str {
    match goal {
        Goal::Users => "users_at_limits",
        Goal::OneUser => "one_user",
        Goal::Peak => "peak",
        Goal::PeakPerAccelerator => "peak_per_accelerator",
        Goal::Prefill => "prefill",
        Goal::Energy => "joules_per_token",
        Goal::Newest => "published_at",
    }
}

fn behind(sql: &mut Sql, column: &'static str, falling: bool, cursor: &Cursor) {
    match cursor.figure {
        Some(figure) => {
            sql.push(" AND (").push(column).push(if falling { " < " } else { " > " }).push_bind(figure);
            sql.push(" OR (").push(column).push(" = ").push_bind(figure);
            sql.push(" AND id > ").push_bind(&cursor.id);
            sql.push(") OR ").push(column).push(" IS NULL)");
        }
        None => {
            sql.push(" AND ").push(column).push(" IS NULL AND id > ").push_bind(&cursor.id);
        }
    }
}

/// Filters that are no facets.
pub(super) fn narrow(sql: &mut Sql, filters: &Filters) {
    if let Some(since) = filters.since {
        sql.push(" AND published_at >= ").push_bind(since);
    }
    for (column, value) in
        [("handle", &filters.submitter), ("group_hash", &filters.group), ("series_hash", &filters.series)]
    {
        if let Some(value) = value {
            sql.push(" AND ").push(column).push(" = ").push_bind(value);
        }
    }
    if let Some(text) = &filters.text {
        let pattern = format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"))
            .to_ascii_lowercase();
        sql.push(" AND (");
        for (index, column) in ["title", "model", "hardware", "engine", "handle"].into_iter().enumerate() {
            sql.push(if index == 0 { "" } else { " OR " }).push("LOWER(").push(column).push(") LIKE ");
            sql.push_bind(&pattern).push(" ESCAPE '\\'");
        }
        sql.push(")");
    }
}

/// Facets.
pub(super) fn facets(sql: &mut Sql, filters: &Filters) {
    for (column, values) in [
        ("model", &filters.model),
        ("hardware", &filters.hardware),
        ("engine", &filters.engine),
        ("engine_version", &filters.engine_version),
        ("quantization", &filters.quantization),
        ("speculative", &filters.speculative),
    ] {
        one_of(sql, column, values.iter());
    }
    one_of(sql, "accelerators", filters.accelerators.iter().copied());
    if let Some(level) = filters.evidence {
        sql.push(" AND evidence >= ").push_bind(level.number());
    }
    if !filters.context.is_empty() {
        sql.push(" AND (");
        for (index, context) in filters.context.iter().enumerate() {
            sql.push(if index == 0 { "" } else { " OR " });
            sql.push("contexts LIKE ").push_bind(format!("% {context} %"));
        }
        sql.push(")");
    }
}

fn one_of(sql: &mut Sql, column: &'static str, values: impl ExactSizeIterator<Item = impl Into<Value>>) {
    if values.len() == 0 {
        return;
    }
    sql.push(" AND ").push(column).push(" IN (");
    for (index, value) in values.enumerate() {
        sql.push(if index == 0 { "" } else { ", " }).push_bind(value);
    }
    sql.push(")");
}
