//! A statement as both databases take it, and the rows that it finds.
//!
//! Parameters are numbered (`$1`), and of four kinds: integers of 64 bits, floating point, text, bytes. Text of a
//! statement is `&'static str` in each part ([`Sql::of_schema`] aside), so nothing that a client sent can become one.

mod row;
mod value;

use std::borrow::Cow;
use std::fmt::Write;

use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Encode, Type};

use super::StoreError;
use super::database::{Connection, postgres};

pub(super) use row::Row;
pub(super) use value::Value;

/// A statement with the values of its parameters.
#[derive(Debug)]
pub(super) struct Sql {
    text: Cow<'static, str>,
    values: Vec<Value>,
}

/// Begins a statement.
pub(super) fn sql(text: &'static str) -> Sql {
    Sql { text: Cow::Borrowed(text), values: Vec::new() }
}

impl Sql {
    /// A statement about a table whose name and columns were read from a database, both made by our own migrations.
    pub(super) fn of_schema(text: String) -> Sql {
        Sql { text: Cow::Owned(text), values: Vec::new() }
    }

    /// Gives the next parameter its value.
    pub(super) fn bind(mut self, value: impl Into<Value>) -> Sql {
        self.values.push(value.into());
        self
    }

    /// With more text.
    pub(super) fn add(mut self, text: &'static str) -> Sql {
        self.push(text);
        self
    }

    /// Adds text.
    pub(super) fn push(&mut self, text: &'static str) -> &mut Sql {
        self.text.to_mut().push_str(text);
        self
    }

    /// Adds a parameter and its value.
    pub(super) fn push_bind(&mut self, value: impl Into<Value>) -> &mut Sql {
        self.values.push(value.into());
        // Writing to a string can't fail.
        let _ = write!(self.text.to_mut(), "${}", self.values.len());
        self
    }

    /// Does it; how many rows it changed.
    pub(super) async fn run(self, connection: &mut Connection) -> Result<u64, StoreError> {
        Ok(match connection {
            Connection::Sqlite(lent) => self.query().execute(&mut **lent).await?.rows_affected(),
            Connection::Postgres(lent) => {
                let done = self.query().execute(&mut **lent).await;
                postgres::looked_at(done, lent).await?.rows_affected()
            }
        })
    }

    /// All rows that it finds.
    pub(super) async fn all(self, connection: &mut Connection) -> Result<Vec<Row>, StoreError> {
        Ok(match connection {
            Connection::Sqlite(lent) => self.query().map(Row::Sqlite).fetch_all(&mut **lent).await?,
            Connection::Postgres(lent) => {
                let found = self.query().map(Row::Postgres).fetch_all(&mut **lent).await;
                postgres::looked_at(found, lent).await?
            }
        })
    }

    /// The row that it finds, if it finds one.
    pub(super) async fn maybe(self, connection: &mut Connection) -> Result<Option<Row>, StoreError> {
        Ok(match connection {
            Connection::Sqlite(lent) => self.query().fetch_optional(&mut **lent).await?.map(Row::Sqlite),
            Connection::Postgres(lent) => {
                let found = self.query().fetch_optional(&mut **lent).await;
                postgres::looked_at(found, lent).await?.map(Row::Postgres)
            }
        })
    }

    /// The one row that it finds.
    pub(super) async fn one(self, connection: &mut Connection) -> Result<Row, StoreError> {
        Ok(self.maybe(connection).await?.ok_or(sqlx::Error::RowNotFound)?)
    }

    fn query<DB>(self) -> Query<'static, DB, DB::Arguments>
    where
        DB: sqlx::Database,
        Option<i64>: Encode<'static, DB> + Type<DB>,
        Option<f64>: Encode<'static, DB> + Type<DB>,
        Option<String>: Encode<'static, DB> + Type<DB>,
        Option<Vec<u8>>: Encode<'static, DB> + Type<DB>,
    {
        // Safe: see the head of this file.
        let query = sqlx::query(AssertSqlSafe(self.text));
        self.values.into_iter().fold(query, |query, value| match value {
            Value::Integer(value) => query.bind(value),
            Value::Real(value) => query.bind(value),
            Value::Text(value) => query.bind(value),
            Value::Bytes(value) => query.bind(value),
        })
    }
}
