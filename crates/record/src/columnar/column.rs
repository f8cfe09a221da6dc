//! One column of a row group: its values, and which rows have one.

use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::column::writer::ColumnWriter;
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::Result;
use ::parquet::file::writer::SerializedColumnWriter;

/// Values of one column. Unsigned numbers are stored in the signed type of their width.
pub(crate) enum Column {
    Bool(Values<bool>),
    Int32(Values<i32>),
    Int64(Values<i64>),
    Double(Values<f64>),
    Text(Values<ByteArray>),
    /// Not in the file: null in every row.
    Missing {
        rows: usize,
    },
}

/// The values that are there, and per row 1 where there is one.
pub(crate) struct Values<T> {
    present: Vec<T>,
    levels: Vec<i16>,
}

impl<T> Values<T> {
    fn collect(values: impl Iterator<Item = Option<T>>) -> Values<T> {
        let (rows, _) = values.size_hint();
        let mut collected = Values { present: Vec::with_capacity(rows), levels: Vec::with_capacity(rows) };
        for value in values {
            collected.levels.push(i16::from(value.is_some()));
            collected.present.extend(value);
        }
        collected
    }

    fn spread<U>(self, convert: impl Fn(T) -> U) -> Vec<Option<U>> {
        let mut present = self.present.into_iter().map(convert);
        self.levels.into_iter().map(|level| if level == 1 { present.next() } else { None }).collect()
    }
}

impl Column {
    pub(crate) fn u32(values: impl Iterator<Item = Option<u32>>) -> Column {
        Column::Int32(Values::collect(values.map(|value| value.map(u32::cast_signed))))
    }

    pub(crate) fn u64(values: impl Iterator<Item = Option<u64>>) -> Column {
        Column::Int64(Values::collect(values.map(|value| value.map(u64::cast_signed))))
    }

    pub(crate) fn f64(values: impl Iterator<Item = Option<f64>>) -> Column {
        Column::Double(Values::collect(values))
    }

    pub(crate) fn bool(values: impl Iterator<Item = Option<bool>>) -> Column {
        Column::Bool(Values::collect(values))
    }

    pub(crate) fn text(
        values: impl Iterator<Item = std::result::Result<Option<String>, String>>,
    ) -> std::result::Result<Column, String> {
        let values: Vec<Option<String>> = values.collect::<std::result::Result<_, String>>()?;
        let bytes = values.into_iter().map(|value| value.map(|text| ByteArray::from(text.into_bytes())));
        Ok(Column::Text(Values::collect(bytes)))
    }

    pub(crate) fn write(&self, slot: &mut SerializedColumnWriter<'_>) -> Result<()> {
        match self {
            Column::Bool(values) => write_values::<BoolType>(values, slot),
            Column::Int32(values) => write_values::<Int32Type>(values, slot),
            Column::Int64(values) => write_values::<Int64Type>(values, slot),
            Column::Double(values) => write_values::<DoubleType>(values, slot),
            Column::Text(values) => write_values::<ByteArrayType>(values, slot),
            Column::Missing { rows } => Column::write_nulls(*rows, slot),
        }
    }

    /// Writes a required column that has the same text in every row.
    pub(crate) fn write_constant(
        text: &str,
        rows: usize,
        slot: &mut SerializedColumnWriter<'_>,
    ) -> Result<()> {
        let values = vec![ByteArray::from(text); rows];
        slot.typed::<ByteArrayType>().write_batch(&values, None, None)?;
        Ok(())
    }

    /// Writes an optional column that is null in every row.
    pub(crate) fn write_nulls(rows: usize, slot: &mut SerializedColumnWriter<'_>) -> Result<()> {
        let levels = Some(vec![0_i16; rows]);
        let levels = levels.as_deref();
        match slot.untyped() {
            ColumnWriter::BoolColumnWriter(writer) => writer.write_batch(&[], levels, None),
            ColumnWriter::Int32ColumnWriter(writer) => writer.write_batch(&[], levels, None),
            ColumnWriter::Int64ColumnWriter(writer) => writer.write_batch(&[], levels, None),
            ColumnWriter::Int96ColumnWriter(writer) => writer.write_batch(&[], levels, None),
            ColumnWriter::FloatColumnWriter(writer) => writer.write_batch(&[], levels, None),
            ColumnWriter::DoubleColumnWriter(writer) => writer.write_batch(&[], levels, None),
            ColumnWriter::ByteArrayColumnWriter(writer) => writer.write_batch(&[], levels, None),
            ColumnWriter::FixedLenByteArrayColumnWriter(writer) => writer.write_batch(&[], levels, None),
        }?;
        Ok(())
    }

    /// Reads a column of `rows` rows; `optional` is its largest definition level, 0 or 1.
    pub(crate) fn read(
        reader: ColumnReader,
        optional: i16,
        rows: usize,
    ) -> std::result::Result<Column, String> {
        match reader {
            ColumnReader::BoolColumnReader(reader) => read_values(reader, optional, rows).map(Column::Bool),
            ColumnReader::Int32ColumnReader(reader) => read_values(reader, optional, rows).map(Column::Int32),
            ColumnReader::Int64ColumnReader(reader) => read_values(reader, optional, rows).map(Column::Int64),
            ColumnReader::DoubleColumnReader(reader) => {
                read_values(reader, optional, rows).map(Column::Double)
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                read_values(reader, optional, rows).map(Column::Text)
            }
            _ => Err("of a type that traces don't use".to_owned()),
        }
    }

    pub(crate) fn into_u32(self) -> std::result::Result<Vec<Option<u32>>, String> {
        match self {
            Column::Int32(values) => Ok(values.spread(i32::cast_unsigned)),
            other => other.nulls_only(),
        }
    }

    pub(crate) fn into_u64(self) -> std::result::Result<Vec<Option<u64>>, String> {
        match self {
            Column::Int64(values) => Ok(values.spread(i64::cast_unsigned)),
            other => other.nulls_only(),
        }
    }

    pub(crate) fn into_f64(self) -> std::result::Result<Vec<Option<f64>>, String> {
        match self {
            Column::Double(values) => Ok(values.spread(|value| value)),
            other => other.nulls_only(),
        }
    }

    pub(crate) fn into_bool(self) -> std::result::Result<Vec<Option<bool>>, String> {
        match self {
            Column::Bool(values) => Ok(values.spread(|value| value)),
            other => other.nulls_only(),
        }
    }

    pub(crate) fn into_text(self) -> std::result::Result<Vec<Option<String>>, String> {
        match self {
            Column::Text(values) => values
                .spread(|bytes| String::from_utf8(bytes.data().to_vec()))
                .into_iter()
                .map(|text| text.transpose().map_err(|_| "text that is no UTF-8".to_owned()))
                .collect(),
            other => other.nulls_only(),
        }
    }

    /// A column that is not there is null in every row; one of another type is an error.
    fn nulls_only<T>(self) -> std::result::Result<Vec<Option<T>>, String> {
        match self {
            Column::Missing { rows } => Ok((0..rows).map(|_| None).collect()),
            _ => Err("of another type than expected".to_owned()),
        }
    }
}

fn write_values<T: DataType>(values: &Values<T::T>, slot: &mut SerializedColumnWriter<'_>) -> Result<()> {
    slot.typed::<T>().write_batch(&values.present, Some(&values.levels), None)?;
    Ok(())
}

fn read_values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    optional: i16,
    rows: usize,
) -> std::result::Result<Values<T::T>, String> {
    let mut present = Vec::with_capacity(rows);
    let mut levels = Vec::with_capacity(rows);
    let (read, _, _) = reader
        .read_records(rows, (optional > 0).then_some(&mut levels), None, &mut present)
        .map_err(|error| error.to_string())?;
    if optional == 0 {
        levels = vec![1; read];
    }
    let values = levels.iter().filter(|&&level| level == 1).count();
    if read == rows && levels.len() == rows && values == present.len() {
        Ok(Values { present, levels })
    } else {
        Err(format!("{read} of {rows} rows can be read"))
    }
}
