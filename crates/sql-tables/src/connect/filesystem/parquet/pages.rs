//! The memory needed to read a file, computed from its page headers before any page is decompressed.
//!
//! A page of a few bytes may hold 60 MiB. A batch of rows that refer to one long dictionary entry holds it
//! once for each row. So the headers of all pages that will be read are parsed first: they tell how large
//! pages are, and the entries of a dictionary tell how long the text of a row can be. This gives the number
//! of rows to read at a time, and the memory to ask of the budget while the file is open.
//!
//! Source: Apache Parquet Format, "Data Pages" and `PageHeader` of `parquet.thrift`; Apache Thrift, "Thrift Compact protocol
//! encoding".

use std::fs::File;
use std::io::{self, Error, ErrorKind};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use parquet::basic::Type;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::serialized_reader::SerializedPageReader;

use thalweg_model::{Allowance, Payment};

use crate::batch::BATCH_ROWS_MAX;

#[cfg(test)]
mod tests;

/// The most bytes of text in the rows that are read at a time, unless a single row has more.
const ROWS_BYTES_MAX: usize = 4 << 20;

/// The greatest length of a page header, in bytes. A header may hold statistics with values of any length,
/// but writers truncate these values.
const HEADER_BYTES_MAX: usize = 1 << 20;

/// The number of bytes of a page header that are read first.
const HEADER_BYTES: usize = 256;

/// The memory needed to read a Parquet file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Needs {
    /// The number of rows of the file to read at a time.
    pub(super) rows: usize,
    /// Bytes of the pages and dictionaries in memory at once, and of the rows that are read at a time.
    pub(super) bytes: usize,
    /// The most bytes of the values of these rows.
    pub(super) rows_bytes: usize,
}

/// Reads the page headers of some columns in all row groups, and computes the memory needed to read these
/// columns. `allowance` reserves the memory of a long dictionary while its entries are read.
pub(super) fn needs(
    file: &File,
    metadata: &ParquetMetaData,
    allowance: &Allowance,
    is_read: impl Fn(usize) -> bool,
) -> io::Result<Needs> {
    let file = Arc::new(file.try_clone()?);
    let leaves = metadata.file_metadata().schema_descr().num_columns();
    // `page_bytes` sums the bytes of the pages that are in memory at once, over all columns. `row_bytes` sums
    // the greatest bytes of one value, over all columns.
    let (mut page_bytes, mut row_bytes) = (0_usize, 1_usize);
    for leaf in (0..leaves).filter(|leaf| is_read(*leaf)) {
        let (mut pages, mut row) = (0, 0);
        for group in metadata.row_groups() {
            let chunk = group.column(leaf);
            let rows = usize::try_from(group.num_rows()).unwrap_or_default();
            let of_chunk = of_chunk(&file, chunk, rows, allowance)?;
            pages = pages.max(of_chunk.pages);
            row = row.max(of_chunk.row);
        }
        page_bytes = page_bytes.saturating_add(pages);
        row_bytes = row_bytes.saturating_add(row);
    }
    let rows = (ROWS_BYTES_MAX / row_bytes).clamp(1, BATCH_ROWS_MAX);
    // The bytes of rows count twice, because rows are held as they were read and as values of the table's
    // types.
    let rows_bytes = rows.saturating_mul(row_bytes);
    Ok(Needs { rows, bytes: page_bytes.saturating_add(rows_bytes.saturating_mul(2)), rows_bytes })
}

/// Memory needed to read one column chunk of a Parquet file.
struct OfChunk {
    pages: usize,
    /// An upper bound of the bytes of the chunk's value in one row.
    row: usize,
}

fn of_chunk(
    file: &Arc<File>,
    chunk: &ColumnChunkMetaData,
    rows: usize,
    allowance: &Allowance,
) -> io::Result<OfChunk> {
    let (start, length) = chunk.byte_range();
    let end = start.saturating_add(length);
    let (mut at, mut values_left) = (start, chunk.num_values());
    let (mut dictionary, mut page, mut value, mut has_dictionary) = (0_usize, 0_usize, 0_usize, false);
    while at < end && values_left > 0 {
        let (header, header_bytes) = read_header(file, at, end)?;
        let (plain, compressed) = (header.uncompressed_bytes, header.compressed_bytes);
        at += (header_bytes + compressed) as u64;
        if header.is_dictionary {
            has_dictionary = true;
            // A dictionary counts twice, because the library keeps the decoded entries beside the page while
            // it reads them.
            dictionary = plain.saturating_mul(2);
            page = page.max(compressed);
            continue;
        }
        page = page.max(plain.saturating_add(compressed));
        values_left = values_left.saturating_sub(header.values.max(1) as i64);
        value = value.max(match header.encoding {
            Encoding::Dictionary => 0,
            Encoding::Whole => plain.div_ceil(header.values.max(1)),
            // With shared prefixes, a stored value of a few bytes may repeat nearly all bytes of the previous
            // value, so the size of the page says little.
            Encoding::Prefixes => unencoded(chunk).unwrap_or(plain),
        });
    }
    let of_type = match chunk.column_type() {
        Type::BYTE_ARRAY if has_dictionary => {
            value.max(longest_entry(file, chunk, rows, dictionary, allowance)?)
        }
        Type::BYTE_ARRAY => value,
        Type::FIXED_LEN_BYTE_ARRAY => usize::try_from(chunk.column_descr().type_length()).unwrap_or_default(),
        _ => 16,
    };
    let values_of_row = usize::try_from(chunk.num_values()).unwrap_or_default().div_ceil(rows.max(1)).max(1);
    Ok(OfChunk { pages: dictionary.saturating_add(page), row: of_type.saturating_mul(values_of_row) })
}

/// Returns the mean length of the values of a column chunk, if its writer has recorded it.
fn unencoded(chunk: &ColumnChunkMetaData) -> Option<usize> {
    let bytes = usize::try_from(chunk.unencoded_byte_array_data_bytes()?).ok()?;
    Some(bytes.div_ceil(usize::try_from(chunk.num_values()).ok()?.max(1)))
}

/// Returns the length of the longest entry of a dictionary. The entries are not read if a full batch stays
/// within [`ROWS_BYTES_MAX`] even when each row holds the whole dictionary, or if the memory budget has no
/// room for them. Then one entry may be as long as the whole dictionary.
fn longest_entry(
    file: &Arc<File>,
    chunk: &ColumnChunkMetaData,
    rows: usize,
    bytes: usize,
    allowance: &Allowance,
) -> io::Result<usize> {
    if bytes.saturating_mul(rows.min(BATCH_ROWS_MAX)) <= ROWS_BYTES_MAX {
        return Ok(bytes / 2);
    }
    let payment = if bytes <= ROWS_BYTES_MAX { Some(Payment::default()) } else { allowance.pay(bytes) };
    let Some(_payment) = payment else { return Ok(bytes / 2) };
    let mut pages = SerializedPageReader::new(Arc::clone(file), chunk, rows, None).map_err(Error::other)?;
    let Some(Page::DictionaryPage { buf, .. }) = pages.get_next_page().map_err(Error::other)? else {
        return Ok(bytes / 2);
    };
    let (mut left, mut longest) = (buf.as_ref(), 0);
    while let Some((length, rest)) = left.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        longest = longest.max(length.min(rest.len()));
        left = rest.get(length..).unwrap_or_default();
    }
    Ok(longest)
}

/// The parts of a Parquet page header that are needed here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Header {
    is_dictionary: bool,
    uncompressed_bytes: usize,
    compressed_bytes: usize,
    values: usize,
    encoding: Encoding,
}

/// The encoding of the values in a Parquet page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Encoding {
    /// Every value in the page is stored in full.
    #[default]
    Whole,
    /// Values in the page are stored as indexes into the dictionary.
    Dictionary,
    /// Each value is stored as the length of the prefix that it shares with the previous value, and the
    /// remaining bytes.
    Prefixes,
}

fn read_header(file: &File, at: u64, end: u64) -> io::Result<(Header, usize)> {
    let mut bytes = Vec::new();
    let mut wanted = HEADER_BYTES;
    loop {
        let there = usize::try_from(end - at).unwrap_or(usize::MAX);
        let length = wanted.min(there);
        bytes.resize(length, 0);
        file.read_exact_at(&mut bytes, at)?;
        let mut reader = Compact { bytes: &bytes, at: 0 };
        match reader.page_header() {
            Some(header) => return Ok((header, reader.at)),
            None if length < there && wanted < HEADER_BYTES_MAX => wanted *= 4,
            None => {
                let message = format!("the page header at byte {at} cannot be read");
                return Err(Error::new(ErrorKind::InvalidData, message));
            }
        }
    }
}

/// A reader of Thrift's compact protocol, as far as page headers need it.
struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The greatest nesting depth of structures in a page header.
const DEPTH_MAX: usize = 8;

impl Compact<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    fn size(&mut self) -> Option<usize> {
        usize::try_from(self.signed()?).ok()
    }

    /// Calls `each` with the number and type of each field of a Thrift structure; `each` reads or skips the
    /// value.
    fn fields(&mut self, mut each: impl FnMut(&mut Self, i64, u8) -> Option<()>) -> Option<()> {
        let mut field = 0;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            field = match head >> 4 {
                0 => self.signed()?,
                step => field.checked_add(i64::from(step))?,
            };
            each(self, field, head & 0x0f)?;
        }
    }

    /// Skips a value of a Thrift type.
    fn skip(&mut self, of: u8, depth: usize) -> Option<()> {
        if depth > DEPTH_MAX {
            return None;
        }
        match of {
            // Fields with the values TRUE and FALSE have no bytes of their own in Thrift.
            1 | 2 => {}
            3 => _ = self.byte()?,
            4..=6 => _ = self.unsigned()?,
            7 => self.at = self.at.checked_add(8)?,
            8 => {
                let length = usize::try_from(self.unsigned()?).ok()?;
                self.at = self.at.checked_add(length)?;
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.unsigned()?,
                    count => u64::from(count),
                };
                for _ in 0..count {
                    let item = head & 0x0f;
                    if item <= 2 {
                        _ = self.byte()?;
                    } else {
                        self.skip(item, depth + 1)?;
                    }
                }
            }
            12 => self.fields(|reader, _, of| reader.skip(of, depth + 1))?,
            _ => return None,
        }
        (self.at <= self.bytes.len()).then_some(())
    }

    fn page_header(&mut self) -> Option<Header> {
        let mut header = Header::default();
        let (mut uncompressed, mut compressed) = (None, None);
        self.fields(|reader, field, of| {
            match (field, of) {
                (1, 5) => header.is_dictionary = reader.signed()? == 2,
                (2, 5) => uncompressed = Some(reader.size()?),
                (3, 5) => compressed = Some(reader.size()?),
                // In DataPageHeader the encoding is the second field, in DataPageHeaderV2 the fourth.
                (5 | 8, 12) => {
                    let encoding_field = if field == 5 { 2 } else { 4 };
                    reader.fields(|reader, inner, of| {
                        match (inner, of) {
                            (1, 5) => header.values = reader.size()?,
                            (inner, 5) if inner == encoding_field => {
                                header.encoding = match reader.signed()? {
                                    2 | 8 => Encoding::Dictionary,
                                    7 => Encoding::Prefixes,
                                    _ => Encoding::Whole,
                                }
                            }
                            (_, of) => reader.skip(of, 1)?,
                        }
                        Some(())
                    })?;
                }
                (_, of) => reader.skip(of, 0)?,
            }
            Some(())
        })?;
        header.uncompressed_bytes = uncompressed?;
        header.compressed_bytes = compressed?;
        Some(header)
    }
}
