//! Streams whose reading may block: a separate thread reads each into a bounded buffer, and a source takes
//! the available bytes.
//!
//! ```text
//!   stdin, socket --thread--> buffer, 1 MiB --poll--> decoder --> rows
//! ```
//!
//! When the buffer is full the thread waits, which also blocks the writer of the stream. Rows are returned as
//! soon as their record is complete. Such a stream cannot be read twice, so its source has no position: a job that takes
//! checkpoints refuses the table before it runs.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use thalweg_model::{Fault, ProcessingTime, SourceStatus, StateError, StateReader, StateWriter};
use thalweg_sql_formats::Format;

use super::World;
use super::bad::{BadOptions, BadRecords};
use super::decoding::{Decoding, More, Step};
use super::error::ConnectError;
use super::layout::{batch_of, record_columns, schema_of};
use crate::error::{Code, SqlError};
use crate::panics::caught;
use crate::scan::rows::{PolledRows, RowSource, Rows};
use crate::table::Table;

/// The capacity of the buffer between a thread that reads a stream and its source, in bytes.
pub const FEED_BYTES_MAX: usize = 1 << 20;

/// Bytes of a stream that its thread reads at a time.
const READ_BYTES: usize = 64 << 10;

/// Pause of a reading thread, 10 ms, if its stream has no bytes at present and does not block.
const NAP: Duration = Duration::from_millis(10);

/// Delay in nanoseconds, 2 ms, until a source polls the empty buffer of its stream again.
const IDLE_NS: u64 = 2_000_000;

/// A stream that a separate thread reads into a bounded buffer.
pub(super) struct Feed(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Signalled when the buffer has room again, or when the source that reads its bytes was dropped.
    has_room: Condvar,
}

#[derive(Default)]
struct State {
    bytes: VecDeque<u8>,
    is_over: bool,
    failure: Option<io::Error>,
    /// Whether the source that reads the bytes of the buffer was dropped.
    is_dropped: bool,
}

impl Feed {
    /// Starts a thread that opens a stream by `open` and reads it into the buffer.
    pub(super) fn start(
        name: &str,
        open: impl FnOnce() -> io::Result<Box<dyn Read + Send>> + Send + 'static,
    ) -> io::Result<Feed> {
        let shared = Arc::new(Shared { state: Mutex::default(), has_room: Condvar::new() });
        let filled = Arc::clone(&shared);
        std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            // A panic of the reading thread becomes an error, so that the source does not wait forever.
            let read = AssertUnwindSafe(|| open().and_then(|mut stream| filled.fill(stream.as_mut())));
            let outcome = caught(read).unwrap_or_else(|_| Err(io::Error::other("its reader panicked")));
            let mut state = filled.lock();
            state.is_over = true;
            state.failure = outcome.err();
        })?;
        Ok(Feed(shared))
    }

    /// Moves available bytes from the buffer into `into`. Returns their number, and whether more may come.
    fn take(&self, into: &mut [u8]) -> io::Result<(usize, More)> {
        let mut state = self.0.lock();
        let mut count = 0;
        // The buffer is a ring, so its bytes lie in at most two pieces.
        for _ in 0..2 {
            count += state.bytes.read(&mut into[count..])?;
        }
        if count > 0 {
            self.0.has_room.notify_one();
            return Ok((count, More::Now));
        }
        match state.failure.take() {
            Some(failure) => Err(failure),
            None if state.is_over => Ok((0, More::Never)),
            None => Ok((0, More::Later)),
        }
    }

    fn held_bytes(&self) -> usize {
        self.0.lock().bytes.capacity() + READ_BYTES
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.0.lock().is_dropped = true;
        self.0.has_room.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A poisoned lock is used as it is, because the state of the buffer is consistent between any two
        // statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the stream into the buffer until the stream ends, or until the source that reads the bytes was
    /// dropped.
    fn fill(&self, stream: &mut dyn Read) -> io::Result<()> {
        let mut read = vec![0; READ_BYTES];
        loop {
            let count = match stream.read(&mut read) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => continue,
                    // A read that times out adds no bytes. So the thread of a stream with a timeout can
                    // check whether the source still exists.
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => 0,
                    _ => return Err(error),
                },
            };
            let mut state = self.lock();
            if count == 0 {
                // The stream has no bytes at present, so its thread pauses.
                state = self.has_room.wait_timeout(state, NAP).unwrap_or_else(PoisonError::into_inner).0;
            }
            while FEED_BYTES_MAX - READ_BYTES < state.bytes.len() && !state.is_dropped {
                state = self.has_room.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.is_dropped {
                return Ok(());
            }
            state.bytes.extend(&read[..count]);
        }
    }
}

/// A source of the rows of a stream that a separate thread reads.
pub(super) struct StreamSource {
    feed: Feed,
    name: String,
    schema: SchemaRef,
    decoding: Decoding,
    bad: BadRecords,
}

/// Description of the records in a stream: the table whose rows they are, their format, and the handling of
/// bad records.
pub(super) struct Stream<'a> {
    pub(super) table: &'a Table,
    pub(super) format: Format,
    pub(super) bad: BadOptions,
}

impl Stream<'_> {
    /// Creates a source of the rows that `feed` reads, with the table columns whose indexes are `wanted`.
    /// `name` names the stream in errors.
    pub(super) fn source(
        &self,
        name: String,
        wanted: &[usize],
        world: &World,
        feed: io::Result<Feed>,
    ) -> Result<Box<dyn RowSource>, SqlError> {
        let feed = feed.map_err(|error| {
            let message = format!("no thread can be had that reads {name}: {error}");
            SqlError::new(Code::Invalid, message).at(self.table.options_place)
        })?;
        let held = record_columns(self.table);
        // Metadata and partition columns of streams were refused when the table was checked, so all columns
        // are in the records.
        let places: Vec<usize> =
            wanted.iter().filter_map(|place| held.iter().position(|known| known == place)).collect();
        Ok(Box::new(StreamSource {
            feed,
            name,
            schema: schema_of(self.table, wanted),
            decoding: Decoding::new(self.format.decoder(&places)),
            bad: world.bad_records(self.table, &self.bad)?,
        }))
    }
}

impl StreamSource {
    /// Reads at most as many bytes as the buffer of the stream can hold, even if they give no rows, so that
    /// other tasks may run.
    fn read(&mut self, now: ProcessingTime, rows_max: usize) -> Result<PolledRows, ConnectError> {
        let mut more = More::Now;
        let mut left_bytes = FEED_BYTES_MAX;
        loop {
            let then = if left_bytes == 0 && more == More::Now { More::Later } else { more };
            match self.decoding.step(rows_max, then, &self.name, &mut self.bad)? {
                Step::Rows(columns, kinds) => {
                    let rows = columns.num_rows();
                    let columns = batch_of(&self.schema, columns.columns().to_vec(), rows);
                    let columns = columns.ok_or_else(|| ConnectError::Corrupt {
                        path: PathBuf::from(&self.name),
                        reason: "a record gave rows of other columns than the table's".to_owned(),
                    })?;
                    let rows = Some(Rows { columns, kinds });
                    return Ok(PolledRows { rows, status: SourceStatus::Ready });
                }
                Step::WantsBytes if more == More::Never => {
                    self.bad.finish()?;
                    return Ok(PolledRows { rows: None, status: SourceStatus::Ended });
                }
                Step::WantsBytes if more == More::Later => {
                    let status = SourceStatus::IdleUntil(now.plus_nanos(IDLE_NS));
                    return Ok(PolledRows { rows: None, status });
                }
                Step::WantsBytes if left_bytes == 0 => {
                    return Ok(PolledRows { rows: None, status: SourceStatus::Ready });
                }
                Step::WantsBytes => {
                    let (count, then) = self
                        .feed
                        .take(self.decoding.room())
                        .map_err(|source| ConnectError::Unreadable { name: self.name.clone(), source })?;
                    self.decoding.filled(count);
                    left_bytes = left_bytes.saturating_sub(count);
                    more = then;
                }
            }
        }
    }
}

impl RowSource for StreamSource {
    fn poll(&mut self, now: ProcessingTime, rows_max: usize) -> Result<PolledRows, Fault> {
        Ok(self.read(now, rows_max.max(1)).map_err(|error| self.bad.publish_up_to(error))?)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        Ok(self.bad.finish()?)
    }

    fn bad_count(&self) -> u64 {
        self.bad.count()
    }

    fn held_bytes(&self) -> usize {
        self.feed.held_bytes() + self.decoding.held_bytes() + self.bad.held_bytes()
    }

    /// Fails, because the bytes of the stream come only once.
    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Err(StateError::Write(format!("{} cannot be read again from a saved position", self.name)))
    }

    /// Fails, because the bytes of the stream come only once.
    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        Err(state.wrong(format!("{} cannot be read again from a saved position", self.name)))
    }
}

#[cfg(test)]
mod tests;
