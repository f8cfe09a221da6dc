//! How large a Parquet file is when it is unpacked, told without unpacking it.
//!
//! A few kilobytes can be made to unpack to gigabytes. A reader that takes files of strangers asks here first: the
//! counts are those of the headers of pages, which are also what the library makes room by.

use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use bytes::Bytes;

use super::words;

/// What a file holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Rows of all kinds.
    pub rows: u64,
    /// Bytes of its pages, unpacked.
    pub unpacked_bytes: u64,
}

/// Measures a Parquet file, of this program or of any other.
pub fn measure(bytes: &Bytes) -> Result<Size, String> {
    let reader = SerializedFileReader::new(bytes.clone()).map_err(|error| words(&error))?;
    let mut size = Size::default();
    for group in reader.metadata().row_groups() {
        let rows = u64::try_from(group.num_rows()).map_err(|_| "a negative number of rows")?;
        size.rows = size.rows.saturating_add(rows);
        for column in group.columns() {
            let unpacked = pages(chunk(bytes, column)?)?;
            size.unpacked_bytes = size.unpacked_bytes.saturating_add(unpacked);
        }
    }
    Ok(size)
}

/// The bytes of one column of a row group.
fn chunk<'a>(bytes: &'a [u8], column: &ColumnChunkMetaData) -> Result<&'a [u8], String> {
    let outside = || "a column lies outside of the file".to_owned();
    let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
    let start = usize::try_from(start).map_err(|_| outside())?;
    let length = usize::try_from(column.compressed_size()).map_err(|_| outside())?;
    let end = start.checked_add(length).ok_or_else(outside)?;
    bytes.get(start..end).ok_or_else(outside)
}

/// Unpacked bytes of all pages of a column.
fn pages(mut rest: &[u8]) -> Result<u64, String> {
    let mut unpacked = 0_u64;
    while !rest.is_empty() {
        let mut cursor = Cursor { rest };
        let header = cursor.page_header().ok_or("the header of a page can't be read")?;
        unpacked = unpacked.saturating_add(header.unpacked);
        let packed = usize::try_from(header.packed).map_err(|_| "a page without end")?;
        rest = cursor.rest.get(packed..).ok_or("a page is longer than its column")?;
    }
    Ok(unpacked)
}

#[derive(Default)]
struct PageHeader {
    unpacked: u64,
    packed: u64,
}

/// Reads structures as Parquet writes them (Thrift's compact protocol).
struct Cursor<'a> {
    rest: &'a [u8],
}

/// Structures and lists inside each other that are followed.
const DEPTH: u32 = 16;
/// The kind that ends a structure.
const END: u8 = 0;

impl Cursor<'_> {
    fn page_header(&mut self) -> Option<PageHeader> {
        let mut header = PageHeader::default();
        let mut id = 0;
        loop {
            let kind = self.field(&mut id)?;
            match (id, kind) {
                (_, END) => return Some(header),
                // Sizes are never negative; the largest counts where one is there twice.
                (2, 5) => header.unpacked = header.unpacked.max(u64::try_from(self.integer()?).ok()?),
                (3, 5) => header.packed = header.packed.max(u64::try_from(self.integer()?).ok()?),
                _ => self.skip(kind, 0)?,
            }
        }
    }

    /// The kind of the next field, [`END`] at the structure's end; `id` becomes the field's.
    fn field(&mut self, id: &mut i64) -> Option<u8> {
        let head = self.byte()?;
        let (step, kind) = (head >> 4, head & 15);
        if kind != END {
            *id = if step == 0 { self.integer()? } else { id.checked_add(i64::from(step))? };
        }
        Some(kind)
    }

    fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        if depth > DEPTH {
            return None;
        }
        match kind {
            1 | 2 => Some(()),
            3 => self.byte().map(drop),
            4..=6 => self.integer().map(drop),
            7 => self.take(8),
            8 => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.take(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                // Truth values of a list take a byte each.
                let kind = if matches!(head & 15, 1 | 2) { 3 } else { head & 15 };
                (0..count).try_for_each(|_| self.skip(kind, depth + 1))
            }
            12 => {
                let mut id = 0;
                loop {
                    match self.field(&mut id)? {
                        END => return Some(()),
                        kind => self.skip(kind, depth + 1)?,
                    }
                }
            }
            // Maps are in no header of a page.
            _ => None,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn take(&mut self, length: usize) -> Option<()> {
        self.rest = self.rest.get(length..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn integer(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use ::parquet::basic::{Compression, ZstdLevel};
    use ::parquet::data_type::ByteArrayType;
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    fn file(values: &[Vec<u8>]) -> Bytes {
        let schema = parse_message_type("message m { required binary text (STRING); }").unwrap();
        let level = ZstdLevel::try_new(19).unwrap();
        let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
        let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), properties.into()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let values: Vec<_> = values.iter().map(|value| value.clone().into()).collect();
        column.typed::<ByteArrayType>().write_batch(&values, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.into_inner().unwrap().into()
    }

    #[test]
    fn a_bomb_is_known_without_unpacking_it() {
        let bomb = file(&[vec![b'a'; 50_000_000]]);
        assert!(bomb.len() < 100_000, "{}", bomb.len());
        let size = measure(&bomb).unwrap();
        assert_eq!(size.rows, 1);
        assert!(size.unpacked_bytes >= 50_000_000, "{size:?}");
        let small = measure(&file(&[b"one".to_vec(), b"two".to_vec()])).unwrap();
        assert!(small.rows == 2 && small.unpacked_bytes < 1000, "{small:?}");
    }

    #[test]
    fn what_is_cut_is_refused() {
        let whole = file(&[b"one".to_vec()]);
        assert!(measure(&Bytes::new()).is_err());
        assert!(measure(&whole.slice(..whole.len() - 9)).is_err());
        for length in 0..40 {
            // Whatever the bytes are, it comes to an end.
            let _ = pages(&whole[..length]);
        }
    }
}
