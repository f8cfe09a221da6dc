//! A table as the SQLite file describes it.

use super::PAGE;
use crate::store::database::Connection;
use crate::store::sql::{Row, Sql, Value, sql};
use crate::store::{StoreError, damaged};

/// A table: its columns, and the key that its rows are sorted by.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: String,
    columns: Vec<Column>,
    /// Places of the key's columns.
    key: Vec<usize>,
    /// Tables that its rows refer to.
    refers_to: Vec<String>,
}

#[derive(Debug)]
struct Column {
    name: String,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Integer,
    Real,
    Text,
    Bytes,
}

impl Table {
    /// Every table of a file, each behind those that it refers to.
    pub(super) async fn all(connection: &mut Connection) -> Result<Vec<Table>, StoreError> {
        let names = sql("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' \
             AND name NOT LIKE '%migrations' ORDER BY name")
        .all(connection)
        .await?;
        let mut left = Vec::new();
        for name in names {
            left.push(Table::of(connection, name.get(0)?).await?);
        }
        let mut sorted: Vec<Table> = Vec::new();
        while !left.is_empty() {
            let is_free = |table: &Table| {
                table.refers_to.iter().all(|name| sorted.iter().any(|done| done.name == *name))
            };
            let place = left.iter().position(is_free);
            let place = place.ok_or_else(|| damaged("the order of tables", "they refer to each other"))?;
            sorted.push(left.remove(place));
        }
        Ok(sorted)
    }

    async fn of(connection: &mut Connection, name: String) -> Result<Table, StoreError> {
        let found = sql("SELECT name, type, pk FROM pragma_table_info($1) ORDER BY cid")
            .bind(&name)
            .all(connection)
            .await?;
        let (mut columns, mut key) = (Vec::new(), Vec::new());
        for row in &found {
            let kind = match row.get::<&str, _>(1)? {
                "INTEGER" => Kind::Integer,
                "REAL" => Kind::Real,
                "TEXT" => Kind::Text,
                "BLOB" => Kind::Bytes,
                other => return Err(damaged("the type of a column", format_args!("{name}: {other}"))),
            };
            let place: i64 = row.get(2)?;
            if place > 0 {
                key.push((place, columns.len()));
            }
            columns.push(Column { name: row.get(0)?, kind });
        }
        if key.is_empty() {
            return Err(damaged("the key of a table", &name));
        }
        key.sort_unstable();
        let others = sql("SELECT DISTINCT \"table\" FROM pragma_foreign_key_list($1)")
            .bind(&name)
            .all(connection)
            .await?;
        let others: Vec<String> = others.iter().map(|row| row.get(0)).collect::<Result<_, _>>()?;
        let refers_to = others.into_iter().filter(|other| *other != name).collect();
        Ok(Table { name, columns, key: key.into_iter().map(|(_, column)| column).collect(), refers_to })
    }

    /// The next rows behind a key; none: the first ones. Both databases sort alike, by value and by byte.
    pub(super) async fn page(
        &self,
        connection: &mut Connection,
        behind: Option<&[Value]>,
    ) -> Result<Vec<Vec<Value>>, StoreError> {
        let key: Vec<String> = self.key.iter().map(|place| quoted(&self.columns[*place].name)).collect();
        let key = key.join(", ");
        let behind_it = if behind.is_some() {
            let places: Vec<String> = (1..=self.key.len()).map(|number| format!("${number}")).collect();
            format!(" WHERE ({key}) > ({})", places.join(", "))
        } else {
            String::new()
        };
        let (columns, name) = (self.list(), quoted(&self.name));
        let text = format!("SELECT {columns} FROM {name}{behind_it} ORDER BY {key} LIMIT {PAGE}");
        let query = behind.unwrap_or_default().iter().cloned().fold(Sql::of_schema(text), Sql::bind);
        query.all(connection).await?.iter().map(|row| self.values(row)).collect()
    }

    /// The names of all columns.
    fn list(&self) -> String {
        self.columns.iter().map(|column| quoted(&column.name)).collect::<Vec<_>>().join(", ")
    }

    fn values(&self, row: &Row) -> Result<Vec<Value>, StoreError> {
        let value = |(place, column): (usize, &Column)| {
            Ok(match column.kind {
                Kind::Integer => row.get::<Option<i64>, _>(place)?.into(),
                Kind::Real => row.get::<Option<f64>, _>(place)?.into(),
                Kind::Text => row.get::<Option<String>, _>(place)?.into(),
                Kind::Bytes => row.get::<Option<Vec<u8>>, _>(place)?.into(),
            })
        };
        self.columns.iter().enumerate().map(value).collect()
    }

    /// The key of a row.
    pub(super) fn key_of(&self, row: &[Value]) -> Vec<Value> {
        self.key.iter().map(|place| row[*place].clone()).collect()
    }

    /// Adds rows.
    pub(super) async fn insert(
        &self,
        connection: &mut Connection,
        rows: &[Vec<Value>],
    ) -> Result<(), StoreError> {
        let begin = format!("INSERT INTO {} ({}) VALUES ", quoted(&self.name), self.list());
        let mut query = Sql::of_schema(begin);
        for (number, row) in rows.iter().enumerate() {
            query.push(if number == 0 { "(" } else { ", (" });
            for (place, value) in row.iter().enumerate() {
                query.push(if place == 0 { "" } else { ", " }).push_bind(value.clone());
            }
            query.push(")");
        }
        query.run(connection).await?;
        Ok(())
    }
}

/// A name that may be a word of SQL.
fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}
