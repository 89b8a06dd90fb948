//! `filesystem`: files of records, in a directory or as a single file, read and written.
//!
//! | option | default | |
//! |---|---|---|
//! | `path` | required | a directory, or for reading a file; `file://` may precede it; relative to the base |
//! | `format` | required | `csv`, `json`, `raw`, `debezium-json`, `parquet`, with its options |
//! | `source.monitor-interval` | none | how often the directory is searched for new files; the table then has no end |
//! | `source.path.regex-pattern` | none | only files whose whole path matches this pattern are read |
//! | `partition.default-name` | `__DEFAULT_PARTITION__` | the name of the partition of NULL and of the empty text |
//! | `sink.rolling-policy.file-size` | `128 mb` | a larger file is closed, and another begun |
//! | `sink.rolling-policy.rollover-interval` | `30 min` | a file that is open for so long is closed, too |
//! | `sink.rolling-policy.inactivity-interval` | `30 min` | a file that was not written to for so long is closed, too |
//! | `sink.rolling-policy.check-interval` | `1 min` | how often the two intervals are checked |
//! | `sink.partition-commit.policy.kind` | none | `success-file`: an empty file in each directory that was written, when the job has ended |
//! | `sink.partition-commit.success-file.name` | `_SUCCESS` | the name of that file |
//! | `parquet.compression` | `snappy` | `uncompressed`, `snappy` or `zstd` |
//! | `thalweg.on-bad`, `thalweg.bad-share-max` | `fail`, `0.01` | ours: see `connect/bad.rs` |
//! | `thalweg.single-file` | `false` | ours: `path` is one file, which is written when the query ends |
//!
//! `filesystem/listing.rs` and `filesystem/split.rs` tell how files are found and read, `filesystem/sink.rs`
//! how they are written, and
//! `filesystem/replaced.rs` what INSERT OVERWRITE removes. Metadata columns are declared with these keys: `file.path`, `file.name`,
//! `file.size`, `file.modification-time`.
//!
//! Options of Flink that do not affect rows are checked and ignored (`sink.parallelism`,
//! `sink.shuffle-by-partition.enable`, `source.report-statistics`). Options that affect rows and are not
//! supported are refused (`sink.partition-commit.trigger` = `partition-time`, delays of it, compaction,
//! policies of other kinds).
//!
//! Source: Flink's documentation, "FileSystem SQL Connector"; `FileSystemConnectorOptions`, `FileSystemTableSource`.

mod ahead;
mod leftovers;
mod listing;
mod parquet;
mod part;
mod partition;
mod publisher;
mod replaced;
mod sink;
mod split;
mod staged;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use ahead::lines::decoding_by;
use ahead::{Bound, Helper, Pieces};
use parquet::{ParquetOptions, ranges_decoding};
pub(super) use publisher::Restored;
use split::Helped;
use thalweg_sql_formats::Format;
use thalweg_sql_functions::functions::cast::is_castable;
use thalweg_sql_functions::functions::text::pattern;
use thalweg_sql_functions::types::SqlType;

use super::bad::BadOptions;
use super::files::is_below;
use super::layout::{bind_format, check_metadata, record_columns};
use super::options::Given;
use super::standard::encoder;
use super::{Abilities, Connection, Division, RowSink, World};
use crate::error::{Code, SqlError};
use crate::scan::rows::RowSource;
use crate::table::{Table, TableColumnKind};

/// The greatest number of splits; files are distributed among them, and each split reads its files one after
/// the other.
const SPLITS_MAX: usize = 32;

pub(super) fn bind<'a>(given: &mut Given<'a>) -> Result<Box<dyn Connection + 'a>, SqlError> {
    let table = given.table();
    check_metadata(table, "filesystem", &metadata())?;
    for column in &table.columns {
        let TableColumnKind::Metadata { key, .. } = &column.kind else { continue };
        if let Some((_, of)) =
            metadata().iter().find(|(name, of)| name == key && !is_castable(of, &column.of))
        {
            let message = format!("the metadata '{key}' is {of}, and cannot be cast to {}", column.of);
            return Err(SqlError::new(Code::TypeMismatch, message).at(column.place));
        }
    }
    let path = given.required("path", "file:///tmp/rows")?;
    if let Some((scheme, _)) = path.split_once("://").filter(|(scheme, _)| *scheme != "file") {
        let message = format!("option 'path': there is no file system '{scheme}'");
        let error = SqlError::new(Code::Unsupported, message).at(given.place("path"));
        return Err(error.help("files of this machine are read: 'path' = 'file:///..'"));
    }
    let partitions = partitions(table)?;
    let format = match given.required("format", "json")? {
        "parquet" => FileFormat::Parquet(ParquetOptions::bind(given)?),
        name => FileFormat::Lines(bind_format(given, name, &["parquet"])?),
    };
    let bad = BadOptions::bind(given)?;
    let pattern = match given.text("source.path.regex-pattern") {
        None => None,
        // The anchors are added because the pattern must match the whole path of a file.
        Some(text) => Some(pattern::compile(&format!("^(?:{text})$")).map_err(|refusal| {
            given.wrong("source.path.regex-pattern", format!("'{text}' is no pattern: {refusal:?}"))
        })?),
    };
    let watch = match given.duration("source.monitor-interval")? {
        Some(Duration::ZERO) => {
            return Err(given.wrong("source.monitor-interval", "must be above 0: leave it out to look once"));
        }
        interval => interval,
    };
    given.choice("source.report-statistics", &[("ALL", ()), ("NONE", ())], ())?;
    let default_partition = given.text("partition.default-name").unwrap_or("__DEFAULT_PARTITION__");
    if default_partition.is_empty() {
        return Err(given.wrong("partition.default-name", "is empty"));
    }
    let rolling = rolling(given)?;
    let success = success_file(given)?;
    let is_single = given.flag("thalweg.single-file", false)?;
    if is_single && (!partitions.is_empty() || success.is_some()) {
        return Err(given.wrong("thalweg.single-file", "one file has neither partitions nor a success file"));
    }
    given.parallelism("sink.parallelism")?;
    given.parallelism("scan.parallelism")?;
    given.parallelism("source.parallelism")?;
    given.flag("sink.shuffle-by-partition.enable", false)?;
    let default_partition = default_partition.to_owned();
    Ok(Box::new(FileSystem {
        table,
        path,
        format,
        bad,
        pattern,
        watch,
        partitions,
        default_partition,
        rolling,
        success,
        is_single,
    }))
}

/// Returns the metadata columns that the connector offers for each file: their names and types.
fn metadata() -> [(&'static str, SqlType); 4] {
    [
        ("file.path", SqlType::STRING),
        ("file.name", SqlType::STRING),
        ("file.size", SqlType::BigInt),
        ("file.modification-time", SqlType::TimestampLtz(3)),
    ]
}

/// Returns the indexes, among the columns of the table, of the partition columns, whose values stand in the
/// names of directories.
fn partitions(table: &Table) -> Result<Vec<usize>, SqlError> {
    for place in &table.partitioned_by {
        let column = &table.columns[*place];
        if column.name.starts_with(['_', '.']) {
            let message = format!(
                "the column `{0}` cannot name a partition: directories `{0}=..` are hidden from readers, for their names begin with \
                 '_' or '.'",
                column.name
            );
            return Err(SqlError::new(Code::Invalid, message).at(column.place));
        }
        let is_scalar = !matches!(
            column.of,
            SqlType::Null
                | SqlType::Array(_)
                | SqlType::Map(..)
                | SqlType::Row(_)
                | SqlType::DayTime
                | SqlType::YearMonth
        ) && !column.of.is_bytes();
        if !matches!(column.kind, TableColumnKind::Physical) || !is_scalar {
            let message = format!(
                "the column `{}` cannot name a partition: it must be text, a number or a time",
                column.name
            );
            return Err(SqlError::new(Code::Invalid, message).at(column.place));
        }
    }
    if record_columns(table).is_empty() {
        let message =
            format!("all columns of `{}` name partitions, and none stands in its records", table.name);
        return Err(SqlError::new(Code::Invalid, message).at(table.options_place));
    }
    Ok(table.partitioned_by.clone())
}

/// Limits of size and age at which an open file is closed and a new one is begun.
#[derive(Clone, Copy, Debug)]
struct Rolling {
    bytes: u64,
    open: Duration,
    inactive: Duration,
    check: Duration,
}

fn rolling(given: &mut Given<'_>) -> Result<Rolling, SqlError> {
    let minutes = |count: u64| Duration::from_secs(60 * count);
    let rolling = Rolling {
        bytes: given.bytes("sink.rolling-policy.file-size")?.unwrap_or(128 << 20),
        open: given.duration("sink.rolling-policy.rollover-interval")?.unwrap_or(minutes(30)),
        inactive: given.duration("sink.rolling-policy.inactivity-interval")?.unwrap_or(minutes(30)),
        check: given.duration("sink.rolling-policy.check-interval")?.unwrap_or(minutes(1)),
    };
    if given.flag("auto-compaction", false)? {
        let message = "the option 'auto-compaction' is not supported";
        let error = SqlError::new(Code::Unsupported, message).at(given.place("auto-compaction"));
        return Err(error.help("a larger 'sink.rolling-policy.file-size' makes fewer files"));
    }
    given.bytes("compaction.file-size")?;
    given.parallelism("compaction.parallelism")?;
    Ok(rolling)
}

/// Returns the name of the file that marks a partition as complete, if there is to be one.
fn success_file(given: &mut Given<'_>) -> Result<Option<String>, SqlError> {
    const TRIGGER: &str = "sink.partition-commit.trigger";
    const DELAY: &str = "sink.partition-commit.delay";
    const KIND: &str = "sink.partition-commit.policy.kind";
    const NAME: &str = "sink.partition-commit.success-file.name";
    let is_by_event_time =
        given.choice(TRIGGER, &[("process-time", false), ("partition-time", true)], false)?;
    let is_delayed = given.duration(DELAY)?.is_some_and(|delay| !delay.is_zero());
    for (is_given, key) in [(is_by_event_time, TRIGGER), (is_delayed, DELAY)] {
        if is_given {
            let message = format!("option '{key}': partitions are committed when the job has ended");
            let error = SqlError::new(Code::Unsupported, message).at(given.place(key));
            return Err(error.help("leave it out"));
        }
    }
    for key in [
        "sink.partition-commit.watermark-time-zone",
        "partition.time-extractor.kind",
        "partition.time-extractor.class",
        "partition.time-extractor.timestamp-pattern",
        "partition.time-extractor.timestamp-formatter",
        "sink.partition-commit.policy.class",
        "sink.partition-commit.policy.class.parameters",
    ] {
        given.unsupported(key, "partitions are committed when the job has ended: leave it out")?;
    }
    let name = given.text(NAME).unwrap_or("_SUCCESS");
    if name.contains('/') || !name.starts_with(['_', '.']) || matches!(name, "." | "..") {
        let reason = format!(
            "'{name}' is not the name of a file that begins with '_' or '.', so that readers pass it over"
        );
        return Err(given.wrong(NAME, reason));
    }
    match given.text(KIND) {
        None => Ok(None),
        Some("success-file") => Ok(Some(name.to_owned())),
        Some(kind) => {
            let error =
                SqlError::new(Code::Unsupported, format!("option '{KIND}': '{kind}' is not supported"));
            Err(error.at(given.place(KIND)).help("write 'success-file', or leave it out"))
        }
    }
}

/// The content of the files of a table: lines of records, or Parquet columns.
enum FileFormat {
    /// The files have records one after the other, in the format given here.
    Lines(Format),
    /// The files are Parquet files, read and written by the options given here.
    Parquet(ParquetOptions),
}

struct FileSystem<'a> {
    table: &'a Table,
    path: &'a str,
    format: FileFormat,
    bad: BadOptions,
    pattern: Option<regex::Regex>,
    watch: Option<Duration>,
    /// The indexes, among the columns of the table, of the partition columns, whose values stand in the names
    /// of directories.
    partitions: Vec<usize>,
    default_partition: String,
    rolling: Rolling,
    success: Option<String>,
    is_single: bool,
}

impl Connection for FileSystem<'_> {
    fn abilities(&self) -> Abilities {
        let changes = match &self.format {
            FileFormat::Lines(format) => format.is_changelog(),
            FileFormat::Parquet(_) => false,
        };
        let is_bounded = self.watch.is_none();
        Abilities {
            reads: true,
            replays: true,
            writes: true,
            is_bounded,
            gives_changes: changes,
            takes_changes: changes,
            writes_one_file: self.is_single,
            replaces: true,
            ..Abilities::default()
        }
    }

    fn source(&self, wanted: &[usize], world: &World) -> Result<Vec<Box<dyn RowSource>>, SqlError> {
        let reading = split::Reading::new(self, wanted, world);
        let refused = |error: std::io::Error| {
            let message = format!("{} cannot be read: {error}", reading.listing.root.display());
            SqlError::new(Code::Invalid, message)
                .at(self.place("path"))
                .help("check the path and its permissions")
        };
        let files = reading.listing.files(world.files.as_ref()).map_err(refused)?;
        if let Some(file) = self.bad.diverts_to() {
            let path = world.path(file);
            // Two paths may name one file, so the identities of the files are compared, and not only the
            // paths.
            let identity = world.files.identity(&path).map(|identity| identity.file).ok();
            if is_below(world.files.as_ref(), &path, &reading.listing.root)
                || files.iter().any(|file| Some(file.identity.file) == identity)
            {
                let message = format!(
                    "bad records cannot be diverted to {}: it would be read as input",
                    path.display()
                );
                return Err(SqlError::new(Code::Invalid, message).at(self.place("thalweg.on-bad")));
            }
        }
        if files.is_empty() && self.watch.is_none() {
            let root = reading.listing.root.display();
            world.notes.add(match self.partitions.is_empty() && self.pattern.is_none() {
                true => format!("{root} has no files, so `{}` has no rows", self.table.name),
                false => format!(
                    "{root} has no files of this pattern and these partitions, so `{}` has no rows",
                    self.table.name
                ),
            });
        }
        // A table whose directory is watched has a single split that looks for new files, so that one place
        // knows which files were read.
        let count = match self.watch.is_some() {
            true => 1,
            false if world.takes_checkpoints => self.restartable_splits(&reading, world).map_err(refused)?,
            false => files.len().clamp(1, SPLITS_MAX),
        };
        let mut by_split: Vec<Vec<_>> = (0..count).map(|_| Vec::new()).collect();
        for (place, file) in files.into_iter().enumerate() {
            by_split[place % count].push(file);
        }
        let largest = by_split.iter().map(|files| bytes_of(files)).max().unwrap_or_default();
        let bytes = by_split.iter().map(|files| bytes_of(files)).sum();
        let is_divisible = match &self.format {
            FileFormat::Lines(format) => format.ends_records_at_lines(),
            FileFormat::Parquet(_) => true,
        };
        let helpers = match is_divisible && self.watch.is_none() {
            true => helpers(world.division, count, largest, bytes),
            false => 0,
        };
        let reading = Arc::new(reading);
        let help = Help::of(&reading, count, helpers);
        let helpers = match world.takes_checkpoints {
            true if is_divisible && self.watch.is_none() => helpers_max(world.division, count),
            _ => helpers,
        };
        let mut sources: Vec<Box<dyn RowSource>> = Vec::with_capacity(count + helpers);
        for (files, helped) in by_split.into_iter().zip(&help.readers) {
            let bad = world.bad_records(self.table, &self.bad)?;
            let split = split::FileSplit::new(Arc::clone(&reading), files, bad).helped(helped.clone());
            sources.push(Box::new(split));
        }
        sources.extend((0..helpers).map(|_| help.task(&reading)));
        Ok(sources)
    }

    fn sink(&self, columns: &[usize], world: &World) -> Result<Box<dyn RowSink>, SqlError> {
        let is_metadata =
            |place: &&usize| matches!(self.table.columns[**place].kind, TableColumnKind::Metadata { .. });
        if let Some(place) = columns.iter().find(is_metadata) {
            let column = &self.table.columns[*place];
            let message = format!("the metadata `{}` cannot be written", column.name);
            return Err(SqlError::new(Code::Invalid, message).at(column.place).help("declare it VIRTUAL"));
        }
        if let FileFormat::Lines(format) = &self.format {
            encoder(self.table, format)?;
        }
        Ok(Box::new(sink::FileSink::new(self, columns, world)?))
    }
}

/// The help that the readers of a table get.
struct Help {
    /// The pieces of each reader.
    readers: Vec<Helped>,
}

impl Help {
    /// Prepares `readers` readers for `helpers` tasks that help them, if any.
    fn of(reading: &split::Reading, readers: usize, helpers: usize) -> Self {
        let bound = Bound::of(readers + helpers);
        let is_lines = reading.decoder().is_some();
        let helped = || Helped {
            lines: (helpers > 0 && is_lines).then(|| Pieces::new(&bound)),
            ranges: (helpers > 0 && !is_lines).then(|| Pieces::new(&bound)),
        };
        Help { readers: (0..readers).map(|_| helped()).collect() }
    }

    /// Creates a task that helps all readers.
    fn task(&self, reading: &Arc<split::Reading>) -> Box<dyn RowSource> {
        match reading.decoder() {
            Some(decoder) => {
                let pieces = self.readers.iter().filter_map(|helped| helped.lines.clone());
                Box::new(Helper::new(pieces.collect(), decoding_by(decoder)))
            }
            None => {
                let pieces = self.readers.iter().filter_map(|helped| helped.ranges.clone());
                Box::new(Helper::new(pieces.collect(), ranges_decoding(Arc::clone(reading))))
            }
        }
    }
}

/// The most tasks that help the readers of one table. Pieces are cut by one task at a time, at some gigabytes a second,
/// which keeps about as many tasks busy.
const HELPERS_MAX: usize = 15;

/// The least number of pieces of the longest reader for which it gets helpers.
const HELPED_PIECES_MIN: u64 = 4;

/// Returns the most tasks that help `readers` readers of a table.
fn helpers_max(division: Division, readers: usize) -> usize {
    division.workers.saturating_sub(1).min(HELPERS_MAX).min(SPLITS_MAX.saturating_sub(readers))
}

/// Returns the number of tasks that help `readers` readers of a table, which read `bytes` bytes together, and `largest`
/// the one with the most. There is none if the readers alone keep all workers busy: if no reader has much more than a
/// worker's share.
fn helpers(division: Division, readers: usize, largest: u64, bytes: u64) -> usize {
    let Division { workers, piece_bytes, .. } = division;
    let is_long = (piece_bytes as u64).saturating_mul(HELPED_PIECES_MIN) <= largest;
    // A quarter above the share is too little for the cost of a hand-over.
    let is_uneven = u128::from(bytes) * 5 < u128::from(largest) * workers as u128 * 4;
    if !is_long || !is_uneven {
        return 0;
    }
    helpers_max(division, readers)
}

fn bytes_of(files: &[listing::Found]) -> u64 {
    files.iter().map(|file| file.identity.len_bytes).sum()
}

impl FileSystem<'_> {
    /// Returns the number of splits of a table that a job with checkpoints reads. After a restart there must be as many again,
    /// whatever files were added or removed meanwhile, so it follows from the number of workers. A table that diverts bad
    /// records has one: the stream of a split that has ended is not read again, while the diverted file is written anew.
    fn restartable_splits(&self, reading: &split::Reading, world: &World) -> std::io::Result<usize> {
        let is_one = self.bad.diverts_to().is_some() || !world.files.is_directory(&reading.listing.root)?;
        Ok(if is_one { 1 } else { world.division.workers.clamp(1, SPLITS_MAX) })
    }

    fn place(&self, key: &str) -> crate::error::Place {
        self.table.options.get(key).map_or(self.table.options_place, |option| option.place)
    }
}
