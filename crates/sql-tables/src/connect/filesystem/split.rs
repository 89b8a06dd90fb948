//! The source of one split: its files are read one after the other.
//!
//! Promise: every record of the version of a file that was found becomes rows or a counted bad record, or the
//! query fails with an error that names file and place. A file that is removed, replaced, shortened or
//! written to between being found and being read to its end fails with SOURCE_CHANGED.
//!
//! Position: the files with their identities, and a place in the open file; see `split/position.rs`.
//!
//! A watched directory is listed again when all of its files are read and the interval has passed. A path is
//! read once. A file that is replaced, rewritten or appended to after it was read is not read again. Flink
//! ignores this silently. Here each such version is a bad record of the table: it fails the query with
//! SOURCE_CHANGED, unless the table skips or diverts bad records and so counts it. The list of files read
//! keeps a file as long as it exists. A file that is missing at one listing and comes back under its name is
//! read again (Flink keeps the names of files forever).
//!
//! Source: Flink, `ContinuousFileSplitEnumerator`, whose `pathsAlreadyProcessed` are compared by path alone.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMillisecondArray};
use arrow::datatypes::SchemaRef;
use thalweg_connectors::csv::{Position as FilePosition, SourceFile};
use thalweg_model::disk::{Disk, FileIdentity};
use thalweg_model::{Allowance, Fault, ProcessingTime, SourceStatus, StateError, StateReader, StateWriter};
use thalweg_sql_formats::{Decoder, Format, Position, RowKind};
use thalweg_sql_functions::functions::cast::bind_cast;
use thalweg_sql_functions::functions::{Context, column};
use thalweg_sql_functions::types::{INSTANT_ZONE, SqlType};
use thalweg_sql_functions::values::{ColumnarValue, ScalarValue};

mod position;

use super::ahead::lines::{Lines, LinesAhead, Taken};
use super::ahead::{Pieces, look_again};
use super::listing::{Found, Listing};
use super::parquet::{OpenPages, ParquetColumn, ParquetFile, RowRanges};
use super::{FileFormat, FileSystem};
use crate::connect::World;
use crate::connect::bad::{BadRecords, SavedBad};
use crate::connect::decoding::{Decoding, More, Resume, Step};
use crate::connect::error::ConnectError;
use crate::connect::files::{Files, absolute};
use crate::connect::layout::{batch_of, record_columns, schema_of};
use crate::scan::rows::{PolledRows, RowSource, Rows};
use crate::table::TableColumnKind;

/// The most bytes of files that one poll of a source reads, with rows or without, before other tasks may run.
/// They are far more than the records of one batch.
const POLL_BYTES_MAX: usize = 8 << 20;

/// How long a split waits before it tries again to reserve the memory for opening its next file: 1 ms, far
/// less than reading a file takes.
const ASK_AGAIN_NS: u64 = 1_000_000;

/// The parameters for reading the files of a table, which all of its splits share.
pub(super) struct Reading {
    pub(super) listing: Listing,
    pub(super) files: Arc<dyn Files>,
    pub(super) context: Context,
    pub(super) pages: Arc<OpenPages>,
    /// The usual number of bytes of the pieces of a file that several tasks decode.
    pub(super) piece_bytes: usize,
    content: Content,
    /// The interval between two listings of a watched directory; `None` if the directory is not watched.
    watch_ns: Option<u64>,
    default_partition: String,
    schema: SchemaRef,
    /// For each requested column, where its values come from.
    columns: Vec<From>,
    constants: Vec<Constant>,
}

enum Content {
    Lines { format: Format, wanted: Vec<usize> },
    Columns(Vec<ParquetColumn>),
}

/// Where the values of a requested column come from.
#[derive(Clone, Copy)]
enum From {
    /// The column comes from the records of the file. The number is its index among the columns that are
    /// read.
    Records(usize),
    /// The column has one value for the whole file. The number is its index in [`Reading::constants`].
    File(usize),
}

/// A column that has a single value for all rows of a file.
struct Constant {
    name: String,
    of: SqlType,
    is: Told,
}

enum Told {
    /// The column is a partition key. The number is its index among the partition keys of the table.
    Partition(usize),
    /// The column is metadata of the connector, with this key.
    Metadata(String),
}

impl Reading {
    pub(super) fn new(of: &FileSystem<'_>, wanted: &[usize], world: &World) -> Self {
        let table = of.table;
        let held = record_columns(table);
        let (mut columns, mut constants, mut read) = (Vec::new(), Vec::new(), Vec::new());
        for place in wanted {
            let declared = &table.columns[*place];
            let is = match (&declared.kind, of.partitions.iter().position(|known| known == place)) {
                (TableColumnKind::Metadata { key, .. }, _) => Told::Metadata(key.clone()),
                (_, Some(key)) => Told::Partition(key),
                (_, None) => {
                    columns.push(From::Records(read.len()));
                    read.extend(held.iter().position(|known| known == place));
                    continue;
                }
            };
            columns.push(From::File(constants.len()));
            constants.push(Constant { name: declared.name.clone(), of: declared.of.clone(), is });
        }
        let content = match &of.format {
            FileFormat::Lines(format) => Content::Lines { format: format.clone(), wanted: read },
            FileFormat::Parquet(_) => {
                let column = |place: &usize| ParquetColumn::of(&table.columns[held[*place]]);
                Content::Columns(read.iter().map(column).collect())
            }
        };
        let name = |place: &usize| table.columns[*place].name.clone();
        let keys = of.partitions.iter().map(name).collect();
        Reading {
            listing: Listing { root: world.path(of.path), pattern: of.pattern.clone(), keys },
            files: Arc::clone(&world.files),
            context: Context { zone: world.zone, clock: Arc::clone(&world.clock) },
            pages: Arc::default(),
            piece_bytes: world.division.piece_bytes,
            content,
            watch_ns: of.watch.map(|interval| u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX)),
            default_partition: of.default_partition.clone(),
            schema: schema_of(table, wanted),
            columns,
            constants,
        }
    }

    /// Returns a decoder of the records of the files; `None` for Parquet files.
    pub(super) fn decoder(&self) -> Option<Box<dyn Decoder>> {
        match &self.content {
            Content::Lines { format, wanted } => Some(format.decoder(wanted)),
            Content::Columns(_) => None,
        }
    }

    /// Returns the values that are constant for a file: its partition values and its metadata.
    fn told(&self, file: &Found) -> Result<Vec<ScalarValue>, ConnectError> {
        let partitions = self.listing.values(&file.path).unwrap_or_default();
        let value = |constant: &Constant| {
            let (from, value): (SqlType, ArrayRef) = match &constant.is {
                Told::Partition(key) => {
                    let text = partitions.get(*key).filter(|text| **text != self.default_partition);
                    let text = text.map(|text| match text.split_once('T') {
                        // Directory names have timestamps as Java prints them, without the seconds if these
                        // are 0. So missing seconds are added.
                        Some((date, time)) if constant.of.is_timestamp() => {
                            let seconds = if time.len() == "12:30".len() { ":00" } else { "" };
                            format!("{date} {time}{seconds}")
                        }
                        _ => text.clone(),
                    });
                    (SqlType::STRING, Arc::new(StringArray::from(vec![text])))
                }
                Told::Metadata(key) => metadata(key, file),
            };
            // An instant in the name of a partition is in UTC, whatever the session's zone.
            let zone = match constant.is {
                Told::Partition(_) => chrono_tz::Tz::UTC,
                Told::Metadata(_) => self.context.zone,
            };
            let context = Context { zone, clock: Arc::clone(&self.context.clock) };
            let cast = || -> Result<ScalarValue, String> {
                let bound = bind_cast(&from, true, &constant.of, false, &context)
                    .map_err(|error| error.to_string())?;
                let made = bound
                    .kernel
                    .evaluate(&[ColumnarValue::Array(Arc::clone(&value))], 1)
                    .and_then(|made| column(&made, 1))
                    .map_err(|error| error.to_string())?;
                ScalarValue::try_from_array(&made, 0).map_err(|error| error.to_string())
            };
            cast().map_err(|reason| ConnectError::Mismatch {
                path: file.path.clone(),
                column: constant.name.clone(),
                reason,
            })
        };
        self.constants.iter().map(value).collect()
    }

    /// Combines the columns read from a file with the constants of this file into the requested columns.
    fn rows(
        &self,
        file: &OpenFile,
        read: &[ArrayRef],
        count: usize,
        kinds: Option<Vec<RowKind>>,
    ) -> Result<Rows, ConnectError> {
        let corrupt = |reason: String| ConnectError::Corrupt { path: PathBuf::from(&file.name), reason };
        let column = |from: &From| match *from {
            From::Records(place) => Ok(Arc::clone(&read[place])),
            From::File(place) => {
                file.told[place].to_array_of_size(count).map_err(|error| corrupt(error.to_string()))
            }
        };
        let columns = self.columns.iter().map(column).collect::<Result<_, ConnectError>>()?;
        let columns = batch_of(&self.schema, columns, count)
            .ok_or_else(|| corrupt("a column that is NOT NULL has none".to_owned()))?;
        Ok(Rows { columns, kinds })
    }

    /// Opens a file that was found, if it is still the same version, to be read from a place on. Returns `None` if the file
    /// has to wait for memory.
    fn open(
        &self,
        file: &Found,
        resume: Resume,
        allowance: &Allowance,
        helped: &Helped,
    ) -> Result<Option<OpenFile>, ConnectError> {
        let is_there = |identity: io::Result<FileIdentity>| match identity {
            Ok(identity) if identity == file.identity => Ok(()),
            Ok(_) => Err(changed(&file.path, "it was replaced or written to")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(changed(&file.path, "it was removed"))
            }
            Err(error) => Err(ConnectError::unreadable(&file.path, error)),
        };
        is_there(self.files.identity(&file.path))?;
        let content = match &self.content {
            Content::Lines { .. } => {
                let mut lines = SourceFile::open(Arc::clone(&self.files) as Arc<dyn Disk>, &file.path)?;
                is_there(Ok(lines.identity()))?;
                if resume.at.offset > 0 {
                    lines.pass(resume.at.offset, place_of(resume.at))?;
                }
                OpenContent::Lines { file: lines, more: More::Now }
            }
            Content::Columns(columns) => {
                let pieces = helped.ranges.as_ref();
                let opened = ParquetFile::open(
                    self,
                    &file.path,
                    file.identity,
                    columns,
                    resume.rows,
                    allowance,
                    pieces,
                )?;
                let Some(opened) = opened else { return Ok(None) };
                OpenContent::Columns(opened)
            }
        };
        Ok(Some(OpenFile { name: file.path.display().to_string(), told: self.told(file)?, content }))
    }
}

/// Returns the error for a file that was opened in another format than the table's. All files of a table have
/// one format.
fn mixed(name: &str) -> ConnectError {
    let reason = "it was opened as of another format than the table's".to_owned();
    ConnectError::Corrupt { path: PathBuf::from(name), reason }
}

fn changed(path: &Path, change: &str) -> ConnectError {
    ConnectError::Changed { path: path.to_owned(), change: change.to_owned() }
}

/// Returns the value of a metadata column for a file, with its type.
fn metadata(key: &str, file: &Found) -> (SqlType, ArrayRef) {
    let text =
        |text: String| -> (SqlType, ArrayRef) { (SqlType::STRING, Arc::new(StringArray::from(vec![text]))) };
    match key {
        "file.name" => text(file.path.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        "file.size" => {
            let bytes = i64::try_from(file.identity.len_bytes).unwrap_or(i64::MAX);
            (SqlType::BigInt, Arc::new(Int64Array::from(vec![bytes])))
        }
        "file.modification-time" => {
            let millis = i64::try_from(file.identity.modified_ns.div_euclid(1_000_000)).unwrap_or(i64::MAX);
            let column = TimestampMillisecondArray::from(vec![millis]).with_timezone(INSTANT_ZONE);
            (SqlType::TimestampLtz(3), Arc::new(column))
        }
        _ => text(absolute(&file.path).display().to_string()),
    }
}

struct OpenFile {
    name: String,
    told: Vec<ScalarValue>,
    content: OpenContent,
}

enum OpenContent {
    Lines {
        file: SourceFile,
        more: More,
    },
    /// Several tasks decode the lines of the file.
    Ahead(LinesAhead),
    Columns(ParquetFile),
}

/// The pieces of the open file of a split which helpers decode, too, by the content of the files; none if the split has no
/// helpers.
#[derive(Clone, Default)]
pub(super) struct Helped {
    pub(super) lines: Option<Arc<Pieces<Lines>>>,
    pub(super) ranges: Option<Arc<Pieces<RowRanges>>>,
}

impl Helped {
    /// Records that the split was restored from a saved position.
    fn note_restored(&self) {
        self.lines.iter().for_each(|pieces| pieces.note_restored());
        self.ranges.iter().for_each(|pieces| pieces.note_restored());
    }

    /// Records that the split opens no further file.
    fn end(&self) {
        self.lines.iter().for_each(|pieces| pieces.end());
        self.ranges.iter().for_each(|pieces| pieces.end());
    }
}

/// The source of one split, which reads its files one after the other.
pub(super) struct FileSplit {
    reading: Arc<Reading>,
    files: Vec<Found>,
    /// Sum of the bytes of the names of all files. It is kept here, because it is needed after every poll.
    names_bytes: usize,
    /// The index of the file that is open, or that is opened next.
    next: usize,
    /// The place in the next file from which it is read, if it was read up to there before; the file was not opened again yet.
    resume: Option<Resume>,
    /// The count of bad records at a restored position, if the bad records before it are still to be diverted again.
    replay: Option<SavedBad>,
    open: Option<OpenFile>,
    /// The decoder of files of records; `None` for Parquet files.
    decoding: Option<Decoding>,
    bad: BadRecords,
    looked_at: Option<ProcessingTime>,
    allowance: Allowance,
    helped: Helped,
}

impl FileSplit {
    pub(super) fn new(reading: Arc<Reading>, files: Vec<Found>, bad: BadRecords) -> Self {
        let decoding = reading.decoder().map(Decoding::new);
        let (names_bytes, allowance) = (names_bytes(&files), Allowance::default());
        FileSplit {
            reading,
            files,
            names_bytes,
            next: 0,
            resume: None,
            replay: None,
            open: None,
            decoding,
            bad,
            looked_at: None,
            allowance,
            helped: Helped::default(),
        }
    }

    /// Returns the split with helpers, which decode pieces of its files, too.
    pub(super) fn helped(self, helped: Helped) -> Self {
        FileSplit { helped, ..self }
    }

    /// Divides a file that was just opened into pieces, if the split has helpers and the file is long enough. No byte after
    /// the position of the decoder may have been read yet.
    fn divide(&mut self) {
        let (Some(pieces), Some(decoding)) = (&self.helped.lines, &self.decoding) else { return };
        let is_long = |file: &SourceFile| self.reading.piece_bytes as u64 <= file.identity().len_bytes;
        match self.open.take() {
            Some(OpenFile { name, told, content: OpenContent::Lines { file, more: More::Now } })
                if is_long(&file) =>
            {
                let content = match self.reading.decoder() {
                    Some(decoder) => {
                        let resume = decoding.resume(&self.bad);
                        OpenContent::Ahead(LinesAhead::open(
                            pieces,
                            file,
                            decoder,
                            resume,
                            self.reading.piece_bytes,
                        ))
                    }
                    None => OpenContent::Lines { file, more: More::Now },
                };
                self.open = Some(OpenFile { name, told, content });
            }
            open => self.open = open,
        }
    }

    fn read(&mut self, now: ProcessingTime, rows_max: usize) -> Result<PolledRows, ConnectError> {
        let mut left_bytes = POLL_BYTES_MAX;
        loop {
            if self.open.is_none() {
                let Some(status) = self.open_next(now)? else {
                    self.divide();
                    continue;
                };
                if status == SourceStatus::Ended {
                    self.helped.end();
                }
                return Ok(PolledRows { rows: None, status });
            }
            let Some(open) = &mut self.open else { continue };
            let rows = match (&mut open.content, &mut self.decoding) {
                (OpenContent::Columns(file), _) => match file.next(rows_max, &self.reading)? {
                    Taken::Rows(rows, kinds) => Some((rows.num_rows(), rows.columns().to_vec(), kinds)),
                    Taken::Waits | Taken::Pauses => {
                        return Ok(PolledRows { rows: None, status: look_again(now) });
                    }
                    Taken::End => None,
                },
                (OpenContent::Lines { file, more }, Some(decoding)) => {
                    let then = if left_bytes == 0 { More::Later } else { *more };
                    match decoding.step(rows_max, then, &open.name, &mut self.bad)? {
                        Step::Rows(rows, kinds) => Some((rows.num_rows(), rows.columns().to_vec(), kinds)),
                        Step::WantsBytes if *more == More::Never => None,
                        Step::WantsBytes if left_bytes == 0 => {
                            return Ok(PolledRows { rows: None, status: SourceStatus::Ready });
                        }
                        Step::WantsBytes => {
                            let count = fill(file, decoding, usize::MAX)?;
                            *more = if count == 0 { More::Never } else { More::Now };
                            left_bytes = left_bytes.saturating_sub(count);
                            continue;
                        }
                    }
                }
                (OpenContent::Ahead(file), Some(decoding)) => {
                    match file.step(rows_max, &mut left_bytes, decoding, &open.name, &mut self.bad)? {
                        Taken::Rows(rows, kinds) => Some((rows.num_rows(), rows.columns().to_vec(), kinds)),
                        Taken::Waits => return Ok(PolledRows { rows: None, status: look_again(now) }),
                        Taken::Pauses => {
                            return Ok(PolledRows { rows: None, status: SourceStatus::Ready });
                        }
                        Taken::End => None,
                    }
                }
                (OpenContent::Lines { .. } | OpenContent::Ahead(_), None) => return Err(mixed(&open.name)),
            };
            match rows {
                Some((count, columns, kinds)) => {
                    let rows = Some(self.reading.rows(open, &columns, count, kinds)?);
                    return Ok(PolledRows { rows, status: SourceStatus::Ready });
                }
                None => self.close()?,
            }
        }
    }

    /// Closes the open file after it was read completely.
    fn close(&mut self) -> Result<(), ConnectError> {
        if let Some(file) = self.files.get(self.next)
            && self.decoding.as_ref().is_some_and(|decoding| !decoding.has_dropped_all())
        {
            return Err(changed(&file.path, "it has fewer rows than were read of it before"));
        }
        if let Some(decoding) = &mut self.decoding {
            let lines = match self.open.as_ref().map(|open| &open.content) {
                Some(OpenContent::Ahead(file)) => file.lines(),
                _ => decoding.lines(),
            };
            self.bad.pass_input(lines);
            decoding.start(Position::default());
        }
        self.open = None;
        self.next += 1;
        Ok(())
    }

    /// Opens the next file. Returns the status of the source if there is no next file, or the file cannot be
    /// opened yet.
    fn open_next(&mut self, now: ProcessingTime) -> Result<Option<SourceStatus>, ConnectError> {
        loop {
            if let Some(file) = self.files.get(self.next) {
                let resume = self.resume.unwrap_or_default();
                self.open = self.reading.open(file, resume, &self.allowance, &self.helped)?;
                if self.open.is_none() {
                    return Ok(Some(SourceStatus::IdleUntil(now.plus_nanos(ASK_AGAIN_NS))));
                }
                self.resume = None;
                if let Some(decoding) = &mut self.decoding {
                    // If bad records are diverted again, they are counted again, too.
                    let known = if self.bad.diverts() { 0 } else { resume.bad };
                    decoding.start_again(Resume { bad: known, ..resume }, &mut self.bad);
                }
                return Ok(None);
            }
            let Some(watch_ns) = self.reading.watch_ns else {
                self.bad.finish()?;
                return Ok(Some(SourceStatus::Ended));
            };
            // The first listing of the directory was made when the table was opened, so the interval begins
            // with the first poll.
            let look_at = self.looked_at.get_or_insert(now).plus_nanos(watch_ns);
            if now < look_at {
                return Ok(Some(SourceStatus::IdleUntil(look_at)));
            }
            self.looked_at = Some(now);
            self.look()?;
        }
    }

    /// Lists the watched directory: adds new files, and forgets the files that no longer exist.
    fn look(&mut self) -> Result<(), ConnectError> {
        let Reading { listing, files, .. } = self.reading.as_ref();
        let found = listing
            .files(files.as_ref())
            .map_err(|source| ConnectError::unreadable(&listing.root, source))?;
        let mut there: HashMap<PathBuf, FileIdentity> =
            found.iter().map(|file| (file.path.clone(), file.identity)).collect();
        self.files.retain(|file| there.contains_key(&file.path));
        self.next = self.files.len();
        for file in &mut self.files {
            if let Some(identity) = there.remove(&file.path)
                && identity != file.identity
            {
                // The new identity is kept, so that each change of a file is reported once.
                (file.identity, file.has_changed) = (identity, true);
                self.bad.take_change(&file.path)?;
            }
        }
        // The remaining files of the listing were not read before, so they are added.
        self.files.extend(found.into_iter().filter(|file| there.contains_key(&file.path)));
        self.names_bytes = names_bytes(&self.files);
        Ok(())
    }
}

fn names_bytes(files: &[Found]) -> usize {
    files.iter().map(|file| file.path.as_os_str().len() + size_of::<Found>()).sum()
}

/// Reads as many bytes of a file as the decoding buffer has room for, at most `most`.
fn fill(file: &mut SourceFile, decoding: &mut Decoding, most: usize) -> Result<usize, ConnectError> {
    let at = place_of(decoding.position());
    let room = decoding.room();
    let most = room.len().min(most);
    let count = file.read(&mut room[..most], at)?;
    decoding.filled(count);
    Ok(count)
}

pub(super) fn place_of(position: Position) -> FilePosition {
    FilePosition { line: position.lines + 1, offset_bytes: position.offset }
}

impl RowSource for FileSplit {
    fn poll(&mut self, now: ProcessingTime, rows_max: usize) -> Result<PolledRows, Fault> {
        self.divert_again()?;
        Ok(self.read(now, rows_max.max(1)).map_err(|error| self.bad.publish_up_to(error))?)
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.allowance = allowance.clone();
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(self.bad.finish()?)
    }

    fn bad_count(&self) -> u64 {
        self.bad.count()
    }

    fn held_bytes(&self) -> usize {
        let open = match self.open.as_ref().map(|open| &open.content) {
            Some(OpenContent::Lines { file, .. }) => file.held_bytes(),
            Some(OpenContent::Ahead(file)) => file.held_bytes(),
            Some(OpenContent::Columns(file)) => file.held_bytes(),
            None => 0,
        };
        self.names_bytes
            + open
            + self.decoding.as_ref().map_or(0, Decoding::held_bytes)
            + self.bad.held_bytes()
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        self.save_position(state)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        self.load_position(state)
    }
}
