//! A Parquet file of one plain table, for readers of other tools: every column may be null, and what it means is in the
//! file's metadata.

use serde::Serialize;

use super::Writer;
use super::column::Column;

/// What a column of a table holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text, UTF-8.
    Text,
    /// Floating point.
    Real,
    /// An integer of 64 bits.
    Whole,
    /// A time: milliseconds since 1970, UTC.
    Time,
}

/// Values of one column, a row after the other.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Of [`Kind::Text`].
    Text(Vec<Option<String>>),
    /// Of [`Kind::Real`].
    Real(Vec<Option<f64>>),
    /// Of [`Kind::Whole`] and [`Kind::Time`].
    Whole(Vec<Option<i64>>),
}

/// A table that is being written, in memory.
pub struct Table(Writer<Vec<u8>>);

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Table")
    }
}

impl Table {
    /// Begins a table with these columns. Names are words of small letters, digits and `_`.
    pub fn new(name: &str, columns: &[(&str, Kind)]) -> Result<Table, String> {
        let field = |(name, kind): &(&str, Kind)| {
            let field = match kind {
                Kind::Text => format!("binary {name} (STRING)"),
                Kind::Real => format!("double {name}"),
                Kind::Whole => format!("int64 {name} (INTEGER(64, true))"),
                Kind::Time => format!("int64 {name} (TIMESTAMP(MILLIS, true))"),
            };
            format!("optional {field};")
        };
        let fields: Vec<String> = columns.iter().map(field).collect();
        let schema = format!("message {name} {{ {} }}", fields.join(" "));
        Writer::new(Vec::new(), &schema, &[]).map(Table)
    }

    /// Adds rows, as a row group of their own. `values` gives those of a column, one for each row.
    pub fn add(&mut self, rows: usize, values: impl Fn(&str) -> Option<Values>) -> Result<(), String> {
        if rows == 0 {
            return Ok(());
        }
        self.0.group("", rows, |name| {
            let column = match values(name) {
                None => return Ok(None),
                Some(Values::Text(values)) => Column::text(values.into_iter().map(Ok))?,
                Some(Values::Real(values)) => Column::f64(values.into_iter()),
                Some(Values::Whole(values)) => {
                    Column::u64(values.into_iter().map(|value| value.map(i64::cast_unsigned)))
                }
            };
            Ok(Some(column))
        })
    }

    /// The file. `meta` is what belongs to the whole: JSON in its metadata, under `tokometer`.
    pub fn finish(self, meta: &impl Serialize) -> Result<Vec<u8>, String> {
        self.0.finish(meta)
    }
}
