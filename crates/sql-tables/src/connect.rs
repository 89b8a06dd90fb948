//! Connectors: the sources and sinks of tables, with Flink's names and keys.
//!
//! ```text
//!   CREATE TABLE .. WITH ('connector' = 'filesystem', ..)
//!                              |  check: the table is refused unless names, options, values and types are valid
//!                              v
//!   bind_source --> RowSource, one for each split --> rows           rows --> RowSink <-- bind_sink
//! ```
//!
//! | connector | reads | writes | Flink's | file |
//! |---|---|---|---|---|
//! | `filesystem` | yes | yes | yes | `connect/filesystem.rs` |
//! | `datagen` | yes | | yes | `connect/datagen.rs` |
//! | `print`, `blackhole` | | yes | yes | `connect/print.rs`, `connect/blackhole.rs` |
//! | `stdin`, `stdout` | the first | the second | no | `connect/standard.rs` |
//! | `nexmark` | yes | | its public connector's | `connect/nexmark.rs` |
//! | `ysb` | yes | | no | `connect/ysb.rs` |
//! | `socket` | yes | yes | no | `connect/socket.rs` |
//!
//! A connector is one file and one line in [`CONNECTORS`]. It reads its options once, through
//! [`options::Given`], which refuses options that the connector did not ask for. The result opens sources and
//! sinks. Everything outside of the program comes through a [`World`]: files, network, standard streams,
//! clock and seed.
//!
//! Rules that every connector keeps:
//!
//! * C1. A source does not wait. Input that may make it wait is read by a separate thread into a bounded
//!   buffer (`connect/feed.rs`).
//! * C2. No input makes it panic or grow without bound, and no record is lost silently: records that cannot
//!   be decoded are counted, and fail the query unless the table's options say otherwise.
//! * C3. A sink publishes only complete data under its final name. A failing query publishes no more of its
//!   unpublished data. In a bounded job nothing is published before the input has ended; a mark of completion
//!   comes last (`connect/job_end.rs`).
//! * C4. Reading continues exactly at a saved position, or the position is refused. A table whose stream cannot be read twice
//!   has not the ability [`replays`](Abilities::replays), and a job that takes checkpoints refuses it. What several
//!   sources of a table share is never needed to go on, because each is saved at another moment: every row belongs to one of
//!   them from the start. Their number follows from the table and the number of workers alone.

pub mod bad;
mod blackhole;
mod datagen;
mod decoding;
mod draw;
pub mod error;
mod feed;
pub mod files;
mod filesystem;
mod generated;
pub mod guarantee;
mod java;
pub mod job_end;
mod layout;
pub mod memory;
pub mod net;
mod nexmark;
pub mod notes;
pub mod options;
mod print;
pub(crate) mod roots;
mod socket;
mod standard;
pub mod together;
pub mod watermarks;
mod ysb;

#[cfg(test)]
pub(crate) mod bed;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::record_batch::RecordBatch;
use chrono_tz::Tz;
use files::{FileKey, Files, Purpose, RealFiles, refusal_to_replace};
use guarantee::Guarantee;
use job_end::JobEnd;
use memory::Collected;
use net::RealNet;
use notes::Notes;
use options::{Given, OWN_PREFIX};
use roots::Rooted;
use thalweg_connectors::in_progress::in_progress_path;
use thalweg_model::disk::Disk;
use thalweg_model::net::Net;
use thalweg_model::{
    Allowance, Clock, Entropy, EventTime, Fault, Publisher, StateError, StateReader, StateWriter,
    VirtualClock,
};
use thalweg_sql_formats::{RowKind, is_changelog};
use thalweg_sql_functions::keys::process_seed;
use thalweg_sql_functions::suggestion::nearest;
use thalweg_sql_functions::user::Watch;

use crate::error::{Code, Place, SqlError};
use crate::scan::rows::RowSource;
use crate::spill::{Spill, Spilling};
use crate::table::Table;

/// A sink that writes the rows of a query to a table, as the table's connector does.
pub trait RowSink: Send {
    /// Writes rows to the table of the sink. `kinds` has the kind of change of each row; without it all rows
    /// are inserts.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn write(&mut self, rows: &RecordBatch, kinds: Option<&[RowKind]>) -> Result<(), Fault>;

    /// Handles a watermark. Every row that precedes the watermark in the stream was written before this call.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn on_watermark(&mut self, watermark: EventTime) -> Result<(), Fault> {
        let _ = watermark;
        Ok(())
    }

    /// Ends the sink at the end of the stream: everything that it has written becomes visible, files under
    /// their final names.
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// Tells the sink that its job takes checkpoints, and returns the part of it that publishes; `None` if the sink cannot
    /// publish with checkpoints. See [`Sink::publisher`](thalweg_model::Sink::publisher).
    fn publisher(&mut self) -> Option<Box<dyn Publisher>> {
        None
    }

    /// Makes everything that was written since the last call durable, and returns a description of it. See
    /// [`Sink::prepare`](thalweg_model::Sink::prepare).
    ///
    /// # Errors
    /// A [`Fault`] that fails the query.
    fn prepare(&mut self, checkpoint: u64, is_last: bool) -> Result<Vec<u8>, Fault> {
        let _ = (checkpoint, is_last);
        Ok(Vec::new())
    }

    /// Gives the sink the allowance through which it reserves memory of the engine's budget. Called before
    /// the first rows. The allowance also tells how large the memory budget is.
    fn fund(&mut self, allowance: &Allowance) {
        let _ = allowance;
    }

    /// Returns the bytes of memory that the sink holds in its buffers.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Writes what the sink must know after a restart. See [`Sink::save`](thalweg_model::Sink::save).
    ///
    /// # Errors
    /// [`StateError`] if a value cannot be written.
    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        let _ = state;
        Ok(())
    }

    /// Reads what [`save`](Self::save) wrote, before the first rows.
    ///
    /// # Errors
    /// [`StateError`] if the bytes are not such state.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        let _ = state;
        Ok(())
    }
}

/// An input stream, such as the standard input. The first source that needs the stream removes it from here;
/// later sources find `None`.
pub type Input = Arc<Mutex<Option<Box<dyn Read + Send>>>>;

/// An output stream of the program, such as the standard output, which several sinks share.
pub type Output = Arc<Mutex<Box<dyn Write + Send>>>;

/// The environment of connectors: everything outside of the program which they may use.
#[derive(Clone)]
pub struct World {
    /// Seed of the random values that connectors generate.
    pub seed: u64,
    /// Seed of the hash tables of keys, on which no result depends.
    pub hash_seed: u64,
    /// The rows that are read from tables without a connector, by table name. They have the physical columns
    /// of the table.
    pub given: BTreeMap<String, Arc<Vec<RecordBatch>>>,
    /// The kinds of change of the rows in `given`, one kind for each row, by table name.
    pub given_kinds: BTreeMap<String, Arc<Vec<RowKind>>>,
    /// Collectors of the rows that are written to tables without a connector, by table name.
    pub collected: BTreeMap<String, Collected>,
    /// Access to files and directories for connectors.
    pub files: Arc<dyn Files>,
    /// Access to network connections for connectors.
    pub net: Arc<dyn Net>,
    /// The directory from which relative paths in table options are resolved.
    pub base: PathBuf,
    /// The clock of processing time, by which generated rows become due and files are rolled.
    pub clock: Arc<dyn Clock>,
    /// The time zone of the SQL session, in which local times are computed.
    pub zone: Tz,
    /// The stream which the connector `stdin` reads.
    pub stdin: Input,
    /// The stream to which the connectors `stdout` and `print` write.
    pub stdout: Output,
    /// The stream to which the connector `print` writes if its option `standard-error` is true.
    pub stderr: Output,
    /// State that all tables of one run share. Each job of the run has a [`World`] with a copy of it, made by
    /// [`Shared::for_job`].
    pub shared: Shared,
    /// Tells whether the job of the tables is bounded, and whether it was asked to end before its input had
    /// ended.
    pub end: JobEnd,
    /// Collects notes for the user: facts about the tables that do not fail the run.
    pub notes: Notes,
    /// Watch over the calls of user functions of the job.
    pub watch: Option<Arc<Watch>>,
    /// Draws the random words that make the names of written files unique.
    pub names: Arc<Mutex<dyn Entropy>>,
    /// How the work of reading a table is divided among tasks.
    pub division: Division,
    /// State on disk for the operators of the job; `None` if all state is in memory.
    pub spilling: Option<Spilling>,
    /// Bytes of memory that the state of each copy of an operator may fill before it goes to disk, if it may; `None` if
    /// they follow from the memory budget.
    pub state_share_bytes: Option<usize>,
    /// True if the job takes checkpoints: its sources must be able to go on from a saved position, and its sinks publish
    /// with checkpoints where they can.
    pub takes_checkpoints: bool,
    /// A number that tells the checkpoints of the job from those of other jobs, such as a hash of the directory in which they
    /// are kept; 0 if there is none. It is the same after a restart. Sinks write it into the names of unpublished files, so that no
    /// other job takes them for its own.
    pub checkpoint_key: u64,
    /// If given, operators are replaced now and then by others with other hash seeds that load their state, as this source
    /// draws it: for tests of saved state. No result depends on it.
    pub renewals: Option<Arc<Mutex<dyn Entropy>>>,
}

/// How the work of reading a table is divided among tasks. No result depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Division {
    /// The number of workers that run the job.
    pub workers: usize,
    /// The usual number of bytes of the pieces of a file that several tasks decode.
    pub piece_bytes: usize,
    /// The most readers of a generated table, whose rows come in any order if there are several.
    pub readers: usize,
}

/// Bytes of the pieces of a file that several tasks decode: 256 KiB take about a millisecond, far longer than handing a
/// piece over, and stay in the cache of a core.
const PIECE_BYTES: usize = 256 << 10;

/// By default one worker reads.
impl Default for Division {
    fn default() -> Self {
        Division { workers: 1, piece_bytes: PIECE_BYTES, readers: 1 }
    }
}

/// State that the tables of one run share: files to which several tables write bad records, and file names in
/// use.
#[derive(Clone, Default)]
pub struct Shared {
    diversions: bad::Diversions,
    /// Files that get their final names only when they are complete, each with its content: rows of one sink,
    /// or diverted bad records.
    files: Arc<Mutex<BTreeMap<FileKey, Purpose>>>,
    /// Hidden files of restored checkpoints that are published later.
    restored: filesystem::Restored,
    /// The number, within the run, of the job whose tables use this state.
    job: u64,
}

impl Shared {
    /// Returns a copy of this state for the job with the given number; the copies share all files. Bad
    /// records that one job diverted are kept even if another job fails.
    #[must_use]
    pub fn for_job(&self, job: u64) -> Self {
        Shared { job, ..self.clone() }
    }

    /// Records that a sink writes rows, or a source bad records, to a file. If the file is already recorded
    /// and one writer would overwrite the other, returns the purpose of the first writer as the error.
    fn takes_file(&self, file: FileKey, purpose: Purpose) -> Result<(), Purpose> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        match files.get(&file) {
            Some(known) if !purpose.goes_with(*known) => Err(*known),
            _ => {
                files.insert(file, purpose);
                Ok(())
            }
        }
    }
}

/// The default [`World`] has real files and connections, no standard streams, and a clock that stands still
/// at the epoch.
impl Default for World {
    fn default() -> Self {
        World {
            seed: 0,
            hash_seed: process_seed(),
            given: BTreeMap::new(),
            given_kinds: BTreeMap::new(),
            collected: BTreeMap::new(),
            files: Arc::new(RealFiles),
            net: Arc::new(RealNet),
            base: PathBuf::new(),
            clock: Arc::new(VirtualClock::default()),
            zone: Tz::UTC,
            stdin: Arc::default(),
            stdout: Arc::new(Mutex::new(Box::new(std::io::sink()))),
            stderr: Arc::new(Mutex::new(Box::new(std::io::sink()))),
            shared: Shared::default(),
            end: JobEnd::default(),
            notes: Notes::default(),
            watch: None,
            names: Arc::new(Mutex::new(SystemEntropy::default())),
            division: Division::default(),
            spilling: None,
            state_share_bytes: None,
            takes_checkpoints: false,
            checkpoint_key: 0,
            renewals: None,
        }
    }
}

impl World {
    /// Creates the state on disk of a job whose operators have `copies` copies that may put their state there: below the
    /// directory `parent`, with at most `limit_bytes` bytes.
    pub fn spilling(&self, parent: &Path, limit_bytes: u64, copies: usize) -> Spilling {
        let (files, names) = (Arc::clone(&self.files), Arc::clone(&self.names));
        let parent = parent.to_str().map_or_else(|| self.base.join(parent), |parent| self.path(parent));
        let spill = Spill::new(files, parent, limit_bytes, names);
        Spilling { spill, copies, share_bytes: self.state_share_bytes }
    }

    /// Returns the path that an option names: without a leading `file:`, and resolved from the base
    /// directory.
    fn path(&self, written: &str) -> PathBuf {
        let bare = written.strip_prefix("file:").map(|rest| match rest.strip_prefix("//") {
            // `file:///a` and `file://localhost/a` name the same file.
            Some(rest) => rest.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).unwrap_or(rest),
            None => rest,
        });
        self.base.join(bare.unwrap_or(written))
    }

    /// Returns this [`World`] with access only to files below the directories `roots`; `None` allows all
    /// files.
    ///
    /// # Errors
    /// [`SqlError`] if a directory is missing.
    pub fn of_roots(&self, roots: Option<&[PathBuf]>) -> Result<Self, SqlError> {
        let Some(roots) = roots else { return Ok(self.clone()) };
        let roots: Vec<PathBuf> = roots.iter().map(|root| self.base.join(root)).collect();
        let files = Rooted::new(Arc::clone(&self.files), &roots).map_err(|(root, error)| {
            let message = format!("'thalweg.file-roots': {} cannot be found: {error}", root.display());
            SqlError::new(Code::Invalid, message).help("name directories that exist")
        })?;
        Ok(World { files: Arc::new(files), ..self.clone() })
    }

    /// Creates the handler of bad records for one split.
    ///
    /// # Errors
    /// [`SqlError`] if bad records are diverted to a path that is no regular file, cannot be created, or
    /// belongs to a sink.
    fn bad_records(&self, table: &Table, options: &bad::BadOptions) -> Result<bad::BadRecords, SqlError> {
        let Some(file) = options.diverts_to() else {
            return Ok(bad::BadRecords::new(options.clone(), None, self.shared.job));
        };
        let path = self.path(file);
        let refused = |path: &Path, reason: &str| {
            let message = format!("bad records cannot be diverted to {}: {reason}", path.display());
            let place = table.options.get("thalweg.on-bad").map(|option| option.place);
            SqlError::new(Code::Invalid, message)
                .at(place)
                .help("name a regular file; 'thalweg.on-bad' = 'skip' counts them and keeps none")
        };
        // Errors of the diverted file are reported now, before the query runs, and not at the first bad
        // record.
        if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            self.files
                .make_directories(directory)
                .map_err(|error| refused(&path, &format!("its directory cannot be made: {error}")))?;
        }
        let unfinished = in_progress_path(&path);
        for path in [path.clone(), unfinished.clone()] {
            match refusal_to_replace(self.files.as_ref(), &path) {
                Ok(None) => {}
                Ok(Some(reason)) => return Err(refused(&path, reason)),
                Err(error) => return Err(refused(&path, &error.to_string())),
            }
        }
        let taken = self.shared.takes_file(FileKey::of(self.files.as_ref(), &path), Purpose::BadRecords);
        taken.map_err(|_| refused(&path, "an INSERT writes it as one file, 'thalweg.single-file'"))?;
        if let Err(error) = self.files.remove_leftover(&unfinished) {
            let unfinished = unfinished.display();
            self.notes.add(format!("{unfinished} was left by an earlier run and cannot be removed: {error}"));
        }
        let diversion = self.shared.diversions.to(Arc::clone(&self.files) as Arc<dyn Disk>, &path);
        if self.takes_checkpoints && Arc::strong_count(&diversion) > 1 {
            return Err(refused(&path, "another table of a job that takes checkpoints diverts to it"));
        }
        Ok(bad::BadRecords::new(options.clone(), Some(diversion), self.shared.job).with_end(self.end.clone()))
    }

    /// Draws a word that no other sink of any run has, and that cannot be guessed.
    fn unique_name(&self) -> String {
        format!("{:016x}", self.names.lock().unwrap_or_else(PoisonError::into_inner).next_u64())
    }
}

/// Draws bits that cannot be guessed: the hash of a count under a key from the operating system.
#[derive(Default)]
struct SystemEntropy {
    key: RandomState,
    count: u64,
}

impl Entropy for SystemEntropy {
    fn next_u64(&mut self) -> u64 {
        self.count += 1;
        self.key.hash_one(self.count)
    }
}

/// The parts of a table's declaration that Flink does not have.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Portable {
    /// Connectors and option keys that only this engine has, with their places in the SQL text; empty if
    /// Flink accepts the table unchanged.
    pub own: Vec<(String, Place)>,
}

impl Portable {
    /// Returns whether Flink accepts the table unchanged.
    pub fn is_portable(&self) -> bool {
        self.own.is_empty()
    }
}

/// The abilities of a table, by its connector, format and options. Code that treats tables of one connector in a
/// way of its own asks for an ability, and not for the name of the connector.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Abilities {
    /// Whether a query can read from the table.
    pub reads: bool,
    /// Whether a query can write to the table.
    pub writes: bool,
    /// Whether reading the table can go on from a saved position, so that a job with checkpoints can read it.
    pub replays: bool,
    /// Whether reading the table comes to an end.
    pub is_bounded: bool,
    /// Whether rows that are read from the table may update or delete earlier rows.
    pub gives_changes: bool,
    /// Whether updates and deletes may be written to the table.
    pub takes_changes: bool,
    /// The standard stream of the process that the table reads or writes; `None` for other tables.
    pub stream: Option<StandardStream>,
    /// Whether the rows of a query are written as one file, which the option `path` names.
    pub writes_one_file: bool,
    /// Whether INSERT OVERWRITE can replace the rows of the table, which lie below the option `path`.
    pub replaces: bool,
}

/// A standard stream of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StandardStream {
    /// The standard input, which one table of a run can read.
    Input,
    /// The standard output.
    Output,
    /// The standard error output.
    Error,
}

/// Opens the splits of a table, the parts that are read in parallel. Each split gives the table columns with
/// the indexes `wanted`, in that order; they are physical or metadata columns.
///
/// # Errors
/// [`SqlError`] if the options are wrong, or the table cannot be opened.
pub fn bind_source(
    table: &Table,
    wanted: &[usize],
    world: &World,
) -> Result<Vec<Box<dyn RowSource>>, SqlError> {
    if let Some(rows) = world.given.get(&table.name) {
        let kinds = world.given_kinds.get(&table.name).map(Arc::clone);
        return Ok(vec![Box::new(memory::Given::new(table, wanted, Arc::clone(rows), kinds))]);
    }
    let connection = readable(table)?;
    if world.takes_checkpoints && !connection.abilities().replays {
        return Err(cannot_replay(table));
    }
    connection.source(wanted, world)
}

/// Returns the refusal of a table that a job with checkpoints would read, and whose input comes only once.
fn cannot_replay(table: &Table) -> SqlError {
    let connector = table.options.get("connector");
    let message = format!(
        "`{}` cannot be read by a job that takes checkpoints: a checkpoint cannot go back in a stream that is gone, and the \
         connector '{}' reads such a stream",
        table.name,
        connector.map_or("", |connector| &connector.value)
    );
    let error = SqlError::new(Code::Unsupported, message).at(connector.map(|connector| connector.place));
    error.help("put the data in a file, and read it by 'connector' = 'filesystem'")
}

/// Opens the sink of a table. Its rows have the table columns with the indexes `columns`, in that order.
///
/// # Errors
/// [`SqlError`] if the options are wrong, or the table cannot be opened.
pub fn bind_sink(table: &Table, columns: &[usize], world: &World) -> Result<Box<dyn RowSink>, SqlError> {
    if let Some(rows) = world.collected.get(&table.name) {
        return Ok(Box::new(memory::Collect::new(Arc::clone(rows))));
    }
    writable(table)?.sink(columns, world)
}

/// Checks the connector of a table with all of its options, and opens nothing.
///
/// # Errors
/// [`SqlError`] for the first fault found.
pub fn check(table: &Table) -> Result<Portable, SqlError> {
    connect(table)?;
    let mut own = Vec::new();
    if let Some(connector) = table.options.get("connector")
        && let Ok(known) = find(&connector.value, connector.place)
        && !known.is_portable
    {
        own.push((format!("the connector '{}'", known.name), connector.place));
    }
    let keys = table.options.iter().filter(|(key, _)| key.starts_with(OWN_PREFIX));
    own.extend(keys.map(|(key, option)| (format!("the option '{key}'"), option.place)));
    Ok(Portable { own })
}

/// Checks the options of a table that is read. Opens nothing.
///
/// # Errors
/// [`SqlError`] for the first fault found, or if the table cannot be read.
pub fn check_source(table: &Table) -> Result<Abilities, SqlError> {
    Ok(readable(table)?.abilities())
}

/// Checks the options of a table that is written. Opens nothing.
///
/// # Errors
/// [`SqlError`] for the first fault found, or if the table cannot be written.
pub fn check_sink(table: &Table) -> Result<Abilities, SqlError> {
    Ok(writable(table)?.abilities())
}

/// Returns whether the rows of a table may change earlier rows. For a table without a connector, as in tests,
/// the format decides.
pub fn gives_changes(table: &Table) -> bool {
    let format = || table.options.get("format").map(|format| format.value.as_str());
    check_source(table)
        .map_or_else(|_| format().is_some_and(is_changelog), |abilities| abilities.gives_changes)
}

fn readable(table: &Table) -> Result<Box<dyn Connection + '_>, SqlError> {
    let (connection, name) = connect(table)?;
    if !connection.abilities().reads {
        return Err(refusal(table, name, "read from", "written to"));
    }
    Ok(connection)
}

fn writable(table: &Table) -> Result<Box<dyn Connection + '_>, SqlError> {
    let (connection, name) = connect(table)?;
    if !connection.abilities().writes {
        return Err(refusal(table, name, "written to", "read from"));
    }
    Ok(connection)
}

/// A connector: its name, and the function that checks the options of a table and returns the table as a
/// [`Connection`], which can be opened.
struct Connector {
    name: &'static str,
    /// True if Flink has a connector of this name.
    is_portable: bool,
    /// True if tables of the connector may be PARTITIONED BY columns.
    has_partitions: bool,
    /// The guarantees for reading and writing, if tables of the connector can be read and written.
    guarantees: (Option<Guarantee>, Option<Guarantee>),
    bind: for<'a> fn(&mut Given<'a>) -> Result<Box<dyn Connection + 'a>, SqlError>,
}

/// All connectors that a table can name in its option `connector`.
static CONNECTORS: &[Connector] = &[
    Connector {
        name: "blackhole",
        is_portable: true,
        has_partitions: false,
        guarantees: (None, Some(Guarantee::AtLeastOnce)),
        bind: blackhole::bind,
    },
    Connector {
        name: "datagen",
        is_portable: true,
        has_partitions: false,
        guarantees: (Some(Guarantee::ExactlyOnce), None),
        bind: datagen::bind,
    },
    Connector {
        name: "filesystem",
        is_portable: true,
        has_partitions: true,
        guarantees: (Some(Guarantee::ExactlyOnce), Some(Guarantee::ExactlyOnce)),
        bind: filesystem::bind,
    },
    Connector {
        name: "nexmark",
        is_portable: true,
        has_partitions: false,
        guarantees: (Some(Guarantee::ExactlyOnce), None),
        bind: nexmark::bind,
    },
    Connector {
        name: "print",
        is_portable: true,
        has_partitions: false,
        guarantees: (None, Some(Guarantee::AtLeastOnce)),
        bind: print::bind,
    },
    Connector {
        name: "socket",
        is_portable: false,
        has_partitions: false,
        guarantees: (Some(Guarantee::CannotGoOn), Some(Guarantee::AtLeastOnce)),
        bind: socket::bind,
    },
    Connector {
        name: "stdin",
        is_portable: false,
        has_partitions: false,
        guarantees: (Some(Guarantee::CannotGoOn), None),
        bind: standard::bind_stdin,
    },
    Connector {
        name: "stdout",
        is_portable: false,
        has_partitions: false,
        guarantees: (None, Some(Guarantee::AtLeastOnce)),
        bind: standard::bind_stdout,
    },
    Connector {
        name: "ysb",
        is_portable: false,
        has_partitions: false,
        guarantees: (Some(Guarantee::ExactlyOnce), None),
        bind: ysb::bind,
    },
];

/// A table whose options were read and are valid.
trait Connection {
    /// Returns what the table can do: whether it is read, written or bounded, and whether it has changes.
    fn abilities(&self) -> Abilities;

    /// Opens the table for reading, if it can be read.
    ///
    /// # Errors
    /// [`SqlError`] if the table cannot be opened.
    fn source(&self, wanted: &[usize], world: &World) -> Result<Vec<Box<dyn RowSource>>, SqlError> {
        let _ = (wanted, world);
        Err(SqlError::new(Code::Unsupported, "this table cannot be read from"))
    }

    /// Opens the table for writing, if it can be written.
    ///
    /// # Errors
    /// [`SqlError`] if the table cannot be opened.
    fn sink(&self, columns: &[usize], world: &World) -> Result<Box<dyn RowSink>, SqlError> {
        let _ = (columns, world);
        Err(SqlError::new(Code::Unsupported, "this table cannot be written to"))
    }
}

/// Reads the options of a table; also returns the name of its connector.
fn connect(table: &Table) -> Result<(Box<dyn Connection + '_>, &str), SqlError> {
    let mut given = Given::new(table);
    let name = given.connector()?;
    let connector = find(name, given.place("connector"))?;
    if !table.partitioned_by.is_empty() && !connector.has_partitions {
        let message = format!("the connector '{name}' has no partitions");
        return Err(SqlError::new(Code::Invalid, message)
            .at(given.place("connector"))
            .help("leave PARTITIONED BY out"));
    }
    let connection = (connector.bind)(&mut given)?;
    watermarks::check(&mut given)?;
    given.finish()?;
    Ok((connection, name))
}

fn find(name: &str, place: Place) -> Result<&'static Connector, SqlError> {
    CONNECTORS.iter().find(|connector| connector.name == name).ok_or_else(|| {
        let names = || CONNECTORS.iter().map(|connector| connector.name);
        let error = SqlError::new(Code::UnknownOption, format!("there is no connector '{name}'")).at(place);
        match nearest(name, names()) {
            Some(near) => error.help(format!("did you mean '{near}'?")),
            None => error.help(format!("there are {}", names().collect::<Vec<_>>().join(", "))),
        }
    })
}

fn refusal(table: &Table, connector: &str, cannot: &str, can: &str) -> SqlError {
    let message = format!("`{}` cannot be {cannot}: the connector '{connector}' is only {can}", table.name);
    let place = table.options.get("connector").map(|option| option.place);
    SqlError::new(Code::Unsupported, message).at(place)
}
