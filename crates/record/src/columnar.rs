//! What the Parquet files of tokometer have in common: one schema for all kinds of rows, of which the column `row`
//! names the kind, rows of a kind in row groups of their own, and JSON in the file's metadata under `tokometer`.
//!
//! Columns are converted one at a time; no value is boxed per row.

pub(crate) mod column;
mod measure;
pub mod table;

use std::io::Write;

use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use ::parquet::schema::types::ColumnPath;
use bytes::Bytes;
use serde::Serialize;

use column::Column;

pub use measure::{Size, measure};

/// Key of the JSON in a file's metadata.
const META_KEY: &str = "tokometer";
/// Rows of one row group: bounds the memory of a conversion.
const GROUP_ROWS: usize = 1 << 20;

/// A file that is being written, in memory or on disk.
pub(crate) struct Writer<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> Writer<W> {
    /// `schema` lists all columns in order, `growing` names those whose values mostly grow: stored as differences.
    pub(crate) fn new(output: W, schema: &str, growing: &[&str]) -> Result<Writer<W>, String> {
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_created_by(format!("tokometer {}", env!("CARGO_PKG_VERSION")));
        for name in growing {
            properties = properties
                .set_column_dictionary_enabled(ColumnPath::from(*name), false)
                .set_column_encoding(ColumnPath::from(*name), Encoding::DELTA_BINARY_PACKED);
        }
        let schema = parse_message_type(schema).map_err(library)?;
        let writer = SerializedFileWriter::new(output, schema.into(), properties.build().into());
        Ok(Writer(writer.map_err(library)?))
    }

    /// Writes rows of one kind. `column_of` gives the values of a column, or nothing where the kind lacks it.
    pub(crate) fn rows<R>(
        &mut self,
        kind: &str,
        rows: &[R],
        column_of: impl Fn(&str, &[R]) -> Result<Option<Column>, String>,
    ) -> Result<(), String> {
        for rows in rows.chunks(GROUP_ROWS) {
            self.group(kind, rows.len(), |name| column_of(name, rows))?;
        }
        Ok(())
    }

    fn group(
        &mut self,
        kind: &str,
        rows: usize,
        column_of: impl Fn(&str) -> Result<Option<Column>, String>,
    ) -> Result<(), String> {
        let names: Vec<String> =
            self.0.schema_descr().columns().iter().map(|column| column.name().to_owned()).collect();
        let mut group = self.0.next_row_group().map_err(library)?;
        for name in &names {
            let mut slot =
                group.next_column().map_err(library)?.ok_or("fewer columns than the schema has")?;
            if name == "row" {
                Column::write_constant(kind, rows, &mut slot).map_err(library)?;
            } else if let Some(column) = column_of(name)? {
                column.write(&mut slot).map_err(library)?;
            } else {
                Column::write_nulls(rows, &mut slot).map_err(library)?;
            }
            slot.close().map_err(library)?;
        }
        group.close().map_err(library)?;
        Ok(())
    }

    /// The end: what belongs to the whole is added.
    pub(crate) fn finish(mut self, meta: &impl Serialize) -> Result<W, String> {
        let meta = serde_json::to_string(meta).map_err(|error| error.to_string())?;
        self.0.append_key_value_metadata(KeyValue::new(META_KEY.to_owned(), meta));
        self.0.into_inner().map_err(library)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn library(error: ParquetError) -> String {
    error.to_string()
}

/// A file that is being read.
pub(crate) struct Reader(SerializedFileReader<Bytes>);

impl Reader {
    pub(crate) fn new(bytes: Bytes) -> Result<Reader, String> {
        SerializedFileReader::new(bytes).map(Reader).map_err(|error| words(&error))
    }

    /// The JSON of the file's metadata. `what` names the kind of file, for the message where there is none.
    pub(crate) fn meta(&self, what: &str) -> Result<&str, String> {
        let pairs = self.0.metadata().file_metadata().key_value_metadata();
        let own = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == META_KEY));
        own.and_then(|pair| pair.value.as_deref()).ok_or_else(|| format!("a Parquet file, but no {what}"))
    }

    /// Hands over each row group with the kind of its rows.
    pub(crate) fn groups(
        &self,
        mut read: impl FnMut(&str, &Group<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        for index in 0..self.0.num_row_groups() {
            let group = self.0.get_row_group(index).map_err(|error| words(&error))?;
            let group = Group::new(group.as_ref())?;
            let kinds = group.text("row")?;
            let kind = kinds.first().and_then(Option::as_deref).unwrap_or_default();
            if kinds.iter().any(|other| other.as_deref() != Some(kind)) {
                return Err(format!("row group {index} mixes kinds of rows"));
            }
            if !kind.is_empty() {
                read(kind, &group)?;
            }
        }
        Ok(())
    }
}

/// The error for rows of a kind that nobody knows.
pub(crate) fn unknown_kind(kind: &str) -> String {
    format!("rows of an unknown kind {kind:?}")
}

/// An error of the Parquet library in our words.
fn words(error: &ParquetError) -> String {
    format!("no readable Parquet file ({error})")
}

/// The error for a row without a value that every row has.
pub(crate) fn no_value(column: &str) -> String {
    format!("a row without {column}")
}

/// One row group, its columns found by name. A column that an older file lacks reads as null.
pub(crate) struct Group<'a> {
    reader: &'a dyn RowGroupReader,
    pub(crate) rows: usize,
}

impl<'a> Group<'a> {
    fn new(reader: &'a dyn RowGroupReader) -> Result<Group<'a>, String> {
        let rows = usize::try_from(reader.metadata().num_rows()).map_err(|_| "a negative number of rows")?;
        // A file of ours never has more; a larger claim would only serve to exhaust memory.
        if rows > GROUP_ROWS {
            return Err(format!("{rows} rows in one row group, more than the {GROUP_ROWS} of a trace"));
        }
        Ok(Group { reader, rows })
    }

    fn column(&self, name: &str) -> Result<Column, String> {
        let columns = self.reader.metadata().schema_descr();
        match columns.columns().iter().position(|column| column.name() == name) {
            Some(index) => {
                let reader = self.reader.get_column_reader(index).map_err(|error| words(&error))?;
                Column::read(reader, columns.column(index).max_def_level(), self.rows)
                    .map_err(|why| format!("column {name}: {why}"))
            }
            None => Ok(Column::Missing { rows: self.rows }),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Result<Vec<Option<String>>, String> {
        self.column(name)?.into_text().map_err(|why| format!("column {name}: {why}"))
    }

    /// Puts the values of a column, null or not, into rows.
    pub(crate) fn each<R, T>(
        &self,
        name: &str,
        rows: &mut [R],
        convert: impl Fn(Column) -> Result<Vec<Option<T>>, String>,
        put: impl Fn(&mut R, Option<T>),
    ) -> Result<(), String> {
        let values = convert(self.column(name)?).map_err(|why| format!("column {name}: {why}"))?;
        for (row, value) in rows.iter_mut().zip(values) {
            put(row, value);
        }
        Ok(())
    }

    /// Puts the values of a column that has one in every row into rows.
    fn every<R, T>(
        &self,
        name: &str,
        rows: &mut [R],
        convert: impl Fn(Column) -> Result<Vec<Option<T>>, String>,
        put: impl Fn(&mut R, T),
    ) -> Result<(), String> {
        let values = convert(self.column(name)?).map_err(|why| format!("column {name}: {why}"))?;
        for (row, value) in rows.iter_mut().zip(values) {
            put(row, value.ok_or_else(|| no_value(name))?);
        }
        Ok(())
    }

    pub(crate) fn u32<R>(&self, name: &str, rows: &mut [R], put: impl Fn(&mut R, u32)) -> Result<(), String> {
        self.every(name, rows, Column::into_u32, put)
    }

    pub(crate) fn u64<R>(&self, name: &str, rows: &mut [R], put: impl Fn(&mut R, u64)) -> Result<(), String> {
        self.every(name, rows, Column::into_u64, put)
    }

    pub(crate) fn bool<R>(
        &self,
        name: &str,
        rows: &mut [R],
        put: impl Fn(&mut R, bool),
    ) -> Result<(), String> {
        self.every(name, rows, Column::into_bool, put)
    }
}

/// Figures of a kind of rows that may each be null: name of the column, how it is read from a row, how it is put
/// into one.
pub(crate) type Figures<R> = [(&'static str, fn(&R) -> Option<f64>, fn(&mut R, Option<f64>))];

/// The column `name`, if it is one of the figures.
pub(crate) fn figure_column<R>(figures: &Figures<R>, name: &str, rows: &[R]) -> Option<Column> {
    let (_, get, _) = figures.iter().find(|(column, ..)| *column == name)?;
    Some(Column::f64(rows.iter().map(get)))
}

/// Puts all figures of a group into rows.
pub(crate) fn read_figures<R>(figures: &Figures<R>, group: &Group<'_>, rows: &mut [R]) -> Result<(), String> {
    figures.iter().try_for_each(|(name, _, put)| group.each(name, rows, Column::into_f64, put))
}
