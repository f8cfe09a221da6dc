//! A row that was found.

use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{ColumnIndex, Decode, Postgres, Row as _, Sqlite, Type};

use crate::store::{StoreError, damaged};

/// A row that was found; columns are named, or counted from 0.
#[derive(Debug)]
pub(in crate::store) enum Row {
    /// Of SQLite.
    Sqlite(SqliteRow),
    /// Of PostgreSQL.
    Postgres(PgRow),
}

impl Row {
    /// What a column holds: `i64`, `f64`, text or bytes, in an `Option` where it may be NULL.
    pub(in crate::store) fn get<'r, T, I>(&'r self, column: I) -> Result<T, StoreError>
    where
        I: ColumnIndex<SqliteRow> + ColumnIndex<PgRow>,
        T: Decode<'r, Sqlite> + Type<Sqlite> + Decode<'r, Postgres> + Type<Postgres>,
    {
        Ok(match self {
            Row::Sqlite(row) => row.try_get(column)?,
            Row::Postgres(row) => row.try_get(column)?,
        })
    }

    /// An integer as a smaller type, or one without a sign.
    pub(in crate::store) fn number<T, I>(&self, column: I) -> Result<T, StoreError>
    where
        I: ColumnIndex<SqliteRow> + ColumnIndex<PgRow>,
        T: TryFrom<i64>,
    {
        fitting(self.get(column)?)
    }

    /// The same where it may be NULL.
    pub(in crate::store) fn maybe_number<T, I>(&self, column: I) -> Result<Option<T>, StoreError>
    where
        I: ColumnIndex<SqliteRow> + ColumnIndex<PgRow>,
        T: TryFrom<i64>,
    {
        self.get::<Option<i64>, _>(column)?.map(fitting).transpose()
    }

    /// A flag, which is kept as 0 or 1.
    pub(in crate::store) fn flag<I>(&self, column: I) -> Result<bool, StoreError>
    where
        I: ColumnIndex<SqliteRow> + ColumnIndex<PgRow>,
    {
        Ok(self.get::<i64, _>(column)? != 0)
    }
}

fn fitting<T: TryFrom<i64>>(value: i64) -> Result<T, StoreError> {
    T::try_from(value).map_err(|_| damaged("a number", format_args!("{value} is out of its bounds")))
}
