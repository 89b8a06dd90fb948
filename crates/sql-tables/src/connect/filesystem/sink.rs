//! The sink of the connector `filesystem`: rows into files named `part-UID-N`, in the directory of the table
//! or of a partition.
//!
//! A file is written as `.part-UID-N.inprogress`, a name that readers ignore. It is synced to disk and closed
//! when it is longer, or open or untouched for longer, than the table's options allow, and when the query
//! ends. UID is a random word that differs in every run, so that no run replaces what another has written.
//! Unfinished files of a killed run are removed by the next run (`leftovers.rs`).
//!
//! A closed file of an unbounded job gets its final name at once. The files of a bounded job get their final
//! names together when its input has ended, so a job that is stopped or killed before publishes nothing.
//!
//! A success file says that its directory is complete. So it is written last, when all files of the job are
//! published and the job has read its whole input. An old success file is removed before the first file of a
//! run is published in its directory, so a run that is killed halfway leaves none.
//!
//! A query that fails or is cancelled removes its unpublished files; its published files stay. Times and
//! sizes of files are checked between batches. So a file may exceed its limit by one batch, and a file
//! without new rows stays open until rows or a watermark arrive.
//!
//! At most [`OPEN_PARTS_MAX`] files are open at a time. The rows of further partitions are gathered in
//! memory, up to [`GATHERED_BYTES_MAX`] for the table and one of [`GATHERED_PARTS`] parts of the memory
//! budget. Beyond these limits the partitions with the most gathered rows get files, and for each of them the
//! open file that was written to longest ago is closed. So there are many files only if the rows of many
//! partitions alternate and are more than can be gathered. Each file then holds the rows that could be
//! gathered of its partition.
//!
//! With `thalweg.single-file` the path names one file, which is written as `.NAME.inprogress` and published
//! when the query ends. It is published even if it is empty, and it replaces an earlier file. Only a regular
//! file is replaced, and two sinks of a run never write to the same file.
//!
//! INSERT OVERWRITE replaces the files of the table, or of each partition that gets rows, when its job is complete
//! (`replaced.rs`). A job that is stopped replaces nothing, not even in part.
//!
//! With checkpoints, files have another hidden name (`staged.rs`). Each barrier closes all of them, and they are published when
//! the checkpoint is durable (`publisher.rs`), by bounded jobs, too. So a file under its final name is committed output. Success
//! files come with the last checkpoint. A single file and INSERT OVERWRITE show nothing before that: their complete files
//! stand in the state of the sink, the single one in pieces, until the last checkpoint describes all of them.
//!
//! Source: Flink's documentation, "FileSystem SQL Connector", "Rolling Policy", "Partition Commit"; `FileSystemTableSink`.
//! Differs from Flink: without checkpoints, files of unbounded jobs are published when they are closed; with them, files of lines
//! are closed at each checkpoint, too; partitions are committed when the job ends; a table without partitions has its success
//! file, too.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::UInt32Array;
use arrow::compute::take_record_batch;
use arrow::record_batch::RecordBatch;
use thalweg_connectors::{InProgressFile, SinkError};
use thalweg_model::disk::Disk;
use thalweg_model::{
    Allowance, Clock, EventTime, Fault, ProcessingTime, Publisher, StateError, StateReader, StateWriter,
};
use thalweg_sql_formats::{FormatError, RowKind};

use super::leftovers::{self, OfTable};
use super::part::{Part, SealedPart, Writing, hidden, publish_empty};
use super::publisher::{FilePublisher, Restored, base, sync_names};
use super::staged::{self, Owner, Prepared, StagedFile, Way};
use super::{FileFormat, FileSystem, Rolling, partition, replaced};
use crate::connect::files::{FileKey, Files, Purpose, Standing, refusal_to_replace};
use crate::connect::java::{JavaText, Use};
use crate::connect::job_end::JobEnd;
use crate::connect::layout::{places_among, record_columns, record_places, schema_of};
use crate::connect::notes::Notes;
use crate::connect::standard::{encoder, failed};
use crate::connect::{RowSink, World};
use crate::error::{Code, SqlError};

/// The number of files of a table that may be open at a time.
pub const OPEN_PARTS_MAX: usize = 128;

/// The most bytes of rows that one table collects in memory. Rows of column formats, and rows of partitions
/// without an open file, are collected before they are written. The default memory budget of an engine is 256
/// MiB.
const GATHERED_BYTES_MAX: usize = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// The rows that a table collects in memory may use at most the memory budget divided by this number, because
/// other tables and the state of operators need memory, too.
const GATHERED_PARTS: usize = 8;

/// The sink that writes the files of a table.
pub(super) struct FileSink {
    files: Arc<dyn Files>,
    clock: Arc<dyn Clock>,
    /// The path of the table: its directory, or its single file.
    root: PathBuf,
    is_single: bool,
    writing: Writing,
    rolling: Rolling,
    success: Option<String>,
    /// Whether the files of the job replace those that are there.
    is_replacing: bool,
    unique_name: String,
    /// The indexes, among the columns of the rows given to the sink, of the columns that are stored in the
    /// files. The other columns are partition columns.
    places: Vec<usize>,
    keys: Vec<Key>,
    default_partition: String,
    /// Parts, which are files that are being written, by the directories of their partitions.
    open: HashMap<String, Part>,
    /// Complete files of a bounded job with the directories of their partitions, in the order in which they
    /// were closed.
    sealed: Vec<(String, SealedPart)>,
    /// The directories in which this sink has given a file its final name.
    begun: BTreeSet<String>,
    end: JobEnd,
    /// Bytes of memory for the directory names of complete files, with and without their final names.
    names_bytes: usize,
    /// How many of the parts that are being written have an open file. The others keep their rows in memory.
    files_open: usize,
    /// Greatest number of bytes of rows that this sink may collect in memory.
    gathered_max: usize,
    /// The locked marker file, which shows other runs that this run is still writing. The file is removed
    /// when this value is dropped.
    marker: Option<InProgressFile>,
    /// The names of the partition columns.
    key_names: Vec<String>,
    /// The job in the hidden names of files that are published with checkpoints.
    owner: Owner,
    /// Whether files are published with checkpoints.
    is_staged: bool,
    /// Complete files that the last checkpoint will describe: pieces of a single file, and files of INSERT OVERWRITE.
    carried: Vec<StagedFile>,
    restored: Restored,
    count: u64,
    notes: Notes,
    checked_at: Option<ProcessingTime>,
}

/// A column whose values name the directories of partitions.
struct Key {
    /// The name of the column and `=`, as directory names begin.
    name: String,
    /// The index of the column among the columns of the rows given to the sink.
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
            is_replacing: table.is_replaced,
            unique_name: world.unique_name(),
            places: record_places(table, columns)?,
            keys: of.partitions.iter().zip(among).map(key).collect(),
            default_partition: of.default_partition.clone(),
            open: HashMap::new(),
            sealed: Vec::new(),
            begun: BTreeSet::new(),
            end: world.end.clone(),
            names_bytes: 0,
            files_open: 0,
            gathered_max: GATHERED_BYTES_MAX,
            marker: None,
            key_names: of.partitions.iter().map(|place| table.columns[*place].name.clone()).collect(),
            owner: Owner::new(world.checkpoint_key, world.shared.job),
            is_staged: false,
            carried: Vec::new(),
            restored: world.shared.restored.clone(),
            count: 0,
            notes: world.notes.clone(),
            checked_at: None,
        };
        // A path that cannot be written is reported here, before the query runs.
        let refused = |error: String| {
            let place = table.options.get("path").map(|option| option.place);
            SqlError::new(Code::Invalid, error).at(place)
        };
        let shown = sink.root.display().to_string();
        if !sink.is_single
            && looks_like_file(&sink.root)
            && matches!(sink.files.standing(&sink.root), Ok(Standing::Nothing))
        {
            sink.notes.add(format!(
                "{} becomes a directory of files: 'thalweg.single-file' = 'true' writes one file of that name",
                sink.root.display()
            ));
        }
        let directory = if sink.is_single { sink.root.parent() } else { Some(sink.root.as_path()) };
        if let Some(directory) = directory.filter(|directory| !directory.as_os_str().is_empty()) {
            sink.files.make_directories(directory).map_err(|error| {
                refused(format!("{} cannot be made: {error}", directory.display())).help(CHECK)
            })?;
        }
        if !sink.is_single {
            let of_table = OfTable {
                files: sink.files.as_ref(),
                root: &sink.root,
                keys: &sink.key_names,
                notes: &sink.notes,
            };
            leftovers::remove(&of_table, sink.success.as_deref());
        }
        if sink.is_single && world.takes_checkpoints && matches!(sink.writing, Writing::Columns(..)) {
            let message = "'thalweg.single-file': one file of parquet cannot be continued after a restart, and this job takes \
                           checkpoints";
            let place = table.options.get("thalweg.single-file").map(|option| option.place);
            return Err(SqlError::new(Code::Unsupported, message).at(place).help(
                "leave the option out, so that each checkpoint adds a file, or write 'csv' or 'json'",
            ));
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

    /// Begins a part, which is a file to be written, for a partition that has none. The part gets its file at
    /// once if fewer than [`OPEN_PARTS_MAX`] files are open; until then it keeps rows in memory.
    fn begin(&mut self, directory: &str, now: ProcessingTime) -> Result<(), Fault> {
        if !self.open.contains_key(directory) {
            let mut part = Part::new(&self.root.join(directory), &self.writing, now)?;
            if self.files_open < OPEN_PARTS_MAX {
                self.attach(&mut part, directory)?;
            }
            self.open.insert(directory.to_owned(), part);
        }
        Ok(())
    }

    /// Creates the file of a part in the directory of its partition.
    fn attach(&mut self, part: &mut Part, directory: &str) -> Result<(), Fault> {
        let (path, hidden) = if self.is_single && !self.is_staged {
            (self.root.clone(), hidden(&self.root))
        } else {
            let at = base(&self.root, self.is_single).join(directory);
            // The directory is created before every file, because users may delete directories while a job
            // runs.
            if at != Path::new("") {
                self.files.make_directories(&at).map_err(|error| failed(&at.display().to_string(), error))?;
            }
            self.mark()?;
            self.unused(&at)?
        };
        part.attach(Arc::clone(&self.files) as Arc<dyn Disk>, &path, hidden)?;
        self.files_open += 1;
        Ok(())
    }

    /// Ensures that the locked marker file exists in the directory of the table, so that other runs do not
    /// remove the unfinished files of this one.
    fn mark(&mut self) -> Result<(), Fault> {
        let path = match self.is_single {
            true => hidden(&self.root),
            false => leftovers::marker(&self.root, &self.unique_name),
        };
        let refused = |error| failed(&path.display().to_string(), error);
        if self.marker.is_none() || self.files.standing(&path).map_err(refused)? == Standing::Nothing {
            let disk = Arc::clone(&self.files) as Arc<dyn Disk>;
            // The old marker file is dropped before the new one is created: both have the same path, and
            // dropping removes the file at it.
            self.marker = None;
            self.marker = Some(InProgressFile::create_as(disk, &path, path.clone()).map_err(refused)?);
        }
        Ok(())
    }

    /// Returns the final and the hidden path of the next file in the directory of a partition. A path is passed over if a
    /// file exists there or at its hidden name.
    fn unused(&mut self, directory: &Path) -> Result<(PathBuf, PathBuf), Fault> {
        loop {
            let mut path = match self.is_single {
                // Pieces of a single file never have a final name of their own.
                true => self.root.clone().into_os_string(),
                false => directory.join("part").into_os_string(),
            };
            path.push(format!("-{}-{}", self.unique_name, self.count));
            let path = PathBuf::from(path);
            self.count += 1;
            let hidden = if self.is_staged { self.owner.hidden(&path) } else { hidden(&path) };
            let standing = |path: &Path| {
                self.files.standing(path).map_err(|error| failed(&path.display().to_string(), error))
            };
            if standing(&path)? == Standing::Nothing && standing(&hidden)? == Standing::Nothing {
                return Ok((path, hidden));
            }
        }
    }

    /// Closes the file of a partition. The file gets its final name at once in an unbounded job, in others at the
    /// end of the job, and with checkpoints by the publisher.
    fn close(&mut self, directory: &str) -> Result<(), Fault> {
        let Some(mut part) = self.open.remove(directory) else { return Ok(()) };
        if !part.has_file() {
            self.attach(&mut part, directory)?;
        }
        self.files_open -= 1;
        if self.is_single && !self.is_staged {
            // Another run may write to the same path, so the single file keeps its lock until it has its
            // final name. It is closed only when the query ends.
            return part.publish();
        }
        let sealed = part.seal()?;
        if self.end.is_bounded() || self.is_staged {
            self.names_bytes += directory.len() + sealed.held_bytes();
            self.sealed.push((directory.to_owned(), sealed));
            return Ok(());
        }
        self.publish(directory, sealed)
    }

    /// Gives a complete file its final name. Before the first file in a directory, the old success file is
    /// removed.
    fn publish(&mut self, directory: &str, part: SealedPart) -> Result<(), Fault> {
        if let Some(name) = &self.success
            && self.begun.insert(directory.to_owned())
        {
            self.names_bytes += directory.len();
            let path = self.root.join(directory).join(name);
            match self.files.remove(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed(&path.display().to_string(), error).into());
                }
                _ => {}
            }
        }
        part.publish()
    }

    /// Closes all files.
    fn close_all(&mut self) -> Result<(), Fault> {
        let mut directories: Vec<String> = self.open.keys().cloned().collect();
        directories.sort();
        directories.iter().try_for_each(|directory| self.close(directory))
    }

    /// Makes the names of the complete files durable, and returns their descriptions. From now on they stay when the sink is
    /// dropped.
    fn described(&mut self) -> Result<Vec<StagedFile>, Fault> {
        let mut described = Vec::with_capacity(self.sealed.len());
        let mut synced: BTreeSet<&str> = BTreeSet::new();
        for (directory, part) in &self.sealed {
            let hidden = part.hidden_path();
            if synced.insert(directory) {
                sync_names(self.files.as_ref(), hidden)?;
            }
            let identity = self.files.identity(hidden);
            let bytes = identity.map_err(|error| failed(&hidden.display().to_string(), error))?.len_bytes;
            let hidden = hidden.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
            let name = self.owner.shown(&hidden).unwrap_or_default().to_owned();
            described.push(StagedFile { directory: directory.clone(), name, hidden, bytes });
        }
        for (directory, part) in self.sealed.drain(..) {
            self.names_bytes -= (directory.len() + part.held_bytes()).min(self.names_bytes);
            part.keep();
        }
        Ok(described)
    }

    /// Returns whether all files are published with the last checkpoint.
    fn waits_for_last(&self) -> bool {
        self.is_single || self.is_replacing
    }

    /// Notes for the user that INSERT OVERWRITE has replaced nothing.
    fn note_unchanged(&self) {
        self.notes.add(format!(
            "{} is unchanged: INSERT OVERWRITE replaces files when its job is complete",
            self.root.display()
        ));
    }

    /// Returns the files that those of the job replace, all of which are complete.
    fn replaced(&self) -> Result<Vec<PathBuf>, Fault> {
        if !self.is_replacing || self.is_single {
            return Ok(Vec::new());
        }
        let of_partitions: BTreeSet<&str> =
            self.sealed.iter().map(|(directory, _)| directory.as_str()).collect();
        let directories: Vec<PathBuf> = match self.keys.is_empty() {
            true => vec![self.root.clone()],
            false => of_partitions.into_iter().map(|directory| self.root.join(directory)).collect(),
        };
        let mut old = replaced::Old::default();
        for directory in directories {
            replaced::find_below(self.files.as_ref(), &directory, &mut old)
                .map_err(|error| failed(&directory.display().to_string(), error))?;
        }
        Ok(old.files)
    }

    /// Writes the success file into each directory in which a file got its final name.
    fn publish_success(&self) -> Result<(), Fault> {
        let Some(name) = &self.success else { return Ok(()) };
        self.begun.iter().try_for_each(|directory| {
            let path = self.root.join(directory).join(name);
            publish_empty(Arc::clone(&self.files) as Arc<dyn Disk>, &path, &self.unique_name)
        })
    }

    /// Groups rows by the directories of their partitions. The groups are in the order in which the
    /// directories first appear.
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
            self.close(directory)?;
        }
        Ok(())
    }

    /// If the rows collected in memory exceed their limit, writes those of the partitions with the most
    /// collected bytes to files, until at most half of the limit is left in memory.
    fn flush(&mut self) -> Result<(), Fault> {
        let mut gathered: usize = self.open.values().map(Part::gathered_bytes).sum();
        if gathered <= self.gathered_max {
            return Ok(());
        }
        let mut largest: Vec<(usize, String)> =
            self.open.iter().map(|(name, part)| (part.gathered_bytes(), name.clone())).collect();
        largest.sort_by(|a, b| b.cmp(a));
        // The files to close first are those whose last write is oldest; among equal ones, the longest file
        // is first.
        let with_file = self.open.iter().filter(|(_, part)| part.has_file());
        let mut leaving: Vec<(ProcessingTime, Reverse<u64>, String)> =
            with_file.map(|(name, part)| (part.written_at, Reverse(part.bytes()), name.clone())).collect();
        leaving.sort();
        let mut leaving: VecDeque<String> = leaving.into_iter().map(|(.., name)| name).collect();
        for (before, directory) in largest {
            if gathered <= self.gathered_max / 2 {
                break;
            }
            // The part is missing if it was closed meanwhile, to keep within the number of open files.
            let Some(mut part) = self.open.remove(&directory) else { continue };
            if !part.has_file() {
                if OPEN_PARTS_MAX <= self.files_open
                    && let Some(name) = leaving.pop_front()
                {
                    gathered -= self.open.get(&name).map_or(0, Part::gathered_bytes);
                    self.close(&name)?;
                    self.notes.add(format!(
                        "{}: rows of more than {OPEN_PARTS_MAX} partitions come in turns, and are more than the {} MiB that are \
                         gathered: there will be several files for a partition; rows in the order of the partitions make fewer",
                        self.root.display(),
                        self.gathered_max >> 20
                    ));
                }
                self.attach(&mut part, &directory)?;
                leaving.push_back(directory.clone());
            }
            part.flush()?;
            gathered = (gathered + part.gathered_bytes()).saturating_sub(before);
            self.open.insert(directory, part);
        }
        Ok(())
    }

    /// Closes files that were open or untouched for longer than the options allow, if the check interval has
    /// passed.
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
        due.iter().try_for_each(|directory| self.close(directory))
    }
}

/// Returns whether a path has an extension that is usual for files of records.
fn looks_like_file(path: &Path) -> bool {
    const EXTENSIONS: [&str; 9] = ["csv", "tsv", "txt", "json", "jsonl", "ndjson", "parquet", "log", "gz"];
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// The advice for a path that the operating system refuses.
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
        if self.is_replacing && !self.end.is_complete() {
            // The files are removed with these values.
            self.open.clear();
            self.sealed.clear();
            self.note_unchanged();
            self.marker = None;
            return Ok(());
        }
        self.close_all()?;
        let old = self.replaced()?;
        for (directory, part) in std::mem::take(&mut self.sealed) {
            self.publish(&directory, part)?;
        }
        replaced::remove(self.files.as_ref(), &old)
            .map_err(|(path, error)| failed(&path.display().to_string(), error))?;
        if self.end.is_complete() {
            self.publish_success()?;
        }
        // The marker file shows other runs that this run still writes files. All files have their final names
        // now, so the marker file is not needed: no other run can take one of them for a leftover of a killed
        // run.
        self.marker = None;
        Ok(())
    }

    fn fund(&mut self, allowance: &Allowance) {
        self.gathered_max = GATHERED_BYTES_MAX.min(allowance.limit_bytes() / GATHERED_PARTS);
    }

    fn held_bytes(&self) -> usize {
        let carried: usize = self.carried.iter().map(StagedFile::held_bytes).sum();
        let open: usize = self.open.values().map(Part::held_bytes).sum();
        self.names_bytes + carried + open
    }

    /// The publisher shares with the sink which files wait for it. One file of parquet cannot be put together of pieces, so
    /// such a sink has none.
    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        if self.is_single && matches!(self.writing, Writing::Columns(..)) {
            return None;
        }
        self.is_staged = true;
        if self.is_single {
            // The file shows other runs by its lock that this run writes, and remains empty.
            self.marker = self.open.remove("").and_then(Part::into_file);
            self.files_open = 0;
        }
        Some(Box::new(FilePublisher {
            files: Arc::clone(&self.files),
            root: self.root.clone(),
            is_single: self.is_single,
            keys: self.key_names.clone(),
            success: self.success.clone(),
            owner: self.owner.clone(),
            unique_name: self.unique_name.clone(),
            restored: self.restored.clone(),
            notes: self.notes.clone(),
            begun: BTreeSet::new(),
        }))
    }

    fn prepare(&mut self, _checkpoint: u64, is_last: bool) -> Result<Vec<u8>, Fault> {
        self.close_all()?;
        let described = self.described()?;
        if self.success.is_some() {
            for file in &described {
                if self.begun.insert(file.directory.clone()) {
                    self.names_bytes += file.directory.len();
                }
            }
        }
        let is_complete = self.end.is_complete();
        let (way, files) = if self.waits_for_last() {
            self.carried.extend(described);
            if !is_last {
                return Ok(Vec::new());
            }
            let way = match () {
                () if self.is_replacing && !is_complete => Way::Discard,
                () if self.is_single => Way::Join,
                () => Way::Replace,
            };
            (way, std::mem::take(&mut self.carried))
        } else {
            (Way::Rename, described)
        };
        let mut success = Vec::new();
        if is_last {
            match way {
                Way::Discard => self.note_unchanged(),
                _ if is_complete => success = self.begun.iter().cloned().collect(),
                _ => {}
            }
            self.marker = None;
        }
        if files.is_empty() && success.is_empty() && matches!(way, Way::Rename | Way::Discard) {
            return Ok(Vec::new());
        }
        let prepared = Prepared { way, files, success }.encode();
        Ok(prepared.map_err(|error| staged::undescribed(&self.root, &error))?)
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&staged::VERSION)?;
        staged::put_files(state, &self.carried)?;
        state.put(&self.begun)
    }

    /// Files that the state names and that have gone would be missed at the end of the job only, so they are looked for now.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        staged::take_version(state)?;
        let carried = staged::take_files(state)?;
        let begun = staged::take_directories(state)?;
        let base = base(&self.root, self.is_single);
        for file in &carried {
            let hidden = file.hidden_path(base);
            let identity = self.files.identity(&hidden);
            if identity.is_ok_and(|identity| identity.len_bytes == file.bytes) {
                self.restored.keep([hidden]);
                continue;
            }
            return Err(state.wrong(format!(
                "{} is missing or has not {} bytes any more",
                hidden.display(),
                file.bytes
            )));
        }
        self.names_bytes += begun.iter().map(String::len).sum::<usize>();
        (self.carried, self.begun) = (carried, begun.into_iter().collect());
        Ok(())
    }
}
