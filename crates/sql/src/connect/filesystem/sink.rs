//! Rows into files: `part-UID-N` in the directory of the table, or of their partition.
//!
//! A file is written as `.part-UID-N.inprogress`, which readers pass over. It is brought onto the disk and gets its name when
//! it is longer than the table's options allow, open or untouched for too long, and when the query ends. UID is another word
//! in every run, so that no run replaces what another has written.
//!
//! A query that fails, or is cancelled, takes the files away that it has not published; those that it has stay. Times and
//! sizes are looked at between batches, so a file may be a batch longer, and an idle one stays open until rows or a watermark
//! come. At most [`OPEN_PARTS_MAX`] partitions are written at a time: then the one that was written to longest ago is published.
//!
//! With `thalweg.single-file` the path is one file, written as `.NAME.inprogress` and published when the query ends; it is
//! there then even if it is empty, and replaces the file that was there. Nothing but a regular file is replaced, and two sinks
//! of a run do not write to one.
//!
//! Source: Flink's documentation, "FileSystem SQL Connector", "Rolling Policy", "Partition Commit"; `FileSystemTableSink`.
//! Differs from Flink: files are published when they are closed, and not with the next checkpoint; partitions are committed as
//! soon as one of their files is published; a table without partitions has its success file, too.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::UInt32Array;
use arrow::compute::take_record_batch;
use arrow::record_batch::RecordBatch;
use thalweg_connectors::SinkError;
use thalweg_model::disk::Disk;
use thalweg_model::{Clock, EventTime, Fault, ProcessingTime};

use super::part::{Part, Writing, hidden, publish_empty};
use super::{FileFormat, FileSystem, Rolling, partition};
use crate::connect::files::{FileKey, Files, Purpose, Standing, refusal_to_replace};
use crate::connect::java::{JavaText, Use};
use crate::connect::layout::{places_among, record_columns, record_places, schema_of};
use crate::connect::standard::{encoder, failed};
use crate::connect::{RowSink, World};
use crate::error::{Code, SqlError};
use crate::formats::{FormatError, RowKind};

/// How many partitions are written at a time.
pub const OPEN_PARTS_MAX: usize = 128;

/// Rows of columns are gathered before they are written, so many bytes at most in all the files of a table that are open: the
/// default budget of an engine is 256 MiB.
const GATHERED_BYTES_MAX: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// Writes the files of a table.
pub(super) struct FileSink {
    files: Arc<dyn Files>,
    clock: Arc<dyn Clock>,
    /// The directory, or the file if it is only one.
    root: PathBuf,
    is_single: bool,
    writing: Writing,
    rolling: Rolling,
    success: Option<String>,
    unique_name: String,
    /// The places, among the written columns, of those that records hold.
    places: Vec<usize>,
    keys: Vec<Key>,
    default_partition: String,
    /// The files that are written to, by the directories of their partitions.
    open: HashMap<String, Part>,
    count: u64,
    checked_at: Option<ProcessingTime>,
}

/// A column that names partitions.
struct Key {
    /// Its name and `=`.
    name: String,
    /// Its place among the written columns.
    place: usize,
    text: JavaText,
}

impl FileSink {
    pub(super) fn new(of: &FileSystem<'_>, columns: &[usize], world: &World) -> Result<Self, SqlError> {
        let table = of.table;
        let writing = match &of.format {
            FileFormat::Lines(format) => Writing::Lines(encoder(table, format)?),
            FileFormat::Parquet(options) => {
                Writing::Columns(options.clone(), schema_of(table, &record_columns(table)))
            }
        };
        let key = |(place, among): (&usize, usize)| {
            let column = &table.columns[*place];
            let mut name = String::new();
            partition::escape(&column.name, &mut name);
            name.push('=');
            Key { name, place: among, text: JavaText::new(&column.of, Use::Partition) }
        };
        let among = places_among(table, &of.partitions, columns)?;
        let mut sink = FileSink {
            files: Arc::clone(&world.files),
            clock: Arc::clone(&world.clock),
            root: world.path(of.path),
            is_single: of.is_single,
            writing,
            rolling: of.rolling,
            success: of.success.clone(),
            unique_name: world.unique_name(),
            places: record_places(table, columns)?,
            keys: of.partitions.iter().zip(among).map(key).collect(),
            default_partition: of.default_partition.clone(),
            open: HashMap::new(),
            count: 0,
            checked_at: None,
        };
        // A path that cannot be written is told before anything runs.
        let refused = |error: String| {
            let place = table.options.get("path").map(|option| option.place);
            SqlError::new(Code::Invalid, error).at(place)
        };
        let shown = sink.root.display().to_string();
        let directory = if sink.is_single { sink.root.parent() } else { Some(sink.root.as_path()) };
        if let Some(directory) = directory.filter(|directory| !directory.as_os_str().is_empty()) {
            sink.files.make_directories(directory).map_err(|error| {
                refused(format!("{} cannot be made: {error}", directory.display())).help(CHECK)
            })?;
        }
        if sink.is_single {
            for path in [sink.root.clone(), hidden(&sink.root)] {
                let reason = refusal_to_replace(sink.files.as_ref(), &path)
                    .map_err(|error| refused(format!("{}: {error}", path.display())))?;
                if let Some(reason) = reason {
                    let message = format!(
                        "{} cannot be written as one file, 'thalweg.single-file': {reason}",
                        path.display()
                    );
                    return Err(refused(message)
                        .help("name a regular file; the connectors 'stdout' and 'blackhole' write to none"));
                }
            }
            let key = FileKey::of(sink.files.as_ref(), &sink.root);
            world.shared.takes_file(key, Purpose::Rows).map_err(|known| {
                refused(match known {
                    Purpose::Rows => format!(
                        "{shown} is written by two INSERTs, and 'thalweg.single-file' holds the rows of one"
                    ),
                    Purpose::BadRecords => format!(
                        "{shown} cannot be written as one file, 'thalweg.single-file': bad records are diverted to it"
                    ),
                })
            })?;
            sink.begin("", sink.clock.now()).map_err(|fault| refused(fault.to_string()).help(CHECK))?;
        }
        Ok(sink)
    }

    /// Begins the file of a partition, if none is written to; that of another may have to be published first.
    fn begin(&mut self, directory: &str, now: ProcessingTime) -> Result<(), Fault> {
        if !self.open.contains_key(directory) {
            if OPEN_PARTS_MAX <= self.open.len() {
                let oldest = self.open.iter().min_by_key(|(name, part)| (part.written_at, name.as_str()));
                if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                    self.publish(&name)?;
                }
            }
            let path = if self.is_single {
                self.root.clone()
            } else {
                let at = self.root.join(directory);
                // For every file: people clean directories away while a job runs.
                self.files.make_directories(&at).map_err(|error| failed(&at.display().to_string(), error))?;
                self.unused(&at)?
            };
            let part = Part::create(Arc::clone(&self.files) as Arc<dyn Disk>, &path, &self.writing, now)?;
            self.open.insert(directory.to_owned(), part);
        }
        Ok(())
    }

    /// The path of the next file in a directory. A clock that stands still, or was set back, has two runs have one name: what
    /// stands there is not replaced.
    fn unused(&mut self, directory: &Path) -> Result<PathBuf, Fault> {
        loop {
            let path = directory.join(format!("part-{}-{}", self.unique_name, self.count));
            self.count += 1;
            let standing = self.files.standing(&path);
            let standing = standing.map_err(|error| failed(&path.display().to_string(), error))?;
            if standing == Standing::Nothing {
                return Ok(path);
            }
        }
    }

    /// Publishes the file of a partition, and says that it is complete so far.
    fn publish(&mut self, directory: &str) -> Result<(), Fault> {
        let Some(part) = self.open.remove(directory) else { return Ok(()) };
        part.publish()?;
        match &self.success {
            None => Ok(()),
            Some(name) => {
                let path = self.root.join(directory).join(name);
                publish_empty(Arc::clone(&self.files) as Arc<dyn Disk>, &path, &self.unique_name)
            }
        }
    }

    /// The directory of each row's partition, with the rows that go there, in the order in which they first come.
    fn partitions(&self, rows: &RecordBatch) -> Vec<(String, Vec<u32>)> {
        let mut parted: Vec<(String, Vec<u32>)> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let (mut directory, mut value) = (String::new(), String::new());
        for row in 0..rows.num_rows() {
            directory.clear();
            for key in &self.keys {
                if !directory.is_empty() {
                    directory.push('/');
                }
                directory.push_str(&key.name);
                let column = rows.column(key.place).as_ref();
                value.clear();
                if !column.is_null(row) {
                    key.text.write(column, row, &mut value);
                }
                let value = if value.is_empty() { &self.default_partition } else { &value };
                partition::escape(value, &mut directory);
            }
            let place = match known.get(&directory) {
                Some(place) => *place,
                None => {
                    known.insert(directory.clone(), parted.len());
                    parted.push((directory.clone(), Vec::new()));
                    parted.len() - 1
                }
            };
            parted[place].1.push(row as u32);
        }
        parted
    }

    fn write_part(
        &mut self,
        directory: &str,
        rows: &RecordBatch,
        kinds: Option<&[RowKind]>,
        now: ProcessingTime,
    ) -> Result<(), Fault> {
        self.begin(directory, now)?;
        let part = self.open.get_mut(directory);
        let part = part.ok_or_else(|| failed(directory, io::Error::other("its file was not begun")))?;
        part.write(rows, kinds, &mut self.writing, now)?;
        if !self.is_single && self.rolling.bytes < part.bytes() {
            self.publish(directory)?;
        }
        Ok(())
    }

    /// Writes out what the files of columns have gathered, the largest first, until it is no more in all than one may gather.
    fn flush(&mut self) -> Result<(), Fault> {
        loop {
            let gathered = self.open.values().map(Part::gathered_bytes);
            if gathered.sum::<usize>() <= GATHERED_BYTES_MAX {
                return Ok(());
            }
            let largest = self.open.values_mut().max_by_key(|part| part.gathered_bytes());
            largest.map_or(Ok(()), Part::flush)?;
        }
    }

    /// Publishes files that were open or untouched for too long, if it is time to look.
    fn roll(&mut self, now: ProcessingTime) -> Result<(), Fault> {
        let is_past = |since: ProcessingTime, span: Duration| {
            u64::try_from(span.as_nanos()).unwrap_or(u64::MAX) <= now.nanos_since(since)
        };
        if self.is_single || !is_past(*self.checked_at.get_or_insert(now), self.rolling.check) {
            return Ok(());
        }
        self.checked_at = Some(now);
        let is_due = |part: &Part| {
            is_past(part.opened_at, self.rolling.open) || is_past(part.written_at, self.rolling.inactive)
        };
        let mut due: Vec<String> =
            self.open.iter().filter(|(_, part)| is_due(part)).map(|(name, _)| name.clone()).collect();
        due.sort();
        due.iter().try_for_each(|directory| self.publish(directory))
    }
}

/// What to do about a path that is refused by the operating system.
const CHECK: &str = "check the path and its permissions";

impl RowSink for FileSink {
    fn write(&mut self, rows: &RecordBatch, kinds: Option<&[RowKind]>) -> Result<(), Fault> {
        let now = self.clock.now();
        self.roll(now)?;
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let is_change = kinds.is_some_and(|kinds| kinds.iter().any(|kind| *kind != RowKind::Insert));
        if is_change && matches!(self.writing, Writing::Columns(..)) {
            let reason = "format 'parquet' has no form for changes: write 'debezium-json'".to_owned();
            return Err(FormatError::Value { reason }.into());
        }
        let wrong = |error: arrow::error::ArrowError| SinkError::Failed {
            target: self.root.display().to_string(),
            source: io::Error::other(error),
        };
        let held = rows.project(&self.places).map_err(wrong)?;
        let parted = match self.keys.is_empty() {
            true => vec![(String::new(), Vec::new())],
            false => self.partitions(rows),
        };
        let is_whole = parted.len() == 1;
        for (directory, places) in parted {
            if is_whole {
                self.write_part(&directory, &held, kinds, now)?;
                continue;
            }
            let kinds: Option<Vec<RowKind>> =
                kinds.map(|kinds| places.iter().map(|place| kinds[*place as usize]).collect());
            let wrong = |error: arrow::error::ArrowError| SinkError::Failed {
                target: directory.clone(),
                source: io::Error::other(error),
            };
            let rows = take_record_batch(&held, &UInt32Array::from(places)).map_err(wrong)?;
            self.write_part(&directory, &rows, kinds.as_deref(), now)?;
        }
        self.flush()
    }

    fn on_watermark(&mut self, _: EventTime) -> Result<(), Fault> {
        self.roll(self.clock.now())
    }

    fn finish(&mut self) -> Result<(), Fault> {
        let mut directories: Vec<String> = self.open.keys().cloned().collect();
        directories.sort();
        directories.iter().try_for_each(|directory| self.publish(directory))
    }

    fn held_bytes(&self) -> usize {
        self.open.values().map(Part::held_bytes).sum()
    }
}
