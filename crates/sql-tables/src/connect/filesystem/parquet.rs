//! Parquet files, `'format' = 'parquet'`, read and written.
//!
//! Columns are found by their exact names; a column that a file lacks is NULL, and an
//! error if it is declared NOT NULL. Fields of rows are found by
//! name, too, but a missing field is an error; see `parquet/types.rs`. Values are cast to the declared types
//! as CAST does. Timestamps are the exception and are taken unchanged: a file has them in UTC, and a
//! TIMESTAMP shows UTC (`parquet.utc-timezone` = `true`). Timestamps in 96 bits are read, see
//! `parquet/int96.rs`.
//!
//! A record of such a file has no bytes of its own, so there are no bad records: data that cannot be read
//! fails the query with the name of the file. The parquet library may panic on a damaged file; the panic is
//! caught, and the file named. Page checksums are not verified: damage that leaves a file well-formed shows
//! as other values.
//!
//! Source: Flink's documentation, "Parquet Format"; `ParquetVectorizedInputFormat`. Differs from Flink:
//! timestamps are always in UTC, where Flink's default is the zone of its machine; they are written as 64
//! bits in the unit of their type, and not in 96 bits; keys `parquet.*` other than `parquet.utc-timezone` are
//! refused.
//!
//! `parquet/pages.rs` computes the memory of pages, which `parquet/open.rs` reserves in the memory budget before a
//! file is read. A file that changes while it is read is an error.

mod ahead;
mod int96;
mod open;
mod pages;
mod types;

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use ::parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ahead::{BYTES_PER_ROW, RowsAhead};
pub(super) use ahead::{RowRanges, ranges_decoding};
use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::{DataType, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use int96::Seconds;
pub(super) use open::OpenPages;
use open::{PaidPages, Room};
use pages::Needs;
use thalweg_model::Allowance;
use thalweg_model::disk::FileIdentity;
use thalweg_sql_functions::functions::cast::bind_cast;
use thalweg_sql_functions::functions::{Bound, column};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::ColumnarValue;
use types::{cast_plain, plain};

use super::ahead::Pieces;
use super::ahead::lines::Taken;
use super::part::PartFile;
use super::split::Reading;
use crate::connect::error::ConnectError;
use crate::connect::layout::record_columns;
use crate::connect::options::Given;
use crate::error::{Code, SqlError};
use crate::panics::caught;
use crate::table::TableColumn;

/// The number of batches between two checks of a file's identity.
const IDENTITY_CHECK_BATCHES: u64 = if cfg!(test) { 2 } else { 256 };

#[derive(Clone, Debug)]
pub(super) struct ParquetOptions {
    compression: Compression,
}

impl ParquetOptions {
    pub(super) fn bind(given: &mut Given<'_>) -> Result<Self, SqlError> {
        let table = given.table();
        for place in record_columns(table) {
            let declared = &table.columns[place];
            if has_interval(&declared.of) {
                let message = format!("column `{}`: {} has no form in parquet", declared.name, declared.of);
                return Err(SqlError::new(Code::TypeMismatch, message).at(declared.place));
            }
        }
        const ZONE: &str = "parquet.utc-timezone";
        if !given.flag(ZONE, true)? {
            let error =
                SqlError::new(Code::Unsupported, format!("option '{ZONE}': timestamps of files are in UTC"));
            return Err(error.at(given.place(ZONE)).help("write 'true', or leave it out"));
        }
        let compressions = [
            ("SNAPPY", Compression::SNAPPY),
            ("UNCOMPRESSED", Compression::UNCOMPRESSED),
            ("ZSTD", Compression::ZSTD(ZstdLevel::default())),
        ];
        let compression = given.choice("parquet.compression", &compressions, Compression::SNAPPY)?;
        Ok(ParquetOptions { compression })
    }
}

fn has_interval(of: &SqlType) -> bool {
    match of {
        SqlType::DayTime | SqlType::YearMonth | SqlType::Null => true,
        SqlType::Array(item) => has_interval(item),
        SqlType::Map(key, value) => has_interval(key) || has_interval(value),
        SqlType::Row(fields) => fields.iter().any(|(_, of)| has_interval(of)),
        _ => false,
    }
}

/// A column that is requested from the files.
pub(super) struct ParquetColumn {
    name: String,
    of: SqlType,
    is_nullable: bool,
}

impl ParquetColumn {
    pub(super) fn of(column: &TableColumn) -> Self {
        ParquetColumn { name: column.name.clone(), of: column.of.clone(), is_nullable: column.is_nullable }
    }
}

/// A Parquet file that is being read.
pub(super) struct ParquetFile {
    held: Arc<Held>,
    reader: Reader,
    /// The batch of rows that was read last from the file, and how many of its rows were returned.
    waiting: Option<(RecordBatch, usize)>,
    given: u64,
    batches: u64,
    /// The share of the memory budget that the pages of this file occupy; it is given back on drop.
    _pages: PaidPages,
}

/// How the rows of a file are read.
enum Reader {
    /// The reader of the file decodes all rows itself.
    Whole {
        reader: Box<ParquetRecordBatchReader>,
        /// Checks the range of 96-bit timestamps against a second reading in seconds; `None` if all values fit.
        seconds: Option<Box<Seconds>>,
    },
    /// Several tasks decode ranges of rows.
    Ahead(RowsAhead),
}

/// An open file and the columns that are read from it.
struct Held {
    path: PathBuf,
    identity: FileIdentity,
    metadata: ArrowReaderMetadata,
    mask: ProjectionMask,
    columns: Vec<Take>,
    /// The number of rows that are read at a time.
    rows: usize,
}

/// How a table column is computed from the columns of the file.
struct Take {
    name: String,
    of: SqlType,
    is_nullable: bool,
    /// The index of the column among the columns that are read from the file; `None` if the file lacks the
    /// column.
    place: Option<usize>,
    /// The Arrow type to which the file's type is converted first, if they differ.
    plain: Option<DataType>,
    cast: Option<Bound>,
}

impl ParquetFile {
    /// Opens a Parquet file and skips its first `skip` rows. With `pieces`, helpers decode rows of it, too, if the memory
    /// budget has room for that. Returns `None` if the budget has no room for its pages until another open file of the
    /// table is closed.
    pub(super) fn open(
        reading: &Reading,
        path: &Path,
        identity: FileIdentity,
        wanted: &[ParquetColumn],
        skip: u64,
        allowance: &Allowance,
        pieces: Option<&Arc<Pieces<RowRanges>>>,
    ) -> Result<Option<Self>, ConnectError> {
        let file = reading.files.open_file(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                ConnectError::Changed { path: path.to_owned(), change: "it was removed".to_owned() }
            }
            _ => ConnectError::unreadable(path, error),
        })?;
        let failed = |reason: String| failed(reading, path, identity, reason);
        let mut metadata =
            guarded(|| ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())).map_err(failed)?;
        let schema = Arc::clone(metadata.schema());
        // 96-bit timestamps are read in the unit that their column needs.
        let int96_roots = int96::roots(&metadata);
        let unit = |column: &ParquetColumn| {
            let root = schema.index_of(&column.name).ok().filter(|root| int96_roots.contains(root))?;
            Some((root, int96::unit(&column.of)))
        };
        let units: BTreeMap<usize, TimeUnit> = wanted.iter().filter_map(unit).collect();
        if !units.is_empty() {
            metadata =
                guarded(|| int96::in_units(&metadata, &|root| units.get(&root).copied())).map_err(failed)?;
        }
        let schema = Arc::clone(metadata.schema());
        let mut roots: Vec<usize> =
            wanted.iter().filter_map(|column| schema.index_of(&column.name).ok()).collect();
        roots.sort_unstable();
        roots.dedup();
        let mismatch = |column: &ParquetColumn, reason: String| ConnectError::Mismatch {
            path: path.to_owned(),
            column: column.name.clone(),
            reason,
        };
        let take = |column: &ParquetColumn| {
            let found = schema.index_of(&column.name).ok();
            let mut take = Take {
                name: column.name.clone(),
                of: column.of.clone(),
                is_nullable: column.is_nullable,
                place: found.and_then(|root| roots.iter().position(|known| *known == root)),
                plain: None,
                cast: None,
            };
            let Some(root) = found else { return Ok(take) };
            let held = schema.field(root).data_type();
            let mut plain = plain(held, Some(&column.of)).map_err(|reason| mismatch(column, reason))?;
            let from = SqlType::of_arrow(&plain)
                .ok_or_else(|| mismatch(column, format!("{held} of the file is no type of SQL")))?;
            if from == column.of {
                // The type in the file and the declared type are the same SQL type, and differ at most in the
                // names of their parts.
                plain = column.of.arrow();
            } else if plain != column.of.arrow() {
                let bound = bind_cast(&from, true, &column.of, false, &reading.context)
                    .map_err(|error| mismatch(column, error.to_string()))?;
                take.cast = Some(bound);
            }
            take.plain = (plain != *held).then_some(plain);
            Ok(take)
        };
        let columns = wanted.iter().map(take).collect::<Result<Vec<_>, ConnectError>>()?;
        let mask = ProjectionMask::roots(metadata.parquet_schema(), roots.iter().copied());
        if u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or_default() < skip {
            let change = "it has fewer rows than were read of it before".to_owned();
            return Err(ConnectError::Changed { path: path.to_owned(), change });
        }
        let offset = usize::try_from(skip).unwrap_or(usize::MAX);
        let needs =
            guarded(|| pages::needs(&file, metadata.metadata(), allowance, |leaf| mask.leaf_included(leaf)));
        let needs = needs.map_err(failed)?;
        let Needs { rows, bytes, .. } = needs;
        let is_fine = |(root, unit): (&usize, &TimeUnit)| (*unit != TimeUnit::Millisecond).then_some(*root);
        let checked: BTreeSet<usize> = units.iter().filter_map(is_fine).collect();
        // A second reading in seconds goes along with the first, so such a file is not divided.
        let pieces = pieces.filter(|_| checked.is_empty());
        let ahead = pieces.and_then(|pieces| {
            let (batches, pages) = ahead::pay(pieces, &needs, &reading.pages, allowance)?;
            Some((pieces, batches, pages))
        });
        let held = |mask: ProjectionMask, metadata: ArrowReaderMetadata| {
            Arc::new(Held { path: path.to_owned(), identity, metadata, mask, columns, rows })
        };
        if let Some((pieces, batches, pages)) = ahead {
            let held = held(mask, metadata);
            let rows_max = (reading.piece_bytes / BYTES_PER_ROW).min(rows * batches);
            let reader = Reader::Ahead(RowsAhead::open(pieces, Arc::clone(&held), skip, rows_max));
            return Ok(Some(ParquetFile {
                held,
                reader,
                waiting: None,
                given: skip,
                batches: 0,
                _pages: pages,
            }));
        }
        let pages = match reading.pages.pay(bytes, allowance) {
            Room::Paid(pages) => pages,
            Room::Later => return Ok(None),
            Room::None => {
                let (path, budget_bytes) = (path.to_owned(), allowance.limit_bytes());
                return Err(ConnectError::PageTooLarge { path, bytes, budget_bytes });
            }
        };
        let seconds = match checked.is_empty() {
            true => None,
            false => {
                let open = || Seconds::open(file.try_clone()?, &metadata, &roots, &checked, (offset, rows));
                Some(Box::new(guarded(open).map_err(failed)?))
            }
        };
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
        let builder = builder.with_projection(mask.clone()).with_batch_size(rows).with_offset(offset);
        let reader = Box::new(guarded(|| builder.build()).map_err(failed)?);
        Ok(Some(ParquetFile {
            held: held(mask, metadata),
            reader: Reader::Whole { reader, seconds },
            waiting: None,
            given: skip,
            batches: 0,
            _pages: pages,
        }))
    }

    /// Returns at most `rows_max` further rows of the file. At its end, checks that the file was not changed.
    pub(super) fn next(&mut self, rows_max: usize, reading: &Reading) -> Result<Taken, ConnectError> {
        loop {
            if let Some((rows, given)) = &mut self.waiting {
                let count = rows_max.min(rows.num_rows() - *given);
                if count > 0 {
                    let piece = rows.slice(*given, count);
                    *given += count;
                    self.given += count as u64;
                    return Ok(Taken::Rows(piece, None));
                }
                self.waiting = None;
            }
            let Held { path, identity, .. } = self.held.as_ref();
            let (read, is_over) = match &mut self.reader {
                Reader::Whole { reader, seconds } => {
                    let read = guarded(|| reader.next().transpose());
                    let read = read.map_err(|reason| failed(reading, path, *identity, reason))?;
                    let is_over = read.is_none();
                    let fitted = match read {
                        None => None,
                        Some(rows) => {
                            check_range(seconds, &rows, &self.held, reading)?;
                            Some(self.held.fitted(&rows, self.given)?)
                        }
                    };
                    (fitted, is_over)
                }
                Reader::Ahead(ahead) => match ahead.next(reading)? {
                    Taken::Rows(rows, _) => (Some(rows), false),
                    Taken::End => (None, true),
                    other => return Ok(other),
                },
            };
            self.batches += 1;
            if is_over || self.batches.is_multiple_of(IDENTITY_CHECK_BATCHES) {
                check_identity(reading, path, *identity)?;
            }
            match read {
                None => return Ok(Taken::End),
                Some(rows) => self.waiting = Some((rows, 0)),
            }
        }
    }

    /// Returns how many rows of the file were returned, including the rows skipped at its opening.
    pub(super) fn given(&self) -> u64 {
        self.given
    }

    pub(super) fn held_bytes(&self) -> usize {
        let ahead = match &self.reader {
            Reader::Whole { .. } => 0,
            Reader::Ahead(ahead) => ahead.held_bytes(),
        };
        ahead + self.waiting.as_ref().map_or(0, |(rows, _)| rows.get_array_memory_size())
    }
}

/// Fails if a 96-bit timestamp in `rows` does not fit the unit in which it was read.
fn check_range(
    seconds: &mut Option<Box<Seconds>>,
    rows: &RecordBatch,
    held: &Held,
    reading: &Reading,
) -> Result<(), ConnectError> {
    let Some(seconds) = seconds else { return Ok(()) };
    let misfit = guarded(|| seconds.misfit(rows))
        .map_err(|reason| failed(reading, &held.path, held.identity, reason))?;
    match misfit
        .and_then(|(place, at)| Some((held.columns.iter().find(|take| take.place == Some(place))?, at)))
    {
        None => Ok(()),
        Some((take, at)) => Err(ConnectError::Mismatch {
            path: held.path.clone(),
            column: take.name.clone(),
            reason: format!("the timestamp {at} is beyond the range of {}; 3 digits hold it", take.of),
        }),
    }
}

impl Held {
    /// Converts the columns read from the file to the requested columns and types. `before` is the number of rows of the file
    /// before these.
    fn fitted(&self, rows: &RecordBatch, before: u64) -> Result<RecordBatch, ConnectError> {
        let count = rows.num_rows();
        let mismatch = |take: &Take, reason: String| ConnectError::Mismatch {
            path: self.path.clone(),
            column: take.name.clone(),
            reason,
        };
        let column = |take: &Take| -> Result<ArrayRef, ConnectError> {
            let held = match take.place {
                None => new_null_array(&take.of.arrow(), count),
                Some(place) => Arc::clone(rows.column(place)),
            };
            let held = match &take.plain {
                None => held,
                Some(plain) => cast_plain(&held, plain).map_err(|reason| mismatch(take, reason))?,
            };
            let held = match &take.cast {
                None => held,
                Some(bound) => bound
                    .kernel
                    .evaluate(&[ColumnarValue::Array(held)], count)
                    .and_then(|made| column(&made, count))
                    .map_err(|error| mismatch(take, error.to_string()))?,
            };
            if !take.is_nullable && held.null_count() > 0 {
                let row = (0..count).find(|row| held.is_null(*row)).unwrap_or_default() as u64;
                return Err(mismatch(
                    take,
                    format!("row {} is NULL, and the column NOT NULL", before + row + 1),
                ));
            }
            Ok(held)
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>, ConnectError>>()?;
        let field = |take: &Take| take.of.field(&take.name, take.is_nullable);
        let schema: SchemaRef =
            Arc::new(arrow::datatypes::Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()));
        crate::connect::layout::batch_of(&schema, columns, count).ok_or_else(|| ConnectError::Corrupt {
            path: self.path.clone(),
            reason: "its columns are not of the same length".to_owned(),
        })
    }
}

/// Runs a call of the parquet library; its error or panic becomes a text.
fn guarded<T, E: ToString>(run: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    match caught(run) {
        Ok(Ok(made)) => Ok(made),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => Err(format!("it cannot be read at all ({})", said(panic.as_ref()))),
    }
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic")
}

/// Returns the reason why a file cannot be read: a change of the file, if there is one, else the library's
/// error.
fn failed(reading: &Reading, path: &Path, identity: FileIdentity, reason: String) -> ConnectError {
    match check_identity(reading, path, identity) {
        Err(error) => error,
        Ok(()) => ConnectError::Corrupt { path: path.to_owned(), reason },
    }
}

fn check_identity(reading: &Reading, path: &Path, identity: FileIdentity) -> Result<(), ConnectError> {
    let changed = |change: &str| ConnectError::Changed { path: path.to_owned(), change: change.to_owned() };
    match reading.files.identity(path) {
        Ok(there) if there == identity => Ok(()),
        Ok(_) => Err(changed("it was replaced or written to")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(changed("it was removed")),
        Err(error) => Err(ConnectError::unreadable(path, error)),
    }
}

/// Bytes of one column writer before it has rows, which the parquet library does not count: tables of
/// dictionaries and buffers of pages. This is an upper estimate.
const COLUMN_WRITER_BYTES: usize = 4 << 10;

/// A Parquet file that is being written.
pub(super) struct ParquetPart {
    writer: ArrowWriter<PartFile>,
    columns: usize,
}

impl ParquetPart {
    pub(super) fn new(file: PartFile, schema: SchemaRef, options: &ParquetOptions) -> io::Result<Self> {
        let properties = WriterProperties::builder().set_compression(options.compression).build();
        // The Arrow schema is not written into the file: other programs read the file too, and Parquet's own
        // types suffice for them.
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let columns = schema.fields().len();
        let writer = ArrowWriter::try_new_with_options(file, schema, options).map_err(io_error)?;
        Ok(ParquetPart { writer, columns })
    }

    pub(super) fn write(&mut self, rows: &RecordBatch) -> io::Result<()> {
        self.writer.write(rows).map_err(io_error)
    }

    /// Writes the rows collected so far to the file as a row group.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush().map_err(io_error)
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.writer.bytes_written() + self.writer.in_progress_size()) as u64
    }

    /// Returns the bytes of the rows that [`ParquetPart::flush`] would write.
    pub(super) fn gathered_bytes(&self) -> usize {
        self.writer.memory_size()
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.writer.memory_size() + self.columns * COLUMN_WRITER_BYTES
    }

    pub(super) fn file(&self) -> &PartFile {
        self.writer.inner()
    }

    pub(super) fn file_mut(&mut self) -> &mut PartFile {
        self.writer.inner_mut()
    }

    /// Writes the collected rows and the end of the Parquet file. The caller must still give the file its
    /// final name.
    pub(super) fn finish(self) -> io::Result<PartFile> {
        self.writer.into_inner().map_err(io_error)
    }
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    }
}
